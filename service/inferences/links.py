"""Which shadow inference a prediction was made about: a companion row, found by the prediction."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Table
from sqlalchemy.orm import Session

from service import json_text
from service.db.bulk import rows_by_key
from service.events.log import LogPositions
from service.events.recording import record_rows
from service.events.schemas import Event
from service.inferences.evidence import usable_id
from service.inferences.lookups import Key
from service.inferences.vocabulary import ContextKind
from service.models import InferenceContext

CONTEXTS: Table = InferenceContext.__table__  # type: ignore[assignment]
_CONTEXT_ID = tuple(CONTEXTS.columns.keys()).index("context_id")
_CONTEXT_SHADOW = tuple(CONTEXTS.columns.keys()).index("shadow_id")


def record_prediction_links(
    session: Session, positions: LogPositions, events: Sequence[Event]
) -> None:
    """Keeps which shadow inference a prediction was made about, so that its score finds it.

    The first link counts: a later one would choose its claim when the outcome may be known.
    """
    linking: dict[Key, Event] = {}
    for event in events:
        if linked_shadow(event) is not None:
            linking.setdefault(
                (event.agent_id, _prediction_context(event.detail["prediction_id"])), event
            )
    if not linking:
        return
    taken = {(row[0], row[1]) for row in rows_by_key(session, CONTEXTS, "context_id", linking)}
    rows = [
        (
            event.agent_id, context_id, event.log, linked_shadow(event),
            str(ContextKind.PREDICTION), event.received_at, event.session_id, event.turn_id, None,
            json_text.encode(
                {"prediction_id": event.detail["prediction_id"], "event_id": event.event_id}
            ),
        )
        for (agent_id, context_id), event in linking.items()
        if (agent_id, context_id) not in taken
    ]  # fmt: skip
    record_rows(session, positions, CONTEXTS, rows)


def linked_predictions(session: Session, predictions: Iterable[Key]) -> dict[Key, str]:
    """Which shadow inference each (agent, prediction) was made about, where it said so."""
    keys = {(agent, _prediction_context(name)): (agent, name) for agent, name in predictions}
    rows = rows_by_key(session, CONTEXTS, "context_id", sorted(keys))
    return {keys[row[0], row[_CONTEXT_ID]]: row[_CONTEXT_SHADOW] for row in rows}


def _prediction_context(prediction_id: str) -> str:
    return f"{ContextKind.PREDICTION}:{prediction_id}"


def linked_shadow(event: Event) -> str | None:
    """The shadow inference that a prediction says it is about."""
    return usable_id(event.detail.get("shadow_id"))
