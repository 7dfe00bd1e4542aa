"""A transaction that the database itself undid half-way is acknowledged to nobody."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import DBAPIError, PendingRollbackError
from sqlalchemy.orm import Session

from service.app import projectors
from service.db.database import Database
from service.errors import Unavailable
from service.events.log import LogPositions
from service.events.writer import EventBatch, Writer
from service.models import Agent, CogEvent
from tests.service.factories import AGENT, NOW, an_event, post


@contextmanager
def _interrupted(connection: Any) -> Iterator[None]:
    """SQLite undoes the whole transaction of a write that is interrupted, as it does for EIO."""
    connection.set_progress_handler(lambda: 1, 1)
    try:
        yield
    finally:
        connection.set_progress_handler(None, 1)


@contextmanager
def _terminated(connection: Any) -> Iterator[None]:
    """The server's process behind the connection ends, as it does when the server is killed."""
    with psycopg.connect(connection.info.dsn, password=connection.info.password) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", (connection.info.backend_pid,))
    yield


_BREAKING: dict[str, Callable[[Any], Any]] = {"sqlite": _interrupted, "postgresql": _terminated}


class BreakingJob:
    """A job in whose middle the database gives the transaction up."""

    logs: Iterable[tuple[str, str]] = ((AGENT, "agent"),)
    size = 1
    has_broken = False

    def run(self, session: Session, positions: LogPositions) -> Any:
        """Breaks, once."""
        if self.has_broken:
            return "done"
        self.has_broken = True
        connection = session.connection()
        with _BREAKING[connection.dialect.name](connection.connection.driver_connection):
            session.execute(update(Agent).values(model=None))
        raise AssertionError("the statement was to fail")


def _in_one_commit(database: Database, jobs: list[Any]) -> list[Any]:
    """The outcomes of jobs that wait before the writer starts, so that one commit takes them."""

    async def submitted() -> list[Any]:
        tasks = [asyncio.create_task(writer.submit(job)) for job in jobs]
        await asyncio.sleep(0)
        writer.start()
        return await asyncio.gather(*tasks, return_exceptions=True)

    writer = Writer(database, projectors(), max_pending_items=1_000, clock=lambda: NOW)
    try:
        return asyncio.run(submitted())
    finally:
        writer.close()


def _stored(database: Database) -> set[str]:
    with database.read() as session:
        return set(session.scalars(select(CogEvent.event_id)))


def test_a_job_that_loses_the_transaction_takes_no_other_with_it_into_a_false_answer(
    database: Database,
) -> None:
    first, beside = an_event(), an_event()
    post(database, [first])
    job = BreakingJob()
    outcomes = _in_one_commit(database, [EventBatch([beside], [], skip=False), job])
    assert job.has_broken
    answered = {beside.event_id} if not isinstance(outcomes[0], BaseException) else set()
    assert answered <= _stored(database), "answered as accepted, and not stored"
    for outcome in outcomes:
        assert isinstance(outcome, Unavailable), outcome
    again = _in_one_commit(database, [EventBatch([beside], [], skip=False), job])
    assert (again[0].accepted, again[1]) == (1, "done")
    assert _stored(database) == {first.event_id, beside.event_id}


def _swallow_a_loss(database: Database) -> None:
    with database.write() as session:
        connection = session.connection()
        breaking = _BREAKING[connection.dialect.name]
        with suppress(DBAPIError), breaking(connection.connection.driver_connection):
            connection.execute(update(Agent).values(model=None))


def test_a_swallowed_loss_of_the_transaction_is_no_commit(database: Database) -> None:
    with pytest.raises((Unavailable, PendingRollbackError)):
        _swallow_a_loss(database)
