"""Trees made from the rows themselves: for logs older than their leaves, and after tampering."""

import heapq
from collections.abc import Iterator
from operator import itemgetter

from sqlalchemy import Table, select
from sqlalchemy.orm import Session

from service.db.leaf_encoders import leaf_encoder, told_columns
from service.models import Committed, Record, Redaction
from service.trust.tree import Frontier

_BATCH = 1_000


def committed_tables() -> list[Table]:
    """All tables of write-once rows, by name."""
    mappers = Record.registry.mappers
    tables = [mapper.local_table for mapper in mappers if issubclass(mapper.class_, Committed)]
    return sorted(
        (table for table in tables if isinstance(table, Table)), key=lambda table: str(table.name)
    )


def frontier_of(session: Session, agent_id: str, log: str) -> Frontier:
    """The tree over the rows of a log from its first on, as far as they are dense."""
    frontier = Frontier()
    step_over(session, agent_id, log, frontier)
    return frontier


def step_over(session: Session, agent_id: str, log: str, frontier: Frontier) -> None:
    """Takes rows that stand right behind the end of a tree into it, their leaves computed."""
    rows = [_leaves(session, table, agent_id, log, frontier.size) for table in committed_tables()]
    for position, leaf_hash in heapq.merge(*rows, key=itemgetter(0)):
        if position != frontier.size + 1:
            return
        frontier.extend([leaf_hash])


def _leaves(
    session: Session, table: Table, agent_id: str, log: str, after: int
) -> Iterator[tuple[int, bytes]]:
    encoder = leaf_encoder(table)
    told = [table.c[name] for name in told_columns(table)]
    statement = (
        select(table.c.seq, Redaction.payload_hash, *told)
        .outerjoin(
            Redaction,
            (Redaction.agent_id == table.c.agent_id)
            & (Redaction.target_log == table.c.log)
            & (Redaction.target_seq == table.c.seq),
        )
        .where(table.c.agent_id == agent_id, table.c.log == log, table.c.seq > after)
        .order_by(table.c.seq)
        .execution_options(yield_per=_BATCH)
    )
    if table.name == Redaction.__tablename__:
        statement = (
            select(table.c.seq, table.c.payload_hash, *told)
            .where(table.c.agent_id == agent_id, table.c.log == log, table.c.seq > after)
            .order_by(table.c.seq)
        )
    for seq, removed, *row in session.execute(statement):
        yield seq, encoder.leaf_hash(row, removed)
