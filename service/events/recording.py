"""The one way by which a write-once row enters the record."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Table
from sqlalchemy.orm import Session

from service.db.bulk import insert_rows
from service.db.leaf_encoders import leaf_encoder, told_columns
from service.events.log import LogPositions


def record_rows(
    session: Session, positions: LogPositions, table: Table, rows: Sequence[tuple[Any, ...]]
) -> list[tuple[int, bytes]]:
    """Appends rows to their logs, which are locked, and returns position and leaf of each.

    Each row holds the columns of `told_columns` in their order: position, leaf and seal are given
    here. Raises AlreadyRecorded when a key is taken.
    """
    if not rows:
        return []
    told = told_columns(table)
    agent, log = told.index("agent_id"), told.index("log")
    place = list(table.columns.keys()).index("seq")
    encoder, sealer = leaf_encoder(table), positions.sealer
    taken: list[tuple[int, bytes]] = []
    placed: list[tuple[Any, ...]] = []
    for row in rows:
        leaf_hash = encoder.leaf_hash(row)
        seq = positions.take(row[agent], row[log], leaf_hash)
        taken.append((seq, leaf_hash))
        placed.append((*row[:place], seq, *row[place:], leaf_hash, sealer.seal(leaf_hash)))
    insert_rows(session, table, placed)
    return taken
