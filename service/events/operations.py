"""Appending to the record: positions, projections and rows in the caller's transaction."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, select, tuple_
from sqlalchemy.orm import Session

from service import json_text
from service.db.bulk import insert_rows
from service.errors import Fault
from service.events.committing import commit_anew, commit_to, flags_text
from service.events.log import LogPositions
from service.events.normalise import content
from service.events.parsing import BadItem
from service.events.schemas import Event
from service.models import CogEvent

_EVENTS: Table = CogEvent.__table__  # type: ignore[assignment]

_ARRIVING = "doxa.arriving"

# Folds events into one area's tables before they are inserted, noting oddities on them.
Projector = Callable[[Session, LogPositions, list[Event]], None]
# From event type to the projectors that want it, in the order in which they run.
Projectors = Mapping[str, tuple[Projector, ...]]


def append(
    session: Session, positions: LogPositions, events: Sequence[Event], projectors: Projectors
) -> None:
    """Inserts events whose logs are locked; raises AlreadyRecorded when an id is taken."""
    reserved = _reserve(positions, events)
    wanted: dict[Projector, list[Event]] = {}
    for event in events:
        if event.noted:  # by a first try, which was rolled back
            event.noted, event.leaf_hash = [], None
        for projector in projectors.get(event.event, ()):
            wanted.setdefault(projector, []).append(event)
    around = session.info.get(_ARRIVING, ())
    session.info[_ARRIVING] = events
    try:
        for projector in _in_order(projectors):
            if projector in wanted:
                projector(session, positions, wanted[projector])
    finally:
        session.info[_ARRIVING] = around
    sealer = positions.sealer
    commit_to(events, sealer)
    for event in events:
        if event.noted:
            commit_anew(event, sealer)
    for (agent_id, log), (first, mine) in reserved.items():
        positions.give_leaves(agent_id, log, first, [event.leaf_hash or b"" for event in mine])
    rows = [
        (
            e.agent_id, e.log, e.seq, e.event_id, e.ts, e.received_at, e.session_id, e.turn_id,
            e.worker, e.event, e.belief_id, e.contradiction_id, e.label_from, e.label_to,
            e.confidence, e.detail_text, e.detail_salt, e.cost_tokens, e.cost_usd, e.latency_ms,
            flags_text(e), e.leaf_hash, e.seal,
        )
        for e in events
    ]  # fmt: skip
    insert_rows(session, _EVENTS, rows)


def arriving(session: Session) -> Sequence[Event]:
    """All events that are being appended, for a projector: they stand in no table yet.

    Of types that nobody folds `detail` may be empty here; `detail_text` never is.
    """
    found: Sequence[Event] = session.info.get(_ARRIVING, ())
    return found


def _reserve(
    positions: LogPositions, events: Sequence[Event]
) -> dict[tuple[str, str], tuple[int, list[Event]]]:
    """Gives events their positions: by log the first one and the events from there on."""
    by_log: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        by_log.setdefault((event.agent_id, event.log), []).append(event)
    reserved = {}
    for (agent_id, log), mine in by_log.items():
        first = positions.reserve(agent_id, log, len(mine))
        for seq, event in enumerate(mine, first):
            event.seq = seq
        reserved[agent_id, log] = (first, mine)
    return reserved


def _in_order(projectors: Projectors) -> Iterable[Projector]:
    return dict.fromkeys(projector for group in projectors.values() for projector in group)


@dataclass(slots=True)
class Sorted:
    """A batch beside what is recorded: what is new, what is there already, what contradicts it."""

    fresh: list[Event]
    duplicates: int
    conflicts: list[BadItem]


def sort_out(session: Session, events: Sequence[Event], seen: dict[Any, Event]) -> Sorted:
    """Tells new events from repeated ones; `seen` are those of earlier batches of this commit."""
    recorded = _recorded(session, events)
    result = Sorted([], 0, [])
    mine: dict[Any, Event] = {}
    for event in events:
        key = (event.agent_id, event.log, event.event_id)
        twin = mine.get(key) or seen.get(key)
        if twin is not None:
            is_same = content(twin) == content(event) and _same_detail(twin.detail_text, event)
        elif key in recorded:
            fields, detail = recorded[key]
            is_same = fields == content(event) and _same_detail(detail, event)
        else:
            mine[key] = event
            result.fresh.append(event)
            continue
        if is_same:
            result.duplicates += 1
        else:
            result.conflicts.append(_conflict(event))
    return result


def _conflict(event: Event) -> BadItem:
    reason = f"event_id {event.event_id!r} is recorded with other content: choose a new id"
    return BadItem(event.index, (Fault("/event_id", reason),))


def _same_detail(recorded: str | None, event: Event) -> bool:
    # A redacted detail cannot be compared: the id decides.
    return recorded is None or json_text.same(
        json.loads(recorded), json.loads(event.detail_text or "{}")
    )


_CONTENT_COLUMNS = (
    CogEvent.agent_id, CogEvent.log, CogEvent.ts, CogEvent.session_id, CogEvent.turn_id,
    CogEvent.worker, CogEvent.event, CogEvent.belief_id, CogEvent.contradiction_id,
    CogEvent.label_from, CogEvent.label_to, CogEvent.confidence, CogEvent.cost_tokens,
    CogEvent.cost_usd, CogEvent.latency_ms,
)  # fmt: skip
_LOOKUP = 5_000


def _recorded(
    session: Session, events: Sequence[Event]
) -> dict[Any, tuple[tuple[Any, ...], str | None]]:
    keys = list({(e.agent_id, e.log, e.event_id) for e in events})
    found: dict[Any, tuple[tuple[Any, ...], str | None]] = {}
    for start in range(0, len(keys), _LOOKUP):
        rows = session.execute(
            select(CogEvent.event_id, CogEvent.detail, *_CONTENT_COLUMNS).where(
                tuple_(CogEvent.agent_id, CogEvent.log, CogEvent.event_id).in_(
                    keys[start : start + _LOOKUP]
                )
            )
        )
        for event_id, detail, *fields in rows:
            found[fields[0], fields[1], event_id] = (tuple(fields), detail)
    return found
