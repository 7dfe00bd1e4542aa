"""Reading predictions; which are overdue depends on the moment of asking."""

from typing import Any

from sqlalchemy import ColumnElement, and_, case, func, not_, select, tuple_
from sqlalchemy.orm import Session

from service.api.parameters import Place
from service.beliefs.queries import format_or_none
from service.instants import format_instant
from service.models import Prediction
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


def _conditions(agent_id: str | None, belief_id: str | None) -> list[ColumnElement[bool]]:
    equal = {Prediction.agent_id: agent_id, Prediction.belief_id: belief_id}
    return [column == value for column, value in equal.items() if value is not None]


def count_by_state(
    session: Session, agent_id: str | None, belief_id: str | None, *, now: int
) -> dict[str, int]:
    """How many predictions stand in each state at `now`, microseconds since 1970 UTC."""
    states = _state(now)
    counts = session.execute(
        select(*(func.coalesce(func.sum(case((s, 1), else_=0)), 0) for s in states.values())).where(
            *_conditions(agent_id, belief_id)
        )
    ).one()
    return {str(state): int(count) for state, count in zip(states, counts, strict=True)}


def newest_predictions(
    session: Session,
    agent_id: str | None,
    belief_id: str | None,
    state: PredictionState | None,
    *,
    now: int,
    limit: int,
    after: Place | None,
) -> tuple[list[PredictionOut], Place | None]:
    """One page by (last_ts, agent, id), newest first, and the place where the next one begins."""
    place = (Prediction.last_ts, Prediction.agent_id, Prediction.prediction_id)
    statement = select(*_COLUMNS).where(*_conditions(agent_id, belief_id))
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
    session: Session, agent_id: str, prediction_id: str, *, now: int
) -> PredictionOut | None:
    """One prediction as it stands at `now`."""
    row = session.execute(
        select(*_COLUMNS).where(
            Prediction.agent_id == agent_id, Prediction.prediction_id == prediction_id
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
