"""Reading turns and sessions."""

import json
from typing import Any

import msgspec
from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session

from service.events.queries import EventFilter, newest_events, redactions_of
from service.events.schemas import EventOut, Redacted
from service.events.vocabulary import Log
from service.instants import format_instant
from service.models import Turn
from service.turns.schemas import SessionOut, TurnOut

Place = tuple[int, str, str]
_COLUMNS = tuple(column for column in Turn.__table__.columns if column.name != "payload")
MAX_EVENTS_OF_A_TURN = 1_000


def newest_turns(
    session: Session,
    agent_id: str | None,
    *,
    session_id: str | None,
    worker: str | None,
    since: int | None,
    until: int | None,
    limit: int,
    after: Place | None,
) -> tuple[list[TurnOut], Place | None]:
    """One page of turns without their texts, newest first, and where the next one begins."""
    place = (Turn.ts, Turn.agent_id, Turn.turn_id)
    statement = select(*_COLUMNS)
    equal = {Turn.agent_id: agent_id, Turn.session_id: session_id, Turn.worker: worker}
    statement = statement.where(*(c == v for c, v in equal.items() if v is not None))
    if since is not None:
        statement = statement.where(Turn.ts >= since)
    if until is not None:
        statement = statement.where(Turn.ts < until)
    if after is not None:
        statement = statement.where(Turn.ts <= after[0], tuple_(*place) < after)
    rows = session.execute(statement.order_by(*(c.desc() for c in place)).limit(limit + 1)).all()
    last = rows[limit - 1] if len(rows) > limit else None
    return [turn_out(row) for row in rows[:limit]], last and (last.ts, last.agent_id, last.turn_id)


def turn_called(session: Session, agent_id: str, turn_id: str) -> Turn | None:
    """One turn with its payload."""
    return session.get(Turn, (agent_id, turn_id))


def redaction_of(session: Session, turn: Turn) -> Redacted | None:
    """Who removed the turn's payload, when and why; None while it stands."""
    if turn.payload is not None:
        return None
    place = (turn.agent_id, turn.log, turn.seq)
    return redactions_of(session, Turn.__tablename__, [place]).get(place)


def events_of_turn(
    session: Session, agent_id: str, turn_id: str, log: Log | None
) -> list[EventOut]:
    """The turn's events in the order they happened; of a log, or of both."""
    wanted = EventFilter(agent_id=agent_id, turn_id=turn_id, log=log)
    events, _ = newest_events(session, wanted, limit=MAX_EVENTS_OF_A_TURN)
    return events[::-1]


def sessions(
    session: Session, agent_id: str, *, limit: int, after: tuple[int, str] | None
) -> tuple[list[SessionOut], tuple[int, str] | None]:
    """One page of sessions, the one with the newest turn first."""
    last_ts = func.max(Turn.ts)
    statement = (
        select(Turn.session_id, func.count(), func.min(Turn.ts), last_ts)
        .where(Turn.agent_id == agent_id)
        .group_by(Turn.session_id)
        .order_by(last_ts.desc(), Turn.session_id.desc())
        .limit(limit + 1)
    )
    if after is not None:
        statement = statement.having(tuple_(last_ts, Turn.session_id) < after)
    rows = session.execute(statement).all()
    page = [
        SessionOut(agent_id, name, count, format_instant(first), format_instant(last))
        for name, count, first, last in rows[:limit]
    ]
    end = rows[limit - 1] if len(rows) > limit else None
    return page, end and (end[3], end[0])


def turn_out(row: Any) -> TurnOut:
    """A turn as it is shown in lists."""
    return TurnOut(
        row.agent_id, row.turn_id, row.session_id, row.seq, format_instant(row.ts),
        format_instant(row.received_at), row.worker, row.model, row.commit_sha, row.input_tokens,
        row.output_tokens, row.cost_usd, row.latency_ms, json.loads(row.flags or "[]"),
    )  # fmt: skip


def payload_of(turn: Turn) -> dict[str, msgspec.Raw]:
    """The parts of a turn's payload as they are stored; empty when it was removed."""
    parts: dict[str, msgspec.Raw] = msgspec.json.decode(
        (turn.payload or "{}").encode(), type=dict[str, msgspec.Raw]
    )
    return parts
