"""Removing payloads that have reached an age, in batches between which others write."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, func, select, tuple_
from sqlalchemy.orm import Session

from service.db.database import Database
from service.db.raw_text import raw_text
from service.events.log import LogPositions
from service.events.operations import Projectors
from service.events.vocabulary import EventType, Log
from service.instants import format_instant
from service.models import Agent
from service.redactions.operations import (
    EVENTS,
    TURNS,
    Payload,
    Why,
    is_ledger_event,
    remove_payloads,
)

BATCH = 500
# Who a tombstone names that no key stands behind.
BY = "retention"
# A tombstone takes about as much: the detail of an event that is shorter would free nothing.
SMALL_BYTES = 256
# Figures of past windows are read from these, and they are small: only a redaction takes them.
KEPT = frozenset(
    {
        EventType.OPPORTUNITY_DETECTED,
        EventType.GATE_DECIDED,
        EventType.DISCRIMINATOR_GENERATED,
        EventType.DISCRIMINATOR_ACTED_ON,
        EventType.SUMMARY_WRITTEN,
    }
)
OnProgress = Callable[[int], None]
Place = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Aged:
    """What has reached its age: the payloads of turns and of events before an instant."""

    before: int
    age: str
    projectors: Projectors
    is_thorough: bool = False

    @property
    def never_cut(self) -> frozenset[str]:
        """The types of events whose detail no age takes."""
        ledger = {kind for kind in EventType if is_ledger_event(kind, self.projectors)}
        return KEPT | ledger

    @property
    def reason(self) -> str:
        """What each tombstone says."""
        return f"older than {self.age}, on {format_instant(self.before)[:10]}"


@dataclass(slots=True)
class Removed:
    """How many payloads there were, and their bytes."""

    turns: int = 0
    events: int = 0
    bytes: int = 0


def count_aged(database: Database, aged: Aged) -> Removed:
    """What `remove_aged` would remove now."""
    found = Removed()
    with database.read() as session:
        for agent_id, log, table in _sources(session, aged):
            size = func.sum(func.length(raw_text(_payload(table))))
            row = session.execute(
                select(func.count(), size).where(*_conditions(agent_id, log, table, aged))
            ).one()
            _add(found, table, row[0], int(row[1] or 0))
    return found


def remove_aged(database: Database, aged: Aged, now: int, on_progress: OnProgress) -> Removed:
    """Removes all of it, a transaction a batch; killed between two, the next run goes on."""
    found = Removed()
    with database.read() as session:
        sources = list(_sources(session, aged))
    for agent_id, log, table in sources:
        after: Place | None = (-(2**63), 0)
        while after is not None:
            with database.write() as session:
                positions = LogPositions(session)
                positions.lock([(agent_id, str(Log.AUDIT))])
                payloads, after = _batch(session, agent_id, log, table, aged, after)
                remove_payloads(session, positions, table, payloads, Why(aged.reason, BY, now))
                positions.store()
            _add(found, table, len(payloads), sum(len(one.text.encode()) for one in payloads))
            on_progress(len(payloads))
    return found


def _add(found: Removed, table: Table, number: int, size: int) -> None:
    found.bytes += size
    if table is TURNS:
        found.turns += number
    else:
        found.events += number


def _sources(session: Session, aged: Aged) -> Iterator[tuple[str, str, Table]]:
    """Each agent's tables and logs that hold something of before the instant."""
    agents = session.scalars(select(Agent.agent_id).order_by(Agent.agent_id)).all()
    for agent_id in agents:
        for table, log in ((TURNS, Log.AGENT), (EVENTS, Log.AGENT), (EVENTS, Log.AUDIT)):
            conditions = _conditions(agent_id, str(log), table, aged)
            if session.execute(select(table.c.seq).where(*conditions).limit(1)).first():
                yield agent_id, str(log), table


def _payload(table: Table) -> Any:
    return table.c[next(iter(table.info["payloads"]))]


def _conditions(agent_id: str, log: str, table: Table, aged: Aged) -> list[Any]:
    payload = _payload(table)
    conditions = [
        table.c.agent_id == agent_id,
        table.c.log == log,
        table.c.ts < aged.before,
        payload.is_not(None),
    ]
    if table is EVENTS:
        conditions.append(table.c.event.not_in(sorted(aged.never_cut)))
        if not aged.is_thorough:
            conditions.append(func.length(raw_text(payload)) >= SMALL_BYTES)
    return conditions


def _batch(
    session: Session, agent_id: str, log: str, table: Table, aged: Aged, after: Place
) -> tuple[list[Payload], Place | None]:
    """The next payloads by age, read under the lock, and where the batch behind them begins."""
    payload = _payload(table)
    salt = table.c[table.info["payloads"][payload.name]]
    place = (table.c.ts, table.c.seq)
    rows = session.execute(
        select(*place, payload, salt)
        .where(
            *_conditions(agent_id, log, table, aged),
            table.c.ts >= after[0],
            tuple_(*place) > after,
        )
        .order_by(*place)
        .limit(BATCH)
    ).all()
    found = [Payload(agent_id, log, seq, text, held) for _, seq, text, held in rows]
    return found, (rows[-1][0], rows[-1][1]) if len(rows) == BATCH else None
