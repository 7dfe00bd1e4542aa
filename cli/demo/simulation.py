"""Five weeks of an agent from a seed, as the batches of turns and events it would have sent."""

import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from cli.demo.beliefs import BeliefKeeper, Write
from cli.demo.contradictions import ContradictionKeeper
from cli.demo.forecasts import Forecaster
from cli.demo.plan import (
    ACTIVITY,
    DAY_US,
    HOUR_US,
    SCANNER,
    SECOND_US,
    WEEK_US,
    WORKER_SHARES,
    plan_of,
)
from cli.demo.sessions import open_session
from cli.demo.story import claim_text, draw_fields, pick
from cli.demo.topics import TOPICS
from cli.demo.truth import Truth, TruthKeeper, TurnTruth, microseconds
from cli.demo.turns import TurnMaker
from cli.demo.world import Place, Record, World

EVENTS_A_WEEK = 6_000
EVENTS_AT_LEAST = 1_000
BATCH = 1_000
LONG_WINDOW = timedelta(days=30)

# First guess at the mean events of a session with all that follows from it; corrected on the way.
_EVENTS_A_SESSION = 55.0
_EVENTS_A_TURN = 8.5
_GUESS_WEIGHT = 60
# No session begins in the last hour, so that all of them can end.
_LAST_OPENING_US = HOUR_US


def shadow_id_of_event(event_id: str) -> str:
    """The id of the shadow inference that an event in the agent's own log gives rise to."""
    return f"agent:{event_id}"


@dataclass(frozen=True, slots=True)
class Batch:
    """Turns and events in time order, in their wire shapes, and the truth about those turns."""

    turns: list[Record]
    events: list[Record]
    turn_truths: list[TurnTruth]


@dataclass(frozen=True, slots=True)
class Settings:
    """All that decides a simulation: equal settings give equal bytes."""

    seed: int
    agent: str
    until: datetime
    weeks: int
    events: int
    turns: int | None
    windows: tuple[tuple[datetime, datetime], ...]
    shadow_id_of: Callable[[str], str] = field(compare=False)

    @property
    def start(self) -> datetime:
        """The first instant of the first week."""
        return self.until - timedelta(weeks=self.weeks)

    @property
    def tag(self) -> str:
        """Six digits in every id, so that other settings under the same agent never clash."""
        told = (self.seed, self.agent, microseconds(self.until), self.weeks)
        text = repr((*told, self.events, self.turns))
        return hashlib.blake2b(text.encode(), digest_size=3).hexdigest()


class Simulation:
    """A stream of batches, and the truth about it once the stream was read to its end."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._truth: Truth | None = None

    def batches(self) -> Iterator[Batch]:
        """The whole stream from its beginning; each call yields the same bytes."""
        run = _Run(self.settings)
        yield from run.batches()
        self._truth = run.truth()

    @property
    def truth(self) -> Truth:
        """The true ratios of every window; before the stream was read to its end, an error."""
        if self._truth is None:
            raise RuntimeError("the truth is known when batches() was read to its end")
        return self._truth


def simulate(
    seed: int,
    *,
    agent: str = "demo",
    until: datetime,
    weeks: int = 5,
    events: int | None = None,
    turns: int | None = None,
    windows: Sequence[tuple[datetime, datetime]] = (),
    shadow_id_of: Callable[[str], str] = shadow_id_of_event,
) -> Simulation:
    """Prepare the `weeks` weeks before `until`, holding `events` events.

    `turns` limits the transcripts sent, spread over the weeks. The truth is counted for each week,
    for the last 30 days and for `windows`.
    """
    microseconds(until)
    events = EVENTS_A_WEEK * weeks if events is None else events
    if weeks < 1:
        raise ValueError(f"weeks is {weeks}: simulate one at least")
    if events < EVENTS_AT_LEAST:
        raise ValueError(f"events is {events}: simulate {EVENTS_AT_LEAST} at least")
    return Simulation(
        Settings(seed, agent, until, weeks, events, turns, tuple(windows), shadow_id_of)
    )


class _Run:
    """One reading of the stream."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        start = microseconds(settings.start)
        windows = _windows(settings)
        self._keeper = TruthKeeper(windows)
        rng = random.Random(f"{settings.seed}:{settings.tag}")  # noqa: S311 - a simulation
        self._world = World(rng, settings.agent, settings.tag, start, settings.weeks, self._keeper)
        self._beliefs = BeliefKeeper(self._world)
        contradictions = ContradictionKeeper(self._world, self._beliefs)
        forecaster = Forecaster(self._world, self._beliefs, settings.shadow_id_of)
        self._turn_maker = TurnMaker(
            self._world, settings.seed, self._beliefs, contradictions, forecaster
        )
        # What the closing inventory fills up; a session too many cannot be taken back.
        self._goal = settings.events - max(settings.events // 300, 200)
        self._opened = 0
        self._turns_granted = 0
        self._plan_edges(windows)
        self._world.later(start + SECOND_US, self._open)

    def batches(self) -> Iterator[Batch]:
        world = self._world
        while world.run_next():
            if len(world.events) >= BATCH:
                yield self._cut()
        for _ in self._take_inventory():
            yield self._cut()
        self._keeper.finish()
        yield self._cut()

    def truth(self) -> Truth:
        return self._keeper.truth()

    def _cut(self) -> Batch:
        world = self._world
        batch = Batch(world.turns, world.events, world.turn_truths)
        world.turns, world.events, world.turn_truths = [], [], []
        return batch

    def _plan_edges(self, windows: Sequence[tuple[int, int]]) -> None:
        """Stop at every edge of a window, so that no turn lies on both sides of one."""
        world = self._world
        for edge in {moment for window in windows for moment in window}:
            if edge > world.start:
                world.later(edge, _nothing)
        for week in range(self._settings.weeks):
            for flag, state in plan_of(week, self._settings.weeks).flags:
                switch = partial(self._switch, flag, state)
                world.later(world.start + week * WEEK_US + 9 * HOUR_US, switch)

    def _switch(self, flag: str, state: str) -> None:
        place = self._world.place_of("day")
        self._world.emit("flag.changed", place, {"flag": flag, "state": state})

    def _open(self) -> None:
        """Open a session now, and plan the next opening."""
        hour = (self._world.now % DAY_US) // HOUR_US
        self._pace(hour)
        self._begin(hour)

    def _next_hour(self) -> None:
        self._pace((self._world.now % DAY_US) // HOUR_US)

    def _pace(self, hour: int) -> None:
        """Plan the next opening so that the goal is reached at the end, and not much before."""
        world = self._world
        left = world.until - _LAST_OPENING_US - world.now
        guessed = _GUESS_WEIGHT * _EVENTS_A_SESSION
        expected = world.emitted + world.turns_to_come * _EVENTS_A_TURN
        mean = (expected + guessed) / (self._opened + _GUESS_WEIGHT)
        sessions_left = (self._goal - expected) / mean
        if left <= 0 or sessions_left < 1:
            return
        pause = world.rng.expovariate(1.0) * left / sessions_left / ACTIVITY[hour]
        # Each hour has its own activity; openings have no memory, so drawing anew is exact.
        hour_ends = world.now - world.now % HOUR_US + HOUR_US
        if world.now + pause >= hour_ends:
            world.later(hour_ends, self._next_hour)
        else:
            world.later(world.now + int(pause), self._open)

    def _begin(self, hour: int) -> None:
        world = self._world
        fate = world.rng.random()
        worker = next(name for end, name in WORKER_SHARES[hour] if fate <= end)
        session = open_session(world, worker, may_send=self._transcripts_left())
        self._opened += 1
        world.turns_to_come += session.turns_left
        if session.sent:
            self._turns_granted += session.turns_left
        if worker == SCANNER:
            self._scan()
        self._turn_maker.take(session)

    def _transcripts_left(self) -> int:
        """Turns that may be sent now, when those allowed are to last to the end."""
        if self._settings.turns is None:
            return self._settings.events
        share = min(self._world.emitted / self._goal, 1.0) if self._goal > 0 else 1.0
        return int(self._settings.turns * share) - self._turns_granted

    def _scan(self) -> None:
        """The scanner says that it is alive, and at times writes a belief outside of any turn."""
        world, rng = self._world, self._world.rng
        place = Place(SCANNER)
        world.emit("x.heartbeat", place, {"uptime_hours": (world.now - world.start) // HOUR_US})
        if world.chance(0.2):
            topic = pick(rng, TOPICS)
            text = claim_text(topic, int(rng.random() * 2), int(rng.random() * 3))
            write = Write(text, topic.category, "infer", 0.9, (world.new_id("e"),))
            self._beliefs.write(place, write, abducted=False)

    def _take_inventory(self) -> Iterator[None]:
        """Fill the last minute with readings of the scanner, up to the number asked for."""
        world = self._world
        missing = self._settings.events - world.emitted
        world.now = max(world.now, world.last_call)
        world.step = max(1, 59 * SECOND_US // max(missing, 1))
        for number in range(missing):
            topic = TOPICS[number % len(TOPICS)]
            detail: Record = {
                "tool": topic.tool,
                "evidence_id": world.new_id("e"),
                "channel": "tool",
                "reliability": 0.95,
                "text": topic.restatement.format_map(draw_fields(world.rng, topic)),
            }
            world.emit("evidence.retrieved", Place(SCANNER), detail)
            if len(world.events) >= BATCH:
                yield


def _windows(settings: Settings) -> list[tuple[int, int]]:
    """Each week, the last 30 days and those asked for, in microseconds since 1970."""
    until = microseconds(settings.until)
    windows = [
        (until - week * WEEK_US, until - (week - 1) * WEEK_US)
        for week in range(settings.weeks, 0, -1)
    ]
    windows.append((microseconds(settings.until - LONG_WINDOW), until))
    windows += [(microseconds(start), microseconds(end)) for start, end in settings.windows]
    return windows


def _nothing() -> None:
    """Nothing happens at the edge of a window."""
