"""Which days of an agent have turns, and which of them no run has read."""

from collections.abc import Collection, Iterator, Sequence
from datetime import date
from zoneinfo import ZoneInfo

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.audits.days import day_of, day_window
from service.audits.vocabulary import RunState
from service.instants import EARLIEST, LATEST
from service.models import AuditRun, Turn


def days_with_turns(
    session: Session, agent_id: str, zone: ZoneInfo, since: int = EARLIEST, until: int = LATEST + 1
) -> Iterator[date]:
    """The days of turns in [since, until), oldest first: one look into the index for each day."""
    cursor = since
    while cursor < until:
        ts = session.scalar(
            select(Turn.ts)
            .where(Turn.agent_id == agent_id, Turn.ts >= cursor, Turn.ts < until)
            .order_by(Turn.ts)
            .limit(1)
        )
        if ts is None:
            return
        day = day_of(ts, zone)
        yield day
        cursor = day_window(day, zone)[1]


def latest_days_with_turns(
    session: Session, agent_id: str, zone: ZoneInfo, until: int, *, limit: int
) -> list[date]:
    """The last `limit` days with turns that end at or before `until`, oldest first."""
    found: list[date] = []
    cursor = until
    while len(found) < limit:
        ts = session.scalar(
            select(Turn.ts)
            .where(Turn.agent_id == agent_id, Turn.ts < cursor)
            .order_by(Turn.ts.desc())
            .limit(1)
        )
        if ts is None:
            break
        day = day_of(ts, zone)
        cursor, end = day_window(day, zone)
        if end <= until:
            found.append(day)
    return found[::-1]


def unaudited(
    session: Session,
    agent_id: str,
    zone: ZoneInfo,
    days: Sequence[date],
    *,
    ended: Collection[RunState] = (RunState.DONE, RunState.PARTIAL),
) -> list[date]:
    """Those of the days that have no run in one of the `ended` states."""
    windows = {
        (since, until)
        for since, until in session.execute(
            select(AuditRun.window_from, AuditRun.window_until).where(
                AuditRun.agent_id == agent_id, AuditRun.state.in_([str(state) for state in ended])
            )
        )
    }
    return [day for day in days if day_window(day, zone) not in windows]
