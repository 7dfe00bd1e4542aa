"""Tell the sentences of an output that claim something from those that do not, and why."""

from enum import StrEnum

from auditor.text import speech_patterns as patterns
from auditor.text.normalise import content_words
from auditor.text.sentences import Layout, Sentence

MIN_CONTENT_WORDS = 2
"""With fewer content words there is nothing that could be looked up."""


class NoClaimReason(StrEnum):
    """Why a sentence makes no claim about the world."""

    QUESTION = "question"
    GREETING = "greeting"
    THANKS = "thanks"
    COURTESY = "courtesy"
    OFFER = "offer"
    INTENTION = "intention"
    ADVICE = "advice"
    INSTRUCTION = "instruction"
    CODE = "code"
    HEADING = "heading"
    LEAD_IN = "lead_in"
    TOO_SHORT = "too_short"


def clean_statement(text: str) -> str:
    """Return a sentence without Markdown emphasis and links, on one line."""
    return " ".join(patterns.MARKUP.sub("", patterns.LINK.sub(r"\1", text)).split())


def no_claim_reason(sentence: Sentence) -> NoClaimReason | None:
    """Return why a sentence claims nothing, or None when it is a claim."""
    if sentence.layout is Layout.HEADING:
        return NoClaimReason.HEADING
    statement = clean_statement(sentence.text)
    if (
        sentence.layout is Layout.CODE
        or patterns.CODE_LINE.match(statement)
        or patterns.ONLY_CODE.match(statement)
    ):
        return NoClaimReason.CODE
    spoken = statement.replace("\u2019", "'").casefold()
    reason = _speech_act(spoken)
    if reason is None and len(content_words(sentence.text)) < MIN_CONTENT_WORDS:
        return NoClaimReason.TOO_SHORT
    return reason


def _speech_act(spoken: str) -> NoClaimReason | None:
    """Return what a case-folded sentence does other than claim, judged by its wording alone."""
    if patterns.QUESTION_END.search(spoken[-60:]):
        return None if patterns.DID_YOU_KNOW.match(spoken) else NoClaimReason.QUESTION
    if patterns.COLON_END.search(spoken) and (
        patterns.LEADS_IN.search(spoken) or not patterns.FINITE_VERB.search(spoken)
    ):
        return NoClaimReason.LEAD_IN
    opener = patterns.OPENER.match(spoken)
    act = spoken[opener.end() :] if opener is not None else spoken
    if patterns.CLAIM_OPENER.match(act):
        return None
    if patterns.THANKS.match(act):
        return NoClaimReason.THANKS
    if patterns.GREETING.match(act) and len(act) <= 80:
        return NoClaimReason.GREETING
    if patterns.OFFER.match(act):
        return NoClaimReason.OFFER
    if patterns.ADVICE.match(act) and not patterns.BECAUSE.search(act):
        return NoClaimReason.ADVICE
    if (
        patterns.REQUEST_ANYWHERE.search(act)
        or patterns.INSTRUCTION.match(act)
        or patterns.IMPERATIVE.match(act)
    ):
        return NoClaimReason.INSTRUCTION
    if patterns.COURTESY.match(act) and len(act) <= 120 and " but " not in act:
        return NoClaimReason.COURTESY
    # "I'll open it because the parser drops the offset" gives a reason, and the reason is a claim.
    if patterns.INTENTION.match(act) and not patterns.BECAUSE.search(act):
        return NoClaimReason.INTENTION
    return None
