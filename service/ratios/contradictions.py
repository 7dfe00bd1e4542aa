"""What became of contradictions: how many were settled, and how old the open ones are."""

import json
import statistics
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy.orm import Session

from service.contradictions.projection import (
    EVENT_TYPES,
    NOT_A_CONTRADICTION,
    ContradictionRow,
    ContradictionState,
    apply,
    resolution_kind,
)
from service.events.schemas import Event
from service.events.vocabulary import EventType
from service.instants import DAY
from service.models import CogEvent
from service.ratios import queries
from service.ratios.census import counted
from service.ratios.figures import Counted, Reading, share_json
from service.ratios.queries import EventRow
from service.ratios.window import View

CLOSING = (
    EventType.CONTRADICTION_RESOLVED,
    EventType.CONTRADICTION_SCOPED,
    EventType.CONTRADICTION_EXPIRED,
)
SETTLED = (ContradictionState.RESOLVED, ContradictionState.SCOPED)
MOST_EXPIRED = 0.3
EXPIRY_CAVEAT = (
    "{expired} of {closed} contradictions closed in the window expired: expiry, not resolution, "
    "keeps this low"
)


def read_contradiction_resolution(session: Session, view: View) -> Reading:
    """Contradictions detected in the window, and which are resolved or scoped at its end."""
    lives: dict[str, list[EventRow]] = {}
    detected = queries.subjects(view, CogEvent.contradiction_id, EventType.CONTRADICTION_CREATED)
    for row in queries.events_about(
        session,
        view,
        CogEvent.contradiction_id,
        detected,
        EVENT_TYPES,
        CogEvent.detail,
        CogEvent.cost_tokens,
    ):
        lives.setdefault(row.contradiction_id, []).append(row)
    rows: list[Counted] = []
    false_detections = resolved = 0
    for identity, life in lives.items():
        state = _folded(view.agent_id, identity, life)
        if state.detected_at is None or not view.window.holds(state.detected_at):
            continue
        if state.resolution == NOT_A_CONTRADICTION:
            false_detections += 1
            continue
        resolved += state.state == ContradictionState.RESOLVED
        creation = next(row for row in life if row.event == EventType.CONTRADICTION_CREATED)
        rows.append(
            counted(creation, counts=state.state in SETTLED, kind="contradiction", subject=identity)
        )
    rows.sort(key=lambda one: (one.ts, one.log, one.seq))
    beside = {
        "false_detections": false_detections,
        "resolved_alone": share_json(resolved, len(rows)),
    }
    empty = "no contradiction was detected in the window"
    if false_detections:
        empty += " but such as turned out to be none"
    return Reading(rows, empty, beside)


def _folded(agent_id: str, identity: str, life: Iterable[EventRow]) -> ContradictionRow:
    """The contradiction as the ledger itself would fold these events."""
    state = ContradictionRow(agent_id, identity)
    for row in life:
        event = Event(
            agent_id,
            row.log,
            row.event_id,
            row.ts,
            row.ts,
            row.event,
            worker=row.worker,
            contradiction_id=identity,
            detail=json.loads(row.detail or "{}"),
            cost_tokens=row.cost_tokens,
        )
        apply(state, event)
    return state


@dataclass(frozen=True, slots=True)
class Closed:
    """How the contradictions that closed in a window closed."""

    resolved: int
    scoped: int
    expired: int
    not_a_contradiction: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.resolved + self.scoped + self.expired + self.not_a_contradiction


def read_closed(session: Session, view: View) -> Closed:
    """Counts each contradiction once, by the first event that closed it."""
    first: dict[str, EventRow] = {}
    for row in queries.events(
        session,
        view,
        CLOSING,
        CogEvent.detail,
        queries.was_closed_before(view, CLOSING).label("was_closed"),
    ):
        if not row.was_closed:
            first.setdefault(row.contradiction_id, row)
    kinds: Counter[str] = Counter()
    for row in first.values():
        kind = resolution_kind(json.loads(row.detail or "{}"))
        kinds[NOT_A_CONTRADICTION if kind == NOT_A_CONTRADICTION else row.event] += 1
    return Closed(
        resolved=kinds[EventType.CONTRADICTION_RESOLVED],
        scoped=kinds[EventType.CONTRADICTION_SCOPED],
        expired=kinds[EventType.CONTRADICTION_EXPIRED],
        not_a_contradiction=kinds[NOT_A_CONTRADICTION],
    )


def read_contradiction_age(session: Session, view: View) -> Reading:
    """Contradictions open at the window's end, whenever they were detected, with their ages."""
    first: dict[str, EventRow] = {}
    for row in queries.still_open(session, view, CLOSING):
        first.setdefault(row.contradiction_id, row)
    rows = [
        counted(
            row,
            counts=True,
            kind="contradiction",
            subject=identity,
            age_days=(view.window.until - row.ts) / DAY,
        )
        for identity, row in first.items()
    ]
    closed = read_closed(session, view)
    caveats: tuple[str, ...] = ()
    if closed.total and closed.expired / closed.total > MOST_EXPIRED:
        caveats = (EXPIRY_CAVEAT.format(expired=closed.expired, closed=closed.total),)
    beside = {
        "closed_in_window": {
            "resolved": closed.resolved,
            "scoped": closed.scoped,
            "expired": closed.expired,
            "not_a_contradiction": closed.not_a_contradiction,
        }
    }
    return Reading(rows, "no contradiction is open at the end of the window", beside, caveats)


def median_age_days(rows: Iterable[Counted]) -> float | None:
    """The median age of open contradictions, None when there are none."""
    ages = [row.age_days for row in rows if row.age_days is not None]
    return statistics.median(ages) if ages else None
