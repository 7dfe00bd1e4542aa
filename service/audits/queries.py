"""Reading audits. What stands here is never for the audited agent's key."""

import json
from collections.abc import Sequence

from sqlalchemy import func, select, tuple_
from sqlalchemy.orm import Session

from service.audits.schemas import (
    AuditOut,
    AuditRequestOut,
    ContextQuoteOut,
    FindingOut,
    StratumOut,
)
from service.audits.vocabulary import RequestState, TurnState
from service.instants import format_instant
from service.models import AuditedTurn, AuditRequest, AuditRun, AuditSample, Finding

RunPlace = tuple[int, int, str]
FindingPlace = int


def run_called(session: Session, run_id: str) -> AuditRun | None:
    """One run."""
    return session.get(AuditRun, run_id)


def run_of_window(
    session: Session, agent_id: str, window_from: int, window_until: int
) -> AuditRun | None:
    """The one run that an agent and window may have."""
    return session.scalar(
        select(AuditRun).where(
            AuditRun.agent_id == agent_id,
            AuditRun.window_from == window_from,
            AuditRun.window_until == window_until,
        )
    )


def runs_of(session: Session, agent_id: str) -> list[AuditRun]:
    """All runs of an agent, by window."""
    return list(
        session.scalars(
            select(AuditRun).where(AuditRun.agent_id == agent_id).order_by(AuditRun.window_from)
        )
    )


def newest_runs(
    session: Session, agent_id: str | None, *, limit: int, after: RunPlace | None
) -> tuple[list[AuditOut], RunPlace | None]:
    """One page of runs, the latest window first, and where the next one begins."""
    place = (AuditRun.window_from, AuditRun.started_at, AuditRun.run_id)
    statement = select(AuditRun)
    if agent_id is not None:
        statement = statement.where(AuditRun.agent_id == agent_id)
    if after is not None:
        statement = statement.where(tuple_(*place) < after)
    rows = list(session.scalars(statement.order_by(*(c.desc() for c in place)).limit(limit + 1)))
    last = rows[limit - 1] if len(rows) > limit else None
    following = None if last is None else (last.window_from, last.started_at, last.run_id)
    return runs_out(session, rows[:limit]), following


def runs_out(session: Session, runs: Sequence[AuditRun]) -> list[AuditOut]:
    """Runs as they are shown: how far they are and what they found; never the seed."""
    ids = [run.run_id for run in runs]
    drawn = _counted(session, ids)
    states = _read_counts(session, ids)
    findings = _finding_counts(session, ids)
    nothing = (0, 0, 0)
    return [
        AuditOut(
            audit_id=run.run_id,
            agent_id=run.agent_id,
            window={
                "from": format_instant(run.window_from),
                "until": format_instant(run.window_until),
            },
            method=run.method,
            method_version=run.method_version,
            state=run.state,
            population=run.population,
            sample_size=run.sample_size,
            drawn=drawn.get(run.run_id, 0),
            turns={str(s): states.get((run.run_id, str(s)), nothing)[0] for s in TurnState},
            sentences=sum(states.get((run.run_id, str(s)), nothing)[1] for s in TurnState),
            claims=sum(states.get((run.run_id, str(s)), nothing)[2] for s in TurnState),
            findings=findings.get(run.run_id, 0),
            ledger=None if run.ledger is None else json.loads(run.ledger),
            started_at=format_instant(run.started_at),
            finished_at=None if run.finished_at is None else format_instant(run.finished_at),
        )
        for run in runs
    ]


def _read_counts(
    session: Session, run_ids: Sequence[str]
) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Turns, sentences and claims of each run by the state of the turn."""
    rows = session.execute(
        select(
            AuditedTurn.run_id, AuditedTurn.state, func.count(),
            func.sum(AuditedTurn.sentences), func.sum(AuditedTurn.claims),
        )
        .where(AuditedTurn.run_id.in_(run_ids))
        .group_by(AuditedTurn.run_id, AuditedTurn.state)
    )  # fmt: skip
    return {
        (run_id, state): (turns, int(sentences), int(claims))
        for run_id, state, turns, sentences, claims in rows
    }


def _finding_counts(session: Session, run_ids: Sequence[str]) -> dict[str, int]:
    rows = session.execute(
        select(Finding.run_id, func.count())
        .where(Finding.run_id.in_(run_ids))
        .group_by(Finding.run_id)
    )
    return dict(rows.all())


def sample_size_of(session: Session, run_id: str) -> int:
    """How many turns a run drew."""
    return _counted(session, [run_id]).get(run_id, 0)


def _counted(session: Session, run_ids: Sequence[str]) -> dict[str, int]:
    rows = session.execute(
        select(AuditSample.run_id, func.count())
        .where(AuditSample.run_id.in_(run_ids))
        .group_by(AuditSample.run_id)
    )
    return dict(rows.all())


def strata_of(session: Session, run_id: str) -> list[StratumOut]:
    """The strata of a run, how many turns were drawn from each, and how many have a state."""
    rows = session.execute(
        select(
            AuditSample.stratum, AuditSample.stratum_population, AuditSample.stratum_sample,
            func.count(AuditedTurn.turn_id),
        )
        .outerjoin(
            AuditedTurn,
            (AuditedTurn.agent_id == AuditSample.agent_id)
            & (AuditedTurn.turn_id == AuditSample.turn_id),
        )
        .where(AuditSample.run_id == run_id)
        .group_by(
            AuditSample.stratum, AuditSample.stratum_population, AuditSample.stratum_sample
        )
        .order_by(AuditSample.stratum)
    )  # fmt: skip
    return [
        StratumOut(stratum=stratum, population=population, drawn=drawn, finished=finished)
        for stratum, population, drawn, finished in rows
    ]


def findings_of(
    session: Session, run: AuditRun, *, limit: int, after: FindingPlace | None
) -> tuple[list[FindingOut], FindingPlace | None]:
    """One page of a run's findings in the order they were stored."""
    statement = select(Finding).where(
        Finding.run_id == run.run_id, Finding.seq > (0 if after is None else after)
    )
    rows = list(session.scalars(statement.order_by(Finding.seq).limit(limit + 1)))
    following = rows[limit - 1].seq if len(rows) > limit else None
    return [finding_out(row) for row in rows[:limit]], following


def finding_out(row: Finding) -> FindingOut:
    """A finding as it is shown."""
    return FindingOut(
        finding_id=row.finding_id,
        agent_id=row.agent_id,
        audit_id=row.run_id,
        seq=row.seq,
        turn_id=row.turn_id,
        session_id=row.session_id,
        ts=format_instant(row.ts),
        statement=row.statement,
        quote=row.quote,
        quote_start=row.quote_start,
        quote_end=row.quote_end,
        context_quotes=[ContextQuoteOut(**quote) for quote in json.loads(row.context_quotes)],
        support=row.support,
        support_score=row.support_score,
        expressed_confidence=row.expressed_confidence,
        decisive_source=None if row.decisive_source is None else bool(row.decisive_source),
        tool_before=bool(row.tool_before),
        abducted=bool(row.abducted),
        gated=bool(row.gated),
        written=bool(row.written),
        belief_id=row.belief_id,
        belief_label=row.belief_label,
        link_score=row.link_score,
    )


def request_called(session: Session, request_id: str) -> AuditRequestOut | None:
    """One request, with the runs that its window holds by now."""
    request = session.get(AuditRequest, request_id)
    if request is None:
        return None
    runs = session.scalars(
        select(AuditRun)
        .where(
            AuditRun.agent_id == request.agent_id,
            AuditRun.window_from >= request.window_from,
            AuditRun.window_until <= request.window_until,
        )
        .order_by(AuditRun.window_from)
    )
    state = RequestState.QUEUED if request.taken_at is None else RequestState.TAKEN
    return AuditRequestOut(
        request_id=request.request_id,
        agent_id=request.agent_id,
        window={
            "from": format_instant(request.window_from),
            "until": format_instant(request.window_until),
        },
        state=RequestState.FINISHED if request.outcome is not None else state,
        outcome=request.outcome,
        requested_at=format_instant(request.requested_at),
        audits=[run.run_id for run in runs],
    )
