"""Judge an output against what the agent could read: the built-in auditor's method."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from auditor.text.claims import NoClaimReason, clean_statement, no_claim_reason
from auditor.text.hedges import expressed_confidence
from auditor.text.normalise import content_words
from auditor.text.overlap import (
    SUPPORT_THRESHOLD,
    ClaimMemory,
    ContextIndex,
    ContextPiece,
    Support,
)
from auditor.text.sentences import Sentence, split_sentences


class ClaimKind(StrEnum):
    """What a sentence of an output is to the audit."""

    IN_CONTEXT = "in_context"
    INFERRED = "inferred"
    REPEATED = "repeated"
    NOT_A_CLAIM = "not_a_claim"


class JudgementReason(StrEnum):
    """Why a claim was judged as it was."""

    WORDS_FOUND = "words_found"
    WORDS_MISSING = "words_missing"
    EXACT_WORD_ABSENT = "exact_word_absent"
    SAID_BEFORE = "said_before"


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """One sentence of an output and its judgement; `quote` equals `output[start:end]`.

    `support_score` is the share of content words found (0 where it was not looked for);
    `context_quotes` are (source kind, source id, verbatim passage); `decisive_source` is always
    None: a comparison of words cannot tell whether a decisive source was at hand.
    """

    statement: str
    quote: str
    start: int
    end: int
    kind: ClaimKind
    reason: NoClaimReason | JudgementReason
    support_score: float
    context_quotes: tuple[tuple[str, str, str], ...]
    expressed_confidence: float | None
    decisive_source: bool | None = None


class SessionJudge:
    """Judges the turns of one session in order, indexing each piece of context and claim once."""

    def __init__(self) -> None:
        self._context = ContextIndex()
        self._said = ClaimMemory()

    def add_context(self, pieces: Iterable[ContextPiece]) -> None:
        """Add what the agent could read from now on."""
        for piece in pieces:
            self._context.add(piece)

    def add_earlier(self, output: str) -> None:
        """Remember the claims of an earlier output without judging them."""
        for sentence in split_sentences(output):
            if no_claim_reason(sentence) is None:
                self._said.add(content_words(sentence.text))

    def judge(self, output: str) -> list[JudgedClaim]:
        """Judge every sentence of the next output, then remember its claims."""
        return [self._judge_sentence(sentence) for sentence in split_sentences(output)]

    def _judge_sentence(self, sentence: Sentence) -> JudgedClaim:
        no_claim = no_claim_reason(sentence)
        if no_claim is not None:
            return _judged(sentence, ClaimKind.NOT_A_CLAIM, no_claim, None)
        words = content_words(sentence.text)
        support = self._context.support(words)
        if self._said.holds(words):
            return _judged(sentence, ClaimKind.REPEATED, JudgementReason.SAID_BEFORE, support)
        self._said.add(words)
        return _judged(sentence, *judge_support(support), support)


def judge_support(support: Support) -> tuple[ClaimKind, JudgementReason]:
    """Return whether a claim with this support is in the context or inferred, and why."""
    if support.score < SUPPORT_THRESHOLD:
        return ClaimKind.INFERRED, JudgementReason.WORDS_MISSING
    if support.absent_exact:
        return ClaimKind.INFERRED, JudgementReason.EXACT_WORD_ABSENT
    return ClaimKind.IN_CONTEXT, JudgementReason.WORDS_FOUND


def judge_output(
    output: str, context: Sequence[ContextPiece], earlier: Sequence[str]
) -> list[JudgedClaim]:
    """Judge every sentence of one output against its context and the session's earlier outputs."""
    session = SessionJudge()
    session.add_context(context)
    for previous in earlier:
        session.add_earlier(previous)
    return session.judge(output)


def _judged(
    sentence: Sentence,
    kind: ClaimKind,
    reason: NoClaimReason | JudgementReason,
    support: Support | None,
) -> JudgedClaim:
    passages = support.passages if support is not None else ()
    return JudgedClaim(
        statement=clean_statement(sentence.text),
        quote=sentence.text,
        start=sentence.start,
        end=sentence.end,
        kind=kind,
        reason=reason,
        support_score=support.score if support is not None else 0.0,
        context_quotes=tuple((p.piece.kind, p.piece.id, p.text) for p in passages),
        expressed_confidence=expressed_confidence(sentence.text)
        if kind is not ClaimKind.NOT_A_CLAIM
        else None,
    )
