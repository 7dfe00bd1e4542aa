import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.text.claims import NoClaimReason
from auditor.text.judge import (
    ClaimKind,
    JudgedClaim,
    JudgementReason,
    SessionJudge,
    judge_output,
)
from auditor.text.overlap import ContextPiece

TRANSCRIPTS = Path(__file__).resolve().parents[4] / "shared" / "data" / "transcripts"

RESERVATION = ContextPiece(
    "tool_result",
    "call-1",
    '{"reservation_id": "4WQ150", "flight_number": "HAT136", "date": "2024-05-20", "price": 1200,'
    ' "cabin": "basic_economy", "insurance": "no"}',
)


def only(output: str, *earlier: str) -> JudgedClaim:
    (judged,) = judge_output(output, [RESERVATION], earlier)
    return judged


def test_a_claim_read_off_the_context_is_in_context_with_its_quote() -> None:
    judged = only("Flight HAT136 on May 20th has a price of $1,200.00.")
    assert judged.kind is ClaimKind.IN_CONTEXT
    assert judged.support_score == 1
    assert judged.context_quotes == (("tool_result", "call-1", RESERVATION.text),)
    assert judged.decisive_source is None


def test_a_claim_whose_words_are_missing_is_inferred() -> None:
    judged = only("The airline probably lost your suitcase in Denver.")
    assert (judged.kind, judged.reason) == (ClaimKind.INFERRED, JudgementReason.WORDS_MISSING)
    assert judged.expressed_confidence == 0.75


def test_one_number_absent_from_the_context_is_decisive() -> None:
    judged = only("The basic economy cabin of flight HAT136 on May 20 has a price of $1,300.")
    assert judged.support_score > 0.8
    assert judged.kind is ClaimKind.INFERRED
    assert judged.reason is JudgementReason.EXACT_WORD_ABSENT


def test_denying_a_short_statement_of_the_context_is_inferred() -> None:
    policy = [ContextPiece("operator", "policy", "Pets are allowed in the cabin.")]
    (affirmed,) = judge_output("Pets are allowed in the cabin.", policy, [])
    (denied,) = judge_output("Pets are not allowed in the cabin.", policy, [])
    assert affirmed.kind is ClaimKind.IN_CONTEXT
    assert denied.kind is ClaimKind.INFERRED


def test_a_claim_of_an_earlier_turn_or_sentence_is_repeated() -> None:
    claim = "The airline lost your suitcase in Denver."
    again = only("Your suitcase was lost by the airline in Denver.", "Hello!\n" + claim)
    assert again.kind is ClaimKind.REPEATED
    kinds = [judged.kind for judged in judge_output(f"{claim} {claim}", [], [])]
    assert kinds == [ClaimKind.INFERRED, ClaimKind.REPEATED]


def test_a_sentence_without_a_claim_has_its_reason_and_no_confidence() -> None:
    judged = only("Would you perhaps like another seat?")
    assert judged.kind is ClaimKind.NOT_A_CLAIM
    assert judged.reason is NoClaimReason.QUESTION
    assert judged.expressed_confidence is None
    assert judged.context_quotes == ()


def test_the_agents_own_words_are_no_evidence_unless_given_as_context() -> None:
    session = SessionJudge()
    session.judge("The gate closes early at Boston airport.")
    (judged,) = session.judge("Boston airport is noisy, so families dislike its gates.")
    assert judged.kind is ClaimKind.INFERRED


@given(st.text(max_size=300), st.text(max_size=300))
def test_every_quote_is_verbatim_in_output_and_context(output: str, context: str) -> None:
    for judged in judge_output(output, [ContextPiece("user", "m", context)], [context]):
        assert output[judged.start : judged.end] == judged.quote
        assert all(quote in context for _, _, quote in judged.context_quotes)
        assert 0 <= judged.support_score <= 1


def test_judging_is_deterministic() -> None:
    output = "Flight HAT136 leaves Boston at noon. It is full of basic economy passengers."
    first = judge_output(output, [RESERVATION], [])
    assert all(judge_output(output, [RESERVATION], []) == first for _ in range(5))


def _turn(number: int) -> tuple[str, ContextPiece]:
    facts = [
        f"flight HAT{number}{n} to city{number % 97} costs ${number * 7 + n}" for n in range(6)
    ]
    result = json.dumps([{"flight_number": f"HAT{number}{n}", "price": n} for n in range(6)])
    output = "I looked at the options. " + ". ".join(f"The {fact} in economy" for fact in facts)
    return (output * 2)[:600], ContextPiece("tool_result", str(number), result)


def test_a_long_session_costs_milliseconds_a_turn() -> None:
    session = SessionJudge()
    begun = time.perf_counter()
    for number in range(500):
        output, piece = _turn(number)
        session.add_context([piece])
        assert session.judge(output)
    assert (time.perf_counter() - begun) / 500 < 0.03


@pytest.mark.long
def test_ten_thousand_turns_take_less_than_a_minute() -> None:
    begun = time.perf_counter()
    for first in range(0, 10_000, 200):
        session = SessionJudge()
        for number in range(first, first + 200):
            output, piece = _turn(number)
            session.add_context([piece])
            session.judge(output)
    assert time.perf_counter() - begun < 60


@pytest.mark.parametrize("repeated", ["The fox is red. ", "今日は雨です。", "Mr. ", "1. "])
def test_hostile_repetition_stays_cheap(repeated: str) -> None:
    text = repeated * (200_000 // len(repeated))
    begun = time.perf_counter()
    judge_output(text, [ContextPiece("user", "m", text)], [text])
    assert time.perf_counter() - begun < 20


def test_real_transcripts_yield_findings_in_a_minority_of_their_sentences() -> None:
    path = TRANSCRIPTS / "tau-bench" / "gpt-4o-airline.json"
    if not path.exists():
        pytest.skip(f"no transcripts at {path}")
    kinds: list[ClaimKind] = []
    for episode in json.loads(path.read_text(encoding="utf-8"))[:40]:
        session = SessionJudge()
        for number, message in enumerate(episode["traj"]):
            text = message.get("content") or ""
            if message["role"] == "assistant":
                kinds += [judged.kind for judged in session.judge(text)]
            else:
                session.add_context([ContextPiece(message["role"], str(number), text)])
    # The agent mostly reads out tool results and asks; a flood of findings would be noise.
    assert 0 < kinds.count(ClaimKind.INFERRED) < 0.2 * len(kinds)
    assert kinds.count(ClaimKind.IN_CONTEXT) > kinds.count(ClaimKind.INFERRED)
