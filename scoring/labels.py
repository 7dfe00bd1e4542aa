"""Epistemic labels: their order, and the confidence each of them promises."""

from collections.abc import Iterable
from enum import StrEnum


class Label(StrEnum):
    """How a claim is held, declared from strongest to weakest."""

    KNOW = "know"
    REMEMBER = "remember"
    INFER = "infer"
    SUSPECT = "suspect"
    GUESS = "guess"


INFERENTIAL = frozenset({Label.INFER, Label.SUSPECT, Label.GUESS})
"""The labels of claims that go beyond the evidence at hand."""

INFER_FLOOR = 0.85
"""The least probability of an `infer`; a `suspect` lies below it."""

SUSPECT_FLOOR = 0.5
"""The least probability of a `suspect`; a `guess` lies below it."""

_RANK = {label: rank for rank, label in enumerate(Label)}


def weakest(labels: Iterable[Label]) -> Label:
    """Return the weakest of one or more labels; none at all is a ValueError, not a default."""
    return max(labels, key=_RANK.__getitem__)


def is_stronger(a: Label, b: Label) -> bool:
    """Say whether `a` claims strictly more than `b`."""
    return _RANK[a] < _RANK[b]


def label_confidence_mismatch(label: Label, confidence: float | None) -> bool:
    """Say whether a confidence in [0, 1] contradicts the label.

    `know` and `remember` rest on evidence, not on a probability, and never mismatch; nor does an
    unstated confidence. A `guess` matches only below 0.5: "nothing bears on it" states no number.
    """
    if confidence is None or label not in INFERENTIAL:
        return False
    if label is Label.INFER:
        return confidence < INFER_FLOOR
    if label is Label.SUSPECT:
        return not SUSPECT_FLOOR <= confidence < INFER_FLOOR
    return confidence >= SUSPECT_FLOOR
