"""Wire shapes of redactions."""

from typing import Annotated

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from service.events.vocabulary import Log

MAX_REASON = 1_024


def _readable(text: str) -> str:
    if any(c < " " or c == "\x7f" for c in text):
        raise ValueError("holds a control character: remove it")
    return text


_Id = Annotated[str, Field(min_length=1, max_length=512), AfterValidator(_readable)]


class TargetIn(BaseModel):
    """What holds the payload: a turn, or an event; what else is named is never cut."""

    model_config = ConfigDict(extra="forbid")

    turn_id: _Id | None = None
    event_id: _Id | None = None
    log: Log = Field(Log.AGENT, description="of the two logs the one that holds the event")
    shadow_id: _Id | None = None
    finding_id: _Id | None = None
    verdict_id: _Id | None = None


class RedactionIn(BaseModel):
    """Which payload is to go, and why; the reason stays readable for good: put no secret in it."""

    model_config = ConfigDict(extra="forbid")

    agent_id: _Id | None = None
    target: TargetIn
    reason: Annotated[str, Field(min_length=1, max_length=MAX_REASON), AfterValidator(_readable)]


class RedactionOut(msgspec.Struct):
    """A tombstone: what was removed, and who did it, when and why."""

    agent_id: str
    table: str
    log: str
    seq: int
    turn_id: str | None
    event_id: str | None
    payload_hash: str
    payload_bytes: int
    reason: str
    by: str | None
    at: str
    # Where the tombstone itself stands in the audit log.
    tombstone_seq: int
