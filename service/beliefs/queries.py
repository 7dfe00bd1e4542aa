"""Reading beliefs: pages of them, one with its history, and what hangs together with it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, and_, func, or_, select, tuple_
from sqlalchemy.orm import Session

from scoring.labels import Label
from service import json_text
from service.api.parameters import Place
from service.beliefs.schemas import BeliefOut, NeighbourOut, VersionOut
from service.events.vocabulary import Log
from service.instants import format_instant
from service.models import Belief, BeliefVersion

# A content may have a million characters.
MAX_VERSIONS = 100
MAX_NEIGHBOURS = 1_000
# Nothing indexes what a justification names: so many of the agent's newest beliefs are looked at.
MAX_SCANNED = 50_000
_COLUMNS = tuple(Belief.__table__.columns)


@dataclass(frozen=True, slots=True)
class BeliefFilter:
    """Which beliefs; every field that is None lets all pass."""

    agent_id: str | None = None
    label: Label | None = None
    status: str | None = None
    writer: str | None = None
    session_id: str | None = None
    turn_id: str | None = None
    content: str | None = None
    log: str | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """The same as conditions on `beliefs` joined with the current version of each."""
        equal = {
            Belief.agent_id: self.agent_id,
            Belief.label: self.label,
            Belief.status: self.status,
            Belief.writer: self.writer,
            Belief.session_id: self.session_id,
            Belief.turn_id: self.turn_id,
        }
        found: list[ColumnElement[bool]] = [c == v for c, v in equal.items() if v is not None]
        if self.content:
            found.append(contains(BeliefVersion.content, json_text.shown(self.content) or ""))
        return [*found, *readable_in(self.log)]


def readable_in(log: str | None) -> list[ColumnElement[bool]]:
    """Beliefs whose content stands in a log, or was never told; all when no log is named."""
    if log is None:
        return []
    return [or_(Belief.content_log.is_(None), Belief.content_log == log)]


def contains(column: Any, text: str) -> ColumnElement[bool]:
    """Whether a text column holds a text, letter for letter.

    LIKE would not do: SQLite's ignores the case of ASCII, PostgreSQL's does not.
    """
    found: ColumnElement[bool] = func.replace(column, text, "") != column
    return found


def newest_beliefs(
    session: Session, wanted: BeliefFilter, *, limit: int, after: Place | None
) -> tuple[list[BeliefOut], Place | None]:
    """One page by (last_ts, agent, id), newest first, and the place where the next one begins."""
    place = (Belief.last_ts, Belief.agent_id, Belief.belief_id)
    statement = _with_content().where(*wanted.conditions())
    if after is not None:
        statement = statement.where(Belief.last_ts <= after[0], tuple_(*place) < after)
    rows = session.execute(statement.order_by(*(c.desc() for c in place)).limit(limit + 1)).all()
    end = rows[limit - 1] if len(rows) > limit else None
    return [_belief_out(row) for row in rows[:limit]], end and (
        end.last_ts,
        end.agent_id,
        end.belief_id,
    )


def belief_called(
    session: Session, agent_id: str, belief_id: str, log: str | None = None
) -> BeliefOut | None:
    """One belief with its current content; none whose content stands in another log."""
    row = session.execute(
        _with_content().where(
            Belief.agent_id == agent_id, Belief.belief_id == belief_id, *readable_in(log)
        )
    ).one_or_none()
    return None if row is None else _belief_out(row)


def _with_content() -> Select[Any]:
    return select(*_COLUMNS, BeliefVersion.content).outerjoin(
        BeliefVersion,
        and_(
            BeliefVersion.agent_id == Belief.agent_id,
            BeliefVersion.belief_id == Belief.belief_id,
            BeliefVersion.log == Belief.content_log,
            BeliefVersion.seq == Belief.content_seq,
        ),
    )


def versions_of(
    session: Session, agent_id: str, belief_id: str, log: Log | None
) -> tuple[list[VersionOut], bool]:
    """What the belief said, in order of time, the newest hundred; and whether that is all."""
    place = (BeliefVersion.ts, BeliefVersion.log, BeliefVersion.seq)
    current = and_(BeliefVersion.log == Belief.content_log, BeliefVersion.seq == Belief.content_seq)
    statement = (
        select(*place, BeliefVersion.kind, BeliefVersion.content, current)
        .join(
            Belief,
            and_(
                Belief.agent_id == BeliefVersion.agent_id,
                Belief.belief_id == BeliefVersion.belief_id,
            ),
        )
        .where(BeliefVersion.agent_id == agent_id, BeliefVersion.belief_id == belief_id)
        .order_by(*(column.desc() for column in place))
        .limit(MAX_VERSIONS + 1)
    )
    if log is not None:
        statement = statement.where(BeliefVersion.log == log)
    rows = session.execute(statement).all()
    versions = [
        VersionOut(log, seq, format_instant(ts), kind, content, bool(is_current))
        for ts, log, seq, kind, content, is_current in rows[:MAX_VERSIONS]
    ]
    return versions[::-1], len(rows) <= MAX_VERSIONS


def rests_on(session: Session, belief: BeliefOut) -> list[NeighbourOut]:
    """The recorded beliefs that its justifications name, by id; the first thousand of them."""
    named = sorted(set(_texts(msgspec.json.decode(belief.justifications))))[:MAX_NEIGHBOURS]
    if not named:
        return []
    rows = session.execute(
        select(Belief.belief_id, Belief.label, Belief.status)
        .where(
            Belief.agent_id == belief.agent_id,
            Belief.belief_id.in_([name for name in named if "\x00" not in name]),
        )
        .order_by(Belief.belief_id)
    )
    return [NeighbourOut(*row) for row in rows]


def supported_by(
    session: Session, agent_id: str, belief_id: str
) -> tuple[list[NeighbourOut], bool]:
    """The beliefs whose justifications name it, newest first; and whether those are all."""
    place = (Belief.last_ts, Belief.belief_id)
    scanned = (
        select(*place, Belief.label, Belief.status, Belief.justifications)
        .where(Belief.agent_id == agent_id)
        .order_by(*(column.desc() for column in place))
        .limit(MAX_SCANNED)
        .subquery()
    )
    rows = session.execute(
        select(scanned)
        .where(contains(scanned.c.justifications, json_text.encode(belief_id)))
        .order_by(scanned.c.last_ts.desc(), scanned.c.belief_id.desc())
    ).all()
    found = [
        NeighbourOut(row.belief_id, row.label, row.status)
        for row in rows
        if belief_id in _texts(msgspec.json.decode(row.justifications))
    ]
    total = session.scalar(
        select(func.count()).select_from(Belief).where(Belief.agent_id == agent_id)
    )
    is_complete = (total or 0) <= MAX_SCANNED and len(found) <= MAX_NEIGHBOURS
    return found[:MAX_NEIGHBOURS], is_complete


def _texts(value: Any) -> Iterator[str]:
    """All texts inside: justifications are kept as they were told, nested or flat."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())


def _belief_out(row: Any) -> BeliefOut:
    return BeliefOut(
        row.agent_id, row.belief_id, row.content, row.label, row.confidence, row.category,
        row.writer, row.session_id, row.turn_id, raw(row.evidence), raw(row.justifications),
        row.status, row.superseded_by, format_or_none(row.superseded_at),
        bool(row.needs_rederivation), row.challenges, format_or_none(row.challenged_at),
        row.overwrites, row.created_label, format_or_none(row.created_at),
        format_or_none(row.valid_from), format_or_none(row.valid_until),
        format_instant(row.last_ts),
    )  # fmt: skip


def raw(text: str | None) -> msgspec.Raw:
    """Stored JSON as it goes out; null where there is none."""
    return msgspec.Raw((text or "null").encode())


def format_or_none(microseconds: int | None) -> str | None:
    """An instant as it goes out; null where there is none."""
    return None if microseconds is None else format_instant(microseconds)
