"""Records turns and reads audits back, the way the service and its readers do."""

import asyncio
import itertools
from collections.abc import Iterable
from typing import Any

from sqlalchemy import select

from service.app import projectors
from service.db.database import Database
from service.events.writer import Writer
from service.instants import DAY, SECOND, parse_instant, to_datetime
from service.models import AuditedTurn, AuditRun, AuditSample, Finding
from service.models.record import Record
from service.principals import LOCAL
from service.settings import Settings
from service.turns.normalise import TurnIntake, normalise_turn
from service.turns.operations import TurnBatch
from service.turns.schemas import TurnIn, TurnRow

AGENT = "piper"
MONDAY = parse_instant("2026-10-05T00:00:00Z")
NOON = MONDAY + DAY // 2
_NUMBERS = itertools.count(1)


def a_turn(turn_id: str | None = None, **fields: Any) -> TurnRow:
    """A checked turn of agent `piper`, at noon of Monday 2026-10-05 and a second later each."""
    number = next(_NUMBERS)
    given: dict[str, Any] = {
        "turn_id": turn_id or f"turn-{number}",
        "session_id": f"session-of-{turn_id or number}",
        "agent_id": AGENT,
        "ts": NOON + number * SECOND,
        "output": "The queue is stuck because the broker lost its lease.",
    } | fields
    given["ts"] = to_datetime(given["ts"])
    intake = TurnIntake(LOCAL, Settings.model_validate({}), NOON + 400 * DAY, lambda: AGENT)
    found = normalise_turn(TurnIn(**given), intake, 0)
    assert isinstance(found, TurnRow), found
    return found


def record_turns(database: Database, turns: Iterable[TurnRow]) -> None:
    """Stores turns through a real writer, as one request."""
    writer = Writer(database, projectors(), max_pending_items=1_000_000, clock=lambda: NOON)
    writer.start()
    try:
        asyncio.run(writer.submit(TurnBatch(list(turns), [], skip=False)))
    finally:
        writer.close()


def rows_of(database: Database, model: type[Record], *order: Any) -> list[Any]:
    """All rows of a table."""
    with database.read() as session:
        rows = list(session.scalars(select(model).order_by(*order)))
        session.expunge_all()
    return rows


def audited(database: Database) -> list[AuditedTurn]:
    """All turns with a state, in the order of the log."""
    return rows_of(database, AuditedTurn, AuditedTurn.seq)


def findings(database: Database) -> list[Finding]:
    """All findings, in the order of the log."""
    return rows_of(database, Finding, Finding.seq)


def runs(database: Database) -> list[AuditRun]:
    """All runs by window."""
    return rows_of(database, AuditRun, AuditRun.window_from)


def samples(database: Database) -> list[AuditSample]:
    """All drawn turns in the order of reading."""
    return rows_of(database, AuditSample, AuditSample.run_id, AuditSample.position)
