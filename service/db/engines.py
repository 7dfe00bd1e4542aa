"""How each database is opened. The one place that chooses by dialect, from a dict."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from service.errors import ConfigurationError, Unavailable

BUSY_TIMEOUT_MS = 30_000
_READING_PRAGMAS = (f"busy_timeout = {BUSY_TIMEOUT_MS}", "foreign_keys = ON")
_WRITING_PRAGMAS = (
    *_READING_PRAGMAS,
    "journal_mode = WAL",
    "synchronous = FULL",
    # KiB when negative. What a batch touches of ten indexes should stay in memory.
    "cache_size = -32768",
    # Pages. The hot pages of the indexes are written back once in 32 MiB of log, not in 4.
    "wal_autocheckpoint = 8192",
    # A reader that held the log open for long leaves a large file behind: cut it.
    f"journal_size_limit = {64 * 2**20}",
)


def _refuse_empty_commit(connection: Any) -> None:
    # After EIO, a full disk or an interrupt SQLite may have undone the transaction by itself, and
    # the driver's commit then does nothing and says nothing.
    if not connection.connection.driver_connection.in_transaction:
        raise Unavailable("The database undid the transaction. Send it again.")


def _sqlite_engine(url: URL, *, read_only: bool) -> Engine:
    if not url.database or url.database == ":memory:":
        raise ConfigurationError("DOXA_DATABASE_URL names no file: write sqlite:///path/to/doxa.db")
    path = Path(url.database)
    if not read_only:
        _make_folder(path.parent)

    def connect() -> sqlite3.Connection:
        # autocommit mode of the driver: BEGIN is ours (below), so that a write takes its lock at
        # once and a read holds one snapshot.
        mode = "?mode=ro" if read_only else ""
        return sqlite3.connect(
            f"{path.resolve().as_uri()}{mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=BUSY_TIMEOUT_MS / 1000,
            cached_statements=512,
        )

    engine = create_engine(
        "sqlite://", creator=connect, poolclass=QueuePool, pool_size=8, max_overflow=64
    )
    begin = "BEGIN" if read_only else "BEGIN IMMEDIATE"

    @event.listens_for(engine, "connect")
    def _configure(connection: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        cursor = connection.cursor()
        for pragma in _READING_PRAGMAS if read_only else _WRITING_PRAGMAS:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    event.listen(engine, "commit", _refuse_empty_commit)
    return engine


def _postgresql_engine(url: URL, *, read_only: bool) -> Engine:
    engine = create_engine(
        url,
        pool_size=8,
        max_overflow=64,
        pool_pre_ping=True,
        connect_args={"connect_timeout": 10, "options": "-c timezone=UTC -c lock_timeout=30s"},
        isolation_level="REPEATABLE READ" if read_only else "READ COMMITTED",
    )
    if read_only:

        @event.listens_for(engine, "begin")
        def _begin(connection: Any) -> None:
            connection.exec_driver_sql("SET TRANSACTION READ ONLY")

    return engine


_OPENERS: dict[str, Callable[..., Engine]] = {
    "sqlite": _sqlite_engine,
    "postgresql": _postgresql_engine,
}
_DRIVERS = frozenset({"sqlite", "sqlite+pysqlite", "postgresql", "postgresql+psycopg"})


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ConfigurationError(
            f"The data folder {folder} cannot be made ({problem.strerror}): name another with "
            "--data-dir or DOXA_DATA_DIR."
        ) from None


def open_engine(url: str, *, read_only: bool) -> Engine:
    """An engine for a SQLite or PostgreSQL URL; ConfigurationError says what can be written."""
    try:
        parsed = make_url(url)
        opener = _OPENERS.get(parsed.get_backend_name())
        has_driver = parsed.drivername in _DRIVERS
    except (ArgumentError, ValueError):
        opener, has_driver = None, False
    if opener is None or not has_driver:
        raise ConfigurationError(
            "DOXA_DATABASE_URL is none that Doxa can open: write sqlite:///path/to/doxa.db or "
            "postgresql://user:password@host/database."
        )
    return opener(parsed, read_only=read_only)
