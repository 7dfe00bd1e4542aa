"""Drawing the auditor's sample, and what a stratified sample of turns says of all turns."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.intervals import Interval, wilson

Stratum = TypeVar("Stratum", bound=Hashable)
Day = TypeVar("Day", bound=Hashable)
Worker = TypeVar("Worker", bound=Hashable)

LEAST_STRATUM_TURNS = 5
"""Smaller strata are merged within their day."""


@dataclass(frozen=True, slots=True)
class WeightedRatio:
    """A ratio over all turns, estimated from the audited ones; None where nothing was found.

    The weighted counts estimate the totals over all turns of the covered strata. `effective_n` is
    the number of independent findings that would be known as exactly, R(1 - R)/variance; at the
    edges, Kish's number (see `hajek_ratio`).
    """

    value: float | None
    interval: Interval | None
    weighted_numerator: float
    weighted_denominator: float
    effective_n: float


@dataclass(frozen=True, slots=True)
class _Design:
    """Audited turns by stratum: the stratum of each turn (0..H-1), and n_h and N_h by stratum."""

    stratum: NDArray[np.intp]
    sampled: NDArray[np.float64]
    population: NDArray[np.float64]

    @property
    def weights(self) -> NDArray[np.float64]:
        """Return the inverse inclusion probability N_h / n_h of each turn."""
        return (self.population / self.sampled)[self.stratum]

    @property
    def unsampled_share(self) -> NDArray[np.float64]:
        """Return the finite-population factor 1 - n_h / N_h of each stratum."""
        return 1 - self.sampled / self.population

    @property
    def is_census(self) -> bool:
        """Say whether every turn of every stratum was audited."""
        return bool(np.all(self.sampled == self.population))


def allocate(strata: Mapping[Stratum, int], size: int) -> dict[Stratum, int]:
    """Share a sample of `size` turns among strata of the given sizes.

    Proportional by largest remainder (ties to the larger stratum, then to the earlier key), never
    more than a stratum holds, at least one for each that holds a turn; so with more such strata
    than `size`, the sample grows to one each.
    """
    if size < 0 or any(turns < 0 for turns in strata.values()):
        raise ValueError("a sample and its strata have sizes of 0 or more")
    shares = dict.fromkeys(strata, 0)
    open_strata = {key: turns for key, turns in strata.items() if turns > 0}
    left = min(size, sum(open_strata.values()))
    if left <= len(open_strata):
        return shares | dict.fromkeys(open_strata, 1)
    # A stratum whose proportional share is below one gets its one; the others share the rest.
    while True:
        total = sum(open_strata.values())
        small = [key for key, turns in open_strata.items() if left * turns < total]
        if not small:
            return shares | _largest_remainder(open_strata, left)
        for key in small:
            shares[key] = 1
            del open_strata[key]
        left -= len(small)


def _largest_remainder(strata: Mapping[Stratum, int], size: int) -> dict[Stratum, int]:
    total = sum(strata.values())
    shares = {key: size * turns // total for key, turns in strata.items()}
    by_remainder = sorted(
        strata, key=lambda key: (size * strata[key] % total, strata[key]), reverse=True
    )
    for key in by_remainder[: size - sum(shares.values())]:
        shares[key] += 1
    return shares


def merge_small_strata(
    sizes: Mapping[tuple[Day, Worker], int],
    audited: Mapping[tuple[Day, Worker], int] | None = None,
    *,
    least: int = LEAST_STRATUM_TURNS,
) -> dict[tuple[Day, Worker], tuple[Day, Worker]]:
    """Map each (day, worker) stratum to the one that stands for it after merging within the day.

    Strata below `least` turns (and, where `audited` is given, those without an audited turn) join
    into one; if that is still too small, the day's smallest other stratum joins too. The largest
    member names the group. A day's last stratum stays alone, however small.
    """
    merged = {key: key for key in sizes}
    by_day: dict[Day, list[tuple[Day, Worker]]] = {}
    for key in sorted(sizes, key=lambda key: sizes[key]):
        by_day.setdefault(key[0], []).append(key)

    def is_small(group: Sequence[tuple[Day, Worker]]) -> bool:
        unseen = audited is not None and not any(audited.get(key, 0) for key in group)
        return unseen or sum(sizes[key] for key in group) < least

    for keys in by_day.values():
        group = [key for key in keys if is_small([key])]
        others = [key for key in keys if not is_small([key])]
        while group and others and is_small(group):
            group.append(others.pop(0))
        for key in group:
            merged[key] = max(group, key=lambda member: sizes[member])
    return merged


def count_uncovered_turns(
    strata: Sequence[Stratum], population_sizes: Mapping[Stratum, int]
) -> int:
    """Return the turns of strata in which no turn was audited: no sampled figure speaks of them."""
    covered = set(strata)
    return sum(turns for key, turns in population_sizes.items() if key not in covered)


def hajek_ratio(
    numerators: ArrayLike,
    denominators: ArrayLike,
    strata: Sequence[Stratum],
    clusters: Sequence[Hashable],
    population_sizes: Mapping[Stratum, int],
) -> WeightedRatio:
    """Estimate sum(numerator)/sum(denominator) over all turns from the audited ones, at 95 %.

    One entry per audited turn: its two counts, its stratum and its session; `population_sizes`
    holds N_h. Hájek's ratio R with weights N_h/n_h; Taylor-linearised variance with sessions
    within strata as clusters and the factor 1 - n_h/N_h (Särndal, Swensson and Wretman 1992, 5.6);
    logit scale; t with (clusters - strata) degrees of freedom. A stratum with one session uses its
    turns as clusters, a stratum with one turn is centred on the whole. Without a usable variance:
    Wilson at Kish's effective number of turns, (sum wb)^2 / sum (wb)^2, since the findings of
    one turn may all share its fate. All turns audited: no sampling error, method "census".
    Counts that are no proportion (a numerator above its denominator) use the log scale.
    """
    a = np.asarray(numerators, dtype=np.float64)
    b = np.asarray(denominators, dtype=np.float64)
    design = _design(strata, population_sizes, a, b, clusters)
    weights = design.weights
    total_a, total_b = float(weights @ a), float(weights @ b)
    if total_b == 0:
        return WeightedRatio(None, None, total_a, 0.0, 0.0)
    value = total_a / total_b
    if design.is_census and not count_uncovered_turns(strata, population_sizes):
        interval = Interval(value, value, "census")
        return WeightedRatio(value, interval, total_a, total_b, float(b.sum()))
    is_proportion = bool(np.all(a <= b))
    linearised = weights * (a - value * b) / total_b
    variance, degrees = _clustered_variance(linearised, clusters, design)
    room = value * (1 - value) if is_proportion else value
    # Rounding leaves a variance of about 1e-33 where exact arithmetic leaves none.
    if variance > 1e-20 and room > 0:
        interval = _scaled_interval(
            value, math.sqrt(variance), degrees, is_proportion=is_proportion
        )
        return WeightedRatio(value, interval, total_a, total_b, room / variance)
    size = total_b**2 / float(np.sum((weights * b) ** 2))
    edge = None
    if is_proportion:
        edge = wilson(min(value, 1.0) * size, size, method="wilson, effective sample size")
    return WeightedRatio(value, edge, total_a, total_b, size)


def extrapolated_total(
    counts: ArrayLike, strata: Sequence[Stratum], population_sizes: Mapping[Stratum, int]
) -> tuple[float, Interval] | None:
    """Return the estimated sum of a count over all turns, and its 95 % interval.

    Sum over strata of N_h times the mean count, with variance N_h^2 (1 - n_h/N_h) s_h^2 / n_h and
    t quantiles (Cochran 1977, 5.3 and 2.8); a stratum with one audited turn borrows the pooled
    s^2. Never below the sum that was seen. Where no audited turn differs from its stratum, the
    turns not audited may differ by one each at Wilson's upper rate for 0 of n. Strata without an
    audited turn add nothing (see `count_uncovered_turns`); no audited turn at all gives None.
    """
    y = np.asarray(counts, dtype=np.float64)
    design = _design(strata, population_sizes, y)
    if len(y) == 0:
        return None
    total, seen = float(design.weights @ y), float(y.sum())
    if design.is_census:
        return total, Interval(total, total, "census")
    n = design.sampled
    residuals = y - (np.bincount(design.stratum, y) / n)[design.stratum]
    squares = np.bincount(design.stratum, residuals**2)
    degrees = float(np.sum(n - 1))
    if degrees == 0:
        # One turn in each stratum: the spread between strata is the only one there is.
        squares_pooled, degrees = float(np.sum((y - y.mean()) ** 2)), max(1.0, len(y) - 1.0)
    else:
        squares_pooled = float(squares.sum())
    spread = np.where(n > 1, squares / np.maximum(n - 1, 1), squares_pooled / degrees)
    variance = float(np.sum(design.population**2 * design.unsampled_share * spread / n))
    if variance > 0:
        half = _t_quantile(degrees) * math.sqrt(variance)
        return total, Interval(max(seen, total - half), total + half, "stratified t")
    weights = design.weights
    bound = wilson(0, float(weights.sum()) ** 2 / float(weights @ weights))
    unseen = float(np.sum(design.population - n))
    half = unseen * (bound.high if bound else 1.0)
    return total, Interval(max(seen, total - half), total + half, "wilson, one a turn")


def _design(
    strata: Sequence[Stratum],
    population_sizes: Mapping[Stratum, int],
    *columns: Sequence[object] | NDArray[np.float64],
) -> _Design:
    """Number the strata, and refuse columns of other lengths and impossible sizes."""
    if any(len(column) != len(strata) for column in columns):
        raise ValueError("every audited turn needs one entry in each column")
    number: dict[Stratum, int] = {}
    stratum = np.array([number.setdefault(key, len(number)) for key in strata], dtype=np.intp)
    sampled = np.bincount(stratum, minlength=len(number)).astype(np.float64)
    population = np.array([population_sizes[key] for key in number], dtype=np.float64)
    if np.any(sampled > population):
        raise ValueError("more audited turns than turns in a stratum")
    return _Design(stratum, sampled, population)


def _clustered_variance(
    linearised: NDArray[np.float64], clusters: Sequence[Hashable], design: _Design
) -> tuple[float, float]:
    """Return the variance of the sum of the linearised values, and its degrees of freedom."""
    variance, degrees, lonely = 0.0, 0, 0
    for h, factor in enumerate(design.unsampled_share):
        members = np.flatnonzero(design.stratum == h)
        if factor == 0:
            continue
        if len(members) == 1:
            # Linearised values sum to 0 over the sample, so the mean of the whole is 0.
            variance += float(factor * linearised[members[0]] ** 2)
            lonely += 1
            continue
        totals: dict[Hashable, float] = {}
        for i in members.tolist():
            totals[clusters[i]] = totals.get(clusters[i], 0.0) + float(linearised[i])
        values = np.array(list(totals.values())) if len(totals) > 1 else linearised[members]
        variance += float(factor * len(values) * np.var(values, ddof=1))
        degrees += len(values) - 1
    return variance, float(max(1, degrees + max(0, lonely - 1)))


def _scaled_interval(
    value: float, standard_error: float, degrees: float, *, is_proportion: bool
) -> Interval:
    t = _t_quantile(degrees)
    if not is_proportion:
        factor = math.exp(t * standard_error / value)
        return Interval(value / factor, value * factor, "linearised, log, t")
    centre = math.log(value / (1 - value))
    half = t * standard_error / (value * (1 - value))
    return Interval(_expit(centre - half), _expit(centre + half), "linearised, logit, t")


def _expit(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def _t_quantile(degrees: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 0.975))
