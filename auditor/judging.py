"""From a turn that was reached to what is stored of it: checked claims, counts and findings."""

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from auditor.checks import Invalid, claim_fault
from auditor.linking import TurnRecord, find_write, is_asserted
from auditor.text.judge import ClaimKind, JudgedClaim
from auditor.text.sentences import split_sentences
from auditor.transcript import Stop
from service.audits.records import FindingRecord, JudgedTurn
from service.audits.vocabulary import TurnState


def judged_turn(
    stop: Stop,
    claims: Sequence[JudgedClaim],
    context: Mapping[tuple[str, str], Collection[str]],
    record: TurnRecord,
) -> JudgedTurn:
    """A turn whose claims came back; those that fail a check are counted and go no further."""
    assert stop.text is not None  # noqa: S101 - a turn without text is never judged
    output = stop.text.output
    faults = [claim_fault(claim, output, context) for claim in claims]
    good = [claim for claim, fault in zip(claims, faults, strict=True) if fault is None]
    kinds = Counter(claim.kind for claim in good)
    sentences = len(split_sentences(output))
    made = sum(kinds.values()) - kinds[ClaimKind.NOT_A_CLAIM]
    counts: dict[str, object] = {
        "sentences": sentences,
        "claims": made,
        **{str(kind): kinds[kind] for kind in ClaimKind if kind is not ClaimKind.NOT_A_CLAIM},
        str(ClaimKind.NOT_A_CLAIM): dict(
            Counter(str(c.reason) for c in good if c.kind is ClaimKind.NOT_A_CLAIM)
        ),
        "invalid": sum(fault is not None for fault in faults),
        "invalid_reasons": dict(Counter(str(f) for f in faults if isinstance(f, Invalid))),
    }
    return JudgedTurn(
        turn=stop.turn,
        drawn=stop.wanted.drawn,
        state=TurnState.DONE,
        reason=None,
        sentences=sentences,
        claims=made,
        counts=counts,
        findings=tuple(
            _finding(stop, claim, record) for claim in good if claim.kind is ClaimKind.INFERRED
        ),
    )


def left_out_turn(stop: Stop, state: TurnState, reason: str) -> JudgedTurn:
    """A drawn turn without a judgement: it is in no denominator and shows in the run."""
    return JudgedTurn(stop.turn, stop.wanted.drawn, state, reason, 0, 0, {}, ())


def _finding(stop: Stop, claim: JudgedClaim, record: TurnRecord) -> FindingRecord:
    link = find_write(claim.statement, record)
    return FindingRecord(
        finding_id=finding_id(stop.turn.turn_id, claim.start, claim.end),
        statement=claim.statement,
        quote=claim.quote,
        quote_start=claim.start,
        quote_end=claim.end,
        context_quotes=claim.context_quotes,
        # A comparison of words tells what is missing, not whether the context speaks against it.
        support=None,
        support_score=claim.support_score,
        expressed_confidence=claim.expressed_confidence,
        decisive_source=claim.decisive_source,
        tool_before=stop.tool_before or record.looked,
        abducted=record.abducted,
        gated=record.gated,
        gate_decision=record.gate_decision,
        recorded=link is not None or is_asserted(claim.statement, record),
        belief_id=link.belief_id if link else None,
        belief_label=link.label if link else None,
        link_score=link.score if link else None,
    )


def finding_id(turn_id: str, start: int, end: int) -> str:
    """The id of a finding: the same stretch of the same turn has the same one, in any run."""
    digest = hashlib.sha256(f"{turn_id}\n{start}\n{end}".encode())
    return digest.hexdigest()[:32]
