"""The effective outcome: the best-ranked source, the latest between equals, disputes shown."""

from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.events.vocabulary import ResolutionSource as Source
from service.inferences.outcomes import Tally, effective_outcome, state_of
from service.instants import DAY

BEST_FIRST = ("operator_correction", "tool_result", "prediction", "know_belief", "self_belief")


def tally(source: str, *, outcome: bool, at: int, seq: int = 1) -> Tally:
    return Tally(Source(source), outcome, 1, at, seq)


def test_nothing_has_no_outcome() -> None:
    assert effective_outcome([]) is None


@pytest.mark.parametrize(("better", "worse"), list(pairwise(BEST_FIRST)))
def test_a_better_source_outranks_a_later_word_of_a_worse_one(better: str, worse: str) -> None:
    said = [tally(worse, outcome=False, at=9), tally(better, outcome=True, at=1)]
    for order in permutations(said):
        found = effective_outcome(order)
        assert found is not None
        assert (found.outcome, found.source, found.is_disputed) == (True, better, False)


@pytest.mark.parametrize(("at", "expected"), [(1, True), (3, False)])
def test_two_equals_that_disagree_are_disputed_and_the_latest_counts(
    at: int, *, expected: bool
) -> None:
    said = [tally("prediction", outcome=True, at=2), tally("prediction", outcome=False, at=at)]
    found = effective_outcome(said)
    assert found is not None
    assert (found.outcome, found.is_disputed) == (expected, True)


def test_of_two_equals_at_one_instant_the_one_recorded_last_counts() -> None:
    said = [
        tally("prediction", outcome=True, at=2, seq=8),
        tally("prediction", outcome=False, at=2, seq=9),
    ]
    found = effective_outcome(said)
    assert found is not None
    assert found.outcome is False


tallies = st.builds(
    Tally, st.sampled_from(Source), st.booleans(), st.just(1), st.integers(0, 5), st.integers(1, 9)
)


@given(st.lists(tallies, unique_by=(lambda t: t.seq, lambda t: (t.source, t.outcome))), st.data())
def test_the_order_of_reading_does_not_matter(said: list[Tally], data: st.DataObject) -> None:
    assert effective_outcome(data.draw(st.permutations(said))) == effective_outcome(said)


def test_without_a_resolution_an_inference_is_open_for_thirty_days() -> None:
    assert state_of(None, 0, 30 * DAY) == "open"
    assert state_of(None, 0, 30 * DAY + 1) == "unverifiable"


@pytest.mark.parametrize(("disagreeing", "expected"), [(False, "resolved"), (True, "disputed")])
def test_a_resolution_ends_that_however_late(*, disagreeing: bool, expected: str) -> None:
    said = [tally("tool_result", outcome=True, at=1)]
    if disagreeing:
        said.append(tally("tool_result", outcome=False, at=2))
    assert state_of(effective_outcome(said), 0, 90 * DAY) == expected
