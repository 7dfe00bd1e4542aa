"""One run: an agent's day drawn, its ledger examined, its sample read turn by turn.

Each turn commits by itself with the run's heartbeat. A run that was killed is taken over once its
heartbeat is stale and goes on with the turns that have no state; one that ended `partial` goes on
when it is asked for again.
"""

import contextlib
import secrets
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from datetime import date
from zoneinfo import ZoneInfo

from sqlalchemy import select
from sqlalchemy.orm import Session

from auditor.judging import judged_turn, left_out_turn
from auditor.ledger_rules import examine_ledger
from auditor.linking import read_record
from auditor.method import JudgementFailedError, Method
from auditor.population import Population, population_of
from auditor.sampling import draw, in_reading_order, new_seed
from auditor.transcript import Stop, Transcript, WantedTurn, wanted_turns
from service.agents.queries import agent_called, zone_of
from service.audits import operations, queries
from service.audits.days import day_window
from service.audits.records import DrawnTurn, JudgedTurn, Lease, NewRun
from service.audits.schemas import AuditOut
from service.audits.vocabulary import RunState, TurnState
from service.db.database import Database
from service.errors import Unavailable
from service.instants import MINUTE, SECOND
from service.models import AuditRun, Turn

# While turns without a judgement are passed, life is shown at least this often.
HEARTBEAT_EVERY = 20 * SECOND


class RunBusyError(Exception):
    """Another process is at this run, or was until less than two minutes ago."""


class NothingToAuditError(Exception):
    """No turn to draw from: no run is stored, so that turns which come later find none."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is, after each of its turns."""

    agent_id: str
    day: date
    finished: int
    drawn: int


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What a run may use. `sample_size` counts for a new run only: a sample is drawn once."""

    sample_size: int | None = None
    budget_minutes: float | None = None


@dataclass(frozen=True, slots=True)
class DayOutcome:
    """A run as it stands at its end; `was_ended` when there was nothing left to do."""

    day: date
    audit: AuditOut
    was_ended: bool


@dataclass(slots=True)
class _Clockwork:
    """When to stop: the budget's end, or somebody's wish."""

    clock: Callable[[], int]
    should_stop: Callable[[], bool]
    deadline: int | None

    @property
    def is_over(self) -> bool:
        """Whether the budget is spent."""
        return self.deadline is not None and self.clock() >= self.deadline


class StoppedError(Exception):
    """The process was told to stop; the run goes on at once in the next one."""


@dataclass(slots=True)
class Auditor:
    """Audits days of any agent with one method; `default_sample_size` where the agent says none."""

    database: Database
    method: Method
    clock: Callable[[], int]
    default_sample_size: int
    on_progress: Callable[[Progress], None] = field(default=lambda _progress: None)
    should_stop: Callable[[], bool] = field(default=lambda: False)

    def audit_day(self, agent_id: str, day: date, options: RunOptions | None = None) -> DayOutcome:
        """Starts or resumes the one run of an agent and day, and brings it to its end."""
        options = options or RunOptions()
        deadline = None
        if options.budget_minutes is not None:
            deadline = self.clock() + round(options.budget_minutes * MINUTE)
        clockwork = _Clockwork(self.clock, self.should_stop, deadline)
        run_id, lease = self._begin(agent_id, day, options)
        if lease is not None:
            with self._held(lease):
                self._examine(lease, run_id)
                state = self._read_sample(lease, day, clockwork)
                with self.database.write() as session:
                    operations.finish_run(session, lease, state, self.clock())
        with self.database.read() as session:
            run = queries.run_called(session, run_id)
            assert run is not None  # noqa: S101 - it was begun above
            audit = queries.runs_out(session, [run])[0]
        return DayOutcome(day, audit, was_ended=lease is None)

    @contextlib.contextmanager
    def _held(self, lease: Lease) -> Iterator[None]:
        """Gives the run up at once when this process leaves it unfinished but alive."""
        try:
            yield
        except operations.LeaseLostError as lost:
            raise RunBusyError(str(lost)) from lost
        finally:
            # After a database failure the heartbeat grows stale by itself.
            with contextlib.suppress(Unavailable), self.database.write() as session:
                operations.release(session, lease)

    def _begin(self, agent_id: str, day: date, options: RunOptions) -> tuple[str, Lease | None]:
        """The run's id and the lease of it; no lease when it has ended already."""
        with self.database.write() as session:
            # One draw at a time for each agent: whoever comes second sees the first one's run.
            operations.lock_audit_log(session, agent_id)
            agent = agent_called(session, agent_id)
            zone = zone_of(agent)
            run = queries.run_of_window(session, agent_id, *day_window(day, zone))
            if run is None:
                size = options.sample_size or agent.sample_size or self.default_sample_size
                return self._start(session, agent_id, day, zone, size)
            if run.state == RunState.DONE:
                return run.run_id, None
            lease = operations.take_over(session, run, self.clock())
            if lease is None:
                raise RunBusyError(self._busy_text(run))
            return run.run_id, lease

    def _busy_text(self, run: AuditRun) -> str:
        age = (self.clock() - run.heartbeat_at) / SECOND
        wait = max(0.0, operations.STALE_AFTER / SECOND - age)
        return (
            f"Another process is at run {run.run_id} (it showed life {max(0.0, age):.0f} s ago). "
            f"If that process is dead, the run can be taken over in {wait:.0f} s."
        )

    def _start(
        self, session: Session, agent_id: str, day: date, zone: ZoneInfo, size: int
    ) -> tuple[str, Lease]:
        """Draws and stores the sample before any text is read."""
        population = population_of(session, agent_id, day, zone)
        if not population.size:
            raise NothingToAuditError(f"Agent {agent_id!r} has no turns to audit on {day}.")
        seed = new_seed()
        since, until = day_window(day, zone)
        run = NewRun(
            run_id=f"run-{secrets.token_hex(12)}",
            agent_id=agent_id,
            window_from=since,
            window_until=until,
            method=self.method.name,
            method_version=self.method.version,
            seed=seed,
            sample_size=size,
            population=population.size,
            drawn_seq=population.drawn_seq,
        )
        sample = _draw(session, agent_id, population, size, seed)
        return run.run_id, operations.start_run(session, run, sample, self.clock())

    def _examine(self, lease: Lease, run_id: str) -> None:
        """Examines the day's ledger writes once; a resumed run has done so."""
        with self.database.read() as session:
            run = queries.run_called(session, run_id)
            assert run is not None  # noqa: S101 - the lease is of it
            if run.ledger is not None:
                return
            found = examine_ledger(session, lease.agent_id, run.window_from, run.window_until)
        with self.database.write() as session:
            operations.store_ledger(session, lease, found, self.clock())

    def _read_sample(self, lease: Lease, day: date, clockwork: _Clockwork) -> RunState:
        with self.database.read() as session:
            groups = wanted_turns(session, lease.run_id)
            drawn = queries.sample_size_of(session, lease.run_id)
        finished = drawn - sum(map(len, groups))
        for group in groups:
            with contextlib.closing(self._read_session(lease, group, clockwork)) as turns:
                for judged in turns:
                    with self.database.write() as session:
                        operations.store_judged_turn(session, lease, judged, self.clock())
                    finished += 1
                    self.on_progress(Progress(lease.agent_id, day, finished, drawn))
        return RunState.DONE if finished == drawn else RunState.PARTIAL

    def _read_session(
        self, lease: Lease, group: list[WantedTurn], clockwork: _Clockwork
    ) -> Generator[JudgedTurn, None, None]:
        """What becomes of each drawn turn of one session, until the budget is spent."""
        reader = self.method.open_session()
        with self.database.read() as session:
            transcript = Transcript(session, lease.agent_id, group, reader)
            for stop in transcript.stops():
                if clockwork.should_stop():
                    raise StoppedError
                if clockwork.is_over:
                    return
                if stop is not None:
                    yield self._judge(session, lease, transcript, stop)
                elif self.clock() - lease.heartbeat_at > HEARTBEAT_EVERY:
                    with self.database.write() as writing:
                        operations.beat(writing, lease, self.clock())

    def _judge(
        self, session: Session, lease: Lease, transcript: Transcript, stop: Stop
    ) -> JudgedTurn:
        if stop.text is None:
            return left_out_turn(stop, TurnState.UNJUDGED, stop.reason or "its text is missing")
        try:
            claims = transcript.reader.judge(stop.text.output)
        except JudgementFailedError as problem:
            transcript.reader.add_earlier(stop.text.output)
            return left_out_turn(stop, TurnState.FAILED, str(problem))
        record = read_record(session, lease.agent_id, stop.turn.turn_id)
        return judged_turn(stop, claims, transcript.context, record)


_CHUNK = 1_000


def _draw(
    session: Session, agent_id: str, population: Population, size: int, seed: bytes
) -> list[DrawnTurn]:
    drawn = draw(population.strata, size, seed)
    ids = [turn_id for turns in drawn.values() for turn_id in turns]
    places: dict[str, tuple[str, int, int]] = {}
    for start in range(0, len(ids), _CHUNK):
        rows = session.execute(
            select(Turn.turn_id, Turn.session_id, Turn.ts, Turn.seq).where(
                Turn.agent_id == agent_id, Turn.turn_id.in_(ids[start : start + _CHUNK])
            )
        )
        for turn_id, session_id, ts, seq in rows:
            places[turn_id] = (session_id, ts, seq)
    sizes = {key: len(turns) for key, turns in population.strata.items()}
    return in_reading_order(drawn, sizes, places, seed)
