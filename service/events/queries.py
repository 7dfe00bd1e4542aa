"""Reading the record."""

import heapq
import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, select, tuple_
from sqlalchemy.orm import Session

from service.events.schemas import Event, EventOut, Redacted
from service.events.vocabulary import Log
from service.instants import format_instant
from service.models import CogEvent, LogHead, Redaction

_COLUMNS = tuple(CogEvent.__table__.columns)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events; every field that is None lets all pass. Times are half-open [since, until)."""

    agent_id: str | None = None
    log: Log | None = None
    event: Sequence[str] = ()
    worker: str | None = None
    session_id: str | None = None
    turn_id: str | None = None
    belief_id: str | None = None
    contradiction_id: str | None = None
    since: int | None = None
    until: int | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """The same as conditions on `cog_events`."""
        equal = {
            CogEvent.agent_id: self.agent_id,
            CogEvent.log: self.log,
            CogEvent.worker: self.worker,
            CogEvent.session_id: self.session_id,
            CogEvent.turn_id: self.turn_id,
            CogEvent.belief_id: self.belief_id,
            CogEvent.contradiction_id: self.contradiction_id,
        }
        found: list[ColumnElement[bool]] = [
            column == value for column, value in equal.items() if value is not None
        ]
        if self.event:
            found.append(CogEvent.event.in_(self.event))
        if self.since is not None:
            found.append(CogEvent.ts >= self.since)
        if self.until is not None:
            found.append(CogEvent.ts < self.until)
        return found


Place = tuple[int, str, str, int]


def newest_events(
    session: Session, wanted: EventFilter, *, limit: int, after: Place | None = None
) -> tuple[list[EventOut], Place | None]:
    """One page, newest first by (ts, agent, log, seq), and the place where the next one begins."""
    place = (CogEvent.ts, CogEvent.agent_id, CogEvent.log, CogEvent.seq)
    statement = select(*_COLUMNS).where(*wanted.conditions())
    if after is not None:
        statement = statement.where(CogEvent.ts <= after[0], tuple_(*place) < after)
    rows = session.execute(statement.order_by(*(c.desc() for c in place)).limit(limit + 1)).all()
    page = rows[:limit]
    last = page[-1] if len(rows) > limit else None
    return _all_shown(session, page), last and (last.ts, last.agent_id, last.log, last.seq)


def following_events(
    session: Session, agent_id: str, after: dict[str, int], logs: Iterable[str], *, limit: int
) -> list[EventOut]:
    """Events of an agent beyond a position in each log, in the order of arrival."""
    pages = [
        session.execute(
            select(*_COLUMNS)
            .where(
                CogEvent.agent_id == agent_id,
                CogEvent.log == log,
                CogEvent.seq > after.get(log, 0),
            )
            .order_by(CogEvent.seq)
            .limit(limit)
        ).all()
        for log in logs
    ]
    # Within a log by position, whatever the clock said: a place must name all that came before it.
    merged = heapq.merge(*pages, key=lambda row: row.received_at)
    return _all_shown(session, list(itertools.islice(merged, limit)))


def log_sizes(session: Session, agent_id: str) -> dict[str, int]:
    """The lengths of an agent's two logs."""
    rows = session.execute(select(LogHead.log, LogHead.size).where(LogHead.agent_id == agent_id))
    sizes: dict[str, int] = dict.fromkeys(Log, 0)
    sizes.update((log, size) for log, size in rows)
    return sizes


def events_of(
    session: Session,
    agent_id: str,
    condition: ColumnElement[bool],
    event_types: Iterable[str],
) -> list[Event]:
    """An agent's events of some types, for folding; detail that was redacted reads as empty."""
    rows = session.execute(
        select(*_COLUMNS).where(
            CogEvent.agent_id == agent_id, condition, CogEvent.event.in_(sorted(event_types))
        )
    )
    return [event_of(row) for row in rows]


def event_of(row: Any) -> Event:
    """A row of `cog_events`, all columns, for folding; detail that was redacted reads as empty."""
    return Event(
        row.agent_id, row.log, row.event_id, row.ts, row.received_at, row.event, row.session_id,
        row.turn_id, row.worker, row.belief_id, row.contradiction_id, row.label_from,
        row.label_to, row.confidence, json.loads(row.detail or "{}"), row.detail,
        row.cost_tokens, row.cost_usd, row.latency_ms, json.loads(row.flags or "[]"), seq=row.seq,
    )  # fmt: skip


def redactions_of(
    session: Session, table: str, rows: Iterable[tuple[str, str, int]]
) -> dict[tuple[str, str, int], Redacted]:
    """The tombstones of rows of a table, by (agent, log, position)."""
    place = (Redaction.agent_id, Redaction.target_log, Redaction.target_seq)
    wanted = list(rows)
    if not wanted:
        return {}
    found = session.execute(
        select(*place, Redaction.removed_by, Redaction.removed_at, Redaction.reason).where(
            Redaction.target_table == table, tuple_(*place).in_(wanted)
        )
    )
    return {
        (agent_id, log, seq): Redacted(by, format_instant(at), reason)
        for agent_id, log, seq, by, at, reason in found
    }


def _all_shown(session: Session, rows: Sequence[Any]) -> list[EventOut]:
    events = [_shown(row) for row in rows]
    gone = [(row.agent_id, row.log, row.seq) for row in rows if row.detail is None]
    if gone:
        tombstones = redactions_of(session, CogEvent.__tablename__, gone)
        for event in events:
            event.redacted = tombstones.get((event.agent_id, event.log, event.seq))
    return events


def _shown(row: Any) -> EventOut:
    return EventOut(
        row.agent_id, row.log, row.seq, row.event_id, format_instant(row.ts),
        format_instant(row.received_at), row.session_id, row.turn_id, row.worker, row.event,
        row.belief_id, row.contradiction_id, row.label_from, row.label_to, row.confidence,
        msgspec.Raw((row.detail or "null").encode()), row.cost_tokens, row.cost_usd,
        row.latency_ms, json.loads(row.flags or "[]"),
    )  # fmt: skip
