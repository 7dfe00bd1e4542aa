"""Reading tombstones."""

from typing import Any

from sqlalchemy import ColumnElement, Select, and_, select, tuple_
from sqlalchemy.orm import Session

from service.instants import format_instant
from service.models import CogEvent, Redaction, Turn
from service.redactions.schemas import RedactionOut

# The time, the agent, and the tombstone's position in its audit log.
Place = tuple[int, str, int]


def _tombstones() -> Select[Any]:
    return (
        select(*Redaction.__table__.columns, Turn.turn_id, CogEvent.event_id)
        .outerjoin(Turn, _stands_for(Turn))
        .outerjoin(CogEvent, _stands_for(CogEvent))
    )


def _stands_for(model: type[Turn] | type[CogEvent]) -> ColumnElement[bool]:
    return and_(
        model.agent_id == Redaction.agent_id,
        model.log == Redaction.target_log,
        model.seq == Redaction.target_seq,
        Redaction.target_table == model.__tablename__,
    )


def newest_redactions(
    session: Session, agent_id: str | None, *, limit: int, after: Place | None
) -> tuple[list[RedactionOut], Place | None]:
    """One page of tombstones, newest first, and where the next one begins."""
    place = (Redaction.removed_at, Redaction.agent_id, Redaction.seq)
    statement = _tombstones()
    if agent_id is not None:
        statement = statement.where(Redaction.agent_id == agent_id)
    if after is not None:
        statement = statement.where(tuple_(*place) < after)
    rows = session.execute(statement.order_by(*(c.desc() for c in place)).limit(limit + 1)).all()
    last = rows[limit - 1] if len(rows) > limit else None
    following = last and (last.removed_at, last.agent_id, last.seq)
    return [_shown(row) for row in rows[:limit]], following


def redaction_of(session: Session, agent_id: str, log: str, seq: int) -> RedactionOut | None:
    """The tombstone of a row, if there is one."""
    row = session.execute(
        _tombstones().where(
            Redaction.agent_id == agent_id,
            Redaction.target_log == log,
            Redaction.target_seq == seq,
        )
    ).first()
    return None if row is None else _shown(row)


def _shown(row: Any) -> RedactionOut:
    return RedactionOut(
        row.agent_id, row.target_table, row.target_log, row.target_seq, row.turn_id, row.event_id,
        row.payload_hash.hex(), row.payload_bytes, row.reason, row.removed_by,
        format_instant(row.removed_at), row.seq,
    )  # fmt: skip
