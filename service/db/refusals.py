"""Translates what a database refuses into errors that a caller can act on."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from sqlalchemy.exc import DBAPIError, IntegrityError

from service.errors import ConfigurationError, Unavailable


class AlreadyRecorded(Exception):
    """A unique key was taken: the caller looks for the duplicate and answers for it."""


# Classes of SQLSTATE that a later try may not meet again: connection, rollback by a conflict,
# resources, an object in use, an operator's intervention.
_PASSING_CLASSES = ("08", "40", "53", "55", "57")
_PASSING_CODES = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PROTOCOL,
        sqlite3.SQLITE_INTERRUPT,
    }
)


def _may_pass(origin: BaseException | None) -> bool:
    """Whether the refusal is about the moment, and not about what was sent."""
    if isinstance(origin, sqlite3.OperationalError):
        return getattr(origin, "sqlite_errorcode", sqlite3.SQLITE_BUSY) & 0xFF in _PASSING_CODES
    if isinstance(origin, psycopg.OperationalError):
        return origin.sqlstate is None or origin.sqlstate.startswith(_PASSING_CLASSES)
    return False


def _is_broken_file(origin: BaseException | None) -> bool:
    code = getattr(origin, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT)


@contextmanager
def translated() -> Iterator[None]:
    """Raises `Unavailable` for a locked, full, lost or stopping database, both drivers alike."""
    try:
        yield
    except DBAPIError as problem:
        origin = _first_cause(problem).orig
        if problem.connection_invalidated or _may_pass(origin):
            reason = str(origin).strip().splitlines()[0] if str(origin).strip() else "no answer"
            raise Unavailable(
                f"The database did not take it ({reason}). Send it again."
            ) from problem
        if _is_broken_file(origin):
            raise ConfigurationError(
                f"The database file cannot be read ({origin}): restore a backup, or name another "
                "folder with DOXA_DATA_DIR."
            ) from problem
        raise


def _first_cause(problem: DBAPIError) -> DBAPIError:
    """What the database refused first.

    Where it undid the transaction by itself, going back to a savepoint fails as well, and that
    failure would hide why.
    """
    while isinstance(problem.__context__, DBAPIError):
        problem = problem.__context__
    return problem


# What the guard of a write-once table says on SQLite before the unique key itself can.
_GUARD = "already recorded: "


def is_duplicate(problem: IntegrityError) -> bool:
    """Whether a unique key, a primary key or the guard before them refused the row."""
    origin = problem.orig
    if isinstance(origin, sqlite3.IntegrityError):
        if origin.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_TRIGGER:
            return str(origin).startswith(_GUARD)
        return origin.sqlite_errorcode in (
            sqlite3.SQLITE_CONSTRAINT_UNIQUE,
            sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY,
        )
    return isinstance(origin, psycopg.errors.UniqueViolation)
