"""Distance of a stated belief from the one the evidence supports, and the worth of a question.

A distribution is a mapping from hypothesis to probability. `p` is always the normative one, exact
and summing to 1; `q` is the agent's, taken as it was given.
"""

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

Hypothesis = TypeVar("Hypothesis", bound=Hashable)

EPSILON = 1e-3
"""Added to each hypothesis, so that a zero on a live one costs much, but not everything."""


@dataclass(frozen=True, slots=True)
class UpdateEfficiency:
    """The agent's movement in log-odds over the normative one, for the hypothesis named.

    1 is ideal, below 0.5 inertia, above 2 over-reaction, below 0 the wrong way; None when the
    evidence moved nothing.
    """

    hypothesis: Hashable | None
    value: float | None


def smooth(
    q: Mapping[Hypothesis, float], hypotheses: Iterable[Hypothesis], epsilon: float = EPSILON
) -> dict[Hypothesis, float]:
    """Return (q + epsilon) / sum (q + epsilon) over the hypothesis set.

    A hypothesis that q leaves out has 0 there; mass that q gives to others is left out.
    """
    raised = {h: q.get(h, 0.0) + epsilon for h in hypotheses}
    total = math.fsum(raised.values())
    if not math.isfinite(total) or any(mass < epsilon for mass in raised.values()):
        raise ValueError("a distribution holds finite masses of 0 or more")
    return {h: mass / total for h, mass in raised.items()}


def kl_divergence(p: Mapping[Hypothesis, float], q: Mapping[Hypothesis, float]) -> float:
    """Return the sum of p ln(p/q) in nats (Kullback and Leibler 1951).

    Both must sum to 1; infinite where q gives nothing to what p holds possible.
    """
    _require_distribution(p)
    _require_distribution(q)
    live = {h: mass for h, mass in p.items() if mass > 0}
    if any(q.get(h, 0.0) == 0 for h in live):
        return math.inf
    # Differences of logarithms, since quotients of very small masses overflow.
    terms = (mass * (math.log(mass) - math.log(q[h])) for h, mass in live.items())
    return max(0.0, math.fsum(terms))


def just_loss(
    p: Mapping[Hypothesis, float], q: Mapping[Hypothesis, float], epsilon: float = EPSILON
) -> float:
    """Return KL(p || q) in nats with q smoothed over the hypotheses of p.

    Zero exactly where the smoothed q equals p: an agent that rightly says 1 still pays about
    epsilon * (hypotheses - 1).
    """
    return kl_divergence(p, smooth(q, p, epsilon))


def update_efficiency(
    p_before: Mapping[Hypothesis, float],
    p_after: Mapping[Hypothesis, float],
    q_before: Mapping[Hypothesis, float],
    q_after: Mapping[Hypothesis, float],
    epsilon: float = EPSILON,
) -> UpdateEfficiency:
    """Return the agent's change of log-odds over the normative one, where that moved most.

    All four are smoothed alike over the hypotheses of `p_after` and `p_before`: certainty stays
    finite, and an agent that states p exactly has efficiency 1. Ties go to the hypothesis named
    first.
    """
    _require_distribution(p_before)
    _require_distribution(p_after)
    hypotheses = list(dict.fromkeys([*p_before, *p_after]))
    normative = _movement(p_before, p_after, hypotheses, epsilon)
    most = max(hypotheses, key=lambda h: abs(normative[h]))
    if abs(normative[most]) < 1e-12:
        return UpdateEfficiency(None, None)
    moved = _movement(q_before, q_after, hypotheses, epsilon)
    return UpdateEfficiency(most, moved[most] / normative[most])


def expected_information_gain(prior: ArrayLike, likelihoods: ArrayLike) -> float:
    """Return H(Q) - E[H(Q | v)] in nats of asking for v (Lindley 1956).

    `prior` has shape (hypotheses,) and sums to 1; `likelihoods` has shape (hypotheses, answers),
    each row P(answer | hypothesis). Computed as the mutual information, which is the same.
    """
    belief = np.asarray(prior, dtype=np.float64)
    table = np.asarray(likelihoods, dtype=np.float64)
    if belief.ndim != 1 or table.ndim != 2 or len(table) != len(belief):
        raise ValueError("likelihoods need one row a hypothesis")
    if not all(_sums_to_one(row.tolist()) for row in (belief, *table)):
        raise ValueError("the prior and each row of likelihoods must sum to 1")
    joint = belief[:, np.newaxis] * table
    marginal = np.broadcast_to(joint.sum(axis=0), table.shape)
    live = joint > 0
    # Differences of logarithms, since quotients of very small masses overflow.
    gain = float(np.sum(joint[live] * (np.log(table[live]) - np.log(marginal[live]))))
    return max(0.0, gain)


def voi_regret(gains: Mapping[Hypothesis, float], chosen: Hypothesis | None) -> float:
    """Return (best - chosen) / best over the gains of all variables that could be asked for.

    1 when the request maps to no variable, whatever the gains; else 0 when nothing could be
    gained.
    """
    if chosen is None or chosen not in gains:
        return 1.0
    best = max(gains.values())
    return (best - gains[chosen]) / best if best > 0 else 0.0


def _movement(
    before: Mapping[Hypothesis, float],
    after: Mapping[Hypothesis, float],
    hypotheses: list[Hypothesis],
    epsilon: float,
) -> dict[Hypothesis, float]:
    start, end = smooth(before, hypotheses, epsilon), smooth(after, hypotheses, epsilon)
    return {h: _logit(end, h) - _logit(start, h) for h in hypotheses}


def _logit(distribution: Mapping[Hypothesis, float], hypothesis: Hypothesis) -> float:
    # The mass of the others is added up, since 1 - p loses the digits of a p near 1.
    others = math.fsum(mass for h, mass in distribution.items() if h != hypothesis)
    if others == 0:
        raise ValueError("log-odds need two hypotheses or more")
    return math.log(distribution[hypothesis]) - math.log(others)


def _require_distribution(p: Mapping[Hypothesis, float]) -> None:
    if not _sums_to_one(list(p.values())):
        raise ValueError("a distribution holds masses of 0 or more that sum to 1")


def _sums_to_one(masses: list[float]) -> bool:
    return all(mass >= 0 for mass in masses) and abs(math.fsum(masses) - 1) <= 1e-6
