"""How a figure is judged: targets, statuses, and the change since the window before."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from scoring.intervals import PROCESS_VARIATION, Interval

TargetOp = Literal["<", ">", "rising", "falling"]

LEAST_CENSUS_DENOMINATOR = 10
"""Below this many events a census figure is too small to be judged by its value."""


class Status(StrEnum):
    """What can be said of a figure against its target.

    A level target gives healthy, unhealthy or inconclusive. A trend target gives healthy or
    unhealthy when the change is surely in or against the wanted direction, flat when its interval
    holds 0, and inconclusive when there is nothing to compare with.
    """

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    INCONCLUSIVE = "inconclusive"
    FLAT = "flat"
    NO_TARGET = "no_target"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True, slots=True)
class Target:
    """A bound that must strictly hold (`<`, `>`), or the direction a figure should move.

    A trend's optional `value` is a level that the figure must not reach: `Target("rising", 1.0)`
    is "rising, but not 1.0".
    """

    op: TargetOp
    value: float | None = None

    def __post_init__(self) -> None:
        if not self.is_trend and (self.value is None or math.isnan(self.value)):
            raise ValueError(f"a target {self.op!r} needs a value")

    @property
    def is_trend(self) -> bool:
        """Say whether the target is a direction rather than a level."""
        return self.op in ("rising", "falling")

    def is_met_by(self, value: float) -> bool:
        """Say whether a level target strictly holds at `value`; a trend has no such answer."""
        if self.value is None or self.is_trend:
            raise ValueError(f"a target {self.op!r} is judged by a change, not by a value")
        return value < self.value if self.op == "<" else value > self.value


@dataclass(frozen=True, slots=True)
class Reading:
    """One window's figure: its value, its interval, and the denominator `n` it rests on."""

    value: float | None
    interval: Interval | None
    n: float


@dataclass(frozen=True, slots=True)
class Trend:
    """Current minus previous window, with its interval and its status."""

    change: float | None
    interval: Interval | None
    status: Status


def ratio(numerator: float, denominator: float) -> float | None:
    """Return numerator / denominator, or None when there is nothing to divide by."""
    return None if denominator == 0 else numerator / denominator


def judge_census(value: float | None, denominator: float, target: Target | None) -> Status:
    """Judge a figure that counted every event, by its value; below 10 events inconclusive."""
    if value is None:
        return Status.UNAVAILABLE
    if target is None:
        return Status.NO_TARGET
    met = target.is_met_by(value)
    if denominator < LEAST_CENSUS_DENOMINATOR:
        return Status.INCONCLUSIVE
    return Status.HEALTHY if met else Status.UNHEALTHY


def judge_sampled(value: float | None, interval: Interval | None, target: Target | None) -> Status:
    """Judge a figure that rests on a sample: only when its whole interval agrees."""
    if value is None:
        return Status.UNAVAILABLE
    if target is None:
        return Status.NO_TARGET
    if interval is None:
        return Status.INCONCLUSIVE
    verdicts = {target.is_met_by(interval.low), target.is_met_by(interval.high)}
    if verdicts == {True}:
        return Status.HEALTHY
    return Status.UNHEALTHY if verdicts == {False} else Status.INCONCLUSIVE


def change_interval(current: Reading, previous: Reading) -> Interval | None:
    """Return the 95 % interval of current minus previous from the two readings' own intervals.

    Newcombe's hybrid score interval (1998, method 10) where those are Wilson's; the same squares
    hold for any two independent estimates (Zou and Donner 2008, MOVER).
    """
    if current.value is None or current.interval is None:
        return None
    if previous.value is None or previous.interval is None:
        return None
    change = current.value - previous.value
    down = math.hypot(current.value - current.interval.low, previous.interval.high - previous.value)
    up = math.hypot(current.interval.high - current.value, previous.value - previous.interval.low)
    process = current.interval.meaning == previous.interval.meaning == PROCESS_VARIATION
    meaning = PROCESS_VARIATION if process else None
    level = min(current.interval.level, previous.interval.level)
    return Interval(change - down, change + up, "newcombe", level, meaning)


def judge_trend(
    current: Reading,
    previous: Reading | None,
    target: Target | None,
    *,
    census: bool = False,
) -> Trend:
    """Judge a rising or falling target by the change since the previous window.

    Without a previous value, or without either interval, the status is inconclusive; with
    `census`, so it is when either window counts fewer than 10. A current value at or beyond the
    level that the target forbids is unhealthy whatever the change.
    """
    if target is not None and not target.is_trend:
        raise ValueError(f"a target {target.op!r} is judged by a value, not by a change")
    change = None
    if previous is not None and current.value is not None and previous.value is not None:
        change = current.value - previous.value
    interval = None if previous is None else change_interval(current, previous)
    if current.value is None:
        return Trend(None, None, Status.UNAVAILABLE)
    if target is None:
        return Trend(change, interval, Status.NO_TARGET)
    if _reaches_forbidden(current.value, target):
        return Trend(change, interval, Status.UNHEALTHY)
    if previous is None or interval is None:
        return Trend(change, interval, Status.INCONCLUSIVE)
    if census and min(current.n, previous.n) < LEAST_CENSUS_DENOMINATOR:
        return Trend(change, interval, Status.INCONCLUSIVE)
    return Trend(change, interval, _direction_status(interval, target))


def _reaches_forbidden(value: float, target: Target) -> bool:
    if target.value is None:
        return False
    return value >= target.value if target.op == "rising" else value <= target.value


def _direction_status(interval: Interval, target: Target) -> Status:
    if interval.contains(0.0):
        return Status.FLAT
    rises = interval.low > 0
    return Status.HEALTHY if rises == (target.op == "rising") else Status.UNHEALTHY
