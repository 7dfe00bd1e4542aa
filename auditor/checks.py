"""What holds of a claim whatever method made it; one that fails is counted and in no figure."""

import unicodedata
from collections.abc import Collection, Mapping
from enum import StrEnum

from auditor.text.judge import ClaimKind, JudgedClaim


class Invalid(StrEnum):
    """Why a claim is not taken."""

    QUOTE_NOT_IN_OUTPUT = "quote_not_in_output"
    CONTEXT_QUOTE_NOT_IN_CONTEXT = "context_quote_not_in_context"
    UNKNOWN_CONTEXT_ID = "unknown_context_id"
    OUT_OF_RANGE = "out_of_range"


def claim_fault(
    claim: JudgedClaim, output: str, context: Mapping[tuple[str, str], Collection[str]]
) -> Invalid | None:
    """What is wrong with a claim about an output; `context` holds texts by (source kind, id)."""
    is_inside = 0 <= claim.start < claim.end <= len(output)
    if not is_inside or output[claim.start : claim.end] != claim.quote:
        return Invalid.QUOTE_NOT_IN_OUTPUT
    numbers = (claim.support_score, claim.expressed_confidence)
    if claim.kind not in ClaimKind or any(n is not None and not 0 <= n <= 1 for n in numbers):
        return Invalid.OUT_OF_RANGE
    for kind, name, quote in claim.context_quotes:
        texts = context.get((kind, name))
        if texts is None:
            return Invalid.UNKNOWN_CONTEXT_ID
        if not any(quote in text for text in texts) and not any(
            folded(quote) in folded(text) for text in texts
        ):
            return Invalid.CONTEXT_QUOTE_NOT_IN_CONTEXT
    return None


def folded(text: str) -> str:
    """A text with white space and Unicode form folded, for comparing quotes."""
    return " ".join(unicodedata.normalize("NFKC", text).split())
