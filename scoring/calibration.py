"""Whether stated confidences come true: proper scores, calibration error and slope.

Everywhere `confidences` are probabilities in [0, 1] and `outcomes` are 0 or 1, one of each a claim.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scoring.figures import Status
from scoring.intervals import NORMAL_97_5, Interval, wilson

CLIP = 1e-6
"""Confidences are kept this far from 0 and 1 wherever their logarithm is taken."""

ECE_TARGET = 0.08

# Written as decimals: a float at least 0.7 is one that was sent as 0.7 or more, which 10 * c is not
# always able to say.
_BIN_EDGES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogLoss:
    """Mean negative log likelihood in nats, and how many confidences had to be clipped."""

    value: float
    clipped: int


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Claims with a confidence in [low, high), the last bin including 1; None where it is empty."""

    low: float
    high: float
    n: int
    mean_confidence: float | None
    accuracy: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class CalibratedReference:
    """The calibration error that perfectly calibrated forecasts would show by chance alone."""

    mean: float
    p95: float
    repeats: int


@dataclass(frozen=True, slots=True)
class CalibrationSlope:
    """Slope and intercept of the fit, or the reason why there is none."""

    slope: float | None
    intercept: float | None
    interval: Interval | None
    clipped: int
    reason: str | None = None


def brier_score(confidences: ArrayLike, outcomes: ArrayLike) -> float | None:
    """Return mean (c - y)^2 (Brier 1950), or None without pairs."""
    c, y = _pairs(confidences, outcomes)
    return float(np.mean((c - y) ** 2)) if len(c) else None


def log_loss(confidences: ArrayLike, outcomes: ArrayLike) -> LogLoss | None:
    """Return the mean of -ln of the probability given to what happened (Good 1952).

    c is clipped to [1e-6, 1 - 1e-6]; the count says how many lay outside.
    """
    c, y = _pairs(confidences, outcomes)
    if not len(c):
        return None
    kept, clipped = _clip(c)
    losses = np.where(y == 1, -np.log(kept), -np.log1p(-kept))
    return LogLoss(float(losses.mean()), clipped)


def bin_indices(confidences: ArrayLike) -> NDArray[np.intp]:
    """Return min(floor(10 c), 9) with c read as the decimal it was sent as: 0.7 is in bin 7."""
    return np.searchsorted(_BIN_EDGES, np.asarray(confidences, dtype=np.float64), side="right")


def expected_calibration_error(confidences: ArrayLike, outcomes: ArrayLike) -> float | None:
    """Return the sum over ten bins of |B|/N * |accuracy - mean confidence| (Naeini et al. 2015)."""
    c, y = _pairs(confidences, outcomes)
    if not len(c):
        return None
    # |B|/N * |mean y - mean c| is |sum (y - c)|/N: empty bins add nothing.
    gaps = np.bincount(bin_indices(c), weights=y - c, minlength=10)
    return float(np.abs(gaps).sum() / len(c))


def reliability_table(confidences: ArrayLike, outcomes: ArrayLike) -> tuple[ReliabilityBin, ...]:
    """Return the ten bins with n, mean confidence, accuracy and its Wilson interval."""
    c, y = _pairs(confidences, outcomes)
    bins = bin_indices(c)
    counts = np.bincount(bins, minlength=10).tolist()
    confidence_sums = np.bincount(bins, weights=c, minlength=10).tolist()
    hits = np.bincount(bins, weights=y, minlength=10).tolist()
    return tuple(
        ReliabilityBin(
            low=i / 10,
            high=(i + 1) / 10,
            n=counts[i],
            mean_confidence=confidence_sums[i] / counts[i] if counts[i] else None,
            accuracy=hits[i] / counts[i] if counts[i] else None,
            interval=wilson(hits[i], counts[i]),
        )
        for i in range(10)
    )


def calibrated_reference(
    confidences: ArrayLike, seed: int, repeats: int = 2000
) -> CalibratedReference | None:
    """Simulate the calibration error of forecasts with these confidences that are all true to them.

    Each repeat draws y ~ Bernoulli(c) anew, as a binomial for each distinct confidence; plain ECE
    is biased upward, and this is by how much (Bröcker and Smith 2007).
    """
    c, _ = _pairs(confidences, np.zeros(np.size(confidences)))
    if not len(c):
        return None
    distinct, counts = np.unique(c, return_counts=True)
    random = np.random.default_rng(seed)
    bins = bin_indices(distinct)
    expected = distinct * counts
    errors = np.empty(repeats)
    # About a million draws at a time keeps memory flat however many distinct confidences there are.
    rows = max(1, 1_000_000 // len(distinct))
    membership = (bins[:, np.newaxis] == np.arange(10)).astype(np.float64)
    for start in range(0, repeats, rows):
        size = (min(rows, repeats - start), len(distinct))
        gaps = (random.binomial(counts, distinct, size=size) - expected) @ membership
        errors[start : start + rows] = np.abs(gaps).sum(axis=1) / len(c)
    return CalibratedReference(float(errors.mean()), float(np.quantile(errors, 0.95)), repeats)


def judge_calibration(
    error: float | None, reference: CalibratedReference | None, target: float = ECE_TARGET
) -> Status:
    """Judge a calibration error against its target and against what calibrated forecasts show.

    Unhealthy above both the target and the 95th percentile; healthy when below the target and
    the percentile is too; else the pairs are too few to tell.
    """
    if error is None or reference is None:
        return Status.UNAVAILABLE
    if error > target and error > reference.p95:
        return Status.UNHEALTHY
    if error < target and reference.p95 < target:
        return Status.HEALTHY
    return Status.INCONCLUSIVE


def pairs_to_decide(n: int, reference: CalibratedReference, target: float = ECE_TARGET) -> int:
    """Return about how many pairs bring the 95th percentile, ~ 1/sqrt(n), down to the target."""
    return max(n, math.ceil(n * (reference.p95 / target) ** 2))


def calibration_slope(confidences: ArrayLike, outcomes: ArrayLike) -> CalibrationSlope:
    """Fit y on logit(c) by unpenalised logistic regression (Cox 1958); below 1 is overconfident.

    c is clipped to [1e-6, 1 - 1e-6]. The 95 % interval is Wald's, from the observed information.
    """
    c, y = _pairs(confidences, outcomes)
    kept, clipped = _clip(c)
    x = np.log(kept) - np.log1p(-kept)
    reason = _why_no_slope(x, y)
    if reason is None:
        fit = _fit_logistic(x, y)
        if fit is not None:
            intercept, slope, error = fit
            half = NORMAL_97_5 * error
            interval = Interval(slope - half, slope + half, "wald")
            return CalibrationSlope(slope, intercept, interval, clipped)
        reason = "the fit did not converge"
    return CalibrationSlope(None, None, None, clipped, reason)


def _why_no_slope(x: _Floats, y: _Floats) -> str | None:
    """Return why no finite maximum of the likelihood exists (Albert and Anderson 1984), or None."""
    if not len(x):
        return "no resolved pairs"
    if np.all(y == y[0]):
        return "all outcomes are equal"
    if np.all(x == x[0]):
        return "all confidences are equal"
    wrong, right = x[y == 0], x[y == 1]
    if wrong.max() <= right.min() or right.max() <= wrong.min():
        return "a confidence separates right from wrong"
    return None


def _fit_logistic(x: _Floats, y: _Floats) -> tuple[float, float, float] | None:
    """Return intercept, slope and the slope's standard error by damped Newton steps, or None."""
    centre, scale = float(x.mean()), float(x.std())
    design = np.column_stack([np.ones_like(x), (x - centre) / scale])
    beta = np.zeros(2)
    likelihood = _log_likelihood(design @ beta, y)
    for _ in range(100):
        p = np.exp(-np.logaddexp(0, -design @ beta))
        information = design.T @ (design * (p * (1 - p))[:, np.newaxis])
        if not np.linalg.det(information) > 0:
            return None
        step = np.linalg.solve(information, design.T @ (y - p))
        while _log_likelihood(design @ (beta + step), y) < likelihood - 1e-12 * abs(likelihood):
            step = step / 2
        beta = beta + step
        likelihood = _log_likelihood(design @ beta, y)
        if np.max(np.abs(step)) < 1e-10:
            slope = float(beta[1]) / scale
            error = math.sqrt(float(np.linalg.inv(information)[1, 1])) / scale
            return float(beta[0]) - slope * centre, slope, error
    return None


def _log_likelihood(linear: _Floats, y: _Floats) -> float:
    return float(np.sum(y * linear - np.logaddexp(0, linear)))


def _clip(c: _Floats) -> tuple[_Floats, int]:
    return np.clip(c, CLIP, 1 - CLIP), int(np.sum((c < CLIP) | (c > 1 - CLIP)))


def _pairs(confidences: ArrayLike, outcomes: ArrayLike) -> tuple[_Floats, _Floats]:
    """Return both columns as floats, refusing what is no probability or no outcome."""
    c = np.asarray(confidences, dtype=np.float64)
    y = np.asarray(outcomes, dtype=np.float64)
    if c.ndim != 1 or c.shape != y.shape:
        raise ValueError("confidences and outcomes must be two columns of one length")
    if not np.all((c >= 0) & (c <= 1)):
        raise ValueError("a confidence lies in [0, 1]")
    if not np.all((y == 0) | (y == 1)):
        raise ValueError("an outcome is 0 or 1")
    return c, y
