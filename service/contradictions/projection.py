"""What contradiction events say of a contradiction, as they say it."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import msgspec
from sqlalchemy import Table
from sqlalchemy.orm import Session

from service import instants, json_text
from service.checks import WHOLE_LIMIT
from service.events.folding import Fold
from service.events.log import LogPositions
from service.events.schemas import Event
from service.events.vocabulary import EventType, Flag
from service.models import CogEvent, Contradiction


class ContradictionState(StrEnum):
    """The life of a contradiction."""

    CANDIDATE = "candidate"
    INVESTIGATING = "investigating"
    RESOLVED = "resolved"
    SCOPED = "scoped"
    EXPIRED = "expired"


CLOSED = frozenset(
    {ContradictionState.RESOLVED, ContradictionState.SCOPED, ContradictionState.EXPIRED}
)
NOT_A_CONTRADICTION = "not_a_contradiction"
_EXPECTED_FROM = {
    ContradictionState.INVESTIGATING: {ContradictionState.CANDIDATE},
    ContradictionState.RESOLVED: {ContradictionState.INVESTIGATING},
    ContradictionState.SCOPED: {ContradictionState.INVESTIGATING},
    ContradictionState.EXPIRED: {ContradictionState.CANDIDATE, ContradictionState.INVESTIGATING},
}
_MOVES = {
    EventType.CONTRADICTION_INVESTIGATED: ContradictionState.INVESTIGATING,
    EventType.CONTRADICTION_RESOLVED: ContradictionState.RESOLVED,
    EventType.CONTRADICTION_SCOPED: ContradictionState.SCOPED,
    EventType.CONTRADICTION_EXPIRED: ContradictionState.EXPIRED,
}
EVENT_TYPES = frozenset({EventType.CONTRADICTION_CREATED, *_MOVES})


class ContradictionRow(msgspec.Struct):
    """A row of `contradictions`, its fields in the order of the columns."""

    agent_id: str
    contradiction_id: str
    beliefs: str | None = None
    detector: str | None = None
    detected_at: int | None = None
    state: str = ContradictionState.CANDIDATE
    priority: int | None = None
    owner: str | None = None
    next_action: str | None = None
    ttl_us: int | None = None
    investigated_at: int | None = None
    closed_at: int | None = None
    resolution: str | None = None
    resolution_detail: str | None = None
    cost_tokens: int = 0
    last_ts: int = 0
    last_log: str = ""
    last_seq: int = 0


def apply(row: ContradictionRow, event: Event) -> Sequence[str]:
    """One event on one contradiction; out of a closed state nothing moves."""
    if event.event == EventType.CONTRADICTION_CREATED:
        return _create(row, event)
    flags: list[str] = [] if row.detected_at is not None else [Flag.UNKNOWN_SUBJECT]
    if row.state in CLOSED:
        return [*flags, Flag.SUBJECT_CLOSED]
    move = _MOVES[EventType(event.event)]
    if row.detected_at is not None and not _is_expected(row, move, event.detail):
        flags.append(Flag.UNEXPECTED_MOVE)
    row.state = move
    row.cost_tokens = min(row.cost_tokens + (event.cost_tokens or 0), WHOLE_LIMIT)
    _take_ownership(row, event.detail)
    if move is ContradictionState.INVESTIGATING:
        row.investigated_at = event.ts if row.investigated_at is None else row.investigated_at
        return flags
    row.closed_at = event.ts
    row.resolution = resolution_kind(event.detail)
    row.resolution_detail = json_text.encode(event.detail)
    if move is ContradictionState.RESOLVED and not is_evidenced(event.detail):
        flags.append(Flag.UNEVIDENCED)
    return flags


def _create(row: ContradictionRow, event: Event) -> Sequence[str]:
    if row.detected_at is not None:
        return [Flag.ALREADY_CREATED]
    row.detected_at = event.ts
    row.beliefs = json_text.encode_or_none(event.detail.get("beliefs"))
    row.detector = json_text.shown(event.detail.get("detector") or event.worker)
    _take_ownership(row, event.detail)
    return [Flag.SUBJECT_CLOSED] if row.state in CLOSED else []


def _is_expected(row: ContradictionRow, move: ContradictionState, detail: dict[str, Any]) -> bool:
    """Whether the state machine has the move; a hand-off to another owner is one, too."""
    if row.state in _EXPECTED_FROM[move]:
        return True
    new_owner = json_text.shown(detail.get("owner"))
    return row.state == move and new_owner not in (None, row.owner)


def is_evidenced(detail: dict[str, Any]) -> bool:
    """Evidence stands beside the resolution or inside it; an empty list is none."""
    resolution = detail.get("resolution")
    inside = resolution.get("evidence") if isinstance(resolution, dict) else None
    return bool(detail.get("evidence") or inside)


def resolution_kind(detail: dict[str, Any]) -> str | None:
    """The kind of a resolution, which is sent as a text or as an object with a `kind`."""
    resolution = detail.get("resolution")
    if isinstance(resolution, dict):
        resolution = resolution.get("kind")
    return json_text.shown(resolution)


def _take_ownership(row: ContradictionRow, detail: dict[str, Any]) -> None:
    if (owner := json_text.shown(detail.get("owner"))) is not None:
        row.owner = owner
    if (action := json_text.shown(detail.get("next_action"))) is not None:
        row.next_action = action
    priority = detail.get("priority")
    if isinstance(priority, int) and not isinstance(priority, bool) and 1 <= priority <= 5:
        row.priority = priority
    ttl = detail.get("ttl")
    if isinstance(ttl, str) and (length := instants.parse_duration_or_none(ttl)) is not None:
        row.ttl_us = length


CONTRADICTIONS: Table = Contradiction.__table__  # type: ignore[assignment]
FOLD = Fold(
    table=CONTRADICTIONS,
    state_type=ContradictionRow,
    key=lambda event: event.contradiction_id,
    key_column=Contradiction.contradiction_id,
    event_column=CogEvent.contradiction_id,
    start=ContradictionRow,
    apply=apply,
    event_types=EVENT_TYPES,
)


def project(session: Session, _positions: LogPositions, events: list[Event]) -> None:
    """Folds contradiction events into `contradictions`."""
    FOLD.project(session, events)
