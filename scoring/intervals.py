"""Confidence intervals that stand beside a figure: Wilson for proportions, ranks for medians."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

NORMAL_97_5 = 1.959963984540054
"""97.5 % quantile of the standard normal, written out so that no figure has to import scipy."""

PROCESS_VARIATION = "process variation"
"""The `meaning` of an interval beside a census, which has no sampling error."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds in the unit of the figure, the method that made them and the level they reach.

    `level` is the nominal one, except where a method cannot reach it and states its real one.
    """

    low: float
    high: float
    method: str
    level: float = 0.95
    meaning: str | None = None

    def contains(self, value: float) -> bool:
        """Say whether `value` lies within the bounds, both included."""
        return self.low <= value <= self.high


def wilson(
    numerator: float, denominator: float, *, meaning: str | None = None, method: str = "wilson"
) -> Interval | None:
    """Return the 95 % score interval of a proportion (Wilson 1927), or None for no trials.

    Counts may be fractional, as effective counts of a weighted sample are.
    """
    if not 0 <= numerator <= denominator:
        raise ValueError(f"{numerator} of {denominator} is not a proportion")
    if denominator == 0:
        return None
    square = NORMAL_97_5 * NORMAL_97_5
    share = numerator / denominator
    scale = 1 + square / denominator
    centre = (share + square / (2 * denominator)) / scale
    spread = share * (1 - share) / denominator + square / (4 * denominator * denominator)
    half = NORMAL_97_5 * math.sqrt(spread) / scale
    # At the edges the bound is exact in theory; rounding must not move it off 0 or 1.
    low = 0.0 if numerator == 0 else max(0.0, centre - half)
    high = 1.0 if numerator == denominator else min(1.0, centre + half)
    return Interval(low, high, method, meaning=meaning)


def median_interval(values: Iterable[float], *, meaning: str | None = None) -> Interval | None:
    """Return the narrowest symmetric pair of order statistics that covers the median at 95 %.

    The ranks come from Binomial(n, 1/2) (Conover, Practical Nonparametric Statistics, 3.2) and the
    level is the one they reach. Below six values no pair reaches 95 %: the interval is then
    (minimum, maximum) with its real, lower level; below two values there is none.
    """
    ordered = sorted(values)
    n = len(ordered)
    if n < 2:
        return None
    if math.isnan(math.fsum(ordered)):
        raise ValueError("a median of values that are not numbers has no interval")
    below, level = _symmetric_ranks(n)
    return Interval(ordered[below], ordered[n - 1 - below], "order statistics", level, meaning)


def _symmetric_ranks(n: int, wanted: float = 0.95) -> tuple[int, float]:
    """Return how many values to leave out at each end, and the level that the rest reaches."""
    # Ten standard deviations below the middle a binomial tail is under 1e-23: start there.
    first = max(0, n // 2 - math.ceil(5 * math.sqrt(n)))
    left_out, level, tail = 0, 1.0, 0.0
    for k in range(first, (n - 1) // 2 + 1):
        log_choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        tail += math.exp(log_choose - n * math.log(2))
        # With nothing left out, the level is what it is: no pair of values reaches more.
        if k > 0 and 1 - 2 * tail < wanted:
            break
        left_out, level = k, 1 - 2 * tail
    return left_out, level
