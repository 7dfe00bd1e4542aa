"""The clock, the agenda and the outgoing wire records that every part of the simulation shares."""

import heapq
import random
from collections.abc import Callable
from typing import NamedTuple

from cli.demo.plan import DAY_US, SECOND_US, WEEK_US, WeekPlan, plan_of
from cli.demo.truth import TruthKeeper, TurnTruth, instant

Record = dict[str, object]

# The agenda's bound: beyond it nothing new is planned for later, so memory does not grow with the
# number of events. Ten million events in five weeks stay below it.
PLANNED_AT_MOST = 250_000
_EVENTS_IN_A_TURN_AT_MOST = 64


class Place(NamedTuple):
    """Where an event happened: the worker and, if any, its session and turn."""

    worker: str
    session_id: str | None = None
    turn_id: str | None = None


class World:
    """State of one run: time only moves forward, and each record takes the next id."""

    def __init__(
        self, rng: random.Random, agent: str, tag: str, start: int, weeks: int, keeper: TruthKeeper
    ) -> None:
        self.rng = rng
        self.agent = agent
        self.tag = tag
        self.keeper = keeper
        self.start = start
        self.weeks = weeks
        self.until = start + weeks * WEEK_US
        # The last minute belongs to the closing inventory, which brings the count to the number
        # asked for.
        self.last_call = self.until - 60 * SECOND_US
        self.now = start
        self.step = SECOND_US
        self.emitted = 0
        self.turns_to_come = 0
        self.events: list[Record] = []
        self.turns: list[Record] = []
        self.turn_truths: list[TurnTruth] = []
        self.places: dict[str, Place] = {}
        self._agenda: list[tuple[int, int, Callable[[], None]]] = []
        self._planned = 0
        self._ids = 0
        self.week = 0
        self.plan: WeekPlan = plan_of(0, weeks)
        self._day = -1
        self._date_text = ""
        self._event_prefix = f"{agent}-{tag}-"
        keeper.advance(start)

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.rng.random() < probability

    def new_id(self, kind: str) -> str:
        """A fresh id of a subject."""
        self._ids += 1
        return f"{kind}-{self.tag}-{self._ids:08d}"

    def later(self, due: int, action: Callable[[], None]) -> bool:
        """Plan `action` at `due`; False when that lies outside the run or the agenda is full."""
        if due >= self.last_call or len(self._agenda) >= PLANNED_AT_MOST:
            return False
        self._planned += 1
        heapq.heappush(self._agenda, (due, self._planned, action))
        return True

    def run_next(self) -> bool:
        """Carry out the next planned action; False when nothing is left."""
        if not self._agenda:
            return False
        due, _, action = heapq.heappop(self._agenda)
        self.move_to(due)
        # All of an action fits before the next one is due, so records come in strict time order
        # and none crosses into another week.
        room = self._agenda[0][0] - self.now if self._agenda else self.last_call - self.now
        self.step = max(1, min(room, 60 * SECOND_US) // _EVENTS_IN_A_TURN_AT_MOST)
        action()
        return True

    def move_to(self, due: int) -> None:
        """Let time pass until `due`, by a microsecond at least."""
        self.now = max(due, self.now + 1)
        if self.now >= self.keeper.next_edge:
            self.keeper.advance(self.now)
            # Every week begins at an edge of a window.
            self.week = min((self.now - self.start) // WEEK_US, self.weeks - 1)
            self.plan = plan_of(self.week, self.weeks)

    def timestamp(self) -> str:
        """The current time in ISO 8601 with microseconds, UTC."""
        day, rest = divmod(self.now, DAY_US)
        if day != self._day:
            self._day = day
            self._date_text = instant(self.now).date().isoformat()
        seconds, fraction = divmod(rest, SECOND_US)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return f"{self._date_text}T{hours:02d}:{minutes:02d}:{seconds:02d}.{fraction:06d}Z"

    def emit(self, event: str, place: Place, detail: Record | None, **fields: object) -> str:
        """Append one event a step after the last, and return its id."""
        self.move_to(self.now + self.step)
        self.emitted += 1
        event_id = f"{self._event_prefix}{self.emitted:012d}"
        record: Record = {
            "agent_id": self.agent,
            "ts": self.timestamp(),
            "event": event,
            "event_id": event_id,
        }
        worker, session_id, turn_id = place
        if session_id is not None:
            record["session_id"] = session_id
        if turn_id is not None:
            record["turn_id"] = turn_id
        record["worker"] = worker
        record.update(fields)
        if detail is not None:
            record["detail"] = detail
        self.events.append(record)
        return event_id

    def place_of(self, worker: str) -> Place:
        """The worker's latest turn, where what it does between turns is booked."""
        return self.places.get(worker) or Place(worker)
