"""Writing audits: runs with their samples, judged turns with their findings, and the queue.

Whatever takes a position locks the audit log first, so two auditors of one agent take turns.
"""

import secrets
from collections.abc import Mapping, Sequence

from sqlalchemy import Table, insert, or_, select, update
from sqlalchemy.orm import Session

from service import json_text
from service.audits.records import DrawnTurn, FindingRecord, JudgedTurn, Lease, NewRun
from service.audits.vocabulary import RunState
from service.events.log import LogPositions
from service.events.operations import append
from service.events.recording import record_rows
from service.events.schemas import Event
from service.events.vocabulary import EventType, Log, OpportunitySource
from service.inferences.operations import AuditShadow, record_audit_shadows
from service.instants import MINUTE
from service.models import AuditedTurn, AuditRequest, AuditRun, AuditSample, Finding

# A run whose heartbeat is older was left by a process that died.
STALE_AFTER = 2 * MINUTE
_AUDITED_TURNS: Table = AuditedTurn.__table__  # type: ignore[assignment]
_FINDINGS: Table = Finding.__table__  # type: ignore[assignment]


class LeaseLostError(Exception):
    """Another process took the run over while this one did not show any life."""


def lock_audit_log(session: Session, agent_id: str) -> LogPositions:
    """Locks the agent's audit log for this transaction; what may be drawn then stands still."""
    positions = LogPositions(session)
    positions.lock([(agent_id, str(Log.AUDIT))])
    return positions


def start_run(session: Session, run: NewRun, sample: Sequence[DrawnTurn], now: int) -> Lease:
    """Stores a run and its sample; the audit log is locked and no text was read yet."""
    session.execute(
        insert(AuditRun).values(
            run_id=run.run_id, agent_id=run.agent_id, window_from=run.window_from,
            window_until=run.window_until, method=run.method, method_version=run.method_version,
            state=str(RunState.RUNNING), seed=run.seed, sample_size=run.sample_size,
            population=run.population, drawn_seq=run.drawn_seq, started_at=now, heartbeat_at=now,
        )
    )  # fmt: skip
    rows = [
        {
            "agent_id": run.agent_id, "turn_id": drawn.turn_id, "run_id": run.run_id,
            "position": drawn.position, "stratum": drawn.stratum,
            "stratum_population": drawn.stratum_population,
            "stratum_sample": drawn.stratum_sample,
        }
        for drawn in sample
    ]  # fmt: skip
    if rows:
        session.execute(insert(AuditSample), rows)
    return Lease(run.run_id, run.agent_id, now)


def take_over(session: Session, run: AuditRun, now: int) -> Lease | None:
    """The lease of an unfinished run whose heartbeat is stale; None when its process is alive."""
    if run.state == RunState.RUNNING and now - run.heartbeat_at < STALE_AFTER:
        return None
    lease = Lease(run.run_id, run.agent_id, run.heartbeat_at)
    try:
        beat(session, lease, now, state=RunState(run.state))
    except LeaseLostError:
        return None
    return lease


def beat(session: Session, lease: Lease, now: int, *, state: RunState = RunState.RUNNING) -> None:
    """Shows life; LeaseLostError when the last heartbeat is not this lease's own."""
    following = max(now, lease.heartbeat_at + 1)
    found = session.execute(
        update(AuditRun)
        .where(
            AuditRun.run_id == lease.run_id,
            AuditRun.heartbeat_at == lease.heartbeat_at,
            AuditRun.state == str(state),
        )
        .values(heartbeat_at=following, state=str(RunState.RUNNING), finished_at=None)
        .returning(AuditRun.run_id)
    ).first()
    if found is None:
        raise LeaseLostError(f"Run {lease.run_id} was taken over by another process.")
    lease.heartbeat_at = following


def release(session: Session, lease: Lease) -> None:
    """Lets the next process go on at once with a run that this one leaves unfinished."""
    session.execute(
        update(AuditRun)
        .where(
            AuditRun.run_id == lease.run_id,
            AuditRun.heartbeat_at == lease.heartbeat_at,
            AuditRun.state == str(RunState.RUNNING),
        )
        .values(heartbeat_at=0)
    )


def store_ledger(session: Session, lease: Lease, counts: Mapping[str, object], now: int) -> None:
    """Stores what the rules found in the window's ledger writes."""
    beat(session, lease, now)
    session.execute(
        update(AuditRun)
        .where(AuditRun.run_id == lease.run_id)
        .values(ledger=json_text.encode(dict(counts)))
    )


def finish_run(session: Session, lease: Lease, state: RunState, now: int) -> None:
    """Ends a run."""
    beat(session, lease, now)
    session.execute(
        update(AuditRun)
        .where(AuditRun.run_id == lease.run_id)
        .values(state=str(state), finished_at=now)
    )


def store_judged_turn(session: Session, lease: Lease, judged: JudgedTurn, now: int) -> None:
    """Stores a turn's state, its findings, an event for each, and what the agent did not record."""
    positions = lock_audit_log(session, lease.agent_id)
    beat(session, lease, now)
    turn, drawn = judged.turn, judged.drawn
    record_rows(
        session,
        positions,
        _AUDITED_TURNS,
        [
            (
                lease.agent_id, turn.turn_id, str(Log.AUDIT), lease.run_id, turn.ts, now,
                turn.session_id, turn.worker, turn.model, turn.commit_sha, drawn.stratum,
                drawn.stratum_population, drawn.stratum_sample, str(judged.state),
                json_text.shown(judged.reason), judged.sentences, judged.claims,
                json_text.encode(dict(judged.counts)),
            )
        ],
    )  # fmt: skip
    findings = [_finding_row(lease, judged, finding) for finding in judged.findings]
    record_rows(session, positions, _FINDINGS, findings)
    events = [_opportunity(lease, judged, finding, now) for finding in judged.findings]
    if events:
        append(session, positions, events, {})
    shadows = [
        AuditShadow(
            event, finding.statement, _context(finding), finding.gate_decision, turn.commit_sha
        )
        for event, finding in zip(events, judged.findings, strict=True)
        if not finding.recorded
    ]  # fmt: skip
    record_audit_shadows(session, positions, shadows)
    positions.store()


def _finding_row(lease: Lease, judged: JudgedTurn, finding: FindingRecord) -> tuple[object, ...]:
    decisive = finding.decisive_source
    return (
        lease.agent_id, finding.finding_id, str(Log.AUDIT), lease.run_id, judged.turn.turn_id,
        judged.turn.session_id, judged.turn.ts, json_text.shown(finding.statement),
        # U+0000 becomes U+FFFD, one character for one: the offsets still hold.
        json_text.shown(finding.quote), finding.quote_start, finding.quote_end,
        json_text.encode(_context(finding)), finding.support, finding.support_score,
        finding.expressed_confidence, None if decisive is None else int(decisive),
        int(finding.tool_before), int(finding.abducted), int(finding.gated),
        int(finding.belief_id is not None), finding.belief_id, finding.belief_label,
        finding.link_score,
    )  # fmt: skip


def _context(finding: FindingRecord) -> list[dict[str, str]]:
    return [{"source": s, "id": i, "quote": q} for s, i, q in finding.context_quotes]


def _opportunity(lease: Lease, judged: JudgedTurn, finding: FindingRecord, now: int) -> Event:
    detail = {
        "source": str(OpportunitySource.AUDITOR),
        "finding_id": finding.finding_id,
        "run_id": lease.run_id,
        "statement": finding.statement,
    }
    return Event(
        agent_id=lease.agent_id, log=str(Log.AUDIT), event_id=f"finding:{finding.finding_id}",
        ts=judged.turn.ts, received_at=now, event=str(EventType.OPPORTUNITY_DETECTED),
        session_id=judged.turn.session_id, turn_id=judged.turn.turn_id, worker=judged.turn.worker,
        belief_id=finding.belief_id, detail=detail, detail_text=json_text.encode(detail),
    )  # fmt: skip


def queue_request(
    session: Session, agent_id: str, window_from: int, window_until: int, now: int
) -> str:
    """The id of a request for a window; one that already waits for the same is not doubled."""
    lock_audit_log(session, agent_id)
    waiting = session.scalar(
        select(AuditRequest.request_id).where(
            AuditRequest.agent_id == agent_id,
            AuditRequest.window_from == window_from,
            AuditRequest.window_until == window_until,
            AuditRequest.taken_at.is_(None),
        )
    )
    if waiting is not None:
        return waiting
    request_id = f"request-{secrets.token_hex(12)}"
    session.execute(
        insert(AuditRequest).values(
            request_id=request_id, agent_id=agent_id, window_from=window_from,
            window_until=window_until, requested_at=now,
        )
    )  # fmt: skip
    return request_id


def take_request(session: Session, now: int) -> AuditRequest | None:
    """The oldest request that waits, or whose taker shows no life any more; it is then taken."""
    free = or_(
        AuditRequest.taken_at.is_(None),
        AuditRequest.outcome.is_(None) & (AuditRequest.taken_at < now - STALE_AFTER),
    )
    found = session.scalar(
        select(AuditRequest)
        .where(free, AuditRequest.outcome.is_(None))
        .order_by(AuditRequest.requested_at, AuditRequest.request_id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    if found is not None:
        found.taken_at = now
        session.flush()
        session.expunge(found)
    return found


def touch_request(session: Session, request_id: str, now: int) -> None:
    """Shows that a taken request is still worked on."""
    session.execute(
        update(AuditRequest)
        .where(AuditRequest.request_id == request_id, AuditRequest.outcome.is_(None))
        .values(taken_at=now)
    )


def close_request(session: Session, request_id: str, outcome: str, now: int) -> None:
    """Says what became of a request."""
    session.execute(
        update(AuditRequest)
        .where(AuditRequest.request_id == request_id)
        .values(outcome=json_text.shown(outcome), taken_at=now)
    )
