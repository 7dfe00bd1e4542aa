"""Reading predictions; which are overdue depends on the moment of asking."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, case, exists, func, not_, select, tuple_
from sqlalchemy.orm import Session

from service.api.parameters import Place
from service.beliefs.queries import format_or_none
from service.events.vocabulary import EventType, Log
from service.instants import format_instant
from service.models import CogEvent, Prediction
from service.predictions.schemas import PredictionOut, PredictionState

_COLUMNS = tuple(Prediction.__table__.columns)


def _state(now: int) -> dict[PredictionState, ColumnElement[bool]]:
    is_due = func.coalesce(Prediction.due_at, now) < now
    unscored = Prediction.scored_at.is_(None)
    return {
        PredictionState.OPEN: and_(unscored, not_(is_due)),
        PredictionState.OVERDUE: and_(unscored, is_due),
        PredictionState.SCORED: Prediction.scored_at.is_not(None),
    }


@dataclass(frozen=True, slots=True)
class PredictionFilter:
    """Which predictions; every field that is None lets all pass."""

    agent_id: str | None = None
    belief_id: str | None = None
    log: Log | None = None

    def conditions(self) -> list[ColumnElement[bool]]:
        """The same as conditions on `predictions`."""
        equal = {Prediction.agent_id: self.agent_id, Prediction.belief_id: self.belief_id}
        found = [column == value for column, value in equal.items() if value is not None]
        return [*found, *told_in(self.log)]


def told_in(log: Log | None) -> list[ColumnElement[bool]]:
    """Predictions that no other log made, by what the row took from its event; all for None.

    The id stands in a detail, where no index finds it. An own prediction of the very microsecond
    and confidence of one in another log is therefore hidden with that: too little is shown, never
    too much. One that nobody made shows an outcome only, and is there for whose log told it.
    """
    if log is None:
        return []
    of_agent = select(CogEvent.seq).where(CogEvent.agent_id == Prediction.agent_id)
    made_by_others = of_agent.where(
        CogEvent.log != log,
        CogEvent.event == EventType.PREDICTION_MADE,
        CogEvent.ts == Prediction.made_at,
        CogEvent.confidence.is_not_distinct_from(Prediction.confidence),
    )
    scored_by_others = of_agent.where(
        CogEvent.log != log,
        CogEvent.event == EventType.PREDICTION_SCORED,
        CogEvent.ts == Prediction.scored_at,
    )
    unmade = and_(Prediction.made_at.is_(None), exists(scored_by_others))
    return [~exists(made_by_others), ~unmade]


def count_by_state(session: Session, wanted: PredictionFilter, *, now: int) -> dict[str, int]:
    """How many predictions stand in each state at `now`, microseconds since 1970 UTC."""
    states = _state(now)
    counts = session.execute(
        select(*(func.coalesce(func.sum(case((s, 1), else_=0)), 0) for s in states.values())).where(
            *wanted.conditions()
        )
    ).one()
    return {str(state): int(count) for state, count in zip(states, counts, strict=True)}


def newest_predictions(
    session: Session,
    wanted: PredictionFilter,
    state: PredictionState | None,
    *,
    now: int,
    limit: int,
    after: Place | None,
) -> tuple[list[PredictionOut], Place | None]:
    """One page by (last_ts, agent, id), newest first, and the place where the next one begins."""
    place = (Prediction.last_ts, Prediction.agent_id, Prediction.prediction_id)
    statement = select(*_COLUMNS).where(*wanted.conditions())
    if state is not None:
        statement = statement.where(_state(now)[state])
    if after is not None:
        statement = statement.where(tuple_(*place) < after)
    rows = session.execute(statement.order_by(*(c.desc() for c in place)).limit(limit + 1)).all()
    end = rows[limit - 1] if len(rows) > limit else None
    return [_prediction_out(row, now) for row in rows[:limit]], end and (
        end.last_ts,
        end.agent_id,
        end.prediction_id,
    )


def prediction_called(
    session: Session, agent_id: str, prediction_id: str, *, now: int, log: Log | None = None
) -> PredictionOut | None:
    """One prediction as it stands at `now`; none that another log than the one named made."""
    row = session.execute(
        select(*_COLUMNS).where(
            Prediction.agent_id == agent_id,
            Prediction.prediction_id == prediction_id,
            *told_in(log),
        )
    ).one_or_none()
    return None if row is None else _prediction_out(row, now)


def state_at(due_at: int | None, scored_at: int | None, now: int) -> PredictionState:
    """The state at `now`; what is due this very instant is not overdue yet."""
    if scored_at is not None:
        return PredictionState.SCORED
    is_due = due_at is not None and due_at < now
    return PredictionState.OVERDUE if is_due else PredictionState.OPEN


def _prediction_out(row: Any, now: int) -> PredictionOut:
    return PredictionOut(
        row.agent_id, row.prediction_id, state_at(row.due_at, row.scored_at, now), row.statement,
        row.confidence, row.belief_id, format_or_none(row.made_at), format_or_none(row.due_at),
        None if row.outcome is None else bool(row.outcome), format_or_none(row.scored_at),
        format_instant(row.last_ts),
    )  # fmt: skip
