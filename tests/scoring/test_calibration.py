import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import optimize

from scoring.calibration import (
    CalibratedReference,
    bin_indices,
    brier_score,
    calibrated_reference,
    calibration_slope,
    expected_calibration_error,
    judge_calibration,
    log_loss,
    pairs_to_decide,
    reliability_table,
)
from scoring.figures import Status
from scoring.intervals import wilson

pairs = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), min_size=1, max_size=40)


def columns(rows: list[tuple[float, int]]) -> tuple[list[float], list[int]]:
    return [c for c, _ in rows], [y for _, y in rows]


def test_brier_by_hand() -> None:
    assert brier_score([0.9, 0.6, 0.2], [1, 0, 0]) == pytest.approx((0.01 + 0.36 + 0.04) / 3)


def test_log_loss_by_hand_is_natural_and_counts_what_it_clipped() -> None:
    loss = log_loss([0.5, 0.8, 1.0, 1e-6], [1, 0, 0, 0])
    assert loss is not None
    expected = (math.log(2) - math.log(0.2) - math.log(1e-6) - math.log(1 - 1e-6)) / 4
    assert loss.value == pytest.approx(expected)
    assert loss.clipped == 1


def test_without_pairs_every_score_is_unavailable() -> None:
    assert brier_score([], []) is None
    assert log_loss([], []) is None
    assert expected_calibration_error([], []) is None
    assert calibrated_reference([], seed=1) is None
    assert calibration_slope([], []).reason == "no resolved pairs"
    assert judge_calibration(None, None) is Status.UNAVAILABLE


@pytest.mark.parametrize("digits", range(11))
def test_a_tenth_opens_its_bin(digits: int) -> None:
    assert int(bin_indices([float(f"{digits / 10:.1f}")])[0]) == min(digits, 9)


@given(st.floats(0, 1))
def test_the_bin_is_that_of_the_decimal(confidence: float) -> None:
    assert int(bin_indices([confidence])[0]) == min(int(10 * Decimal(repr(confidence))), 9)


def test_ece_by_hand_uses_the_mean_confidence_of_a_bin() -> None:
    # Bin 7 holds 0.7 and 0.78 (mean 0.74, accuracy 1/2), bin 9 holds 1.0 and 0.9 (0.95, 1).
    error = expected_calibration_error([0.7, 0.78, 1.0, 0.9], [1, 0, 1, 1])
    assert error == pytest.approx(0.5 * 0.24 + 0.5 * 0.05)


def test_the_reliability_table_by_hand() -> None:
    table = reliability_table([0.7, 0.78, 1.0], [1, 0, 1])
    assert [row.n for row in table] == [0, 0, 0, 0, 0, 0, 0, 2, 0, 1]
    assert (table[7].low, table[7].high) == (0.7, 0.8)
    assert table[7].mean_confidence == pytest.approx(0.74)
    assert table[7].accuracy == 0.5
    assert table[7].interval == wilson(1, 2)
    assert (table[0].mean_confidence, table[0].accuracy, table[0].interval) == (None, None, None)


@given(pairs)
def test_the_table_adds_up_to_the_calibration_error(rows: list[tuple[float, int]]) -> None:
    total = 0.0
    for row in reliability_table(*columns(rows)):
        if row.accuracy is not None and row.mean_confidence is not None:
            total += row.n / len(rows) * abs(row.accuracy - row.mean_confidence)
    assert expected_calibration_error(*columns(rows)) == pytest.approx(total, abs=1e-12)


@given(pairs)
def test_scores_ignore_order_and_keep_their_bounds(rows: list[tuple[float, int]]) -> None:
    back = rows[::-1]
    for score in (brier_score, expected_calibration_error):
        value = score(*columns(rows))
        assert value is not None
        assert 0 <= value <= 1 + 1e-12
        assert value == pytest.approx(score(*columns(back)))
    loss = log_loss(*columns(rows))
    assert loss is not None
    assert 0 < loss.value <= -math.log(1e-6) + 1e-9


@given(st.floats(0.01, 0.99), st.floats(0.01, 0.99))
def test_proper_scores_are_best_at_the_truth(truth: float, stated: float) -> None:
    def log_score(confidences: list[float], outcomes: list[int]) -> float | None:
        loss = log_loss(confidences, outcomes)
        return None if loss is None else loss.value

    for score in (brier_score, log_score):

        def expected(
            confidence: float, score: Callable[[list[float], list[int]], float | None] = score
        ) -> float:
            right, wrong = score([confidence], [1]), score([confidence], [0])
            assert right is not None
            assert wrong is not None
            return truth * right + (1 - truth) * wrong

        assert expected(truth) <= expected(stated) + 1e-12


def test_the_reference_for_one_coin_is_its_mean_deviation() -> None:
    # Four claims at 0.5: |k/4 - 1/2| is 0, 1/4, 1/2 with chances 6, 8, 2 of 16: mean 0.1875.
    reference = calibrated_reference([0.5] * 4, seed=7, repeats=20_000)
    assert reference is not None
    assert reference.mean == pytest.approx(0.1875, abs=0.005)
    assert reference.p95 == 0.5


def test_the_reference_of_the_same_question_is_the_same() -> None:
    confidences = np.linspace(0, 1, 501)
    first = calibrated_reference(confidences, seed=3)
    assert first == calibrated_reference(confidences[::-1], seed=3)
    assert first != calibrated_reference(confidences, seed=4)


def test_certain_forecasts_have_no_chance_error() -> None:
    assert calibrated_reference([0.0, 1.0], seed=1) == CalibratedReference(0.0, 0.0, 2000)


def test_memory_for_the_reference_does_not_grow_with_distinct_confidences() -> None:
    reference = calibrated_reference(np.linspace(0, 1, 20_000), seed=1, repeats=120)
    assert reference is not None
    assert 0 < reference.mean < reference.p95 < 0.02


@pytest.mark.parametrize(
    ("error", "p95", "status"),
    [
        (0.12, 0.10, Status.UNHEALTHY),
        (0.09, 0.10, Status.INCONCLUSIVE),
        (0.05, 0.10, Status.INCONCLUSIVE),
        (0.05, 0.06, Status.HEALTHY),
        (0.08, 0.06, Status.INCONCLUSIVE),
    ],
)
def test_a_calibration_error_is_judged_beside_what_chance_shows(
    error: float, p95: float, status: Status
) -> None:
    assert judge_calibration(error, CalibratedReference(0.03, p95, 2000)) is status


def test_halving_chance_error_takes_four_times_the_pairs() -> None:
    assert pairs_to_decide(100, CalibratedReference(0.1, 0.16, 2000)) == 400
    assert pairs_to_decide(100, CalibratedReference(0.01, 0.02, 2000)) == 100


def test_the_slope_of_two_confidences_by_hand() -> None:
    # Saturated: logit(accuracy) passes through both points. c 0.9: 3 of 4, c 0.1: 1 of 4.
    slope = calibration_slope([0.9] * 4 + [0.1] * 4, [1, 1, 1, 0, 1, 0, 0, 0])
    assert slope.slope == pytest.approx(math.log(3) / math.log(9))
    assert slope.intercept == pytest.approx(0, abs=1e-9)
    # Var(logit) at 3 of 4 is 1/3 + 1/1, at both ends, over the squared distance 2 ln 9.
    error = math.sqrt(2 * (4 / 3)) / (2 * math.log(9))
    assert slope.interval is not None
    assert slope.slope is not None
    assert slope.interval.high - slope.slope == pytest.approx(1.959964 * error, rel=1e-6)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 1)), min_size=4, max_size=40))
def test_the_slope_is_where_scipy_finds_the_maximum(rows: list[tuple[int, int]]) -> None:
    confidences, outcomes = [k / 20 for k, _ in rows], np.array([y for _, y in rows])
    fit = calibration_slope(confidences, outcomes)
    assume(fit.slope is not None)
    clipped = np.clip(confidences, 1e-6, 1 - 1e-6)
    x = np.log(clipped / (1 - clipped))

    def loss(beta: np.ndarray) -> float:
        linear = beta[0] + beta[1] * x
        return float(np.sum(np.logaddexp(0, linear) - outcomes * linear))

    best = optimize.minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-9})
    assert fit.intercept is not None
    assert fit.slope is not None
    assert loss(np.array([fit.intercept, fit.slope])) <= best.fun + 1e-7


def test_an_overconfident_agent_has_a_slope_below_one() -> None:
    random = np.random.default_rng(5)
    stated = random.uniform(-3, 3, 20_000)
    outcomes = random.random(20_000) < 1 / (1 + np.exp(-0.5 * stated))
    fit = calibration_slope(1 / (1 + np.exp(-stated)), outcomes)
    assert fit.slope == pytest.approx(0.5, abs=0.05)
    assert fit.interval is not None
    assert fit.interval.high < 1


@pytest.mark.parametrize(
    ("confidences", "outcomes", "reason"),
    [
        ([0.5, 0.9], [1, 1], "all outcomes are equal"),
        ([0.9, 0.9], [1, 0], "all confidences are equal"),
        ([1.0, 1 - 1e-9], [1, 0], "all confidences are equal"),
        ([0.1, 0.2, 0.8], [0, 0, 1], "a confidence separates right from wrong"),
        ([0.8, 0.2, 0.1], [0, 1, 1], "a confidence separates right from wrong"),
        ([0.1, 0.5, 0.5, 0.9], [0, 0, 1, 1], "a confidence separates right from wrong"),
    ],
)
def test_where_no_slope_exists_the_reason_is_given(
    confidences: list[float], outcomes: list[int], reason: str
) -> None:
    fit = calibration_slope(confidences, outcomes)
    assert (fit.slope, fit.interval, fit.reason) == (None, None, reason)


def test_the_slope_says_how_many_confidences_it_clipped() -> None:
    assert calibration_slope([0.0, 1.0, 0.5, 0.6], [0, 1, 1, 0]).clipped == 2


@pytest.mark.parametrize(
    ("confidences", "outcomes"),
    [([1.1], [1]), ([-0.1], [0]), ([math.nan], [1]), ([0.5], [2]), ([0.5, 0.5], [1])],
)
def test_what_is_no_probability_or_no_outcome_is_refused(
    confidences: list[float], outcomes: list[int]
) -> None:
    with pytest.raises(ValueError, match=r"confidence|outcome"):
        brier_score(confidences, outcomes)
