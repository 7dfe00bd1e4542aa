"""Turns, outcomes and questions as the tests of shadow inferences need them."""

import asyncio
import json
from typing import Any

from sqlalchemy import select

from service import json_text
from service.app import projectors
from service.db.database import Database
from service.events.schemas import Event
from service.events.writer import Writer
from service.inferences.contexts import record_turn_contexts
from service.instants import DAY, to_datetime
from service.models import InferenceContext, InferenceResolution, ShadowInference
from service.principals import LOCAL
from service.settings import Settings
from service.turns.normalise import TurnIntake, normalise_turn
from service.turns.operations import TurnBatch
from service.turns.schemas import TurnIn, TurnRow
from tests.service.factories import AGENT, NOW, an_event, row_of

DF = {"id": "call-1", "name": "df", "arguments": {"path": "/"}, "result": "97 % used"}
DU = {"name": "du", "result": {"used": 4}}
MEMORY = {"id": "m1", "content": "backups run at two", "label": "remember"}


def a_turn(turn_id: str = "t1", **fields: Any) -> TurnRow:
    """A checked turn of agent `piper`, with two tool calls and a memory."""
    given: dict[str, Any] = {
        "agent_id": AGENT, "turn_id": turn_id, "session_id": "s1", "ts": to_datetime(NOW),
        "commit_sha": "0a1b2c3", "tool_calls": [DF, DU], "retrieved": [MEMORY], "output": "So.",
    } | fields  # fmt: skip
    intake = TurnIntake(LOCAL, Settings.model_validate({}), NOW + DAY, lambda: AGENT)
    found = normalise_turn(TurnIn(**given), intake, 0)
    assert isinstance(found, TurnRow), found
    return found


def store(database: Database, *turns: TurnRow) -> None:
    """Stores turns through a real writer, as one request, the way the service does."""
    writer = Writer(database, projectors(), max_pending_items=1_000_000, clock=lambda: NOW)
    writer.start()
    try:
        batch = TurnBatch(list(turns), [], skip=False, followers=(record_turn_contexts,))
        asyncio.run(writer.submit(batch))
    finally:
        writer.close()


def an_outcome(source: str, evidence: Any = None, *, of: str = "agent:b-1", **told: Any) -> Event:
    """An `inference.outcome`; `told` goes into `detail`, but for the fields of the event.

    What only an operator's key may say is put in past the check.
    """
    fields = {name: told.pop(name) for name in ("ts", "log", "event_id", "turn_id") if name in told}
    detail = {"shadow_id": of, "outcome": True, "source": "self_belief"} | told
    if evidence is not None:
        detail["evidence"] = evidence
    event = an_event("inference.outcome", detail=detail, **fields)
    event.detail["source"] = source
    event.detail_text = json_text.encode(event.detail)
    return event


def evidence_of(database: Database, shadow_id: str) -> Any:
    """The evidence in the snapshot of a shadow inference."""
    return json.loads(row_of(database, ShadowInference, AGENT, shadow_id)["evidence"] or "null")


def contexts(database: Database, shadow_id: str) -> list[dict[str, Any]]:
    """Its companion rows, oldest first."""
    with database.read() as session:
        rows = session.execute(
            select(*InferenceContext.__table__.columns)
            .where(InferenceContext.agent_id == AGENT, InferenceContext.shadow_id == shadow_id)
            .order_by(InferenceContext.seq)
        )
        return [dict(row._mapping) for row in rows]


def resolutions(database: Database, shadow_id: str | None = None) -> list[tuple[str, bool]]:
    """Source and outcome of all resolutions, or of one inference's, in order of arrival."""
    with database.read() as session:
        statement = select(InferenceResolution.source, InferenceResolution.outcome).order_by(
            InferenceResolution.log, InferenceResolution.seq
        )
        if shadow_id is not None:
            statement = statement.where(InferenceResolution.shadow_id == shadow_id)
        return [(source, bool(outcome)) for source, outcome in session.execute(statement)]
