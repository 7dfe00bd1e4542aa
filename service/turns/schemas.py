"""Wire shapes of turns."""

from datetime import datetime
from typing import Any

import msgspec


class TurnIn(msgspec.Struct, forbid_unknown_fields=True):
    """A turn as it is sent."""

    session_id: str
    turn_id: str
    agent_id: str | None = None
    ts: datetime | None = None
    worker: str | None = None
    model: str | None = None
    commit_sha: str | None = None
    inputs: list[dict[str, Any]] = []
    retrieved: list[dict[str, Any]] = []
    tool_calls: list[dict[str, Any]] = []
    output: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None


class TurnRow(msgspec.Struct):
    """A checked turn on its way into the record."""

    agent_id: str
    turn_id: str
    ts: int
    received_at: int
    session_id: str
    worker: str | None
    model: str | None
    commit_sha: str | None
    payload: dict[str, Any]
    payload_text: str
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    latency_ms: float | None
    flags: list[str]
    index: int


class TurnOut(msgspec.Struct):
    """A turn as it is read back; without its payload in lists."""

    agent_id: str
    turn_id: str
    session_id: str
    seq: int
    ts: str
    received_at: str
    worker: str | None
    model: str | None
    commit_sha: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    latency_ms: float | None
    flags: list[str]


class SessionOut(msgspec.Struct):
    """A session as its turns show it."""

    agent_id: str
    session_id: str
    turns: int
    first_ts: str
    last_ts: str
