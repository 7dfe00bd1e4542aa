"""What prediction events say of a prediction: the first making and the first scoring count."""

import msgspec
from sqlalchemy import Table
from sqlalchemy.orm import Session

from service import instants, json_text
from service.db.bulk import rows_by_key, upsert_rows
from service.events.folding import order
from service.events.log import LogPositions
from service.events.schemas import Event
from service.events.vocabulary import EventType, Flag
from service.models import Prediction


class PredictionRow(msgspec.Struct):
    """A row of `predictions`, its fields in the order of the columns."""

    agent_id: str
    prediction_id: str
    statement: str | None = None
    confidence: float | None = None
    belief_id: str | None = None
    made_at: int | None = None
    due_at: int | None = None
    outcome: int | None = None
    scored_at: int | None = None
    last_ts: int = instants.EARLIEST
    last_log: str = ""
    last_seq: int = 0


EVENT_TYPES = frozenset({EventType.PREDICTION_MADE, EventType.PREDICTION_SCORED})
PREDICTIONS: Table = Prediction.__table__  # type: ignore[assignment]


def project(session: Session, _positions: LogPositions, events: list[Event]) -> None:
    """Folds prediction events into `predictions`.

    Earliest instant wins on either side, so the order of arrival does not matter and a
    prediction need not be folded anew (its id stands in `detail`, where no index finds it).
    """
    keys = sorted({(e.agent_id, e.detail["prediction_id"]) for e in events})
    states = {
        (row[0], row[1]): PredictionRow(*row)
        for row in rows_by_key(session, PREDICTIONS, "prediction_id", keys)
    }
    for event in sorted(events, key=order):
        key = (event.agent_id, event.detail["prediction_id"])
        state = states.setdefault(key, PredictionRow(*key))
        _apply(state, event)
        latest = max((state.last_ts, state.last_log, state.last_seq), order(event))
        state.last_ts, state.last_log, state.last_seq = latest
    upsert_rows(session, PREDICTIONS, [msgspec.structs.astuple(states[key]) for key in keys])


def _apply(state: PredictionRow, event: Event) -> None:
    if event.event == EventType.PREDICTION_MADE:
        if state.made_at is not None and state.made_at <= event.ts:
            event.noted.append(Flag.ALREADY_CREATED)
            return
        state.made_at = event.ts
        state.statement = json_text.shown(event.detail.get("statement"))
        state.confidence = event.confidence
        state.belief_id = event.belief_id or _text(event.detail.get("belief_id"))
        state.due_at = instants.parse_or_none(event.detail.get("due_at"))
        return
    if state.made_at is None or event.ts < state.made_at:
        event.noted.append(Flag.UNKNOWN_SUBJECT)
    if state.scored_at is not None and state.scored_at <= event.ts:
        event.noted.append(Flag.SUBJECT_CLOSED)
        return
    state.scored_at = event.ts
    state.outcome = int(event.detail["outcome"])


def _text(value: object) -> str | None:
    return json_text.shown(value) if isinstance(value, str) else None
