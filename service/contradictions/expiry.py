"""Contradictions whose time ran out, closed at the instant at which it did."""

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from service import json_text
from service.contradictions.lifecycle import OPEN, expiry_of
from service.contradictions.projection import (
    CONTRADICTIONS,
    ContradictionRow,
    ContradictionState,
)
from service.db.bulk import rows_by_key
from service.events.log import LogPositions
from service.events.operations import Projectors, append
from service.events.schemas import Event
from service.events.vocabulary import EventType, Log
from service.instants import format_instant
from service.models import CogEvent, Contradiction

# One commit's worth: a backlog of years is closed in several.
BATCH = 500


def due(session: Session, now: int, *, limit: int) -> list[tuple[str, str]]:
    """The (agent, contradiction) pairs that are open though their time has run out."""
    ends = Contradiction.detected_at + Contradiction.ttl_us
    rows = session.execute(
        select(Contradiction.agent_id, Contradiction.contradiction_id)
        .where(Contradiction.state.in_(OPEN), ends <= now)
        .order_by(Contradiction.agent_id, ends, Contradiction.contradiction_id)
        .limit(limit)
    )
    return [(agent_id, contradiction_id) for agent_id, contradiction_id in rows]


def expire(
    session: Session,
    positions: LogPositions,
    rows: Sequence[ContradictionRow],
    now: int,
    projectors: Projectors,
) -> int:
    """Closes those whose time has run out by now; the agent's log is locked, so each once."""
    events = []
    for row in rows:
        ends = expiry_of(row)
        if ends is not None and ends <= now:
            events.append(_expired(session, row, ends, now))
    if events:
        append(session, positions, events, projectors)
    return len(events)


@dataclass(slots=True)
class ExpireDue:
    """Closes what was found due of one agent, after looking again under the lock."""

    agent_id: str
    contradiction_ids: list[str]
    now: int
    projectors: Projectors

    @property
    def logs(self) -> Iterable[tuple[str, str]]:
        """The logs that must be locked."""
        return {(self.agent_id, str(Log.AGENT))}

    @property
    def size(self) -> int:
        """How many items it holds."""
        return len(self.contradiction_ids)

    def run(self, session: Session, positions: LogPositions) -> int:
        """How many were closed."""
        keys = [(self.agent_id, one) for one in self.contradiction_ids]
        found = rows_by_key(session, CONTRADICTIONS, "contradiction_id", keys)
        rows = [ContradictionRow(*row) for row in found]
        return expire(session, positions, rows, self.now, self.projectors)


def _expired(session: Session, row: ContradictionRow, ends: int, now: int) -> Event:
    detail = {
        "by": "ttl",
        "ttl": f"PT{(row.ttl_us or 0) // 1_000_000}S",
        "noticed_at": format_instant(now),
        "state_before": ContradictionState(row.state),
    }
    return Event(
        row.agent_id, str(Log.AGENT), _event_id(session, row), ends, now,
        str(EventType.CONTRADICTION_EXPIRED), contradiction_id=row.contradiction_id,
        detail=detail, detail_text=json_text.encode(detail),
    )  # fmt: skip


def _event_id(session: Session, row: ContradictionRow) -> str:
    """The same whoever notices; another one only where somebody took it for something else."""
    digest = hashlib.sha256(f"expired|{row.contradiction_id}".encode()).hexdigest()
    event_id = f"sha256:{digest[:40]}"
    is_taken = session.scalar(
        select(CogEvent.seq).where(
            CogEvent.agent_id == row.agent_id,
            CogEvent.log == Log.AGENT,
            CogEvent.event_id == event_id,
        )
    )
    return event_id if is_taken is None else f"{event_id}:{secrets.token_hex(8)}"
