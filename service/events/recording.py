"""The one way by which a write-once row enters the record."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Table
from sqlalchemy.orm import Session

from service.db.bulk import insert_rows
from service.events.log import LogPositions

# Given here, under the lock of the log; callers say nothing of them.
PLACED = ("seq", "leaf_hash", "seal")


def record_rows(
    session: Session, positions: LogPositions, table: Table, rows: Sequence[tuple[Any, ...]]
) -> list[int]:
    """Appends rows to their logs, which are locked, and returns their positions.

    Each row holds the table's columns in their order, without those of `PLACED`. Raises
    AlreadyRecorded when a key is taken.
    """
    names = [column.name for column in table.columns]
    told = [name for name in names if name not in PLACED]
    agent, log = told.index("agent_id"), told.index("log")
    place = names.index("seq")
    taken = [positions.take(row[agent], row[log]) for row in rows]
    placed = [
        (*row[:place], seq, *row[place:], None, None) for row, seq in zip(rows, taken, strict=True)
    ]
    insert_rows(session, table, placed)
    return taken
