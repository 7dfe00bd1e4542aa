"""Selective prediction: how wrong an agent is when it speaks only where it is most confident."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """The error rate among the i most confident of n claims, i = 1..n, and the area under it.

    `coverage[i - 1]` is i/n, `risk[i - 1]` the error rate; `aurc` is the mean risk, lower is
    better.
    """

    coverage: tuple[float, ...]
    risk: tuple[float, ...]
    aurc: float


def risk_coverage(confidences: ArrayLike, outcomes: ArrayLike) -> RiskCoverage | None:
    """Return the risk-coverage curve and AURC (Geifman and El-Yaniv 2017), or None without claims.

    `confidences` are any finite scores, `outcomes` 1 where the claim was right and 0 where it was
    wrong. Equal confidences are averaged over their orders: of a group of g with e errors, the
    first j hold e * j / g of them on average.
    """
    c = np.asarray(confidences, dtype=np.float64)
    y = np.asarray(outcomes, dtype=np.float64)
    if c.ndim != 1 or c.shape != y.shape:
        raise ValueError("confidences and outcomes must be two columns of one length")
    if not np.all(np.isfinite(c)) or not np.all((y == 0) | (y == 1)):
        raise ValueError("confidences are finite, and an outcome is 0 or 1")
    n = len(c)
    if n == 0:
        return None
    _, group, sizes = np.unique(-c, return_inverse=True, return_counts=True)
    error_share = np.bincount(group, weights=1 - y) / sizes
    covered = np.arange(1, n + 1)
    risk = np.cumsum(np.repeat(error_share, sizes)) / covered
    return RiskCoverage(tuple((covered / n).tolist()), tuple(risk.tolist()), float(risk.mean()))
