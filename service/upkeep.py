"""What the service does by the clock: contradictions expire, hand-checks are drawn, payloads go.

It is the service's own and runs beside it with or without an auditor. Several services over one
database may do this at once: what is due is looked at again under the lock, so each is done once.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import groupby
from threading import Event

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler

from service.contradictions.expiry import BATCH, ExpireDue, due
from service.db.database import Database
from service.db.erasing import empty_log, shrink, stored_bytes
from service.errors import LedgerError
from service.events.writer import Writer
from service.hand_checks.operations import draw_missing, missing
from service.instants import parse_duration
from service.redactions.retention import Aged, remove_aged

# An expiry is dated by its time to live, not by this: it bounds how late it is noticed.
EXPIRY_SECONDS = 10
# A week's draw is due once a week; a queue that is read before draws it itself.
DRAW_SECONDS = 600
# When payloads are removed that have reached their age; the nightly audits begin before.
RETENTION_HOUR_UTC = 4
# Of the database so much must have been removed before its file is written anew.
_WORTH_SHRINKING = 0.1
_log = logging.getLogger("doxa.upkeep")


class Upkeep:
    """Runs in threads of its own: `start` returns at once, `stop` after what is under way."""

    def __init__(
        self,
        database: Database,
        writer: Writer,
        *,
        clock: Callable[[], int],
        retain_payloads: str | None = None,
    ) -> None:
        self._database = database
        self._writer = writer
        self._clock = clock
        self._retain_payloads = retain_payloads
        self._stopping = Event()
        self._scheduler = BackgroundScheduler(
            timezone=UTC,
            # A long removal holds up no expiry.
            executors={"default": ThreadPoolExecutor(1), "retention": ThreadPoolExecutor(1)},
            # However long the machine slept, one look catches up with all of it.
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )

    def start(self) -> None:
        """Catches up at once with what fell due while nothing ran."""
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        now = datetime.now(UTC)
        for work, seconds in ((self._expire, EXPIRY_SECONDS), (self._draw, DRAW_SECONDS)):
            self._scheduler.add_job(work, "interval", seconds=seconds, next_run_time=now)
        if self._retain_payloads is not None:
            self._scheduler.add_job(
                self._retain, "cron", hour=RETENTION_HOUR_UTC, executor="retention"
            )
        self._scheduler.start()

    def stop(self) -> None:
        """Takes up nothing new."""
        self._stopping.set()
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)

    def _expire(self) -> None:
        # The writer begins with the server, which begins after this.
        while not self._writer.is_alive and not self._stopping.wait(0.05):
            pass
        self._carefully(self.expire_due)

    def _draw(self) -> None:
        self._carefully(self.draw_hand_checks)

    def _retain(self) -> None:
        self._carefully(self.remove_aged_payloads)

    def _carefully(self, work: Callable[[], int]) -> None:
        try:
            while not self._stopping.is_set() and work():
                pass
        except LedgerError as problem:
            if not self._stopping.is_set() and self._writer.is_alive:
                _log.warning("upkeep is tried again later: %s", problem)

    def expire_due(self) -> int:
        """Closes contradictions whose time has run out, one commit's worth; how many."""
        now = self._clock()
        with self._database.read() as session:
            found = due(session, now, limit=BATCH)
        closed = 0
        for agent_id, pairs in groupby(found, key=lambda pair: pair[0]):
            named = [contradiction_id for _, contradiction_id in pairs]
            job = ExpireDue(agent_id, named, now, self._writer.projectors)
            closed += asyncio.run(self._writer.submit(job))
        if closed:
            _log.info("%d contradictions expired", closed)
        return closed

    def draw_hand_checks(self) -> int:
        """Draws what a week that has ended still lacks; always 0, as one look draws all."""
        now = self._clock()
        with self._database.read() as session:
            is_missing = bool(missing(session, now))
        if is_missing:
            with self._database.write() as session:
                draw_missing(session, missing(session, now), now)
        return 0

    def remove_aged_payloads(self) -> int:
        """Removes payloads that have reached their age; always 0, as one look removes all."""
        if self._retain_payloads is None:
            return 0
        now, age = self._clock(), self._retain_payloads
        aged = Aged(now - parse_duration(age), age, self._writer.projectors)
        try:
            removed = remove_aged(self._database, aged, now, self._go_on)
        except _Stopped:
            return 0  # the next night goes on
        _log.info("%d turns and %d events lost their payload", removed.turns, removed.events)
        if removed.bytes > stored_bytes(self._database.reading) * _WORTH_SHRINKING:
            shrunk = shrink(self._database)
            _log.info("the database has %d bytes, before it had %d", shrunk.after, shrunk.before)
        elif removed.bytes:
            empty_log(self._database)
        return 0

    def _go_on(self, _removed: int) -> None:
        if self._stopping.is_set():
            raise _Stopped


class _Stopped(Exception):
    """The service stops in the middle of a long removal."""
