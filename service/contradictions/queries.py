"""Reading contradictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, exists, or_, select, tuple_
from sqlalchemy.orm import Session

from service import json_text
from service.api.parameters import Place
from service.beliefs.queries import contains, format_or_none, raw
from service.contradictions.lifecycle import OPEN, expiry_of, version_of
from service.contradictions.projection import ContradictionState
from service.contradictions.salience import salience
from service.contradictions.schemas import ContradictionOut
from service.events.vocabulary import EventType, Log
from service.instants import SECOND, format_instant
from service.models import CogEvent, Contradiction

_COLUMNS = tuple(Contradiction.__table__.columns)


@dataclass(frozen=True, slots=True)
class ContradictionFilter:
    """Which contradictions; every field that is None lets all pass."""

    agent_id: str | None = None
    state: ContradictionState | None = None
    owner: str | None = None
    priority: int | None = None
    detector: str | None = None
    resolution: str | None = None
    log: Log | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """The same as conditions on `contradictions`."""
        equal = {
            Contradiction.agent_id: self.agent_id,
            Contradiction.state: self.state,
            Contradiction.owner: self.owner,
            Contradiction.priority: self.priority,
            Contradiction.detector: self.detector,
            Contradiction.resolution: self.resolution,
        }
        found = [column == value for column, value in equal.items() if value is not None]
        return [*found, *told_in(self.log)]


def told_in(log: Log | None) -> list[ColumnElement[bool]]:
    """Contradictions whose first creation stands in a log, or that only it knows of; all for None.

    `detected_at` is the instant of the creation that counts, and of one instant the log `agent`
    comes first: a later creation in the own log reveals nothing of another's.
    """
    if log is None:
        return []
    about = select(CogEvent.seq).where(
        CogEvent.agent_id == Contradiction.agent_id,
        CogEvent.contradiction_id == Contradiction.contradiction_id,
    )
    created = about.where(
        CogEvent.log == log,
        CogEvent.event == EventType.CONTRADICTION_CREATED,
        CogEvent.ts == Contradiction.detected_at,
    )
    of_others = about.where(CogEvent.log != log)
    unopened = and_(Contradiction.detected_at.is_(None), ~exists(of_others))
    return [or_(exists(created), unopened)]


def newest_contradictions(
    session: Session, wanted: ContradictionFilter, *, now: int, limit: int, after: Place | None
) -> tuple[list[ContradictionOut], Place | None]:
    """One page by (last_ts, agent, id), newest first, and the place where the next one begins."""
    place = (Contradiction.last_ts, Contradiction.agent_id, Contradiction.contradiction_id)
    statement = select(*_COLUMNS).where(*wanted.conditions())
    if after is not None:
        statement = statement.where(tuple_(*place) < after)
    rows = session.execute(statement.order_by(*(c.desc() for c in place)).limit(limit + 1)).all()
    end = rows[limit - 1] if len(rows) > limit else None
    return [_contradiction_out(row, now) for row in rows[:limit]], end and (
        end.last_ts,
        end.agent_id,
        end.contradiction_id,
    )


def contradiction_called(
    session: Session, agent_id: str, contradiction_id: str, *, now: int, log: Log | None = None
) -> ContradictionOut | None:
    """One contradiction; none that another log than the one named opened."""
    row = session.execute(
        select(*_COLUMNS).where(
            Contradiction.agent_id == agent_id,
            Contradiction.contradiction_id == contradiction_id,
            *told_in(log),
        )
    ).one_or_none()
    return None if row is None else _contradiction_out(row, now)


def open_between(
    session: Session, agent_id: str, members: Sequence[str], log: Log | None
) -> str | None:
    """The open contradiction between exactly these, whichever side came first; the oldest."""
    # The text search only narrows down what is compared as sets.
    holds_first = contains(Contradiction.beliefs, json_text.encode(members[0]))
    rows = session.execute(
        select(Contradiction.contradiction_id, Contradiction.beliefs)
        .where(
            Contradiction.agent_id == agent_id,
            Contradiction.state.in_(OPEN),
            holds_first,
            *told_in(log),
        )
        .order_by(Contradiction.detected_at, Contradiction.contradiction_id)
    )
    wanted = set(members)
    for contradiction_id, beliefs in rows:
        if set(stored_members(beliefs)) == wanted:
            found: str = contradiction_id
            return found
    return None


def stored_members(beliefs: str | None) -> list[str]:
    """The ids of what contradicts itself, as stored."""
    return members_of(None if beliefs is None else msgspec.json.decode(beliefs))


def members_of(told: Any) -> list[str]:
    """The ids in what an agent told, each once; none when one of them cannot be read."""
    if not isinstance(told, list):
        return []
    found = [item.get("id") if isinstance(item, dict) else item for item in told]
    texts = [item for item in found if isinstance(item, str)]
    return list(dict.fromkeys(texts)) if len(texts) == len(found) else []


def _contradiction_out(row: Any, now: int) -> ContradictionOut:
    return ContradictionOut(
        row.agent_id, row.contradiction_id, raw(row.beliefs), row.detector,
        format_or_none(row.detected_at), row.state, row.priority, row.owner, row.next_action,
        None if row.ttl_us is None else row.ttl_us // SECOND, format_or_none(expiry_of(row)),
        format_or_none(row.investigated_at), format_or_none(row.closed_at), row.resolution,
        raw(row.resolution_detail), row.cost_tokens,
        salience(row.priority, row.detected_at, now) if row.state in OPEN else None,
        version_of(row), format_instant(row.last_ts),
    )  # fmt: skip
