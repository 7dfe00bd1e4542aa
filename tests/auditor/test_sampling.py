from hypothesis import given
from hypothesis import strategies as st

from auditor.sampling import draw, in_reading_order, new_seed

SEED = bytes(range(32))
STRATA = {
    "2026-10-05|day": [f"d{i}" for i in range(90)],
    "2026-10-05|night": [f"n{i}" for i in range(9)],
    "late:2026-10-01:day": ["late"],
}


def test_the_draw_is_the_same_from_the_same_seed_in_whatever_order_turns_come() -> None:
    backwards = {key: turns[::-1] for key, turns in reversed(STRATA.items())}
    assert draw(STRATA, 20, SEED) == draw(backwards, 20, SEED)


def test_another_seed_draws_other_turns() -> None:
    assert draw(STRATA, 20, SEED) != draw(STRATA, 20, bytes(32))
    assert new_seed() != new_seed()
    assert len(new_seed()) == 32


def test_the_draw_is_in_proportion_with_one_at_least_from_each_stratum() -> None:
    sizes = {key: len(turns) for key, turns in draw(STRATA, 21, SEED).items()}
    assert sizes == {"2026-10-05|day": 18, "2026-10-05|night": 2, "late:2026-10-01:day": 1}


@given(st.integers(1, 150))
def test_no_turn_is_drawn_twice_or_into_another_stratum(size: int) -> None:
    drawn = draw(STRATA, size, SEED)
    for key, turns in drawn.items():
        assert len(set(turns)) == len(turns)
        assert set(turns) <= set(STRATA[key])


def test_each_turn_of_a_stratum_is_drawn_about_equally_often() -> None:
    counts = dict.fromkeys(STRATA["2026-10-05|night"], 0)
    for number in range(900):
        for turn_id in draw(STRATA, 21, number.to_bytes(32, "big"))["2026-10-05|night"]:
            counts[turn_id] += 1
    # 900 draws of 2 of 9: 200 each, with a standard deviation of 12.5.
    assert all(140 < count < 260 for count in counts.values()), counts


def test_sessions_are_read_whole_and_from_their_first_turn_on() -> None:
    drawn = {"s": ["a2", "b1", "a1", "b2"]}
    places = {"a1": ("a", 1, 9), "a2": ("a", 2, 1), "b1": ("b", 1, 3), "b2": ("b", 1, 4)}
    orders = {
        tuple(t.turn_id for t in in_reading_order(drawn, {"s": 7}, places, bytes([i]) * 32))
        for i in range(20)
    }
    assert orders == {("a1", "a2", "b1", "b2"), ("b1", "b2", "a1", "a2")}
    sample = in_reading_order(drawn, {"s": 7}, places, SEED)
    assert [t.position for t in sample] == [1, 2, 3, 4]
    assert {(t.stratum_population, t.stratum_sample) for t in sample} == {(7, 4)}
