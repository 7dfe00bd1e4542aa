import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.figures import (
    Reading,
    Status,
    Target,
    judge_census,
    judge_sampled,
    judge_trend,
    ratio,
)
from scoring.intervals import PROCESS_VARIATION, Interval, wilson


def of(numerator: int, denominator: int) -> Reading:
    return Reading(
        ratio(numerator, denominator), wilson(numerator, denominator), float(denominator)
    )


def test_a_ratio_over_nothing_is_unavailable_and_not_zero() -> None:
    assert ratio(0, 0) is None
    assert ratio(0, 5) == 0.0
    assert judge_census(ratio(0, 0), 0, Target("<", 0.1)) is Status.UNAVAILABLE


@pytest.mark.parametrize(
    ("value", "denominator", "target", "status"),
    [
        (0.005, 200, Target("<", 0.01), Status.HEALTHY),
        (0.01, 200, Target("<", 0.01), Status.UNHEALTHY),
        (0.15, 20, Target("<", 0.01), Status.UNHEALTHY),
        (0.15, 9, Target("<", 0.01), Status.INCONCLUSIVE),
        (0.0, 10, Target("<", 0.01), Status.HEALTHY),
        (0.7, 10, Target(">", 0.7), Status.UNHEALTHY),
        (0.71, 10, Target(">", 0.7), Status.HEALTHY),
        (0.71, 10, None, Status.NO_TARGET),
        (None, 0, None, Status.UNAVAILABLE),
    ],
)
def test_a_census_is_judged_by_its_value_from_ten_events_on(
    value: float | None, denominator: int, target: Target | None, status: Status
) -> None:
    assert judge_census(value, denominator, target) is status


@pytest.mark.parametrize(
    ("low", "high", "target", "status"),
    [
        (0.01, 0.09, Target("<", 0.1), Status.HEALTHY),
        (0.01, 0.10, Target("<", 0.1), Status.INCONCLUSIVE),
        (0.09, 0.11, Target("<", 0.1), Status.INCONCLUSIVE),
        (0.10, 0.20, Target("<", 0.1), Status.UNHEALTHY),
        (0.6, 0.7, Target(">", 0.5), Status.HEALTHY),
        (0.4, 0.5, Target(">", 0.5), Status.UNHEALTHY),
        (0.5, 0.6, Target(">", 0.5), Status.INCONCLUSIVE),
        (0.1, 0.1, Target("<", 0.1), Status.UNHEALTHY),
        (0.4, 0.5, None, Status.NO_TARGET),
    ],
)
def test_a_sample_is_judged_only_when_its_whole_interval_agrees(
    low: float, high: float, target: Target | None, status: Status
) -> None:
    assert judge_sampled((low + high) / 2, Interval(low, high, "test"), target) is status


def test_a_sample_without_value_or_interval_is_not_judged() -> None:
    assert judge_sampled(None, None, Target("<", 0.1)) is Status.UNAVAILABLE
    assert judge_sampled(0.5, None, Target("<", 0.1)) is Status.INCONCLUSIVE


def test_the_change_interval_is_the_one_newcombe_printed() -> None:
    # Newcombe 1998, table II, case (a): 56/70 against 48/80, method 10.
    trend = judge_trend(of(56, 70), of(48, 80), Target("rising"))
    assert trend.change == pytest.approx(0.2)
    assert trend.interval is not None
    assert round(trend.interval.low, 4) == 0.0524
    assert round(trend.interval.high, 4) == 0.3339
    assert trend.status is Status.HEALTHY


@pytest.mark.parametrize(
    ("current", "previous", "target", "status"),
    [
        (of(56, 70), of(48, 80), Target("falling"), Status.UNHEALTHY),
        (of(48, 80), of(56, 70), Target("falling"), Status.HEALTHY),
        (of(48, 80), of(56, 70), Target("rising"), Status.UNHEALTHY),
        (of(5, 10), of(4, 10), Target("rising"), Status.FLAT),
        (of(5, 10), None, Target("rising"), Status.INCONCLUSIVE),
        (of(5, 10), of(0, 0), Target("rising"), Status.INCONCLUSIVE),
        (of(0, 0), of(5, 10), Target("rising"), Status.UNAVAILABLE),
        (of(5, 10), of(4, 10), None, Status.NO_TARGET),
        (of(70, 70), of(10, 70), Target("rising", 1.0), Status.UNHEALTHY),
        (of(69, 70), of(10, 70), Target("rising", 1.0), Status.HEALTHY),
    ],
)
def test_a_trend_is_judged_by_the_change_and_its_interval(
    current: Reading, previous: Reading | None, target: Target | None, status: Status
) -> None:
    assert judge_trend(current, previous, target).status is status


def test_a_census_trend_over_fewer_than_ten_events_is_inconclusive() -> None:
    current, previous = of(9, 9), of(0, 9)
    assert judge_trend(current, previous, Target("rising")).status is Status.HEALTHY
    census = judge_trend(current, previous, Target("rising"), census=True)
    assert census.status is Status.INCONCLUSIVE
    assert census.change == 1.0


def test_a_change_between_two_censuses_is_process_variation() -> None:
    interval = wilson(3, 20, meaning=PROCESS_VARIATION)
    trend = judge_trend(Reading(0.15, interval, 20), Reading(0.15, interval, 20), Target("rising"))
    assert trend.interval is not None
    assert trend.interval.meaning == PROCESS_VARIATION


def test_a_level_is_not_judged_as_a_trend_nor_a_trend_as_a_level() -> None:
    with pytest.raises(ValueError, match="not by a change"):
        judge_trend(of(1, 2), of(1, 2), Target("<", 0.1))
    with pytest.raises(ValueError, match="not by a value"):
        judge_census(0.5, 20, Target("rising"))
    with pytest.raises(ValueError, match="needs a value"):
        Target("<")


counts = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, counts)
def test_the_change_back_mirrors_the_change_forth(
    current: tuple[int, int], previous: tuple[int, int]
) -> None:
    forth = judge_trend(of(*current), of(*previous), Target("rising")).interval
    back = judge_trend(of(*previous), of(*current), Target("rising")).interval
    assert forth is not None
    assert back is not None
    assert forth.low == pytest.approx(-back.high)
    assert -1 - 1e-12 <= forth.low <= forth.high <= 1 + 1e-12
