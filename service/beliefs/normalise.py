"""From a call of the ledger as sent to a checked move: its event, and what it depends on."""

import hashlib
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from scoring.labels import Label
from service import json_text
from service.beliefs.checking import (
    belief_faults,
    check_evidence,
    check_sets,
    cited_ids,
    recorded_sources,
    stated,
)
from service.beliefs.grounds import evidence_ids
from service.beliefs.schemas import BeliefIn, ChallengeIn, MoveIn, RelabelIn, SupersedeIn
from service.errors import Fault, Forbidden
from service.events.normalise import Intake, normalise
from service.events.schemas import Event, EventIn
from service.events.vocabulary import EventType, ResolutionSource
from service.principals import Scope


class MoveKind(StrEnum):
    """The calls of the ledger."""

    CREATE = "create"
    SUPERSEDE = "supersede"
    RELABEL = "relabel"
    CHALLENGE = "challenge"


@dataclass(frozen=True, slots=True)
class Move:
    """A checked call: its event, and what must hold before it is appended.

    `subject` is the belief in the path; `event.belief_id` the one that the event tells of.
    """

    kind: MoveKind
    event: Event
    index: int
    subject: str
    has_time: bool
    expected_versions: dict[str, str] = field(default_factory=dict)
    successor: str | None = None

    @property
    def agent_id(self) -> str:
        """The agent whose ledger it moves."""
        return self.event.agent_id


@dataclass(slots=True)
class _Draft:
    """The parts of an event that the calls make in ways of their own."""

    event: EventType
    belief_id: str | None
    label: str | None = None
    confidence: float | None = None
    detail: dict[str, Any] = field(default_factory=dict)


def belief_move(
    item: BeliefIn,
    intake: Intake,
    index: int,
    *,
    repaired: bool = False,
    supersedes: str | None = None,
) -> Move | list[Fault]:
    """The writing of a belief."""
    faults = belief_faults(item, intake.settings)
    detail = _belief_detail(item, faults)
    if supersedes is not None:
        detail["supersedes"] = supersedes
    draft = _Draft(EventType.BELIEF_CREATED, item.belief_id, item.label, item.confidence, detail)
    event = _event(item, draft, intake, index, faults, repaired=repaired)
    if event is None:
        return faults
    expected = dict(item.expected_versions or {})
    subject = event.belief_id or ""
    return Move(MoveKind.CREATE, event, index, subject, item.ts is not None, expected)


def supersede_move(
    item: SupersedeIn, belief_id: str, intake: Intake, *, repaired: bool = False
) -> Move | list[Fault]:
    """The replacing of a belief, by a new one or by one that there is."""
    expected = _expected(item.expected_version, belief_id) | (item.expected_versions or {})
    if item.successor is None:
        found = belief_move(item, intake, 0, repaired=repaired, supersedes=belief_id)
        if isinstance(found, list):
            return found
        return replace(
            found, kind=MoveKind.SUPERSEDE, subject=belief_id, expected_versions=expected
        )
    faults = [
        Fault(f"/{name}", "belongs to a new belief: leave it out beside `successor`")
        for name in BeliefIn.__struct_fields__
        if name not in (*MoveIn.__struct_fields__, "expected_versions")
        and getattr(item, name) is not None
    ]
    draft = _Draft(EventType.BELIEF_SUPERSEDED, belief_id, detail={"superseded_by": item.successor})
    event = _event(item, draft, intake, 0, faults, repaired=repaired)
    if event is None:
        return faults
    return Move(
        MoveKind.SUPERSEDE, event, 0, belief_id, item.ts is not None, expected, item.successor
    )


def relabel_move(
    item: RelabelIn, belief_id: str, intake: Intake, *, repaired: bool = False
) -> Move | list[Fault]:
    """The changing of a label, a confidence, or both."""
    faults: list[Fault] = []
    detail: dict[str, Any] = {}
    check_sets(item.justifications or [], intake.settings, faults)
    if item.sources is not None:
        detail["sources"] = recorded_sources(item.sources, faults)
    # Each source bears the label by itself, so that the belief falls only if all of them do.
    sets = [*(item.justifications or []), *([name] for name in cited_ids(detail.get("sources")))]
    if sets:
        detail["justifications"] = sets
    draft = _Draft(
        EventType.BELIEF_RELABELLED,
        belief_id,
        # A relabel without one is refused by the ledger's rule, and so that this is recorded.
        item.label if item.label is not None else Label.GUESS,
        item.confidence,
        detail,
    )
    event = _event(item, draft, intake, 0, faults, repaired=repaired)
    if event is None:
        return faults
    event.label_to = item.label
    expected = _expected(item.expected_version, belief_id)
    return Move(MoveKind.RELABEL, event, 0, belief_id, item.ts is not None, expected)


def challenge_move(
    item: ChallengeIn, belief_id: str, intake: Intake, *, repaired: bool = False
) -> Move | list[Fault]:
    """The word that something disagrees with a belief."""
    faults: list[Fault] = []
    if item.by is None:
        faults.append(Fault("/by", "is missing: say what disagrees, for example tool_result"))
    if item.by == ResolutionSource.OPERATOR_CORRECTION and not _may_correct(intake):
        raise Forbidden(
            "An operator_correction needs a key with scope operate.",
            errors=(Fault("/by", "needs scope operate"),),
        )
    detail = {"by": item.by, "evidence": item.evidence}
    check_evidence("evidence", item.evidence, intake.settings, faults)
    draft = _Draft(EventType.BELIEF_CHALLENGED, belief_id, detail=_told(detail))
    event = _event(item, draft, intake, 0, faults, repaired=repaired)
    if event is None:
        return faults
    expected = _expected(item.expected_version, belief_id)
    return Move(MoveKind.CHALLENGE, event, 0, belief_id, item.ts is not None, expected)


def _may_correct(intake: Intake) -> bool:
    return Scope.OPERATE in intake.principal.scopes and not intake.principal.is_local


def _expected(version: str | None, belief_id: str) -> dict[str, str]:
    return {} if version is None else {belief_id: version}


def _told(detail: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in detail.items() if value is not None}


def _event(
    item: MoveIn,
    draft: _Draft,
    intake: Intake,
    index: int,
    faults: list[Fault],
    *,
    repaired: bool,
) -> Event | None:
    """The event of a call, with an id that a repetition has, too; None where there are faults."""
    further = item.detail or {}
    faults += [
        Fault(f"/detail/{json_text.escape(name)}", "has a field of its own: send it there")
        for name in further
        if name in _RESERVED or name in draft.detail
    ]
    # Which label a move starts from is for the ledger to say; that it says none is no oddity.
    before = Label.GUESS if draft.event is EventType.BELIEF_RELABELLED else None
    sent = EventIn(
        draft.event, item.agent_id, item.ts, item.event_id, item.session_id, item.turn_id,
        item.worker, draft.belief_id or "-", None, before, draft.label, draft.confidence,
        {**further, **draft.detail},
    )  # fmt: skip
    found = normalise(sent, intake, index, repaired=repaired)
    if isinstance(found, list):
        faults += [Fault(_pointer(fault.pointer, draft.detail), fault.reason) for fault in found]
    if faults or isinstance(found, list):
        return None
    found.belief_id, found.label_from = draft.belief_id, None
    _identify(found, item, draft)
    return found


def _identify(event: Event, item: MoveIn, draft: _Draft) -> None:
    """Gives ids to what has none, derived from what was sent wherever a repetition is meant.

    Without an id and a time of the client's own each call is a new one, as with events.
    """
    if item.event_id is not None:
        basis: list[Any] = [event.agent_id, item.event_id]
        event.belief_id = event.belief_id or derived_id(["belief", *basis])
        return
    if item.ts is None and (draft.belief_id is None or draft.event != EventType.BELIEF_CREATED):
        event.belief_id = event.belief_id or event.event_id
        return
    ts = event.ts if item.ts is not None else None
    basis = [
        "ledger", event.agent_id, event.log, event.event, ts, event.belief_id, event.session_id,
        event.turn_id, event.worker, event.label_to, event.confidence, event.detail,
    ]  # fmt: skip
    event.event_id = derived_id(basis)
    event.belief_id = event.belief_id or event.event_id


def derived_id(parts: list[Any]) -> str:
    """An id made of what it stands for."""
    digest = hashlib.sha256(json_text.encode(parts).encode())
    return f"sha256:{digest.hexdigest()[:40]}"


_RESERVED = frozenset(
    {
        "content", "category", "evidence", "justifications", "summarises", "sources", "valid_from",
        "valid_until", "by", "superseded_by", "supersedes", "adds_evidence", "cause", "cut",
        "statement",
    }
)  # fmt: skip


def _pointer(pointer: str, detail: dict[str, Any]) -> str:
    """A place in the event as the place in the call that it came from."""
    if pointer == "/label_to":
        return "/label"
    first, _, rest = pointer.removeprefix("/detail/").partition("/")
    if pointer.startswith("/detail/") and first in detail:
        name = "successor" if first == "superseded_by" else first
        return f"/{name}/{rest}" if rest else f"/{name}"
    return pointer


def _belief_detail(item: BeliefIn, faults: list[Fault]) -> dict[str, Any]:
    """What the event tells of a belief; where it names no justification, its evidence is one."""
    sets = item.justifications
    if item.summarises is not None:
        sets = [item.summarises]
    if sets is None:
        known = evidence_ids(item.evidence) if item.evidence else []
        sets = [list(dict.fromkeys(known))] if known else []
    sources = None if item.sources is None else recorded_sources(item.sources, faults)
    return _told(
        {
            "content": item.content,
            "category": item.category,
            "evidence": item.evidence,
            "justifications": sets,
            "summarises": item.summarises,
            "sources": sources,
            "valid_from": stated("valid_from", item.valid_from, faults),
            "valid_until": stated("valid_until", item.valid_until, faults),
        }
    )
