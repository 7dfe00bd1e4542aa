"""Translates what a database refuses into errors that a caller can act on."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DBAPIError, IntegrityError

from service.errors import Unavailable


class AlreadyRecorded(Exception):
    """A unique key was taken: the caller looks for the duplicate and answers for it."""


@contextmanager
def translated() -> Iterator[None]:
    """Raises `Unavailable` for a locked, full, lost or stopping database, both drivers alike."""
    try:
        yield
    except DBAPIError as problem:
        origin = problem.orig
        if isinstance(origin, sqlite3.OperationalError | psycopg.OperationalError) or (
            problem.connection_invalidated
        ):
            reason = str(origin).strip().splitlines()[0] if str(origin).strip() else "no answer"
            raise Unavailable(
                f"The database did not take it ({reason}). Send it again."
            ) from problem
        raise


def is_duplicate(problem: IntegrityError) -> bool:
    """Whether a unique key or primary key refused the row."""
    origin = problem.orig
    if isinstance(origin, sqlite3.IntegrityError):
        return origin.sqlite_errorcode in (
            sqlite3.SQLITE_CONSTRAINT_UNIQUE,
            sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
        )
    return isinstance(origin, psycopg.errors.UniqueViolation)
