"""Wire shapes of contradictions."""

import msgspec

from service.events.schemas import EventOut


class ContradictionOut(msgspec.Struct):
    """A contradiction as its events leave it."""

    agent_id: str
    contradiction_id: str
    beliefs: msgspec.Raw
    detector: str | None
    detected_at: str | None
    state: str
    priority: int | None
    owner: str | None
    next_action: str | None
    ttl_seconds: int | None
    investigated_at: str | None
    closed_at: str | None
    resolution: str | None
    resolution_detail: msgspec.Raw
    cost_tokens: int
    last_ts: str


class ContradictionHistoryOut(msgspec.Struct):
    """One contradiction with its events; `events_complete` is false where the oldest were cut."""

    contradiction: ContradictionOut
    events: list[EventOut]
    events_complete: bool
