"""Wire shapes of events. msgspec, not pydantic: it decodes and checks an array at C speed, and
ingestion is the one place where that decides (docs/decisions/0004)."""

from datetime import datetime
from typing import Any

import msgspec

from service.trust.receipts import Receipt


class EventIn(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event as it is sent."""

    event: str
    agent_id: str | None = None
    ts: datetime | None = None
    event_id: str | None = None
    session_id: str | None = None
    turn_id: str | None = None
    worker: str | None = None
    belief_id: str | None = None
    contradiction_id: str | None = None
    label_from: str | None = None
    label_to: str | None = None
    confidence: float | None = None
    detail: dict[str, Any] | None = None
    cost_tokens: int | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None


class Event(msgspec.Struct, array_like=True):
    """A checked event on its way into the record; instants in microseconds since 1970 UTC.

    `detail` may be empty where no projection reads it; `detail_text` is what is stored.
    """

    agent_id: str
    log: str
    event_id: str
    ts: int
    received_at: int
    event: str
    session_id: str | None = None
    turn_id: str | None = None
    worker: str | None = None
    belief_id: str | None = None
    contradiction_id: str | None = None
    label_from: str | None = None
    label_to: str | None = None
    confidence: float | None = None
    detail: dict[str, Any] = {}
    detail_text: str | None = None
    cost_tokens: int | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None
    flags: list[str] = []
    index: int = 0
    seq: int = 0
    # What the fold of its subject found odd; kept apart so that a second try starts clean.
    noted: list[str] = []
    detail_salt: bytes = b""
    leaf_hash: bytes | None = None
    seal: bytes = b""
    # For the shadow inference that it leaves behind.
    receipt: Receipt | None = None


class Redacted(msgspec.Struct):
    """That a payload was removed: by which key, when and why."""

    by: str | None
    at: str
    reason: str


class EventOut(msgspec.Struct, omit_defaults=False):
    """An event as it is read back."""

    agent_id: str
    log: str
    seq: int
    event_id: str
    ts: str
    received_at: str
    session_id: str | None
    turn_id: str | None
    worker: str | None
    event: str
    belief_id: str | None
    contradiction_id: str | None
    label_from: str | None
    label_to: str | None
    confidence: float | None
    detail: msgspec.Raw
    cost_tokens: int | None
    cost_usd: float | None
    latency_ms: float | None
    flags: list[str]
    # Of an event whose detail is null.
    redacted: Redacted | None = None


class Rejection(msgspec.Struct):
    """An item that was not stored: its place in the batch, a JSON pointer into it, and why."""

    index: int
    pointer: str
    reason: str


class Accepted(msgspec.Struct, omit_defaults=True):
    """The answer to a write, after its commit; `receipts` where it left shadow inferences."""

    accepted: int
    duplicates: int
    rejected: list[Rejection]
    receipts: list[Receipt] = []
