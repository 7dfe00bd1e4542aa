"""Wire shapes of beliefs."""

import msgspec

from service.events.schemas import EventOut


class BeliefOut(msgspec.Struct):
    """A belief as its events leave it."""

    agent_id: str
    belief_id: str
    content: str | None
    label: str | None
    confidence: float | None
    category: str | None
    writer: str | None
    session_id: str | None
    turn_id: str | None
    evidence: msgspec.Raw
    justifications: msgspec.Raw
    status: str
    superseded_by: str | None
    superseded_at: str | None
    needs_rederivation: bool
    challenges: int
    challenged_at: str | None
    overwrites: int
    created_label: str | None
    created_at: str | None
    valid_from: str | None
    valid_until: str | None
    last_ts: str


class VersionOut(msgspec.Struct):
    """What a belief said once; `kind` tells a creation from an overwrite."""

    log: str
    seq: int
    ts: str
    kind: str
    content: str | None
    is_current: bool


class NeighbourOut(msgspec.Struct):
    """A belief that another one rests on, or that rests on it."""

    belief_id: str
    label: str | None
    status: str


class BeliefHistoryOut(msgspec.Struct):
    """One belief with all that is known of it; `…_complete` is false where a list was cut."""

    belief: BeliefOut
    versions: list[VersionOut]
    versions_complete: bool
    events: list[EventOut]
    events_complete: bool
    rests_on: list[NeighbourOut]
    supports: list[NeighbourOut]
    supports_complete: bool
