"""Wire shapes of contradictions."""

from typing import Annotated

import msgspec
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from service.contradictions.lifecycle import NextAction, ResolutionKind
from service.contradictions.projection import ContradictionState
from service.events.schemas import EventOut
from service.instants import parse_duration

MAX_MEMBERS = 100
MAX_NOTE = 4_096


def _readable(text: str) -> str:
    if any(c < " " or c == "\x7f" for c in text):
        raise ValueError("holds a control character: remove it")
    return text


def _duration(text: str) -> str:
    parse_duration(text)
    return text


def _different(members: list[str]) -> list[str]:
    if len(set(members)) < len(members):
        raise ValueError("names the same id twice: each side is named once")
    return members


LedgerId = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_readable)]
Note = Annotated[str, Field(max_length=MAX_NOTE)]
Ttl = Annotated[
    str,
    Field(max_length=64, description="a duration from the detection on: P30D, PT12H or 30d"),
    AfterValidator(_duration),
]
Priority = Annotated[int, Field(strict=True, ge=1, le=5)]
Ids = Annotated[list[LedgerId], Field(max_length=MAX_MEMBERS), AfterValidator(_different)]


class LedgerCallIn(BaseModel):
    """What every write of the ledger may say of itself; an `event_id` makes it safe to repeat."""

    model_config = ConfigDict(extra="forbid")

    agent_id: LedgerId | None = None
    event_id: LedgerId | None = None
    session_id: LedgerId | None = None
    turn_id: LedgerId | None = None
    worker: LedgerId | None = None
    cost_tokens: Annotated[int, Field(strict=True, ge=0, le=2**63 - 1)] | None = None


class ContradictionIn(LedgerCallIn):
    """A contradiction that was found between two or more beliefs or pieces of evidence."""

    contradiction_id: LedgerId | None = None
    beliefs: Annotated[Ids, Field(min_length=2)]
    detector: LedgerId | None = None
    priority: Priority | None = None
    owner: LedgerId | None = None
    next_action: NextAction | None = None
    ttl: Ttl | None = None
    note: Note | None = None


class TransitionIn(LedgerCallIn):
    """A move to a state, with what that state must name."""

    state: ContradictionState
    owner: LedgerId | None = None
    next_action: NextAction | None = None
    priority: Priority | None = None
    ttl: Ttl | None = None
    resolution: ResolutionKind | None = None
    kept: LedgerId | None = None
    given_up: Ids = Field(default_factory=list)
    evidence: Ids = Field(default_factory=list)
    scopes: Annotated[dict[LedgerId, Note], Field(max_length=MAX_MEMBERS)] = {}
    note: Note | None = None
    expected_state: ContradictionState | None = None
    expected_version: Annotated[str, Field(max_length=64)] | None = None


class ContradictionOut(msgspec.Struct):
    """A contradiction as its events leave it; `salience` and `expires_at` of an open one."""

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
    expires_at: str | None
    investigated_at: str | None
    closed_at: str | None
    resolution: str | None
    resolution_detail: msgspec.Raw
    cost_tokens: int
    salience: float | None
    version: str
    last_ts: str


class ContradictionHistoryOut(msgspec.Struct):
    """One contradiction with its events; `events_complete` is false where the oldest were cut."""

    contradiction: ContradictionOut
    events: list[EventOut]
    events_complete: bool
