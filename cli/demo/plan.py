"""How the agent behaves in each of the five weeks, and when which worker is awake."""

import hashlib
from dataclasses import dataclass

from cli.demo.story import Support

DAY = "day"
DUSK = "dusk"
SCANNER = "scanner"
CONSOLIDATION = "consolidation"

MODEL_BEFORE = "llama-3.3-70b-instruct"
MODEL_AFTER = "claude-sonnet-4-5"

SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US
DAY_US = 24 * HOUR_US
WEEK_US = 7 * DAY_US


@dataclass(frozen=True, slots=True)
class WeekPlan:
    """Probabilities that rule one week; each is per occasion, and none is a ratio of spec 2.2."""

    gated: float
    abduction: float
    recorded: float
    laundered: float
    revised: float
    overwritten: float
    unlabelled: float
    followed_through: float
    summary_too_strong: float
    owner: str | None
    new_model_workers: frozenset[str]
    flags: tuple[tuple[str, str], ...]
    support: tuple[tuple[float, Support], ...]


def _cumulated(
    supported: float, weak: float, contradicted: float
) -> tuple[tuple[float, Support], ...]:
    """Upper ends of the four kinds of support on [0, 1]."""
    return (
        (supported, Support.SUPPORTED),
        (supported + weak, Support.WEAK),
        (supported + weak + contradicted, Support.CONTRADICTED),
        (1.0, Support.UNSUPPORTED),
    )


_BEFORE = _cumulated(0.30, 0.20, 0.10)
_AFTER = _cumulated(0.52, 0.22, 0.05)
_NOBODY = frozenset[str]()
_SPEAKERS = frozenset({DAY, DUSK})

PLANS = (
    WeekPlan(*(0.00, 0.02, 0.55, 0.16, 0.10, 0.00, 0.40, 0.35, 0.25), None, _NOBODY, (), _BEFORE),
    WeekPlan(*(0.00, 0.02, 0.55, 0.18, 0.11, 0.02, 0.40, 0.35, 0.25), None, _NOBODY, (), _BEFORE),
    WeekPlan(
        *(0.15, 0.03, 0.58, 0.17, 0.12, 0.03, 0.35, 0.40, 0.25),
        None,
        _NOBODY,
        (("assertion_gate", "on"),),
        _BEFORE,
    ),
    WeekPlan(
        *(0.35, 0.08, 0.70, 0.08, 0.50, 0.00, 0.20, 0.60, 0.10),
        DAY,
        _SPEAKERS,
        (("abduction_gate", "on"), ("contradiction_owner", "on")),
        _AFTER,
    ),
    WeekPlan(
        *(0.50, 0.13, 0.80, 0.02, 0.62, 0.00, 0.10, 0.72, 0.05),
        DAY,
        _SPEAKERS | {SCANNER},
        (("consolidation_may_relabel", "off"),),
        _AFTER,
    ),
)


def plan_of(week: int, weeks: int) -> WeekPlan:
    """The plan of week `week` of `weeks`: the story ends with the last week, however many."""
    return PLANS[min(max(week + len(PLANS) - weeks, 0), len(PLANS) - 1)]


def commit_sha(seed: int, week: int) -> str:
    """The commit the agent ran in a week, 40 hexadecimal digits."""
    return hashlib.blake2b(f"{seed}:{week}".encode(), digest_size=20).hexdigest()


def _worker_shares(hour: int) -> tuple[tuple[float, str], ...]:
    if 2 <= hour < 4:
        return ((0.75, CONSOLIDATION), (1.0, SCANNER))
    if 7 <= hour < 17:
        return ((0.80, DAY), (1.0, SCANNER))
    if 17 <= hour < 23:
        return ((0.80, DUSK), (1.0, SCANNER))
    return ((1.0, SCANNER),)


def _activity(hour: int) -> float:
    if 2 <= hour < 4:
        return 1.5
    return 1.6 if 7 <= hour < 23 else 0.35


WORKER_SHARES = tuple(_worker_shares(hour) for hour in range(24))
_TOTAL_ACTIVITY = sum(_activity(hour) for hour in range(24))
ACTIVITY = tuple(24 * _activity(hour) / _TOTAL_ACTIVITY for hour in range(24))
