"""Wire shapes of predictions."""

from enum import StrEnum
from typing import Annotated

import msgspec
from pydantic import AfterValidator, Field

from service.contradictions.schemas import Ids, LedgerCallIn, LedgerId
from service.instants import parse_instant


class PredictionState(StrEnum):
    """Where a prediction stands: due and unscored is a state of its own."""

    OPEN = "open"
    OVERDUE = "overdue"
    SCORED = "scored"


def _instant(text: str) -> str:
    parse_instant(text)
    return text


class PredictionIn(LedgerCallIn):
    """A claim, how sure it is, and when it will show."""

    prediction_id: LedgerId | None = None
    statement: Annotated[str, Field(min_length=1, max_length=65_536)]
    confidence: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
    due_at: Annotated[
        str,
        Field(max_length=64, description="an instant with an offset: 2026-10-03T12:00:00Z"),
        AfterValidator(_instant),
    ]
    belief_id: LedgerId | None = None


class ScoreIn(LedgerCallIn):
    """What came of a prediction."""

    outcome: Annotated[bool, Field(strict=True)]
    evidence: Ids = Field(default_factory=list)


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
