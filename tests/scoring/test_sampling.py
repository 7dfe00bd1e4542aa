import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scoring.intervals import Interval, wilson
from scoring.sampling import (
    allocate,
    count_uncovered_turns,
    extrapolated_total,
    hajek_ratio,
    merge_small_strata,
)

Key = TypeVar("Key", bound=Hashable)

strata_sizes = st.dictionaries(st.text(max_size=3), st.integers(0, 2000), max_size=12)


@pytest.mark.parametrize(
    ("strata", "size", "expected"),
    [
        ({"a": 600, "b": 300, "c": 100}, 50, {"a": 30, "b": 15, "c": 5}),
        ({"a": 50, "b": 30, "c": 20}, 7, {"a": 4, "b": 2, "c": 1}),
        ({"a": 990, "b": 5, "c": 5}, 10, {"a": 8, "b": 1, "c": 1}),
        ({"a": 3, "b": 2}, 50, {"a": 3, "b": 2}),
        ({"a": 9, "b": 0, "c": 9}, 1, {"a": 1, "b": 0, "c": 1}),
        ({"a": 9}, 0, {"a": 1}),
        ({}, 50, {}),
    ],
)
def test_the_sample_is_shared_in_proportion(
    strata: dict[str, int], size: int, expected: dict[str, int]
) -> None:
    assert allocate(strata, size) == expected


@given(strata_sizes, st.integers(0, 300))
def test_every_stratum_gets_one_and_none_more_than_it_holds(
    strata: dict[str, int], size: int
) -> None:
    shares = allocate(strata, size)
    held = {key: turns for key, turns in strata.items() if turns}
    assert shares.keys() == strata.keys()
    assert all(min(1, turns) <= shares[key] <= turns for key, turns in strata.items())
    assert sum(shares.values()) == max(len(held), min(size, sum(held.values())))


@given(strata_sizes, st.integers(1, 300))
def test_a_larger_stratum_never_gets_less(strata: dict[str, int], size: int) -> None:
    shares = allocate(strata, size)
    ranked = sorted(strata, key=lambda key: (strata[key], shares[key]))
    assert all(shares[a] <= shares[b] for a, b in itertools.pairwise(ranked))


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        allocate({"a": -1}, 5)


def test_small_strata_merge_within_their_day() -> None:
    sizes = {("mon", "a"): 40, ("mon", "b"): 3, ("mon", "c"): 2, ("tue", "a"): 9, ("tue", "b"): 1}
    assert merge_small_strata(sizes) == {
        ("mon", "a"): ("mon", "a"),
        ("mon", "b"): ("mon", "b"),
        ("mon", "c"): ("mon", "b"),
        ("tue", "a"): ("tue", "a"),
        ("tue", "b"): ("tue", "a"),
    }


def test_a_stratum_without_an_audited_turn_joins_one_that_has() -> None:
    sizes = {("mon", "a"): 40, ("mon", "b"): 30, ("mon", "c"): 90}
    merged = merge_small_strata(sizes, {("mon", "a"): 4, ("mon", "c"): 9})
    assert merged[("mon", "b")] == merged[("mon", "a")] == ("mon", "a")
    assert merged[("mon", "c")] == ("mon", "c")


@given(st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 4)), st.integers(1, 9)))
def test_merging_leaves_small_only_the_last_stratum_of_a_day(
    sizes: dict[tuple[int, int], int],
) -> None:
    merged = merge_small_strata(sizes)
    groups: dict[tuple[int, int], int] = {}
    for key, group in merged.items():
        assert group[0] == key[0]
        groups[group] = groups.get(group, 0) + sizes[key]
    for group, turns in groups.items():
        assert turns >= 5 or [other[0] for other in groups].count(group[0]) == 1


def test_uncovered_turns_are_those_of_strata_never_sampled() -> None:
    assert count_uncovered_turns(["a", "a", "b"], {"a": 10, "b": 5, "c": 7}) == 7


def test_hajek_by_hand_in_two_strata() -> None:
    # Weights 10/2 = 5 and 30/3 = 10; R = (5 * 1 + 10 * 3) / (5 * 4 + 10 * 6) = 35/80.
    estimate = hajek_ratio(
        [1, 0, 2, 1, 0], [2, 2, 2, 2, 2], list("aabbb"), list("vwxyz"), {"a": 10, "b": 30}
    )
    assert estimate.value == pytest.approx(35 / 80)
    assert estimate.weighted_numerator == pytest.approx(35)
    assert estimate.weighted_denominator == pytest.approx(80)
    # z = w (a - R b) / 80. In a: 5/80 * (0.125, -0.875); in b: 10/80 * (1.125, 0.125, -0.875).
    variance_a = (1 - 2 / 10) * 2 * (5 / 80) ** 2 * 0.5
    variance_b = (1 - 3 / 30) * 3 * (10 / 80) ** 2 * 1.0
    variance = variance_a + variance_b
    room = 35 / 80 * 45 / 80
    assert estimate.effective_n == pytest.approx(room / variance)
    half = stats.t.ppf(0.975, 3) * math.sqrt(variance) / room
    centre = math.log(35 / 45)
    assert estimate.interval is not None
    assert estimate.interval.low == pytest.approx(1 / (1 + math.exp(half - centre)))
    assert estimate.interval.high == pytest.approx(1 / (1 + math.exp(-half - centre)))
    assert estimate.interval.method == "linearised, logit, t"


def test_sessions_are_clusters() -> None:
    # Sessions v and w agree within themselves: their totals vary, z = (a - b/2)/8 = +-1/16.
    alike = hajek_ratio([1, 1, 0, 0], [1, 1, 1, 1], ["h"] * 4, list("vvww"), {"h": 400})
    mixed = hajek_ratio([1, 0, 1, 0], [1, 1, 1, 1], ["h"] * 4, list("vvww"), {"h": 400})
    assert alike.value == mixed.value == 0.5
    assert alike.effective_n == pytest.approx(0.25 / (0.99 * 2 * 2 * (1 / 4) ** 2))
    assert mixed.interval is not None
    assert mixed.interval.method == "wilson, effective sample size"


def test_one_session_alone_uses_its_turns_as_clusters() -> None:
    one = hajek_ratio([1, 0, 1, 0], [1, 1, 1, 1], ["h"] * 4, ["s"] * 4, {"h": 40})
    many = hajek_ratio([1, 0, 1, 0], [1, 1, 1, 1], ["h"] * 4, list("abcd"), {"h": 40})
    assert one == many


def test_all_turns_audited_leave_no_sampling_error() -> None:
    estimate = hajek_ratio([1, 0], [2, 3], ["h", "g"], ["s", "s"], {"h": 1, "g": 1})
    assert estimate.value == pytest.approx(0.2)
    assert estimate.interval is not None
    assert estimate.interval.low == estimate.interval.high == estimate.value
    assert estimate.interval.method == "census"


def test_no_failure_seen_gives_wilson_at_the_effective_number_of_turns() -> None:
    # Weighted findings a turn 20, 20, 10: Kish (50)^2 / (400 + 400 + 100).
    estimate = hajek_ratio([0, 0, 0], [2, 2, 1], ["h"] * 3, list("abc"), {"h": 30})
    assert estimate.value == 0.0
    assert estimate.effective_n == pytest.approx(2500 / 900)
    expected = wilson(0, 2500 / 900)
    assert estimate.interval is not None
    assert expected is not None
    assert estimate.interval.low == 0.0
    assert estimate.interval.high == pytest.approx(expected.high)


def test_without_findings_a_sampled_ratio_is_unavailable() -> None:
    assert hajek_ratio([0, 0], [0, 0], ["h"] * 2, ["s", "t"], {"h": 9}).value is None
    empty = hajek_ratio([], [], [], [], {"h": 9})
    assert (empty.value, empty.interval) == (None, None)


def test_a_ratio_above_one_has_an_interval_on_the_log_scale() -> None:
    estimate = hajek_ratio([3, 1, 4], [1, 2, 2], ["h"] * 3, list("abc"), {"h": 30})
    assert estimate.value == pytest.approx(8 / 5)
    assert estimate.interval is not None
    assert estimate.interval.method == "linearised, log, t"
    assert estimate.interval.low * estimate.interval.high == pytest.approx((8 / 5) ** 2)


def test_columns_of_other_lengths_and_impossible_strata_are_refused() -> None:
    with pytest.raises(ValueError, match="one entry"):
        hajek_ratio([1], [1, 2], ["h", "h"], ["s", "t"], {"h": 9})
    with pytest.raises(ValueError, match="more audited turns"):
        hajek_ratio([1, 1], [1, 2], ["h", "h"], ["s", "t"], {"h": 1})


turns = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2), st.integers(0, 5)),
    min_size=1,
    max_size=30,
)


@given(turns, st.integers(0, 50))
def test_a_ratio_stays_in_its_interval_and_ignores_the_order_of_turns(
    rows: list[tuple[int, int, int, int]], unsampled: int
) -> None:
    def estimate(rows: list[tuple[int, int, int, int]]) -> tuple[float | None, ...]:
        strata: list[int] = [row[2] for row in rows]
        clusters: list[Hashable] = [row[3] for row in rows]
        sizes = {h: strata.count(h) + unsampled for h in set(strata)}
        found = hajek_ratio(
            [row[0] for row in rows],
            [row[0] + row[1] for row in rows],
            strata,
            clusters,
            sizes,
        )
        if found.value is None or found.interval is None:
            return (found.value,)
        assert -1e-12 <= found.interval.low <= found.value + 1e-9
        assert found.value - 1e-9 <= found.interval.high <= 1 + 1e-12
        return found.value, found.interval.low, found.interval.high

    assert estimate(rows) == pytest.approx(estimate(sorted(rows, reverse=True)), abs=1e-9)


def total_of(
    counts: list[int], strata: Sequence[Key], sizes: Mapping[Key, int]
) -> tuple[float, Interval]:
    found = extrapolated_total(counts, strata, sizes)
    assert found is not None
    return found


def test_an_extrapolated_total_by_hand() -> None:
    # Total 10 * 2 + 20 * 1; s^2 = 2 in a, 1 in b; variance 100 * 0.8 * 2/2 + 400 * 0.85 * 1/3.
    total, interval = total_of([1, 3, 0, 1, 2], list("aabbb"), {"a": 10, "b": 20})
    assert total == pytest.approx(40)
    half = stats.t.ppf(0.975, 3) * math.sqrt(80 + 400 * 0.85 / 3)
    assert interval.high == pytest.approx(40 + half)
    assert interval.low == pytest.approx(max(7, 40 - half))


def test_a_total_is_never_below_what_was_seen() -> None:
    total, interval = total_of([9, 0, 0], ["h"] * 3, {"h": 4})
    assert total == pytest.approx(12)
    assert interval.low == 9


def test_a_total_over_all_turns_is_exact() -> None:
    total, interval = total_of([9, 0, 0], ["h"] * 3, {"h": 3})
    assert (total, interval.low, interval.high, interval.method) == (9, 9, 9, "census")


def test_nothing_found_in_a_sample_does_not_prove_nothing_is_there() -> None:
    total, interval = total_of([0] * 50, ["h"] * 50, {"h": 500})
    bound = wilson(0, 50)
    assert bound is not None
    assert (total, interval.low) == (0, 0)
    assert interval.high == pytest.approx(450 * bound.high)


def test_one_turn_a_stratum_still_has_an_interval() -> None:
    total, interval = total_of([2, 4], ["g", "h"], {"g": 10, "h": 10})
    assert total == 60
    assert interval.low == 6 < total < interval.high


def test_without_an_audited_turn_there_is_no_total() -> None:
    assert extrapolated_total([], [], {"h": 10}) is None


def test_a_stratum_nobody_looked_into_is_sampling_error() -> None:
    whole = hajek_ratio([1, 0], [1, 1], ["h", "h"], ["s", "t"], {"h": 2})
    part = hajek_ratio([1, 0], [1, 1], ["h", "h"], ["s", "t"], {"h": 2, "g": 5})
    assert whole.interval is not None
    assert part.interval is not None
    assert whole.interval.low == whole.interval.high == 0.5
    assert part.interval.low < 0.5 < part.interval.high


def test_the_intervals_cover_the_truth_of_a_stratified_clustered_population() -> None:
    random = np.random.default_rng(20261003)
    numerators: list[int] = []
    denominators: list[int] = []
    sessions: list[tuple[int, int, int]] = []
    members: dict[tuple[int, int], list[int]] = {}
    for day in range(7):
        for worker, (share, count) in enumerate([(0.15, 20), (0.35, 8), (0.6, 3)]):
            for session in range(count):
                tendency = random.beta(2 * share, 2 * (1 - share))
                for _ in range(1 + random.geometric(1 / 5)):
                    found = random.poisson(1.5)
                    members.setdefault((day, worker), []).append(len(sessions))
                    sessions.append((day, worker, session))
                    denominators.append(found)
                    numerators.append(random.binomial(found, tendency))
    a, b = np.array(numerators), np.array(denominators)
    truth, total = a.sum() / b.sum(), b.sum()
    sizes = {key: len(turns) for key, turns in members.items()}
    quotas: dict[tuple[int, int], int] = {}
    for day in range(7):
        quotas |= allocate({key: n for key, n in sizes.items() if key[0] == day}, 20)
    repeats, ratio_covered, total_covered = 500, 0, 0
    for _ in range(repeats):
        drawn, strata = [], []
        for key, turns in members.items():
            drawn.extend(random.choice(turns, quotas[key], replace=False).tolist())
            strata.extend([key] * quotas[key])
        estimate = hajek_ratio(a[drawn], b[drawn], strata, [sessions[i] for i in drawn], sizes)
        assert estimate.interval is not None
        ratio_covered += estimate.interval.contains(truth)
        total_covered += total_of(b[drawn].tolist(), strata, sizes)[1].contains(total)
    assert ratio_covered / repeats >= 0.92
    assert total_covered / repeats >= 0.92
