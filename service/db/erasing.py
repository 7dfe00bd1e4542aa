"""What becomes of the bytes of a payload that was removed, in each database's files."""

import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from service.db.database import Database
from service.db.refusals import translated

# How long emptying the log waits for readers of what stood in it.
_PATIENCE_MS = 2_000
# VACUUM writes the file once into the log and once back: so much of it must be free beside it.
_ROOM = 2.1


def overwrite_what_goes(session: Session) -> None:
    """From now on what this connection removes is overwritten with zeros where the file has it."""
    _OVERWRITES[session.connection().dialect.name](session)


def empty_log(database: Database) -> bool | None:
    """Empties the write-ahead log of what was removed; False where a reader still needs it.

    None where the database has files that are not ours to touch.
    """
    return _EMPTIES[database.writing.dialect.name](database)


@dataclass(frozen=True, slots=True)
class Shrunk:
    """The size of the database before and after, in bytes; `reason` says why it is no smaller."""

    before: int
    after: int
    reason: str | None = None


def shrink(database: Database) -> Shrunk:
    """Gives the disk back what removed payloads leave free. Others cannot write meanwhile."""
    return _SHRINKS[database.writing.dialect.name](database)


def stored_bytes(engine: Engine) -> int:
    """The size of the database on disk."""
    return _SIZES[engine.dialect.name](engine)


def _overwrite_sqlite(session: Session) -> None:
    session.connection().exec_driver_sql("PRAGMA secure_delete = ON")


def _path(engine: Engine) -> Path:
    with engine.connect() as connection:
        return Path(connection.exec_driver_sql("PRAGMA database_list").all()[0][2])


def _empty_sqlite(database: Database) -> bool:
    def truncate(driver: sqlite3.Connection) -> bool:
        patience = driver.execute("PRAGMA busy_timeout").fetchone()[0]
        driver.execute(f"PRAGMA busy_timeout = {_PATIENCE_MS}")
        try:
            (is_busy, _, _) = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError:
            return False  # another process writes or checkpoints without end
        finally:
            driver.execute(f"PRAGMA busy_timeout = {patience}")
        return not is_busy

    return bool(_alone(database, truncate))


def _alone(database: Database, work: Callable[[sqlite3.Connection], Any]) -> Any:
    """Runs something outside any transaction while nobody else of this process writes."""
    with database.alone() as engine:
        pooled = engine.raw_connection()
        try:
            driver = pooled.driver_connection
            if not isinstance(driver, sqlite3.Connection):
                raise TypeError("not a connection of SQLite")
            return work(driver)
        finally:
            pooled.close()


def _shrink_sqlite(database: Database) -> Shrunk:
    path = _path(database.reading)
    before = _size_of_sqlite(database.reading)
    if shutil.disk_usage(path.parent).free < before * _ROOM:
        return Shrunk(before, before, "the disk has no room for the copy that VACUUM makes")

    def vacuum(driver: sqlite3.Connection) -> str | None:
        try:
            driver.execute("VACUUM")
        except sqlite3.OperationalError as problem:
            return str(problem)
        return None

    reason = _alone(database, vacuum)
    if not _empty_sqlite(database) and reason is None:
        reason = "a reader holds the log open: the file is cut when it has gone"
    return Shrunk(before, _size_of_sqlite(database.reading), reason)


def _size_of_sqlite(engine: Engine) -> int:
    path = _path(engine)
    parts = (path, path.with_name(f"{path.name}-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())


def _shrink_postgresql(database: Database) -> Shrunk:
    before = _size_of_postgresql(database.reading)
    notices: list[str] = []
    with translated(), database.writing.connect() as pooled:
        connection = pooled.execution_options(isolation_level="AUTOCOMMIT")
        driver: psycopg.Connection[Any] = connection.connection.driver_connection  # type: ignore[assignment]
        handler = _noting(notices)
        driver.add_notice_handler(handler)
        try:
            connection.exec_driver_sql("VACUUM turns, cog_events")
        finally:
            driver.remove_notice_handler(handler)
    reason = (
        notices[0]
        if notices
        else "what is free is used again; only VACUUM FULL, by the owner, makes the files smaller"
    )
    return Shrunk(before, _size_of_postgresql(database.reading), reason)


def _noting(notices: list[str]) -> Callable[[psycopg.errors.Diagnostic], None]:
    def note(diagnostic: psycopg.errors.Diagnostic) -> None:
        notices.append(str(diagnostic.message_primary))

    return note


def _size_of_postgresql(engine: Engine) -> int:
    with translated(), engine.connect() as connection:
        size = connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar()
        return int(size or 0)


_OVERWRITES: dict[str, Callable[[Session], None]] = {
    "sqlite": _overwrite_sqlite,
    "postgresql": lambda _session: None,
}
_EMPTIES: dict[str, Callable[[Database], bool | None]] = {
    "sqlite": _empty_sqlite,
    "postgresql": lambda _database: None,
}
_SHRINKS: dict[str, Callable[[Database], Shrunk]] = {
    "sqlite": _shrink_sqlite,
    "postgresql": _shrink_postgresql,
}
_SIZES: dict[str, Callable[[Engine], int]] = {
    "sqlite": _size_of_sqlite,
    "postgresql": _size_of_postgresql,
}
