"""Long reads of whole tables past SQLAlchemy's rows, which cost as much as the hashing."""

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import BigInteger, Connection, Engine, FromClause, Select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.expression import FunctionElement

BATCH = 500
_numbers = itertools.count(1)


class Unreadable(Exception):
    """The database cannot give its own content back: its file was damaged."""


class insertion_order(FunctionElement[int]):  # noqa: N801 - named as what it is in a statement
    """A hint at the order in which rows were written: later or rewritten ones rank higher.

    The rowid on SQLite, the writing transaction on PostgreSQL; nothing that could prove anything.
    """

    inherit_cache = True
    name = "insertion_order"
    type = BigInteger()

    def __init__(self, table: FromClause) -> None:
        super().__init__(table.c.seq)


@compiles(insertion_order, "sqlite")
def _rowid(_element: insertion_order, _compiler: SQLCompiler, **_options: Any) -> str:
    return "rowid"


@compiles(insertion_order, "postgresql")
def _transaction(_element: insertion_order, _compiler: SQLCompiler, **_options: Any) -> str:
    return "xmin::text::bigint"


def _cursor_of_sqlite(connection: Connection) -> Any:
    return connection.connection.cursor()


def _cursor_of_postgresql(connection: Connection) -> Any:
    # With a name it stays on the server, which sends a batch at a time.
    driver: psycopg.Connection[Any] = connection.connection.driver_connection  # type: ignore[assignment]
    return driver.cursor(f"doxa_scan_{next(_numbers)}")


_CURSORS: dict[str, Callable[[Connection], Any]] = {
    "sqlite": _cursor_of_sqlite,
    "postgresql": _cursor_of_postgresql,
}


def scan(connection: Connection, statement: Select[Any]) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a statement as the driver gives them, a batch at a time."""
    compiled = statement.compile(dialect=connection.dialect)
    names = compiled.positiontup
    values = compiled.params
    cursor = _CURSORS[connection.dialect.name](connection)
    try:
        with readable():
            cursor.execute(
                str(compiled), values if names is None else tuple(values[name] for name in names)
            )
        while True:
            with readable():
                rows = cursor.fetchmany(BATCH)
            if not rows:
                return
            yield rows
    finally:
        cursor.close()


@contextmanager
def readable() -> Iterator[None]:
    """Raises Unreadable for what only a damaged database answers."""
    try:
        yield
    except (sqlite3.Error, psycopg.Error, DBAPIError) as problem:
        origin = problem.orig if isinstance(problem, DBAPIError) else problem
        if not _is_damage(origin):
            raise
        raise Unreadable(str(origin).strip().splitlines()[0]) from problem


def _is_damage(origin: BaseException | None) -> bool:
    if isinstance(origin, sqlite3.Error):
        # The driver has no code of its own for text that is no UTF-8.
        code = getattr(origin, "sqlite_errorcode", None)
        if code is None:
            return "decode" in str(origin)
        return code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return isinstance(origin, psycopg.errors.DataCorrupted | psycopg.errors.IndexCorrupted)


@contextmanager
def snapshot(engine: Engine, *, is_tolerant: bool = False) -> Iterator[Connection]:
    """One state of the database; when tolerant, text that is no UTF-8 is read all the same."""
    with engine.connect() as connection:
        # Never committed: a damaged file would refuse that, too.
        connection.begin()
        if not is_tolerant:
            yield connection
            return
        with _TOLERANT[connection.dialect.name](connection):
            yield connection


@contextmanager
def _tolerant_sqlite(connection: Connection) -> Iterator[None]:
    driver: sqlite3.Connection = connection.connection.driver_connection  # type: ignore[assignment]
    driver.text_factory = _forgiving
    try:
        yield
    finally:
        driver.text_factory = str


def _forgiving(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


@contextmanager
def _tolerant_postgresql(_connection: Connection) -> Iterator[None]:
    yield  # its text is UTF-8 or refused by the server


_TOLERANT = {"sqlite": _tolerant_sqlite, "postgresql": _tolerant_postgresql}


def damage(connection: Connection) -> list[str]:
    """What is wrong with the database file itself, its indexes beside its tables included."""
    return _DAMAGE[connection.dialect.name](connection)


def _damage_of_sqlite(connection: Connection) -> list[str]:
    with readable():
        rows = connection.exec_driver_sql("PRAGMA integrity_check(10)").all()
    return [str(row[0]) for row in rows if row[0] != "ok"]


def _damage_of_postgresql(_connection: Connection) -> list[str]:
    return []  # its pages carry checksums; pg_amcheck looks at the indexes


_DAMAGE: dict[str, Callable[[Connection], list[str]]] = {
    "sqlite": _damage_of_sqlite,
    "postgresql": _damage_of_postgresql,
}
