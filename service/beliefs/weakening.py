"""Rule 5: what rested on a superseded belief alone becomes `suspect` and is queued."""

from collections.abc import Sequence

from scoring.labels import Label
from service import json_text
from service.beliefs.grounds import all_ids, stored_sets
from service.beliefs.ledger import Ledger, planned_event
from service.beliefs.normalise import derived_id
from service.beliefs.projection import BeliefState
from service.beliefs.queries import has_fallen, intact_sets
from service.events.schemas import Event
from service.events.vocabulary import EventType
from service.instants import LATEST

MAX_DEPTH = 3
MAX_FAN_OUT = 50
# Ids of those that a cap spared, listed in the event; beyond them there is a count.
MAX_LISTED = 200


def plan_weakening(ledger: Ledger, closing: Event, now: int) -> list[str]:
    """Plans an event for each belief that falls with a superseded one, breadth first."""
    weakened: list[str] = []
    level = [closing]
    for _ in range(MAX_DEPTH):
        below: list[Event] = []
        for cause in level:
            falling, unread = _falling(ledger, cause)
            for state in falling[:MAX_FAN_OUT]:
                event = _invalidation(ledger, closing, cause, state, now)
                ledger.plan(event)
                below.append(event)
                weakened.append(state.belief_id)
            _note_cut(cause, "fan_out", falling[MAX_FAN_OUT:], unread)
        level = below
    for cause in level:
        falling, unread = _falling(ledger, cause)
        _note_cut(cause, "depth", falling, unread)
    return weakened


def _falling(ledger: Ledger, cause: Event) -> tuple[list[BeliefState], int]:
    """The beliefs that rest on a fallen one and have no justification left."""
    fallen_id = cause.belief_id or ""
    states, unread = ledger.dependents(cause.agent_id, fallen_id)
    found = []
    for state in states:
        sets = stored_sets(state.justifications)
        members = all_ids(sets)
        if has_fallen(state) or fallen_id not in members:
            continue
        if not intact_sets(sets, ledger.fallen(cause.agent_id, members)):
            found.append(state)
    return found, unread


def _invalidation(
    ledger: Ledger, closing: Event, cause: Event, state: BeliefState, now: int
) -> Event:
    detail = {"cause": cause.belief_id}
    return planned_event(
        closing,
        event_id=derived_id(["weakened", closing.event_id, state.belief_id]),
        ts=moment(ledger, closing, state.belief_id, now),
        event=str(EventType.BELIEF_INVALIDATED),
        belief_id=state.belief_id,
        label_from=state.label,
        label_to=str(Label.GUESS if state.label == Label.GUESS else Label.SUSPECT),
        confidence=None,
        detail=detail,
        detail_text=json_text.encode(detail),
        flags=[],
    )


def moment(ledger: Ledger, event: Event, belief_id: str, now: int) -> int:
    """Now, or just after the last event of a belief where that lies ahead of this clock.

    Folds go by instants: what the ledger decided last must be folded last.
    """
    last_ts, last_log = ledger.last_place(event.agent_id, belief_id)
    # At the calendar's end it stands beside that event, which then is folded after it.
    return min(LATEST, max(now, last_ts if last_log <= event.log else last_ts + 1))


def _note_cut(event: Event, cap: str, spared: Sequence[BeliefState], unread: int) -> None:
    """Lists in an event what a cap left as it was; `unread` were not even looked at."""
    if not spared and not unread:
        return
    names = [state.belief_id for state in spared]
    note: dict[str, object] = {"cap": cap, "beliefs": names[:MAX_LISTED], "count": len(names)}
    if unread:
        note["unread"] = unread
    event.detail = {**event.detail, "cut": note}
    event.detail_text = json_text.encode(event.detail)
