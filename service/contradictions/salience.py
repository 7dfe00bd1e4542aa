"""How much the open contradictions weigh, and what resolving them costs."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from service.checks import WHOLE_LIMIT
from service.contradictions.lifecycle import OPEN
from service.contradictions.projection import EVENT_TYPES
from service.events.vocabulary import Log
from service.instants import DAY
from service.models import CogEvent, Contradiction

CAP = 100.0
# The design's gate: resolution takes at most this share of an agent's day.
MOST_OF_BUDGET = 0.05
# One that nobody gave a priority weighs the least that one can weigh.
LEAST_PRIORITY = 1


def salience(priority: int | None, detected_at: int | None, now: int) -> float:
    """priority · (1 + age in days / 7); what is detected in the future has no age yet."""
    age_days = 0.0 if detected_at is None else max(0, now - detected_at) / DAY
    return (priority or LEAST_PRIORITY) * (1 + age_days / 7)


@dataclass(frozen=True, slots=True)
class Salience:
    """The weight of an agent's open contradictions at an instant."""

    open: int
    without_priority: int
    uncapped: float

    @property
    def value(self) -> float:
        """What counts: never more than the cap."""
        return min(CAP, self.uncapped)


def weigh(rows: Iterable[Any], now: int) -> Salience:
    """The sum over rows with `priority` and `detected_at`."""
    listed = list(rows)
    return Salience(
        len(listed),
        sum(row.priority is None for row in listed),
        math.fsum(salience(row.priority, row.detected_at, now) for row in listed),
    )


def read_salience(
    session: Session, agent_id: str, now: int, conditions: Iterable[ColumnElement[bool]] = ()
) -> Salience:
    """The weight of an agent's open contradictions, of those that meet some conditions."""
    rows = session.execute(
        select(Contradiction.priority, Contradiction.detected_at)
        .where(Contradiction.agent_id == agent_id, Contradiction.state.in_(OPEN), *conditions)
        # A sum of doubles depends on the order.
        .order_by(Contradiction.detected_at, Contradiction.contradiction_id)
    )
    return weigh(rows, now)


def tokens_between(
    session: Session, agent_id: str, since: int, until: int, log: Log | None = None
) -> int:
    """The tokens that events on contradictions name, within [since, until), of one log or both.

    Added up here: a sum beyond 64 bits is an error on one of the databases.
    """
    named = session.scalars(
        select(CogEvent.cost_tokens).where(
            CogEvent.agent_id == agent_id,
            CogEvent.event.in_(sorted(EVENT_TYPES)),
            CogEvent.ts >= since,
            CogEvent.ts < until,
            CogEvent.cost_tokens.is_not(None),
            *([] if log is None else [CogEvent.log == log]),
        )
    )
    return min(WHOLE_LIMIT, sum(tokens or 0 for tokens in named))


def budget_json(tokens: float, daily_budget: int | None, days: float = 1.0) -> dict[str, Any]:
    """What resolution took of the budget; a share of nothing is unavailable, not zero."""
    share = tokens / (daily_budget * days) if daily_budget else None
    return {
        "daily_token_budget": daily_budget,
        "tokens": tokens,
        "share": share,
        "gate": MOST_OF_BUDGET,
        "within_gate": None if share is None else share <= MOST_OF_BUDGET,
    }
