import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.selective import risk_coverage

claims = st.lists(
    st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.integers(0, 1)), min_size=1, max_size=6
)


def test_aurc_by_hand() -> None:
    # By confidence: right, wrong, right, wrong: error rates 0, 1/2, 1/3, 1/2.
    curve = risk_coverage([0.6, 0.9, 0.7, 0.8], [0, 1, 1, 0])
    assert curve is not None
    assert curve.coverage == (0.25, 0.5, 0.75, 1.0)
    assert curve.risk == pytest.approx((0, 1 / 2, 1 / 3, 1 / 2))
    assert curve.aurc == pytest.approx((1 / 2 + 1 / 3 + 1 / 2) / 4)


def test_claims_of_one_confidence_have_their_error_rate_everywhere() -> None:
    curve = risk_coverage([0.8] * 4, [1, 0, 1, 1])
    assert curve is not None
    assert curve.risk == pytest.approx((0.25,) * 4)


def test_without_claims_there_is_no_curve() -> None:
    assert risk_coverage([], []) is None


@given(claims)
def test_ties_are_the_average_over_all_their_orders(rows: list[tuple[float, int]]) -> None:
    areas = []
    for order in itertools.permutations(rows):
        if [c for c, _ in order] != sorted((c for c, _ in order), reverse=True):
            continue
        wrong = list(itertools.accumulate(1 - y for _, y in order))
        areas.append(sum(e / i for i, e in enumerate(wrong, 1)) / len(rows))
    curve = risk_coverage([c for c, _ in rows], [y for _, y in rows])
    assert curve is not None
    assert curve.aurc == pytest.approx(sum(areas) / len(areas))


@given(claims)
def test_the_last_risk_is_the_error_rate_of_all(rows: list[tuple[float, int]]) -> None:
    curve = risk_coverage([c for c, _ in rows], [y for _, y in rows])
    assert curve is not None
    assert curve.risk[-1] == pytest.approx(1 - sum(y for _, y in rows) / len(rows))
    assert curve == risk_coverage([c for c, _ in rows[::-1]], [y for _, y in rows[::-1]])


def test_what_cannot_be_ordered_is_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        risk_coverage([float("nan")], [1])
    with pytest.raises(ValueError, match="one length"):
        risk_coverage([0.5], [])
