"""From what a trigger caught to an event in the agent's audit log."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table
from sqlalchemy.orm import Session

from service import json_text
from service.changes.queries import (
    Change,
    changes_called,
    known_agents,
    marked_already,
    told_already,
    unpublished,
)
from service.db.bulk import insert_rows
from service.events.log import LogPositions
from service.events.operations import Projectors, append
from service.events.schemas import Event
from service.events.vocabulary import EventType, Flag, Log
from service.instants import DAY, EARLIEST, LATEST
from service.models import LedgerChange, PublishedChange

# A flood of attempts becomes events over several commits, so that it holds up none for long.
CHANGES_A_COMMIT = 500
_MAX_ID_CHARS = 256
# After these the belief still stands under its id, with what the new row says.
_NEW_CONTENT = frozenset({"update", "replace"})
_PUBLISHED: Table = PublishedChange.__table__  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class _Told:
    """A change, the agents whose audit logs tell of it, and the belief it is about."""

    change: Change
    agents: tuple[str, ...]
    belief_id: str


def publish_changes(
    session: Session, positions: LogPositions, projectors: Projectors, now: int
) -> int:
    """Makes events of the changes that are none yet, and returns how many changes those were.

    At most `CHANGES_A_COMMIT`, oldest first: as many mean that there may be more. It locks the
    audit logs it needs; the caller stores the positions and commits. Best in a transaction that has
    no other log locked, as logs are locked in one order only within a call.
    """
    waiting = _addressed(session, unpublished(session, CHANGES_A_COMMIT))
    if not waiting:
        return 0
    positions.lock((agent, str(log)) for told in waiting for agent in told.agents for log in Log)
    # Another process may have published some while this one waited for the locks.
    ids = [told.change.change_id for told in waiting]
    marked = marked_already(session, ids)
    recorded = told_already(session, [told.change.event_id for told in waiting])
    events = [
        _event(told, agent, now)
        for told in waiting
        for agent in told.agents
        if (agent, told.change.event_id) not in recorded
    ]
    if events:
        append(session, positions, events, projectors)
    marks = [
        (told.change.change_id, told.agents[0], told.change.event_id)
        for told in waiting
        if told.change.change_id not in marked
    ]
    insert_rows(session, _PUBLISHED, marks)
    return len(waiting)


def _addressed(session: Session, changes: Sequence[Change]) -> list[_Told]:
    if not changes:
        return []
    agents = known_agents(session)
    about = _subjects(session, changes)
    told = []
    for change in changes:
        key = about[change.change_id].key
        agent = key.get("agent_id") if isinstance(key, dict) else None
        # An attempt on what belongs to no agent concerns all of them.
        addressed = (agent,) if agent in agents else tuple(agents)
        if addressed:
            told.append(_Told(change, addressed, _belief_id(change)))
    return told


def _subjects(session: Session, changes: Iterable[Change]) -> dict[int, Change]:
    """For an attempt on a note the change which that note is about, else the change itself."""
    subjects = {change.change_id: change for change in changes}
    targets = {
        number: target
        for number, change in subjects.items()
        if change.table == LedgerChange.__tablename__
        and isinstance(change.key, dict)
        and isinstance(target := change.key.get("change_id"), int)
    }
    found = changes_called(session, sorted(set(targets.values())))
    return subjects | {
        number: found[target] for number, target in targets.items() if target in found
    }


def _belief_id(change: Change) -> str:
    """The belief's id, or else the row's name: the event must say what it is about."""
    key = change.key if isinstance(change.key, dict) else {"key": change.key}
    named = {name: value for name, value in key.items() if name != "agent_id"}
    belief = named.get("belief_id")
    if belief is None and not change.is_refused and len(named) == 1:
        (belief,) = named.values()  # a watched ledger names its rows by one column
    if belief is None:
        names = (_shown(named[name]) for name in sorted(named) if named[name] is not None)
        belief = f"{change.table}:{'/'.join(names)}"
    return _shown(belief)[:_MAX_ID_CHARS]


def _shown(value: Any) -> str:
    return json_text.shown(value) or ""


def _event(told: _Told, agent_id: str, now: int) -> Event:
    change = told.change
    is_instant = EARLIEST <= change.at <= LATEST
    ts = change.at if is_instant else now
    detail = {
        "change": change.change_id, "table": change.table, "op": change.op, "key": change.key,
        "old": change.old, "new": change.new,
    }  # fmt: skip
    detail = {name: value for name, value in detail.items() if value is not None}
    if change.op in _NEW_CONTENT and not change.is_refused and isinstance(change.new, dict):
        detail |= {name: change.new[name] for name in ("content",) if name in change.new}
    kind = EventType.BELIEF_OVERWRITE_REFUSED if change.is_refused else EventType.BELIEF_OVERWRITTEN
    return Event(
        agent_id=agent_id, log=str(Log.AUDIT), event_id=change.event_id, ts=ts, received_at=now,
        event=str(kind), belief_id=told.belief_id, detail=detail,
        detail_text=json_text.encode(detail),
        flags=[str(Flag.FUTURE_TIME)] if ts > now + DAY else [],
    )  # fmt: skip
