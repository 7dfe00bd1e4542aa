"""What the triggers caught, and how much of it is not an event yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import String, cast, exists, literal, select
from sqlalchemy.orm import Session

from service import json_text
from service.db.raw_text import raw_text, readable
from service.events.vocabulary import Log
from service.models import Agent, CogEvent, LedgerChange, PublishedChange

EVENT_PREFIX = "change:"
# Commits do not wait for each other on PostgreSQL: a smaller number may become visible later, but
# hardly behind so many larger ones.
_RECENT = 200
_MAX_NESTING = 32
# A note says what was tried; a megabyte of it says no more.
_MAX_CHARS = 65_536


@dataclass(frozen=True, slots=True)
class Change:
    """A row of `ledger_changes`; key and contents as JSON values, or as the text that is none."""

    change_id: int
    at: int
    table: str
    op: str
    is_refused: bool
    key: Any
    old: Any
    new: Any

    @property
    def event_id(self) -> str:
        """The id of the event that tells of it."""
        return f"{EVENT_PREFIX}{self.change_id}"


_COLUMNS = (
    LedgerChange.change_id, LedgerChange.at, raw_text(LedgerChange.table_name),
    raw_text(LedgerChange.op), LedgerChange.refused, raw_text(LedgerChange.row_key),
    raw_text(LedgerChange.old_row), raw_text(LedgerChange.new_row),
)  # fmt: skip


def last_change(session: Session) -> int:
    """A number that grows with every change that is noted, 0 without any; cheap to ask for."""
    recent = select(LedgerChange.change_id).order_by(LedgerChange.change_id.desc()).limit(_RECENT)
    return sum(session.scalars(recent))


def unpublished(session: Session, limit: int) -> list[Change]:
    """The oldest changes without their event. A mark alone does not do: anybody can set one."""
    event_id = literal(EVENT_PREFIX) + cast(LedgerChange.change_id, String)
    has_event = exists().where(
        PublishedChange.change_id == LedgerChange.change_id,
        CogEvent.agent_id == PublishedChange.agent_id,
        CogEvent.log == str(Log.AUDIT),
        CogEvent.event_id == event_id,
    )
    rows = session.execute(
        select(*_COLUMNS).where(~has_event).order_by(LedgerChange.change_id).limit(limit)
    )
    return [_change(row) for row in rows]


def changes_called(session: Session, change_ids: Sequence[int]) -> dict[int, Change]:
    """Changes by their number."""
    rows = session.execute(select(*_COLUMNS).where(LedgerChange.change_id.in_(change_ids)))
    return {row[0]: _change(row) for row in rows}


def known_agents(session: Session) -> list[str]:
    """All agents, by id."""
    return list(session.scalars(select(Agent.agent_id).order_by(Agent.agent_id)))


def told_already(session: Session, event_ids: Sequence[str]) -> set[tuple[str, str]]:
    """Which of these events stand in which agent's audit log, as pairs (agent, event id)."""
    rows = session.execute(
        select(CogEvent.agent_id, CogEvent.event_id).where(
            CogEvent.agent_id.in_(select(Agent.agent_id)),
            CogEvent.log == str(Log.AUDIT),
            CogEvent.event_id.in_(event_ids),
        )
    )
    return {(agent_id, event_id) for agent_id, event_id in rows}


def marked_already(session: Session, change_ids: Sequence[int]) -> set[int]:
    """Which of these changes are marked as published."""
    marked = select(PublishedChange.change_id).where(PublishedChange.change_id.in_(change_ids))
    return set(session.scalars(marked))


def _change(row: Sequence[Any]) -> Change:
    change_id, at, table, op, refused, key, old, new = row
    return Change(
        change_id, at, _name(table), _name(op), bool(refused), _value(key), _value(old), _value(new)
    )


def _name(raw: bytes) -> str:
    return (readable(raw) or "").replace("\x00", json_text.REPLACEMENT)[:100]


def _value(raw: bytes | None) -> Any:
    """A note may have been written by hand: whatever it holds becomes strict JSON."""
    text = readable(raw)
    if text is None:
        return None
    if len(text) <= _MAX_CHARS:
        try:
            found = json_text.Inspection(_MAX_NESTING, _MAX_CHARS)
            value = json_text.inspect(json_text.read_leniently(text), "", found)
            json_text.encode(value)
        except (ValueError, OverflowError):
            pass
        else:
            return value
    return json_text.inspect(text[:_MAX_CHARS], "", json_text.Inspection(_MAX_NESTING, _MAX_CHARS))
