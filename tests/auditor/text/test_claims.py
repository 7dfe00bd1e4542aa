import pytest

from auditor.text.claims import NoClaimReason, clean_statement, no_claim_reason
from auditor.text.hedges import expressed_confidence
from auditor.text.sentences import split_sentences


def reason(output: str) -> NoClaimReason | None:
    (sentence,) = split_sentences(output)
    return no_claim_reason(sentence)


@pytest.mark.parametrize(
    "claim",
    [
        "Your flight HAT136 leaves at noon.",
        "The bug is caused by integer division in fields.py.",
        "**Trip type**: Round trip",
        "It seems that the server drops the header.",
        "Please note that basic economy tickets cannot be changed.",
        "Did you know that dogs were buried beside humans?",
        "I'll open the parser because it drops the offset.",
        "I'm sorry, but your ticket cannot be refunded.",
        "The three reservations have been cancelled:",
        "Thanks to the cache the page loads quickly.",
        "Check-in opens two hours before departure.",
        "| HAT136 | $152 |",
        "北京是中国的首都。",
    ],
)
def test_assertions_are_claims(claim: str) -> None:
    assert reason(claim) is None


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Would you like to book it?", NoClaimReason.QUESTION),
        ('Which of them do you mean?" 🙂', NoClaimReason.QUESTION),
        ("هل تريد الحجز؟", NoClaimReason.QUESTION),
        ("Hello Mia and welcome!", NoClaimReason.GREETING),
        ("You're very welcome!", NoClaimReason.GREETING),
        ("Thank you for providing the details.", NoClaimReason.THANKS),
        ("I\u2019m sorry for the inconvenience.", NoClaimReason.COURTESY),
        ("Have a great trip to Denver!", NoClaimReason.COURTESY),
        ("I'd be happy to help with that.", NoClaimReason.OFFER),
        ("If you need anything else, feel free to ask.", NoClaimReason.OFFER),
        ("I recommend contacting the airline directly.", NoClaimReason.ADVICE),
        ("Now let's open the parser module.", NoClaimReason.INTENTION),
        ("To fix this, we need to change the rounding.", NoClaimReason.INTENTION),
        ("I will now search for flights.", NoClaimReason.INTENTION),
        ("Please provide your reservation number.", NoClaimReason.INSTRUCTION),
        ("Run the tests with pytest.", NoClaimReason.INSTRUCTION),
        ("## Flight details and prices", NoClaimReason.HEADING),
        ("Here are your flight details:", NoClaimReason.LEAD_IN),
        ("```\nrm -rf build\n```", NoClaimReason.CODE),
        ("`git commit -m fix`", NoClaimReason.CODE),
        ("from datetime import timedelta", NoClaimReason.CODE),
        ("$ pip install requests", NoClaimReason.CODE),
        ('{"price": 5, "currency": "USD"}', NoClaimReason.CODE),
        ("Yes, that is correct.", NoClaimReason.TOO_SHORT),
    ],
)
def test_a_sentence_that_claims_nothing_says_why(sentence: str, expected: NoClaimReason) -> None:
    assert reason(sentence) is expected


def test_a_statement_is_free_of_markup_and_line_breaks() -> None:
    assert clean_statement("**Fare**: see [the *policy*](https://x.org)\n  page") == (
        "Fare: see the policy page"
    )
    assert clean_statement("snake_case_name stays") == "snake_case_name stays"


@pytest.mark.parametrize(
    ("sentence", "confidence"),
    [
        ("It is probably a rounding error.", 0.75),
        ("It is very likely a rounding error.", 0.9),
        ("It is very unlikely to fail.", 0.1),
        ("This might be the cause.", 0.4),
        ("I\u2019m 80% sure it fails.", 0.8),
        ("The probability is 35 %.", 0.35),
        ("It is definitely X, but perhaps Y.", 0.4),
        ("It is a rounding error.", None),
        ("Flights in May are full.", None),
        ("Clouds are 50% water.", None),
    ],
)
def test_hedges_are_read_as_the_documented_probabilities(
    sentence: str, confidence: float | None
) -> None:
    assert expressed_confidence(sentence) == confidence
