"""Wire shapes of predictions."""

from enum import StrEnum

import msgspec


class PredictionState(StrEnum):
    """Where a prediction stands: due and unscored is a state of its own."""

    OPEN = "open"
    OVERDUE = "overdue"
    SCORED = "scored"


class PredictionOut(msgspec.Struct):
    """A prediction as its events leave it; its state is that of the moment of asking."""

    agent_id: str
    prediction_id: str
    state: str
    statement: str | None
    confidence: float | None
    belief_id: str | None
    made_at: str | None
    due_at: str | None
    outcome: bool | None
    scored_at: str | None
    last_ts: str
