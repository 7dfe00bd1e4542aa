"""Making and scoring predictions, as jobs of the writer."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy.orm import Session

from service import json_text
from service.contradictions.refusing import Done, LedgerCall, Refused, instant_after, taken
from service.db.bulk import rows_by_key
from service.errors import Conflict, Fault, NotFound
from service.events.log import LogPositions
from service.events.operations import append
from service.events.vocabulary import Log
from service.instants import format_instant, parse_or_none
from service.predictions import queries
from service.predictions.projection import PREDICTIONS, PredictionRow


class Rule(StrEnum):
    """The rules of predictions, by the names under which refusals are recorded."""

    DUE_AHEAD = "a_prediction_is_due_in_the_future"
    SCORED_ONCE = "a_prediction_is_scored_once"


@dataclass(slots=True)
class MakePrediction(LedgerCall):
    """A dated claim with a probability; the same one again is answered with the first."""

    def perform(self, session: Session, positions: LogPositions) -> Done:
        """Records it, unless it stands there already."""
        told = self.told
        prediction_id: str = told.detail["prediction_id"]
        row = stored(session, told.agent_id, prediction_id)
        if row is not None and row.made_at is not None:
            self._check_same(row, is_hidden=is_hidden(session, row, self.now, self.visible))
            return self._answer(session, prediction_id, 200)
        if self.recorded(session):
            raise taken("event_id", f"{told.event_id!r} made another prediction: choose a new id")
        due_at = parse_or_none(told.detail.get("due_at"))
        if due_at is not None and due_at <= self.now:
            reason = f"has passed: it is {format_instant(self.now)}; name an instant to come"
            raise _refused(Rule.DUE_AHEAD, "/due_at", f"due_at {reason}", reason)
        append(session, positions, [self.event(self.now)], self.projectors)
        return self._answer(session, prediction_id, 201)

    def _check_same(self, row: PredictionRow, *, is_hidden: bool) -> None:
        told = self.told
        mine = (
            json_text.shown(told.detail["statement"]),
            told.confidence,
            told.belief_id,
            parse_or_none(told.detail.get("due_at")),
        )
        if is_hidden or mine != (row.statement, row.confidence, row.belief_id, row.due_at):
            reason = f"{row.prediction_id!r} stands for another prediction: choose a new id"
            raise taken("prediction_id", reason)

    def _answer(self, session: Session, prediction_id: str, status: int) -> Done:
        found = queries.prediction_called(session, self.told.agent_id, prediction_id, now=self.now)
        return Done(status, found)


@dataclass(slots=True)
class ScorePrediction(LedgerCall):
    """The outcome of a prediction; the same outcome again changes nothing."""

    def perform(self, session: Session, positions: LogPositions) -> Done:
        """Records the outcome, unless it is known."""
        told = self.told
        prediction_id: str = told.detail["prediction_id"]
        row = stored(session, told.agent_id, prediction_id)
        if row is None or is_hidden(session, row, self.now, self.visible):
            raise NotFound(f"Agent {told.agent_id!r} has no prediction {prediction_id!r}.")
        outcome: bool = told.detail["outcome"]
        if row.scored_at is None:
            if self.recorded(session):
                raise taken("event_id", f"{told.event_id!r} scored another prediction")
            at = max(instant_after(self.now, row), row.made_at or self.now)
            append(session, positions, [self.event(at)], self.projectors)
        elif bool(row.outcome) is not outcome:
            was = str(bool(row.outcome)).lower()
            reason = f"was recorded as {was} at {format_instant(row.scored_at)}, and stays so"
            raise _refused(
                Rule.SCORED_ONCE, "/outcome", f"outcome {reason}", reason, outcome=bool(row.outcome)
            )
        found = queries.prediction_called(session, told.agent_id, prediction_id, now=self.now)
        return Done(200, found)


def stored(session: Session, agent_id: str, prediction_id: str) -> PredictionRow | None:
    """A prediction as the ledger has it."""
    rows = rows_by_key(session, PREDICTIONS, "prediction_id", [(agent_id, prediction_id)])
    return PredictionRow(*rows[0]) if rows else None


def is_hidden(session: Session, row: PredictionRow, now: int, log: Log | None) -> bool:
    """Whether a prediction is none of those that a reader of a log may see."""
    if log is None:
        return False
    name = row.prediction_id
    return queries.prediction_called(session, row.agent_id, name, now=now, log=log) is None


def _refused(rule: Rule, pointer: str, what: str, reason: str, **members: Any) -> Refused:
    return Refused(
        rule,
        Conflict(f"{what}. Rule: {rule}.", errors=(Fault(pointer, reason),), members=members),
    )
