"""Many rows in one statement, past the ORM, which costs ten times the CPU on the ingest path."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from sqlalchemy import Table
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from service.db.refusals import AlreadyRecorded, is_duplicate

# SQLite takes 32,766 parameters in a statement, PostgreSQL 65,535.
MAX_PARAMETERS = 32_000
# Beyond a few hundred rows a longer statement gains nothing and costs parse time.
MAX_ROWS = 400
# SQLite keeps a journal for a statement of many rows that may be undone alone. Nothing here is: who
# meets a taken key rolls back to before the first row.
_INSERT = {"sqlite": "INSERT OR FAIL INTO", "postgresql": "INSERT INTO"}
_PLACEHOLDERS = {"qmark": "?", "format": "%s", "pyformat": "%s"}


@lru_cache(maxsize=512)
def _statement(
    table: Table, rows: int, placeholder: str, insert: str, keys: tuple[str, ...]
) -> str:
    columns = [column.name for column in table.columns]
    group = f"({', '.join([placeholder] * len(columns))})"
    text = f"{insert} {table.name} ({', '.join(columns)}) VALUES {', '.join([group] * rows)}"
    if not keys:
        return text
    updates = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in keys)
    return f"{text} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {updates}"


@lru_cache(maxsize=512)
def _lookup(table: Table, key: str, keys: int, placeholder: str) -> str:
    columns = ", ".join(column.name for column in table.columns)
    places = ", ".join([placeholder] * keys)
    return (
        f"SELECT {columns} FROM {table.name} "  # noqa: S608
        f"WHERE agent_id = {placeholder} AND {key} IN ({places})"
    )


def rows_by_key(
    session: Session, table: Table, key: str, subjects: Iterable[tuple[str, str]]
) -> list[tuple[Any, ...]]:
    """The rows of (agent_id, key) pairs that there are, columns in the order of the table.

    Written out here because a tuple-IN of SQLAlchemy's costs more than the fold it feeds.
    """
    by_agent: dict[str, list[str]] = {}
    for agent_id, value in subjects:
        by_agent.setdefault(agent_id, []).append(value)
    connection = session.connection()
    placeholder = _PLACEHOLDERS[connection.dialect.paramstyle]
    found: list[tuple[Any, ...]] = []
    for agent_id, values in by_agent.items():
        for start in range(0, len(values), MAX_ROWS):
            chunk = values[start : start + MAX_ROWS]
            # Filled up to a power of two, so that few different statements are ever prepared.
            chunk += [chunk[-1]] * ((1 << (len(chunk) - 1).bit_length()) - len(chunk))
            statement = _lookup(table, key, len(chunk), placeholder)
            result = connection.exec_driver_sql(statement, (agent_id, *chunk))
            found.extend(tuple(row) for row in result)
    return found


def insert_rows(session: Session, table: Table, rows: Sequence[Sequence[Any]]) -> None:
    """Inserts rows, each in the order of the columns; raises AlreadyRecorded on a taken key."""
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
    insert = _INSERT[connection.dialect.name]
    size = min(MAX_ROWS, MAX_PARAMETERS // len(table.columns))
    for start in range(0, len(rows), size):
        chunk = rows[start : start + size]
        parameters = tuple(chain.from_iterable(chunk))
        connection.exec_driver_sql(
            _statement(table, len(chunk), placeholder, insert, keys), parameters
        )
