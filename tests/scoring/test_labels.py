import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.labels import INFERENTIAL, Label, is_stronger, label_confidence_mismatch, weakest

labels = st.sampled_from(list(Label))


def test_labels_run_from_know_to_guess() -> None:
    assert [str(label) for label in Label] == ["know", "remember", "infer", "suspect", "guess"]
    assert {"infer", "suspect", "guess"} == INFERENTIAL


def test_a_summary_over_a_suspect_and_an_infer_is_suspect() -> None:
    assert weakest([Label.SUSPECT, Label.INFER]) is Label.SUSPECT


def test_the_weakest_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"empty|iterable"):
        weakest([])


@given(st.lists(labels, min_size=1))
def test_no_label_is_weaker_than_the_weakest(several: list[Label]) -> None:
    bottom = weakest(several)
    assert bottom in several
    assert not any(is_stronger(bottom, label) for label in several)


@given(labels, labels)
def test_exactly_one_of_two_different_labels_is_stronger(a: Label, b: Label) -> None:
    assert is_stronger(a, b) + is_stronger(b, a) == (a is not b)


@pytest.mark.parametrize(
    ("label", "confidence", "mismatch"),
    [
        (Label.INFER, 0.85, False),
        (Label.INFER, 0.8499, True),
        (Label.INFER, 0.4, True),
        (Label.INFER, 1.0, False),
        (Label.SUSPECT, 0.5, False),
        (Label.SUSPECT, 0.85, True),
        (Label.SUSPECT, 0.49, True),
        (Label.GUESS, 0.5, True),
        (Label.GUESS, 0.4999, False),
        (Label.GUESS, 0.0, False),
        (Label.KNOW, 0.1, False),
        (Label.REMEMBER, 0.1, False),
    ],
)
def test_a_confidence_outside_the_label_s_range_is_a_mismatch(
    label: Label, confidence: float, mismatch: object
) -> None:
    assert label_confidence_mismatch(label, confidence) is mismatch


@given(labels)
def test_an_unstated_confidence_never_mismatches(label: Label) -> None:
    assert not label_confidence_mismatch(label, None)


@given(st.floats(0, 1))
def test_every_confidence_fits_exactly_one_inferential_label(confidence: float) -> None:
    assert sum(not label_confidence_mismatch(label, confidence) for label in INFERENTIAL) == 1
