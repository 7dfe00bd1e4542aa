"""From detection to resolution: how many contradictions got how far, and how long it took."""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session

from scoring.intervals import wilson
from service.contradictions.projection import (
    NOT_A_CONTRADICTION,
    ContradictionRow,
    ContradictionState,
    is_evidenced,
)
from service.contradictions.salience import budget_json
from service.instants import DAY, HOUR, format_instant
from service.models import Contradiction, HandCheckVerdict

LEAST_CORRECT = 0.85
# Names of the kind of hand-check and of its verdicts; the area above gives them.
RESOLUTION_CHECK, CONFIRMED, REJECTED = "resolution", "confirm", "reject"
_COLUMNS = tuple(Contradiction.__table__.columns)
_SETTLED = frozenset({ContradictionState.RESOLVED, ContradictionState.SCOPED})


@dataclass(frozen=True, slots=True)
class Life:
    """A contradiction as it stood at the end of the window; instants in microseconds."""

    row: ContradictionRow
    until: int

    @property
    def investigated_at(self) -> int | None:
        """When somebody took it up, unless that was later."""
        return _before(self.row.investigated_at, self.until)

    @property
    def closed_at(self) -> int | None:
        """When it was closed, unless that was later."""
        return _before(self.row.closed_at, self.until)

    @property
    def outcome(self) -> str:
        """What had become of it: how it was closed, or `open`."""
        if self.closed_at is None:
            return "open"
        if self.row.resolution == NOT_A_CONTRADICTION:
            return NOT_A_CONTRADICTION
        return self.row.state

    @property
    def is_evidenced(self) -> bool:
        """Whether its resolution cites anything."""
        return is_evidenced(msgspec.json.decode(self.row.resolution_detail or "{}"))


def _before(instant: int | None, until: int) -> int | None:
    return instant if instant is not None and instant < until else None


def lives(session: Session, agent_id: str, since: int, until: int) -> list[Life]:
    """The contradictions detected within [since, until), oldest first."""
    rows = session.execute(
        select(*_COLUMNS)
        .where(
            Contradiction.agent_id == agent_id,
            # All of them, named so that the index of states and detections serves.
            Contradiction.state.in_(tuple(ContradictionState)),
            Contradiction.detected_at >= since,
            Contradiction.detected_at < until,
        )
        .order_by(Contradiction.detected_at, Contradiction.contradiction_id)
    )
    return [Life(ContradictionRow(*row), until) for row in rows]


def funnel(found: Sequence[Life]) -> dict[str, Any]:
    """Counts and shares of each stage, and the times between stages in hours."""
    outcomes = Counter(life.outcome for life in found)
    resolved = [life for life in found if life.outcome in (*_RESOLVED, NOT_A_CONTRADICTION)]
    unevidenced = sum(not life.is_evidenced for life in resolved)
    stages = {
        "detected": len(found),
        "owned": sum(life.row.owner is not None for life in found),
        "investigated": sum(life.investigated_at is not None for life in found),
        **{name: outcomes[name] for name in _OUTCOMES},
    }
    return {
        "stages": {
            name: {"count": count, "share": _share(count, len(found))}
            for name, count in stages.items()
        },
        "hours": {
            "detected_to_investigated": _times(
                (life.row.detected_at, life.investigated_at) for life in found
            ),
            "investigated_to_closed": _times(
                (life.investigated_at, life.closed_at) for life in found
            ),
            "detected_to_settled": _times(
                (life.row.detected_at, life.closed_at) for life in found if _is_settled(life)
            ),
        },
        "unevidenced": {
            "count": unevidenced,
            "of": len(resolved),
            "share": _share(unevidenced, len(resolved)),
        },
    }


_RESOLVED = (str(ContradictionState.RESOLVED),)
_OUTCOMES = (
    *map(str, (ContradictionState.RESOLVED, ContradictionState.SCOPED, ContradictionState.EXPIRED)),
    NOT_A_CONTRADICTION,
    "open",
)


def _is_settled(life: Life) -> bool:
    return life.outcome in _SETTLED


def _share(count: int, of: int) -> float | None:
    return count / of if of else None


def _times(pairs: Iterable[tuple[int | None, int | None]]) -> dict[str, Any]:
    """Median and 90th percentile (nearest rank) of what lies between, where both are known."""
    hours = sorted(
        (end - start) / HOUR
        for start, end in pairs
        # An event dated before what it follows is reported as it is, and is no waiting time.
        if start is not None and end is not None and end >= start
    )
    if not hours:
        return {"n": 0, "median": None, "p90": None}
    ninth = hours[math.ceil(0.9 * len(hours)) - 1]
    return {"n": len(hours), "median": statistics.median(hours), "p90": ninth}


_GROUPS: dict[str, Callable[[Life], str]] = {
    "by_owner": lambda life: life.row.owner or "",
    "by_priority": lambda life: "" if life.row.priority is None else str(life.row.priority),
    "by_detector": lambda life: life.row.detector or "",
}


def grouped(found: Sequence[Life]) -> dict[str, list[dict[str, Any]]]:
    """The stages by owner, by priority and by detector; null is what bears none."""
    answer: dict[str, list[dict[str, Any]]] = {}
    for name, key in _GROUPS.items():
        groups: dict[str, list[Life]] = {}
        for life in found:
            groups.setdefault(key(life), []).append(life)
        answer[name] = [
            {"group": group or None, **funnel(groups[group])} for group in sorted(groups)
        ]
    return answer


def correctness(session: Session, agent_id: str, found: Sequence[Life]) -> dict[str, Any]:
    """Of the resolutions that a person looked at, how many were right; the last word counts."""
    rows = session.execute(
        select(HandCheckVerdict.subject_id, HandCheckVerdict.verdict)
        .where(HandCheckVerdict.agent_id == agent_id, HandCheckVerdict.kind == RESOLUTION_CHECK)
        .order_by(HandCheckVerdict.seq)
    )
    last: dict[str | None, str] = {row.subject_id: row.verdict for row in rows}
    verdicts = Counter(last.get(life.row.contradiction_id) for life in found)
    right, of = verdicts[CONFIRMED], verdicts[CONFIRMED] + verdicts[REJECTED]
    interval = wilson(right, of)
    return {
        "confirmed": right,
        "of": of,
        "share": _share(right, of),
        "interval": None if interval is None else {"low": interval.low, "high": interval.high},
        "accept_at_least": LEAST_CORRECT,
    }


def read_funnel(
    session: Session, agent_id: str, since: int, until: int, daily_budget: int | None
) -> dict[str, Any]:
    """The whole funnel of the contradictions detected within [since, until)."""
    found = lives(session, agent_id, since, until)
    tokens = sum(life.row.cost_tokens for life in found)
    days = (until - since) / DAY
    return {
        "agent": agent_id,
        "window": {"from": format_instant(since), "until": format_instant(until)},
        **funnel(found),
        **grouped(found),
        "tokens_a_day": tokens / days,
        "budget": budget_json(tokens, daily_budget, days),
        "correctness": correctness(session, agent_id, found),
    }
