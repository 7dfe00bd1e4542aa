"""Which resolutions are drawn: by seed, at most twenty, a share of them false detections."""

from random import Random
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.hand_checks.drawing import WEEKLY, Candidate, draw
from service.hand_checks.operations import complete_weeks
from service.instants import EARLIEST, parse_instant


def candidates(false: int, others: int) -> list[Candidate]:
    return [Candidate(f"f{n}", True) for n in range(false)] + [
        Candidate(f"o{n}", False) for n in range(others)
    ]


@pytest.mark.parametrize(
    ("false", "others", "expected"),
    [
        (0, 0, (0, 0)),
        (3, 4, (3, 4)),
        (0, 50, (0, 20)),
        (50, 0, (20, 0)),
        (50, 50, (5, 15)),
        (2, 50, (2, 18)),
        (50, 12, (8, 12)),
        (5, 15, (5, 15)),
    ],
)
def test_few_of_one_kind_make_room_for_the_other(
    false: int, others: int, expected: tuple[int, int]
) -> None:
    drawn = draw("piper", "2026-W40", candidates(false, others))
    kinds = [c.is_false_detection for c in drawn]
    assert (sum(kinds), len(kinds) - sum(kinds)) == expected


@given(st.integers(0, 40), st.integers(0, 40), st.randoms())
def test_a_draw_is_the_same_in_whatever_order_it_is_made(
    false: int, others: int, random: Random
) -> None:
    listed = candidates(false, others)
    shuffled = list(listed)
    random.shuffle(shuffled)
    drawn = draw("piper", "2026-W40", listed)
    assert draw("piper", "2026-W40", shuffled) == drawn
    assert len(set(drawn)) == len(drawn) == min(WEEKLY, false + others)


def test_another_week_or_agent_draws_otherwise() -> None:
    listed = candidates(0, 200)
    draws = [draw(a, w, listed) for a in ("piper", "otto") for w in ("2026-W40", "2026-W41")]
    assert len({tuple(c.contradiction_id for c in drawn) for drawn in draws}) == 4


def test_each_is_drawn_about_as_often_as_any_other() -> None:
    listed = candidates(0, 40)
    times = dict.fromkeys((c.contradiction_id for c in listed), 0)
    for week in range(400):
        for chosen in draw("piper", str(week), listed):
            times[chosen.contradiction_id] += 1
    # Binomial(400, 1/2): five standard deviations are 50.
    assert all(150 <= count <= 250 for count in times.values())


def test_weeks_end_at_midnight_of_the_agents_monday() -> None:
    zone = ZoneInfo("Pacific/Auckland")
    before = complete_weeks(parse_instant("2026-10-04T10:59:59Z"), zone)
    after = complete_weeks(parse_instant("2026-10-04T11:00:00Z"), zone)
    assert (before[-1][0], after[-1][0]) == ("2026-W39", "2026-W40")
    assert len(after) == 8
    assert after[-1][2] == parse_instant("2026-10-04T11:00:00Z")
    assert [week[1] for week in after[1:]] == [week[2] for week in after[:-1]]
    assert complete_weeks(EARLIEST, ZoneInfo("UTC")) == []
