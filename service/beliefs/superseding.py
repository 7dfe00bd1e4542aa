"""Superseding: one belief in the place of another, never two heads and never a circle."""

from service import instants, json_text
from service.beliefs.grounding import check_sources, closed, laundered_by
from service.beliefs.grounds import content_key
from service.beliefs.ledger import planned_event
from service.beliefs.normalise import Move, derived_id
from service.beliefs.planning import Done, Planner, content_change, label_of, says
from service.beliefs.projection import SUPERSEDED, BeliefState
from service.beliefs.rules import Breaks, Rule
from service.beliefs.weakening import plan_weakening
from service.events.schemas import Event
from service.events.vocabulary import EventType, Flag


def supersede(planner: Planner, move: Move) -> Done:
    """A new belief in the place of an old one; what rested on that alone is weakened."""
    following = move.successor or move.event.belief_id or ""
    old = planner.subject(move)
    if following == move.subject:
        reason = f"is {following!r} itself: a belief cannot replace itself"
        raise Breaks(Rule.CIRCULAR_SUPERSESSION, "/belief_id", reason, following)
    if move.successor is not None and old.superseded_by == following:
        return Done([following, move.subject], is_new=False)
    if old.status == SUPERSEDED:
        raise closed(planner.ledger, move.agent_id, move.subject, "", "would replace")
    planner.check_versions(move)
    if move.successor is not None:
        _check_successor(planner, move, following, old)
    else:
        _plan_successor(planner, move, old)
    weakened = _close(planner, move, following)
    return Done([following, move.subject], weakened=weakened)


def _plan_successor(planner: Planner, move: Move, old: BeliefState) -> None:
    event = planned_event(move.event)
    label = label_of(event)
    _check_unused(planner, move, event)
    start = instants.parse_or_none(event.detail.get("valid_from"))
    end = instants.parse_or_none(event.detail.get("valid_until"))
    _check_not_back_filled(start, end, old)
    same_content = content_key(event.detail["content"]) == content_key(
        planner.ledger.content(move.agent_id, move.subject)
    )
    # The same words under a new id are a relabel by another name.
    check_sources(
        planner.session, planner.ledger, event, old.label if same_content else label, label
    )
    planner.check_new(event, label)
    sets = event.detail["justifications"]
    if sets and all(move.subject in names for names in sets):
        reason = f"rests on {move.subject!r} alone, which it replaces: name another ground"
        raise Breaks(Rule.SUPERSEDED, "/justifications", reason, move.subject)
    planner.plan_new(event)


def _check_unused(planner: Planner, move: Move, event: Event) -> None:
    name = event.belief_id or ""
    existing = planner.ledger.state(move.agent_id, name)
    if existing is None:
        return
    if existing.status == SUPERSEDED:
        raise _circle_or_closed(planner, move, name, "/belief_id")
    if says(planner.ledger, existing) != json_text.shown(event.detail["content"]):
        raise content_change(name)
    reason = "is a belief that there is: to put it in the place of another, send it as `successor`"
    raise Breaks(Rule.ALREADY_HELD, "/belief_id", reason, name)


def _check_successor(planner: Planner, move: Move, following: str, old: BeliefState) -> None:
    state = planner.ledger.state(move.agent_id, following)
    if state is None:
        reason = f"is {following!r}, which is no belief: write it first"
        raise Breaks(Rule.UNKNOWN_SUPPORT, "/successor", reason, following)
    if state.status == SUPERSEDED:
        raise _circle_or_closed(planner, move, following, "/successor")
    if (laundered := laundered_by(planner.session, planner.ledger, old, state)) is not None:
        raise Breaks(Rule.LAUNDERING, "/successor", laundered, following)
    _check_not_back_filled(state.valid_from, state.valid_until, old)


def _circle_or_closed(planner: Planner, move: Move, name: str, pointer: str) -> Breaks:
    head = planner.ledger.head(move.agent_id, name)
    if head == move.subject:
        reason = f"is {name!r}, which {move.subject!r} stands for: the chain would be a circle"
        return Breaks(Rule.CIRCULAR_SUPERSESSION, pointer, reason, name, head=head)
    return closed(planner.ledger, move.agent_id, name, pointer, "is")


def _close(planner: Planner, move: Move, following: str) -> list[str]:
    detail = {"superseded_by": following}
    if move.successor is not None:
        detail = {**move.event.detail, **detail}
    event_id = move.event.event_id
    closing = planned_event(
        move.event,
        event_id=event_id if move.successor else derived_id(["closed", event_id, move.subject]),
        ts=planner.time_of(move, move.subject),
        event=str(EventType.BELIEF_SUPERSEDED),
        belief_id=move.subject,
        label_to=None,
        confidence=None,
        detail=detail,
        detail_text=json_text.encode(detail),
    )
    closing.flags = [f for f in closing.flags if f in (Flag.TEXT_REPAIRED, Flag.FUTURE_TIME)]
    planner.ledger.plan(closing)
    return plan_weakening(planner.ledger, closing, planner.now)


def _check_not_back_filled(start: int | None, end: int | None, old: BeliefState) -> None:
    """What was true earlier is history, whenever it is written: it does not beat newer truth."""
    if old.valid_from is None:
        return
    ended_before = end is not None and end <= old.valid_from
    if ended_before or (start is not None and start < old.valid_from):
        reason = (
            f"lies before that of {old.belief_id!r}: history does not replace newer truth, write "
            "it as a belief of its own"
        )
        raise Breaks(Rule.BACK_FILLED, "/valid_from", reason, old.belief_id)
