"""All rows of a log by position, read table beside table, their leaves computed."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Select, Table, select

from service.db.leaf_encoders import leaf_encoder, told_columns
from service.db.scanning import insertion_order, scan
from service.events.adopting import committed_tables
from service.models import Redaction

# Position, which table, the leaf of the content, and the row: its told columns, then position,
# stored leaf and seal. A leaf that cannot be computed at all is None.
Placed = tuple[int, int, bytes | None, tuple[Any, ...]]
TABLES = committed_tables()
SEQ, LEAF, SEAL = -3, -2, -1
_REDACTIONS: Table = Redaction.__table__  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Removed:
    """A payload that is gone, as its tombstone says."""

    table: str
    agent_id: str
    log: str
    seq: int
    payload_hash: bytes
    reason: str
    removed_by: str | None
    removed_at: int


OnRemoved = Callable[[Removed], None]


def rows_of(
    connection: Connection, agent_id: str, log: str, on_removed: OnRemoved
) -> Iterator[Placed]:
    """The rows of a log by position; `on_removed` is told of each payload that is gone."""
    streams = [
        _placed(connection, number, table, agent_id, log, on_removed)
        for number, table in enumerate(TABLES)
        if _has_rows(connection, table, agent_id, log)
    ]
    return streams[0] if len(streams) == 1 else heapq.merge(*streams, key=itemgetter(0))


def key_of(table: Table, row: tuple[Any, ...]) -> dict[str, Any]:
    """By which a row is found: its primary key but for agent and position."""
    told = told_columns(table)
    key = {
        str(column.name): row[told.index(str(column.name))]
        for column in table.primary_key
        if column.name in told and column.name not in ("agent_id", "log")
    }
    if "event_id" in told:
        key["event_id"] = row[told.index("event_id")]
    return key


def row_at(
    connection: Connection, agent_id: str, log: str, seq: int
) -> tuple[Table, tuple[Any, ...]] | None:
    """The row at a position, in whatever table."""
    for table in TABLES:
        for rows in scan(connection, _rows(table, agent_id, log).where(table.c.seq == seq)):
            return table, rows[0]
    return None


def first_out_of_order(
    connection: Connection, agent_id: str, log: str, after: int, until: int
) -> int | None:
    """A position in a range that seems to have been written after the one behind it; a hint."""
    found = []
    for table in TABLES:
        statement = (
            select(table.c.seq, insertion_order(table))
            .where(
                table.c.agent_id == agent_id, table.c.log == log,
                table.c.seq > after, table.c.seq <= until,
            )
            .order_by(table.c.seq)
        )  # fmt: skip
        if (place := _descent(scan(connection, statement))) is not None:
            found.append(place)
    return min(found, default=None)


def _descent(batches: Iterator[list[tuple[Any, ...]]]) -> int | None:
    last: tuple[int, int] | None = None
    for rows in batches:
        for seq, order in rows:
            if last is not None and order < last[1]:
                return last[0]
            last = (seq, order)
    return None


def _has_rows(connection: Connection, table: Table, agent_id: str, log: str) -> bool:
    statement = select(table.c.seq).where(table.c.agent_id == agent_id, table.c.log == log).limit(1)
    return connection.execute(statement).first() is not None


def _rows(table: Table, agent_id: str, log: str) -> Select[Any]:
    columns = [table.c[name] for name in (*told_columns(table), "seq", "leaf_hash", "seal")]
    return (
        select(*columns)
        .where(table.c.agent_id == agent_id, table.c.log == log)
        .order_by(table.c.seq)
    )


def _placed(
    connection: Connection,
    number: int,
    table: Table,
    agent_id: str,
    log: str,
    on_removed: OnRemoved,
) -> Iterator[Placed]:
    compute = leaf_encoder(table).leaf_hash
    told = told_columns(table)
    payload = next((told.index(name) for name in table.info.get("payloads", {})), None)
    removed = _Tombstones(connection, table, agent_id, log, on_removed)
    for rows in scan(connection, _rows(table, agent_id, log)):
        for row in rows:
            gone = None
            if payload is not None and row[payload] is None:
                gone = removed.at(row[SEQ])
            try:
                leaf_hash = compute(row, gone)
            except (TypeError, ValueError, AttributeError):
                leaf_hash = None  # a value of a kind that Doxa does not write
            yield row[SEQ], number, leaf_hash, row


class _Tombstones:
    """The redactions of one table's rows, read beside them."""

    def __init__(
        self, connection: Connection, table: Table, agent_id: str, log: str, on_removed: OnRemoved
    ) -> None:
        self._statement = (
            select(
                _REDACTIONS.c.target_seq, _REDACTIONS.c.payload_hash, _REDACTIONS.c.reason,
                _REDACTIONS.c.removed_by, _REDACTIONS.c.removed_at,
            )
            .where(
                _REDACTIONS.c.agent_id == agent_id,
                _REDACTIONS.c.target_log == log,
                _REDACTIONS.c.target_table == str(table.name),
            )
            .order_by(_REDACTIONS.c.target_seq)
        )  # fmt: skip
        self._connection, self._table = connection, str(table.name)
        self._agent_id, self._log, self._on_removed = agent_id, log, on_removed
        self._rows: Iterator[tuple[Any, ...]] | None = None
        self._next: tuple[Any, ...] | None = None

    def at(self, seq: int) -> bytes | None:
        """The hash of the payload that was removed from a position; positions only grow."""
        if self._rows is None:
            self._rows = (row for rows in scan(self._connection, self._statement) for row in rows)
            self._next = next(self._rows, None)
        while self._next is not None and self._next[0] < seq:
            self._next = next(self._rows, None)
        if self._next is None or self._next[0] != seq:
            return None
        _, payload_hash, reason, removed_by, removed_at = self._next
        self._on_removed(
            Removed(
                self._table, self._agent_id, self._log, seq, payload_hash, reason, removed_by,
                removed_at,
            )
        )  # fmt: skip
        return bytes(payload_hash)
