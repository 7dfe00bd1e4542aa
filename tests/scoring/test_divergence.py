import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scoring.divergence import (
    expected_information_gain,
    just_loss,
    kl_divergence,
    smooth,
    update_efficiency,
    voi_regret,
)

masses = st.lists(st.floats(0, 1), min_size=2, max_size=5).filter(lambda m: sum(m) > 0.01)


def normalised(values: list[float]) -> dict[int, float]:
    return {h: value / math.fsum(values) for h, value in enumerate(values)}


distributions = masses.map(normalised)
pairs = st.integers(2, 5).flatmap(
    lambda n: st.tuples(
        *[
            st.lists(st.floats(0, 1), min_size=n, max_size=n)
            .filter(lambda m: sum(m) > 0.01)
            .map(normalised)
            for _ in range(2)
        ]
    )
)


def test_smoothing_by_hand() -> None:
    assert smooth({"a": 1.0}, ["a", "b"]) == pytest.approx({"a": 1.001 / 1.002, "b": 0.001 / 1.002})


def test_mass_on_hypotheses_outside_the_set_is_left_out() -> None:
    assert smooth({"a": 0.5, "z": 0.5}, ["a", "b"]) == smooth({"a": 0.5}, ["a", "b"])


def test_just_loss_by_hand() -> None:
    loss = just_loss({"a": 0.75, "b": 0.25}, {"a": 0.5, "b": 0.5})
    assert loss == pytest.approx(0.75 * math.log(1.5) + 0.25 * math.log(0.5))


def test_a_zero_on_the_truth_costs_much_but_not_everything() -> None:
    assert just_loss({"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}) == pytest.approx(math.log(1002))
    assert kl_divergence({"a": 1.0}, {"b": 1.0}) == math.inf


def test_saying_nothing_counts_as_uniform() -> None:
    assert just_loss({"a": 1.0, "b": 0.0}, {}) == pytest.approx(math.log(2))


@given(pairs)
def test_kl_is_scipy_s_relative_entropy(pair: tuple[dict[int, float], dict[int, float]]) -> None:
    p, q = pair[0], smooth(pair[1], pair[1])
    assert kl_divergence(p, q) == pytest.approx(
        float(stats.entropy(list(p.values()), list(q.values()))), abs=1e-12
    )


@given(pairs)
def test_just_loss_is_never_negative(pair: tuple[dict[int, float], dict[int, float]]) -> None:
    assert just_loss(*pair) >= 0


@given(pairs)
def test_the_divergence_is_zero_exactly_where_the_beliefs_are_equal(
    pair: tuple[dict[int, float], dict[int, float]],
) -> None:
    p, q = smooth(pair[0], pair[0]), smooth(pair[1], pair[1])
    assert just_loss(p, p, epsilon=0.0) == pytest.approx(0, abs=1e-15)
    apart = max(abs(p[h] - q[h]) for h in p)
    # Pinsker: KL is at least twice the squared total variation, which is at least `apart` here.
    assert kl_divergence(p, q) >= 2 * apart**2 - 1e-12


@given(distributions)
def test_just_loss_ignores_the_order_of_hypotheses(p: dict[int, float]) -> None:
    q = dict.fromkeys(p, 1 / len(p))
    back = dict(reversed(p.items()))
    assert just_loss(p, q) == pytest.approx(just_loss(back, q), abs=1e-12)


@pytest.mark.parametrize("p", [{}, {"a": 0.5}, {"a": 1.5, "b": -0.5}, {"a": math.nan}])
def test_what_is_no_distribution_is_refused(p: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="sum to 1"):
        just_loss(p, {"a": 1.0})


@pytest.mark.parametrize("mass", [-0.1, math.nan, math.inf])
def test_masses_that_cannot_be_smoothed_are_refused(mass: float) -> None:
    with pytest.raises(ValueError, match="finite masses"):
        just_loss({"a": 1.0}, {"a": mass})


def test_update_efficiency_by_hand() -> None:
    p = {"a": 0.5, "b": 0.5}, {"a": 0.9, "b": 0.1}
    half = 1 / (1 + math.exp(-math.log(9) / 2))
    found = update_efficiency(*p, {"a": 0.5, "b": 0.5}, {"a": half, "b": 1 - half}, epsilon=0.0)
    assert found.hypothesis == "a"
    assert found.value == pytest.approx(0.5)


def test_the_wrong_way_is_negative_and_no_move_is_zero() -> None:
    before, after = {"a": 0.5, "b": 0.5}, {"a": 0.8, "b": 0.2}
    back = update_efficiency(before, after, before, {"a": 0.2, "b": 0.8})
    assert back.value == pytest.approx(-1)
    assert update_efficiency(before, after, before, before).value == 0


def test_the_hypothesis_is_the_one_that_should_move_most() -> None:
    before = {"a": 0.4, "b": 0.4, "c": 0.2}
    after = {"a": 0.45, "b": 0.54, "c": 0.01}
    assert update_efficiency(before, after, before, after).hypothesis == "c"


def test_evidence_that_moves_nothing_has_no_efficiency() -> None:
    belief = {"a": 0.4, "b": 0.6}
    found = update_efficiency(belief, belief, belief, {"a": 0.9, "b": 0.1})
    assert (found.hypothesis, found.value) == (None, None)


@given(pairs)
def test_stating_the_normative_belief_is_efficiency_one(
    pair: tuple[dict[int, float], dict[int, float]],
) -> None:
    found = update_efficiency(*pair, *pair)
    assert found.value is None or found.value == pytest.approx(1)


def test_an_impossible_hypothesis_moves_by_a_finite_amount() -> None:
    before, after = {"a": 0.5, "b": 0.5}, {"a": 0.0, "b": 1.0}
    found = update_efficiency(before, after, before, {"a": 0.1, "b": 0.9})
    assert found.value is not None
    assert 0 < found.value < 0.5


def test_the_gain_of_a_decisive_question_is_all_the_entropy() -> None:
    assert expected_information_gain([0.5, 0.5], [[1, 0], [0, 1]]) == pytest.approx(math.log(2))


def test_the_gain_of_a_noisy_question_by_hand() -> None:
    # A fair coin of hypotheses, an answer right nine times in ten: ln 2 - H(0.9).
    entropy = -0.9 * math.log(0.9) - 0.1 * math.log(0.1)
    gain = expected_information_gain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]])
    assert gain == pytest.approx(math.log(2) - entropy)


def test_an_answer_that_depends_on_nothing_gains_nothing() -> None:
    assert expected_information_gain([0.3, 0.7], [[0.4, 0.6]] * 2) == pytest.approx(0, abs=1e-15)


@given(distributions, st.data())
def test_a_gain_is_between_zero_and_the_entropy(p: dict[int, float], data: st.DataObject) -> None:
    rows = [list(normalised(data.draw(masses.filter(lambda m: len(m) == 3))).values()) for _ in p]
    gain = expected_information_gain(list(p.values()), rows)
    assert 0 <= gain <= float(stats.entropy(list(p.values()))) + 1e-12


def test_likelihoods_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="sum to 1"):
        expected_information_gain([0.5, 0.5], [[0.5, 0.6], [0.5, 0.5]])
    with pytest.raises(ValueError, match="one row"):
        expected_information_gain([0.5, 0.5], [[0.5, 0.5]])


@pytest.mark.parametrize(
    ("chosen", "regret"), [("best", 0.0), ("half", 0.5), ("none", 1.0), ("gone", 1.0), (None, 1.0)]
)
def test_regret_is_the_share_of_the_best_gain_forgone(chosen: str | None, regret: float) -> None:
    assert voi_regret({"best": 0.4, "half": 0.2, "none": 0.0}, chosen) == regret


def test_where_nothing_could_be_gained_nothing_is_regretted() -> None:
    assert voi_regret({"a": 0.0}, "a") == 0.0
    assert voi_regret({"a": 0.0}, None) == 1.0
