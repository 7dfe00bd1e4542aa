"""Many rows in one statement, past the ORM, which costs ten times the CPU on the ingest path."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Table
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.db.refusals import AlreadyRecorded, is_duplicate

# SQLite takes 32,766 parameters in a statement, PostgreSQL 65,535.
MAX_PARAMETERS = 32_000
# Beyond a few hundred rows a longer statement gains nothing and costs parse time.
MAX_ROWS = 400
_PLACEHOLDERS = {"qmark": "?", "format": "%s", "pyformat": "%s"}


@lru_cache(maxsize=512)
def _statement(table: Table, rows: int, placeholder: str, keys: tuple[str, ...]) -> str:
    columns = [column.name for column in table.columns]
    group = f"({', '.join([placeholder] * len(columns))})"
    text = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES {', '.join([group] * rows)}"  # noqa: S608
    if not keys:
        return text
    updates = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in keys)
    return f"{text} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {updates}"


def insert_rows(session: Session, table: Table, rows: Sequence[Sequence[Any]]) -> None:
    """Inserts rows (each in the order of the table's columns); raises AlreadyRecorded on a taken key."""
    try:
        _execute(session, table, rows, ())
    except IntegrityError as problem:
        if is_duplicate(problem):
            raise AlreadyRecorded(table.name) from problem
        raise


def upsert_rows(session: Session, table: Table, rows: Sequence[Sequence[Any]]) -> None:
    """Inserts rows or replaces what stands under the same primary key; for projections only."""
    _execute(session, table, rows, tuple(column.name for column in table.primary_key))


def _execute(
    session: Session, table: Table, rows: Sequence[Sequence[Any]], keys: tuple[str, ...]
) -> None:
    connection = session.connection()
    placeholder = _PLACEHOLDERS[connection.dialect.paramstyle]
    size = min(MAX_ROWS, MAX_PARAMETERS // len(table.columns))
    for start in range(0, len(rows), size):
        chunk = rows[start : start + size]
        parameters = tuple([value for row in chunk for value in row])
        connection.exec_driver_sql(_statement(table, len(chunk), placeholder, keys), parameters)
