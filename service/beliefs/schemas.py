"""Wire shapes of beliefs, and the ids and places by which the ledger is read."""

from typing import Annotated

import msgspec
from fastapi import Path, Query
from pydantic import AfterValidator

from service.events.schemas import EventOut


def _without_nul(text: str | None) -> str | None:
    if text is not None and "\x00" in text:
        raise ValueError("holds U+0000, which stands in no id: remove it")
    return text


IdQuery = Annotated[str | None, Query(max_length=1024), AfterValidator(_without_nul)]
# `:path` in the routes, as an id may hold a slash.
IdPath = Annotated[str, Path(max_length=1024), AfterValidator(_without_nul)]
Instant = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Id = Annotated[str, msgspec.Meta(pattern="^[^\\x00]*$")]
# Where a page ends: an instant, the agent, and the row's own id.
Place = tuple[Instant, Id, Id]


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
