"""Reading beliefs: pages of them, one with its history, and what hangs together with it."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, and_, func, or_, select, tuple_
from sqlalchemy.orm import Session

from scoring.labels import Label
from service import json_text
from service.api.parameters import Place
from service.beliefs.grounds import sets_of, texts
from service.beliefs.projection import SUPERSEDED
from service.beliefs.schemas import BeliefOut, NeighbourOut, VersionOut
from service.events.vocabulary import Log
from service.instants import format_instant
from service.models import Belief, BeliefSupport, BeliefVersion

# A content may have a million characters.
MAX_VERSIONS = 100
MAX_NEIGHBOURS = 1_000
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
    # What is superseded is no longer derived again by anybody.
    needs_rederivation: bool | None = None

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
        if self.needs_rederivation is not None:
            is_queued = and_(Belief.needs_rederivation == 1, Belief.status != SUPERSEDED)
            found.append(is_queued if self.needs_rederivation else ~is_queued)
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
    return next(iter(beliefs_called(session, [(agent_id, belief_id)], log)), None)


def beliefs_called(
    session: Session, keys: Collection[tuple[str, str]], log: str | None
) -> list[BeliefOut]:
    """The same of many (agent, id) pairs, in their order."""
    wanted: dict[str, list[str]] = {}
    for agent_id, belief_id in keys:
        wanted.setdefault(agent_id, []).append(belief_id)
    found: dict[tuple[str, str], BeliefOut] = {}
    for agent_id, ids in wanted.items():
        for chunk in _chunks(ids):
            among = Belief.belief_id.in_(chunk)
            statement = _with_content().where(Belief.agent_id == agent_id, among, *readable_in(log))
            for row in session.execute(statement):
                found[agent_id, row.belief_id] = _belief_out(row)
    return [found[key] for key in keys if key in found]


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
    named = sorted(set(texts(msgspec.json.decode(belief.justifications))))[:MAX_NEIGHBOURS]
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


def intact_sets(sets: list[list[str]], fallen: Collection[str]) -> list[list[str]]:
    """The justifications of which no member fell: was superseded, or waits to be derived again."""
    return [names for names in sets if not any(name in fallen for name in names)]


def has_fallen(belief: Any) -> bool:
    """Whether a belief no longer bears what rests on it."""
    return belief.status == SUPERSEDED or bool(belief.needs_rederivation)


def standing_on(session: Session, belief: BeliefOut) -> list[list[str]]:
    """The justifications of a belief that hold; evidence always does."""
    sets = sets_of(msgspec.json.decode(belief.justifications))
    named = {name for names in sets for name in names if "\x00" not in name}
    fallen: set[str] = set()
    for chunk in _chunks(sorted(named)):
        rows = session.execute(
            select(Belief.belief_id, Belief.status, Belief.needs_rederivation).where(
                Belief.agent_id == belief.agent_id, Belief.belief_id.in_(chunk)
            )
        )
        fallen |= {row.belief_id for row in rows if has_fallen(row)}
    return intact_sets(sets, fallen)


def _chunks(ids: list[str]) -> list[list[str]]:
    return [ids[start : start + MAX_NEIGHBOURS] for start in range(0, len(ids), MAX_NEIGHBOURS)]


def supported_by(
    session: Session, agent_id: str, belief_id: str
) -> tuple[list[NeighbourOut], bool]:
    """The beliefs whose justifications name it, newest first; and whether those are all."""
    rows = session.execute(
        select(Belief.belief_id, Belief.label, Belief.status, Belief.justifications)
        .join(
            BeliefSupport,
            and_(
                BeliefSupport.agent_id == Belief.agent_id,
                BeliefSupport.belief_id == Belief.belief_id,
            ),
        )
        .where(BeliefSupport.agent_id == agent_id, BeliefSupport.supporter_id == belief_id)
        .order_by(Belief.last_ts.desc(), Belief.belief_id.desc())
        .limit(MAX_NEIGHBOURS + 1)
    ).all()
    # Whatever was told of it once can be found there; what it rests on now stands in its row.
    found = [
        NeighbourOut(row.belief_id, row.label, row.status)
        for row in rows[:MAX_NEIGHBOURS]
        if belief_id in texts(msgspec.json.decode(row.justifications or "[]"))
    ]
    return found, len(rows) <= MAX_NEIGHBOURS


def _belief_out(row: Any) -> BeliefOut:
    return BeliefOut(
        row.agent_id, row.belief_id, row.content, row.label, row.confidence, row.category,
        row.writer, row.session_id, row.turn_id, raw(row.evidence), raw(row.justifications),
        row.status, row.superseded_by, format_or_none(row.superseded_at),
        bool(row.needs_rederivation), row.challenges, format_or_none(row.challenged_at),
        row.overwrites, row.created_label, format_or_none(row.created_at),
        format_or_none(row.valid_from), format_or_none(row.valid_until),
        format_instant(row.last_ts), version_of(row[: len(_COLUMNS)]),
    )  # fmt: skip


def version_of(row: tuple[Any, ...]) -> str:
    """What names the state of a belief: another one after any event that moved it.

    It is made of the whole row, as an event that arrives late may leave the last one the last.
    """
    return hashlib.sha256(json_text.encode(row).encode()).hexdigest()[:16]


def raw(text: str | None) -> msgspec.Raw:
    """Stored JSON as it goes out; null where there is none."""
    return msgspec.Raw((text or "null").encode())


def format_or_none(microseconds: int | None) -> str | None:
    """An instant as it goes out; null where there is none."""
    return None if microseconds is None else format_instant(microseconds)
