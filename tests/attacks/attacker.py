"""Somebody with a connection of his own, and a row in every write-once table for him to attack."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from sqlalchemy import Double, Integer, LargeBinary, Table, make_url, select

from service.db.database import Database
from service.models import LedgerChange, Record

AGENT = "piper"
WRITE_ONCE = (
    "audited_turns", "belief_versions", "bench_runs", "cog_events", "findings",
    "hand_check_verdicts", "inference_contexts", "inference_resolutions", "ledger_changes",
    "redactions", "shadow_inferences", "turns",
)  # fmt: skip
PAYLOADS = {"cog_events": ("detail", "detail_salt"), "turns": ("payload", "payload_salt")}
Rows = list[tuple[Any, ...]]


def table_called(name: str) -> Table:
    return Record.metadata.tables[name]


def a_row(table: Table, number: int = 1) -> dict[str, Any]:
    """A whole row: what the types of its columns ask for, texts ending in a number."""
    row: dict[str, Any] = {}
    for column in table.columns:
        if isinstance(column.type, LargeBinary):
            row[column.name] = bytes([number])
        elif isinstance(column.type, Double):
            row[column.name] = 0.5
        elif isinstance(column.type, Integer):
            row[column.name] = number
        else:
            row[column.name] = f"{column.name}-{number}"
    fixed = {"agent_id": AGENT, "log": "agent", "target_log": "agent", "target_table": table.name}
    return row | {name: value for name, value in fixed.items() if name in row}


def lay_down(database: Database, numbers: tuple[int, ...] = (1, 2)) -> None:
    """Puts rows into every write-once table, as a restored record would hold them."""
    with database.write() as session:
        for name in WRITE_ONCE:
            table = table_called(name)
            for number in numbers:
                row = a_row(table, number)
                row.pop("change_id", None)  # the change table numbers its rows itself
                session.execute(table.insert().values(row))


def rows_of(database: Database, name: str) -> Rows:
    table = table_called(name)
    with database.read() as session:
        rows = session.execute(select(*table.columns).order_by(*table.primary_key.columns))
        return [tuple(row) for row in rows]


def notes(database: Database, after: int = 0) -> list[tuple[str, str]]:
    """What was caught, as (table, op), in order."""
    with database.read() as session:
        rows = session.execute(
            select(LedgerChange.table_name, LedgerChange.op)
            .where(LedgerChange.change_id > after)
            .order_by(LedgerChange.change_id)
        )
        return [(table, op) for table, op in rows]


@dataclass(frozen=True, slots=True)
class Attacker:
    """A connection; `attempt` answers what the database said, or None when it said nothing."""

    connection: Any

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(statement)
        return list(cursor.fetchall()) if cursor.description else []

    def attempt(self, statement: str) -> str | None:
        try:
            self.connection.execute(statement)
        except (sqlite3.Error, psycopg.Error) as refusal:
            return str(refusal)
        return None


@contextmanager
def attacking(url: str, role: str | None = None) -> Iterator[Attacker]:
    """A connection in autocommit; on PostgreSQL as the superuser unless a role is named."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        assert parsed.database is not None
        with closing(sqlite3.connect(parsed.database, isolation_level=None)) as connection:
            yield Attacker(connection)
        return
    parsed = parsed.set(drivername="postgresql")
    if role is not None:
        parsed = parsed.set(username=role)
    with psycopg.connect(
        parsed.render_as_string(hide_password=False), autocommit=True
    ) as connection:
        yield Attacker(connection)
