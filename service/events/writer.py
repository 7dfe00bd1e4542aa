"""The one thread that commits what is ingested: many requests in each transaction."""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy.orm import Session

from service.agents.operations import ensure_agents
from service.db.database import Database
from service.db.refusals import AlreadyRecorded, translated
from service.errors import Unavailable
from service.events.log import Grown, LogPositions
from service.events.operations import Projectors, Sorted, append, sort_out
from service.events.parsing import BadItem, refuse
from service.events.schemas import Accepted, Event, Rejection
from service.events.vocabulary import Log

# Two large batches: what waits beyond them is read while these are written, and both threads
# have work to do.
MAX_ITEMS_A_COMMIT = 2_000

_LOGGER = logging.getLogger(__name__)


class Job(Protocol):
    """Something to be done in the writer's transaction."""

    @property
    def logs(self) -> Iterable[tuple[str, str]]:
        """The logs that must be locked."""

    @property
    def size(self) -> int:
        """How many items it holds."""

    def run(self, session: Session, positions: LogPositions) -> Any:
        """Does it; what it raises goes to the caller, and only this job is rolled back."""


@dataclass(slots=True)
class EventBatch:
    """The events of one request; with `skip`, what is bad does not hold up the rest."""

    events: list[Event]
    bad: list[BadItem]
    skip: bool
    is_single: bool = False

    @property
    def logs(self) -> Iterable[tuple[str, str]]:
        """The logs that must be locked.

        The agent's own always: a subject is folded from both, and one process at a time.
        """
        found = {(event.agent_id, event.log) for event in self.events}
        return found | {(agent_id, str(Log.AGENT)) for agent_id, _ in found}

    @property
    def size(self) -> int:
        """How many items it holds."""
        return len(self.events)


@dataclass(slots=True)
class _Pending:
    job: EventBatch | Job
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    problem: BaseException | None = None


@dataclass(slots=True)
class WriterCounts:
    """What the writer did since it started."""

    commits: int = 0
    items: int = 0
    failures: int = 0


class Writer:
    """Takes jobs from any event loop and answers each after the commit that holds it."""

    def __init__(
        self,
        database: Database,
        projectors: Projectors,
        *,
        max_pending_items: int,
        clock: Callable[[], int],
        after_commit: Callable[[Sequence[Grown]], None] | None = None,
    ) -> None:
        """`after_commit` hears at the start, and before the callers which logs have grown."""
        self._database = database
        self._projectors = projectors
        self._max_pending_items = max_pending_items
        self._clock = clock
        self._after_commit = after_commit
        self._known_agents: set[str] = set()
        self._queue: queue.SimpleQueue[_Pending | None] = queue.SimpleQueue()
        self._pending_items = 0
        self._gate = threading.Lock()
        self._closed = False
        self.counts = WriterCounts()
        self._thread = threading.Thread(target=self._serve, name="doxa-writer", daemon=True)

    @property
    def projectors(self) -> Projectors:
        """The table from event type to projecting functions."""
        return self._projectors

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs and takes jobs."""
        return self._thread.is_alive() and not self._closed

    @property
    def pending_items(self) -> int:
        """Items that wait for their commit."""
        return self._pending_items

    def start(self) -> None:
        """Starts the thread."""
        self._thread.start()

    def close(self) -> None:
        """Takes nothing new, commits what was accepted, and ends the thread."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join()

    async def submit(self, job: EventBatch | Job) -> Any:
        """The job's result after its commit; raises what refused it, Unavailable when too busy."""
        loop = asyncio.get_running_loop()
        pending = _Pending(job, loop, loop.create_future())
        with self._gate:
            if self._closed:
                raise Unavailable("Doxa is stopping: send it again to the next one.")
            if self._pending_items and self._pending_items + job.size > self._max_pending_items:
                raise Unavailable(
                    f"{self._pending_items} items wait for a commit (DOXA_MAX_PENDING_ITEMS)."
                )
            self._pending_items += job.size
            self._queue.put(pending)
        return await pending.future

    def _serve(self) -> None:
        self._tell([])
        while (first := self._queue.get()) is not None:
            group, is_last = self._gather(first)
            self._commit(group)
            self._answer(group)
            if is_last:
                return

    def _gather(self, first: _Pending) -> tuple[list[_Pending], bool]:
        group, items = [first], first.job.size
        while items < MAX_ITEMS_A_COMMIT:
            try:
                following = self._queue.get_nowait()
            except queue.Empty:
                return group, False
            if following is None:
                return group, True
            group.append(following)
            items += following.job.size
        return group, False

    def _commit(self, group: list[_Pending], *, carefully: bool = False) -> None:
        logs = {pair for pending in group for pair in pending.job.logs}
        agents = {agent_id for agent_id, _ in logs}
        batches = [(p, p.job) for p in group if isinstance(p.job, EventBatch)]
        try:
            with self._database.write() as session:
                positions = LogPositions(session)
                positions.lock(logs, carefully=carefully)
                if unknown := agents - self._known_agents:
                    ensure_agents(session, unknown, self._clock())
                append_batches = self._append_new if carefully else self._append_all
                append_batches(session, positions, batches)
                for pending in group:
                    if not isinstance(pending.job, EventBatch):
                        self._run(session, positions, pending, pending.job)
                positions.store()
        except AlreadyRecorded as problem:
            if carefully:
                self._fail(group, problem)
                return
            # Rare: only now is it worth asking which ids are taken, and to begin anew.
            for pending in group:
                pending.result = pending.problem = None
            self._commit(group, carefully=True)
            return
        except Exception as problem:  # noqa: BLE001 - the thread outlives any failure, and callers are told
            self._fail(group, problem)
            return
        self._known_agents |= agents
        self.counts.commits += 1
        self.counts.items += sum(pending.job.size for pending in group)
        self._tell(positions.grown)

    def _tell(self, grown: Sequence[Grown]) -> None:
        if self._after_commit is None:
            return
        try:
            self._after_commit(grown)
        except Exception as problem:  # noqa: BLE001 - what is committed is answered, whatever follows
            self.counts.failures += 1
            _LOGGER.warning("What follows a commit failed: %s", problem)

    def _fail(self, group: list[_Pending], problem: Exception) -> None:
        self.counts.failures += 1
        if len(group) > 1 and not isinstance(problem, Unavailable):
            # One request of many brought the commit down: the others are not to suffer for it.
            for pending in group:
                pending.result = pending.problem = None
                self._commit([pending])
            return
        for pending in group:
            pending.result, pending.problem = None, problem

    def _append_all(
        self,
        session: Session,
        positions: LogPositions,
        batches: Sequence[tuple[_Pending, EventBatch]],
    ) -> None:
        events = [event for _, batch in batches for event in batch.events]
        if events:
            append(session, positions, events, self._projectors)
        for pending, batch in batches:
            pending.result = _accepted(batch, batch.events, 0, [])

    def _append_new(
        self,
        session: Session,
        positions: LogPositions,
        batches: Sequence[tuple[_Pending, EventBatch]],
    ) -> None:
        seen: dict[Any, Event] = {}
        fresh: list[Event] = []
        taken: list[tuple[_Pending, EventBatch, Sorted]] = []
        for pending, batch in batches:
            found = sort_out(session, batch.events, seen)
            if found.conflicts and not batch.skip:
                pending.problem = refuse(batch.bad, found.conflicts, is_single=batch.is_single)
                continue
            taken.append((pending, batch, found))
            fresh.extend(found.fresh)
            seen.update({(e.agent_id, e.log, e.event_id): e for e in found.fresh})
        if fresh:
            append(session, positions, fresh, self._projectors)
        for pending, batch, found in taken:
            pending.result = _accepted(batch, found.fresh, found.duplicates, found.conflicts)

    def _run(self, session: Session, positions: LogPositions, pending: _Pending, job: Job) -> None:
        positions.store()
        try:
            with translated(), session.begin_nested():
                pending.result = job.run(session, positions)
                positions.store()
        except Unavailable:
            # The database gave up on the whole transaction, and what stood in it is gone: whoever
            # else was in this commit must not be told that it is stored.
            raise
        except Exception as problem:  # noqa: BLE001 - only this job fails; its caller is told
            positions.restart()
            pending.problem = problem

    def _answer(self, group: list[_Pending]) -> None:
        with self._gate:
            self._pending_items -= sum(pending.job.size for pending in group)
        by_loop: dict[asyncio.AbstractEventLoop, list[_Pending]] = {}
        for pending in group:
            by_loop.setdefault(pending.loop, []).append(pending)
        for loop, ready in by_loop.items():
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, ready)


def _resolve(ready: list[_Pending]) -> None:
    for pending in ready:
        if pending.future.done():
            continue  # the caller has gone away; what it sent is stored all the same
        if pending.problem is not None:
            pending.future.set_exception(pending.problem)
        else:
            pending.future.set_result(pending.result)


def _accepted(
    batch: EventBatch, accepted: Sequence[Event], duplicates: int, conflicts: list[BadItem]
) -> Accepted:
    rejected = [
        Rejection(item.index, fault.pointer, fault.reason)
        for item in sorted(batch.bad + conflicts, key=lambda item: item.index)
        for fault in item.faults
    ]
    receipts = [event.receipt for event in accepted if event.receipt is not None]
    return Accepted(len(accepted), duplicates, rejected, receipts)
