"""What belief events say of a belief, as they say it."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Table
from sqlalchemy.orm import Session

from scoring.labels import Label
from service import instants, json_text
from service.beliefs.grounds import fits_a_key, supporters, with_evidence, with_justifications
from service.db.bulk import insert_rows
from service.db.upserts import insert_or
from service.events.folding import Fold
from service.events.log import LogPositions
from service.events.schemas import Event
from service.events.vocabulary import EventType, Flag
from service.models import Belief, BeliefSupport, BeliefVersion, CogEvent


class BeliefState(msgspec.Struct):
    """A row of `beliefs`, its fields in the order of the columns."""

    agent_id: str
    belief_id: str
    created_at: int | None = None
    created_label: str | None = None
    label: str | None = None
    confidence: float | None = None
    category: str | None = None
    writer: str | None = None
    session_id: str | None = None
    turn_id: str | None = None
    evidence: str | None = None
    justifications: str | None = None
    status: str = "active"
    superseded_by: str | None = None
    superseded_at: int | None = None
    needs_rederivation: int = 0
    challenged_at: int | None = None
    challenges: int = 0
    overwrites: int = 0
    valid_from: int | None = None
    valid_until: int | None = None
    content_log: str | None = None
    content_seq: int | None = None
    last_ts: int = 0
    last_log: str = ""
    last_seq: int = 0


EVENT_TYPES = frozenset(
    {
        EventType.BELIEF_CREATED,
        EventType.BELIEF_RELABELLED,
        EventType.BELIEF_SUPERSEDED,
        EventType.BELIEF_OVERWRITTEN,
        EventType.BELIEF_CHALLENGED,
        EventType.BELIEF_INVALIDATED,
    }
)
SUPERSEDED = "superseded"
# Key of a `belief.created` that tells a belief again: true where it only adds evidence.
ADDS = "adds_evidence"


def apply(state: BeliefState, event: Event) -> Sequence[str]:
    """One event on one belief; a move out of a terminal state is flagged and changes nothing."""
    if event.event == EventType.BELIEF_CREATED:
        return _create(state, event)
    flags = [] if state.created_at is not None else [Flag.UNKNOWN_SUBJECT]
    if event.event == EventType.BELIEF_CHALLENGED:
        state.challenges += 1
        if state.challenged_at is None:
            state.challenged_at = event.ts
        return flags
    if state.status == SUPERSEDED:
        return [*flags, Flag.SUBJECT_CLOSED]
    return [*flags, *_MOVES[event.event](state, event)]


def _create(state: BeliefState, event: Event) -> list[str]:
    detail = event.detail
    if state.created_at is not None:
        return _add_evidence(state, detail) if detail.get(ADDS) is True else [Flag.ALREADY_CREATED]
    state.created_at = event.ts
    state.created_label = state.label = event.label_to
    state.confidence = event.confidence
    state.category = json_text.shown(detail.get("category"))
    state.writer = event.worker
    state.session_id, state.turn_id = event.session_id, event.turn_id
    state.evidence = json_text.encode_or_none(detail.get("evidence"))
    state.justifications = json_text.encode_or_none(detail.get("justifications"))
    state.valid_from = instants.parse_or_none(detail.get("valid_from"))
    state.valid_until = instants.parse_or_none(detail.get("valid_until"))
    _take_content(state, event)
    return [Flag.SUBJECT_CLOSED] if state.status == SUPERSEDED else []


def _add_evidence(state: BeliefState, detail: dict[str, Any]) -> list[str]:
    """The same content told again: one belief, with what is new to rest on."""
    if state.status == SUPERSEDED:
        return [Flag.SUBJECT_CLOSED]
    state.evidence = with_evidence(state.evidence, detail.get("evidence"))
    _take_justifications(state, detail)
    return []


def _take_justifications(state: BeliefState, detail: dict[str, Any]) -> bool:
    """Whether it rests on something new now: then it is derived again, and leaves the queue."""
    told = detail.get("justifications")
    if told is None:
        return False
    state.justifications, is_new = with_justifications(state.justifications, told)
    if is_new:
        state.needs_rederivation = 0
    return is_new


def _relabel(state: BeliefState, event: Event) -> list[str]:
    flags: list[str] = []
    before = (state.label, state.confidence)
    if state.created_at is not None and event.label_from not in (None, state.label):
        flags.append(Flag.WRONG_LABEL_FROM)
    state.label = event.label_to
    if event.confidence is not None:
        state.confidence = event.confidence
    rests_anew = _take_justifications(state, event.detail)
    if before == (state.label, state.confidence) and not rests_anew:
        flags.append(Flag.UNEXPECTED_MOVE)
    return flags


def _supersede(state: BeliefState, event: Event) -> list[str]:
    successor = event.detail.get("superseded_by")
    if successor == state.belief_id:
        return [Flag.CIRCULAR]
    state.status = SUPERSEDED
    state.superseded_by = successor
    state.superseded_at = event.ts
    return []


def _overwrite(state: BeliefState, event: Event) -> list[str]:
    state.overwrites += 1
    _take_content(state, event)
    if event.label_to is not None:
        state.label = event.label_to
    if event.confidence is not None:
        state.confidence = event.confidence
    return []


def _invalidate(state: BeliefState, _event: Event) -> list[str]:
    if state.label != Label.GUESS:
        state.label = Label.SUSPECT
    state.needs_rederivation = 1
    return []


def _take_content(state: BeliefState, event: Event) -> None:
    """Points to the version that now holds; what changes nothing adds a version and no more."""
    if event.detail.get("content") is not None:
        state.content_log, state.content_seq = event.log, event.seq


_MOVES: dict[str, Callable[[BeliefState, Event], list[str]]] = {
    EventType.BELIEF_RELABELLED: _relabel,
    EventType.BELIEF_SUPERSEDED: _supersede,
    EventType.BELIEF_OVERWRITTEN: _overwrite,
    EventType.BELIEF_INVALIDATED: _invalidate,
}

BELIEFS: Table = Belief.__table__  # type: ignore[assignment]
_VERSIONS: Table = BeliefVersion.__table__  # type: ignore[assignment]
FOLD = Fold(
    table=BELIEFS,
    state_type=BeliefState,
    key=lambda event: event.belief_id,
    key_column=Belief.belief_id,
    event_column=CogEvent.belief_id,
    start=BeliefState,
    apply=apply,
    event_types=EVENT_TYPES,
)
_WITH_CONTENT = {
    EventType.BELIEF_CREATED: "created",
    EventType.BELIEF_OVERWRITTEN: "overwritten",
}


def project(session: Session, _positions: LogPositions, events: list[Event]) -> None:
    """Folds belief events into `beliefs`, and keeps every content that was ever told."""
    FOLD.project(session, events)
    _note_supports(session, events)
    versions = [
        (e.agent_id, e.belief_id, e.log, e.seq, e.ts, kind, json_text.shown(e.detail["content"]))
        for e in events
        if (kind := _WITH_CONTENT.get(EventType(e.event))) and e.detail.get("content") is not None
    ]
    insert_rows(session, _VERSIONS, versions)


_WITH_GROUNDS = frozenset({EventType.BELIEF_CREATED, EventType.BELIEF_RELABELLED})


def _note_supports(session: Session, events: list[Event]) -> None:
    """Notes by what beliefs can be found that rest on something; all that was ever told."""
    found = {
        (event.agent_id, supporter, event.belief_id)
        for event in events
        if event.detail.get("justifications") is not None and event.event in _WITH_GROUNDS
        for supporter in supporters(event.detail)
        if fits_a_key(event.agent_id, supporter, event.belief_id or "")
    }
    if found:
        names = ("agent_id", "supporter_id", "belief_id")
        rows = [dict(zip(names, row, strict=True)) for row in sorted(found)]
        statement = insert_or(session, BeliefSupport).on_conflict_do_nothing()
        session.connection().execute(statement, rows)
