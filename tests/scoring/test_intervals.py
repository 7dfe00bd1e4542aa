import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scoring.intervals import NORMAL_97_5, median_interval, wilson


def test_the_normal_quantile_is_scipy_s() -> None:
    assert float(stats.norm.ppf(0.975)) == pytest.approx(NORMAL_97_5, abs=1e-15)


@pytest.mark.parametrize(("k", "n"), [(3, 20), (1, 7), (10, 10), (0, 12), (499, 1000)])
def test_wilson_agrees_with_scipy(k: int, n: int) -> None:
    interval = wilson(k, n)
    reference = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
    assert interval is not None
    assert interval.low == pytest.approx(reference.low, abs=1e-12)
    assert interval.high == pytest.approx(reference.high, abs=1e-12)


def test_ten_of_ten_has_a_lower_bound_of_72_percent() -> None:
    interval = wilson(10, 10)
    assert interval is not None
    assert round(interval.low, 2) == 0.72
    assert interval.high == 1.0


def test_no_trials_have_no_interval() -> None:
    assert wilson(0, 0) is None


@pytest.mark.parametrize(("k", "n"), [(3, 2), (-1, 2), (math.nan, 2), (1, math.nan)])
def test_counts_that_make_no_proportion_are_refused(k: float, n: float) -> None:
    with pytest.raises(ValueError, match="not a proportion"):
        wilson(k, n)


@given(st.floats(0.01, 1e7))
def test_at_the_edges_wilson_is_exactly_0_and_1(n: float) -> None:
    none, every = wilson(0, n), wilson(n, n)
    assert none is not None
    assert every is not None
    assert none.low == 0.0 < none.high < 1.0
    assert 0.0 < every.low < every.high == 1.0
    assert none.high == pytest.approx(1 - every.low)


@given(st.floats(0.1, 1e6), st.floats(0, 1))
def test_wilson_holds_the_share_and_stays_within_0_and_1(n: float, share: float) -> None:
    interval = wilson(share * n, n)
    assert interval is not None
    assert 0 <= interval.low <= share + 1e-9
    assert share - 1e-9 <= interval.high <= 1


@given(st.integers(1, 500), st.data())
def test_more_trials_at_the_same_share_narrow_wilson(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    small, large = wilson(k, n), wilson(4 * k, 4 * n)
    assert small is not None
    assert large is not None
    assert large.high - large.low < small.high - small.low


def test_below_two_values_a_median_has_no_interval() -> None:
    assert median_interval([]) is None
    assert median_interval([3.0]) is None


@pytest.mark.parametrize(("n", "level"), [(2, 0.5), (3, 0.75), (5, 0.9375)])
def test_few_values_give_their_range_with_its_real_level(n: int, level: float) -> None:
    interval = median_interval([float(value) for value in range(n)])
    assert interval is not None
    assert (interval.low, interval.high) == (0.0, n - 1.0)
    assert interval.level == pytest.approx(level)


@pytest.mark.parametrize(("n", "low", "high"), [(6, 1, 6), (9, 2, 8), (10, 2, 9), (20, 6, 15)])
def test_ranks_are_those_of_the_printed_binomial_table(n: int, low: int, high: int) -> None:
    interval = median_interval(range(n, 0, -1))
    assert interval is not None
    assert (interval.low, interval.high) == (low, high)


def test_a_large_sample_keeps_its_level() -> None:
    interval = median_interval(range(20_001))
    assert interval is not None
    assert 0.95 <= interval.level < 0.96
    reached = stats.binom.cdf(interval.high, 20_001, 0.5)
    reached -= stats.binom.cdf(interval.low, 20_001, 0.5)
    assert interval.level == pytest.approx(float(reached), abs=1e-6)


def test_the_level_is_the_share_of_samples_that_hold_the_median() -> None:
    for n in range(2, 11):
        interval = median_interval(range(1, n + 1))
        assert interval is not None
        held = sum(
            sorted(signs)[int(interval.low) - 1] < 0 < sorted(signs)[int(interval.high) - 1]
            for signs in itertools.product((-1, 1), repeat=n)
        )
        assert interval.level == pytest.approx(held / 2**n)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60))
def test_a_median_interval_holds_the_median_in_any_order(values: list[float]) -> None:
    interval = median_interval(values)
    assert interval is not None
    ordered = sorted(values)
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    assert interval.low <= middle <= interval.high
    assert interval == median_interval(reversed(values))


def test_a_median_of_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not numbers"):
        median_interval([1.0, math.nan, 2.0])
