"""What each call of the ledger does: which rules it is held to, and which events it becomes."""

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.orm import Session

from scoring.labels import Label, is_stronger, label_confidence_mismatch
from service import instants, json_text
from service.beliefs.checking import cited_ids
from service.beliefs.grounding import (
    borne_by,
    check_evidence_is_new,
    check_sources,
    check_strength,
    check_support,
    closed,
    strength,
)
from service.beliefs.grounds import evidence_ids, stored_evidence, with_justifications
from service.beliefs.ledger import Ledger, planned_event
from service.beliefs.normalise import Move, derived_id
from service.beliefs.projection import ADDS, SUPERSEDED, BeliefState
from service.beliefs.rules import Breaks, Rule
from service.beliefs.weakening import moment
from service.errors import NotFound
from service.events.normalise import content
from service.events.schemas import Event
from service.events.vocabulary import EventType, Flag

# What the ledger itself adds to a detail that was sent.
_ADDED = frozenset({ADDS, "cut"})


@dataclass(slots=True)
class Done:
    """What planning a call came to: the beliefs it names, and whether it was new."""

    beliefs: list[str]
    is_new: bool = True
    weakened: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans calls one after another on one ledger; raises Breaks where a rule forbids one."""

    session: Session
    ledger: Ledger
    now: int

    def create(self, move: Move) -> Done:
        """A new belief, or more evidence for one that says the same."""
        event = planned_event(move.event)
        label = label_of(event)
        existing = self.ledger.state(move.agent_id, move.subject)
        self.check_versions(move)
        if existing is not None:
            self._add_evidence(move, event, existing)
        else:
            self.check_new(event, label)
            self.plan_new(event)
        return Done([move.subject])

    def relabel(self, move: Move) -> Done:
        """Another label or confidence, with what it rests on."""
        state = self.open_subject(move)
        label = label_of(move.event)
        self.check_versions(move)
        event = planned_event(move.event, label_from=state.label)
        sets = event.detail.get("justifications") or []
        known = [*stored_evidence(state.evidence), *cited_ids(event.detail.get("sources"))]
        _, is_new = with_justifications(state.justifications, sets)
        is_confidence_new = event.confidence not in (None, state.confidence)
        if label == state.label and not is_confidence_new and not is_new:
            return Done([move.subject], is_new=False)
        check_support(self.ledger, event, sets, known, "/justifications")
        check_sources(self.session, self.ledger, event, state.label, label)
        if state.label is None or is_stronger(label, Label(state.label)):
            check_strength(label, borne_by(self.ledger, state, sets), "what it rests on")
        event.ts = self.time_of(move, move.subject)
        stated = state.confidence if event.confidence is None else event.confidence
        if label_confidence_mismatch(label, stated):
            event.flags.append(Flag.LABEL_CONFIDENCE_MISMATCH)
        self.ledger.plan(event)
        return Done([move.subject])

    def challenge(self, move: Move) -> Done:
        """A word against a belief; also against one that was given up."""
        self.subject(move)
        self.check_versions(move)
        self.ledger.plan(planned_event(move.event, ts=self.time_of(move, move.subject)))
        return Done([move.subject])

    def check_new(self, event: Event, label: Label) -> None:
        """Rules 3, 4 and 6 for a belief that is not there yet."""
        if self.ledger.is_hidden(event.agent_id, event.belief_id or ""):
            reason = f"is {event.belief_id!r}, which is taken: choose a new id"
            raise Breaks(Rule.ID_TAKEN, "/belief_id", reason)
        detail = event.detail
        sets, is_summary = detail["justifications"], "summarises" in detail
        evidence = evidence_ids(detail.get("evidence") or [])
        pointer = "/summarises" if is_summary else "/justifications"
        check_support(self.ledger, event, sets, evidence, pointer)
        what = "what it summarises" if is_summary else "what it rests on"
        check_strength(label, strength(self.ledger, event.agent_id, sets), what)
        check_evidence_is_new(self.ledger, event, sets)

    def plan_new(self, event: Event) -> None:
        """Plans a creation, and where it sums up others the event that tells of it."""
        self.ledger.plan(event)
        if "summarises" in event.detail:
            self.ledger.plan(self._summary(event))

    def _summary(self, event: Event) -> Event:
        going_in: dict[str, int] = {}
        for state in self.ledger.states(event.agent_id, event.detail["summarises"]).values():
            if state.label is not None:
                going_in[state.label] = going_in.get(state.label, 0) + 1
        detail: dict[str, Any] = {"labels_in": going_in, "labels_out": {event.label_to: 1}}
        return planned_event(
            event,
            event_id=derived_id(["summary", event.event_id]),
            event=str(EventType.SUMMARY_WRITTEN),
            label_to=None,
            confidence=None,
            detail=detail,
            detail_text=json_text.encode(detail),
            flags=[],
        )

    def _add_evidence(self, move: Move, event: Event, state: BeliefState) -> None:
        """The same content told again: one belief, with one more piece of evidence."""
        if state.status == SUPERSEDED:
            raise closed(self.ledger, move.agent_id, move.subject, "/belief_id", "is")
        if says(self.ledger, state) != json_text.shown(event.detail["content"]):
            raise content_change(move.subject)
        for pointer, told, held in _comparable(event, state):
            if told is not None and told != held:
                reason = f"is {told!r}, and {move.subject!r} is held with {held!r}: relabel it"
                raise Breaks(Rule.ALREADY_HELD, pointer, reason, move.subject)
        sets = event.detail["justifications"]
        known = [
            *evidence_ids(event.detail.get("evidence") or []),
            *stored_evidence(state.evidence),
        ]
        check_support(self.ledger, event, sets, known, "/justifications")
        event.ts = self.time_of(move, move.subject)
        event.detail = {**event.detail, ADDS: True}
        event.detail_text = json_text.encode(event.detail)
        self.ledger.plan(event)

    def subject(self, move: Move) -> BeliefState:
        """The belief in the path; NotFound where there is none."""
        state = self.ledger.state(move.agent_id, move.subject)
        if state is None:
            raise NotFound(f"Agent {move.agent_id!r} has no belief {move.subject!r}.")
        return state

    def open_subject(self, move: Move) -> BeliefState:
        """The same, which must stand."""
        state = self.subject(move)
        if state.status == SUPERSEDED:
            raise closed(self.ledger, move.agent_id, move.subject, "", "would move")
        return state

    def check_versions(self, move: Move) -> None:
        """What the caller has read must be what stands."""
        self.ledger.states(move.agent_id, move.expected_versions)
        for name, expected in sorted(move.expected_versions.items()):
            version = self.ledger.version(move.agent_id, name)
            if version != expected:
                state = self.ledger.state(move.agent_id, name)
                is_closed = state is not None and state.status == SUPERSEDED
                raise Breaks(
                    Rule.STALE_VERSION,
                    "/expected_versions" if name != move.subject else "/expected_version",
                    f"of {name!r} is {expected!r}, and it stands at {version!r}: read it again",
                    name,
                    head=self.ledger.head(move.agent_id, name) if is_closed else None,
                    version=version,
                )

    def time_of(self, move: Move, belief_id: str) -> int:
        """When a move of a belief happens: after all that happened to it."""
        if not move.has_time:
            return moment(self.ledger, move.event, belief_id, self.now)
        if move.event.ts < moment(self.ledger, move.event, belief_id, 0):
            reason = (
                f"lies before the last event of {belief_id!r}: leave it out, or report the move to "
                "/v1/events"
            )
            raise Breaks(Rule.BACK_DATED, "/ts", reason, belief_id)
        return move.event.ts


def is_recorded(ledger: Ledger, move: Move) -> bool:
    """Whether the very call was answered before; the same id with other content is refused."""
    found = ledger.recorded(move.event)
    if found is None:
        return False
    sent = move.event
    told = {name: value for name, value in found.detail.items() if name not in _ADDED}
    aligned = planned_event(sent, ts=sent.ts if move.has_time else found.ts)
    aligned.label_from = found.label_from
    if content(aligned) == content(found) and json_text.same(told, sent.detail):
        return True
    reason = f"{sent.event_id!r} is recorded with other content: choose a new id"
    raise Breaks(Rule.ID_TAKEN, "/event_id", reason, sent.belief_id)


def label_of(event: Event) -> Label:
    """Rule 1."""
    if event.label_to is None:
        known = ", ".join(Label)
        reason = f"is missing, and there is no default: write one of {known}"
        raise Breaks(Rule.UNLABELLED, "/label", reason, event.belief_id)
    return Label(event.label_to)


def says(ledger: Ledger, state: BeliefState) -> str | None:
    """What a belief says, as it is shown."""
    return json_text.shown(ledger.content(state.agent_id, state.belief_id))


def content_change(belief_id: str) -> Breaks:
    """Rule 2."""
    reason = (
        f"differs from what {belief_id!r} says, and content never changes: supersede it by a new "
        "belief"
    )
    return Breaks(Rule.CONTENT_CHANGE, "/content", reason, belief_id)


def _comparable(event: Event, state: BeliefState) -> list[tuple[str, Any, Any]]:
    detail = event.detail
    return [
        ("/label", event.label_to, state.label),
        ("/confidence", event.confidence, state.confidence),
        ("/category", json_text.shown(detail.get("category")), state.category),
        ("/valid_from", instants.parse_or_none(detail.get("valid_from")), state.valid_from),
        ("/valid_until", instants.parse_or_none(detail.get("valid_until")), state.valid_until),
    ]
