"""Reading shadow inferences with what resolved them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, case, exists, func, select, tuple_
from sqlalchemy.orm import Session, aliased

from scoring.labels import Label
from service.api.parameters import Place
from service.beliefs.queries import raw
from service.events.vocabulary import ResolutionSource
from service.inferences.outcomes import (
    UNVERIFIABLE_AFTER,
    InferenceState,
    Outcome,
    Tally,
    effective_outcome,
    state_of,
)
from service.inferences.schemas import (
    ContextOut,
    OutcomeOut,
    ResolutionOut,
    ShadowInferenceOut,
    TallyOut,
)
from service.instants import format_instant
from service.models import InferenceContext, InferenceResolution, ShadowInference

MAX_RESOLUTIONS = 1_000
_COLUMNS = tuple(ShadowInference.__table__.columns)
_RESOLUTION_COLUMNS = tuple(InferenceResolution.__table__.columns)
Tallies = dict[tuple[str, str], list[Tally]]


@dataclass(frozen=True, slots=True)
class ShadowFilter:
    """Which shadow inferences; every field that is None lets all pass, times are half-open."""

    agent_id: str | None = None
    source: str | None = None
    label: Label | None = None
    category: str | None = None
    state: InferenceState | None = None
    worker: str | None = None
    session_id: str | None = None
    turn_id: str | None = None
    belief_id: str | None = None
    since: int | None = None
    until: int | None = None
    now: int = 0

    def conditions(self) -> list[ColumnElement[bool]]:
        """The same as conditions on `shadow_inferences`."""
        equal = {
            ShadowInference.agent_id: self.agent_id,
            ShadowInference.source: self.source,
            ShadowInference.label: self.label,
            ShadowInference.category: self.category,
            ShadowInference.worker: self.worker,
            ShadowInference.session_id: self.session_id,
            ShadowInference.turn_id: self.turn_id,
            ShadowInference.belief_id: self.belief_id,
        }
        found: list[ColumnElement[bool]] = [c == v for c, v in equal.items() if v is not None]
        if self.since is not None:
            found.append(ShadowInference.ts >= self.since)
        if self.until is not None:
            found.append(ShadowInference.ts < self.until)
        if self.state is not None:
            found.append(_is_in(self.state, self.now))
        return found


def _is_in(state: InferenceState, now: int) -> ColumnElement[bool]:
    """What `outcomes.state_of` says, as a condition."""
    mine = (
        InferenceResolution.agent_id == ShadowInference.agent_id,
        InferenceResolution.shadow_id == ShadowInference.shadow_id,
    )
    any_at_all = exists().where(*mine)
    if state in (InferenceState.OPEN, InferenceState.UNVERIFIABLE):
        is_old = ShadowInference.ts < now - UNVERIFIABLE_AFTER
        return ~any_at_all & (is_old if state is InferenceState.UNVERIFIABLE else ~is_old)
    order = {str(source): rank for rank, source in enumerate(ResolutionSource)}
    rank = case(order, value=InferenceResolution.source)
    other = aliased(InferenceResolution)
    other_rank = case(order, value=other.source)
    of_best = rank == (
        select(func.min(other_rank))
        .where(
            other.agent_id == ShadowInference.agent_id, other.shadow_id == ShadowInference.shadow_id
        )
        .correlate(ShadowInference)
        .scalar_subquery()
    )
    said = [exists().where(*mine, of_best, InferenceResolution.outcome == said) for said in (0, 1)]
    is_disputed = said[0] & said[1]
    return is_disputed if state is InferenceState.DISPUTED else any_at_all & ~is_disputed


def newest_shadow_inferences(
    session: Session, wanted: ShadowFilter, *, now: int, limit: int, after: Place | None
) -> tuple[list[ShadowInferenceOut], Place | None]:
    """One page by (ts, agent, id), newest first, and the place where the next one begins."""
    place = (ShadowInference.ts, ShadowInference.agent_id, ShadowInference.shadow_id)
    statement = select(*_COLUMNS).where(*wanted.conditions())
    if after is not None:
        statement = statement.where(ShadowInference.ts <= after[0], tuple_(*place) < after)
    rows = session.execute(statement.order_by(*(c.desc() for c in place)).limit(limit + 1)).all()
    tallies = tallies_of(session, [(row.agent_id, row.shadow_id) for row in rows[:limit]])
    end = rows[limit - 1] if len(rows) > limit else None
    return [_shadow_out(row, tallies, now) for row in rows[:limit]], end and (
        end.ts,
        end.agent_id,
        end.shadow_id,
    )


def shadow_inference_called(
    session: Session, agent_id: str, shadow_id: str, *, now: int
) -> ShadowInferenceOut | None:
    """One shadow inference."""
    row = session.execute(
        select(*_COLUMNS).where(
            ShadowInference.agent_id == agent_id, ShadowInference.shadow_id == shadow_id
        )
    ).one_or_none()
    if row is None:
        return None
    return _shadow_out(row, tallies_of(session, [(agent_id, shadow_id)]), now)


def tallies_of(session: Session, shadows: Sequence[tuple[str, str]]) -> Tallies:
    """What each source said of each (agent, shadow inference); at most ten tallies for one."""
    found: Tallies = {}
    if not shadows:
        return found
    group = (
        InferenceResolution.agent_id,
        InferenceResolution.shadow_id,
        InferenceResolution.source,
        InferenceResolution.outcome,
    )
    rows = session.execute(
        select(
            *group,
            func.count(),
            func.max(InferenceResolution.resolved_at),
            func.max(InferenceResolution.seq),
        )
        .where(tuple_(InferenceResolution.agent_id, InferenceResolution.shadow_id).in_(shadows))
        .group_by(*group)
    )
    for agent_id, shadow_id, source, outcome, count, resolved_at, seq in rows:
        tally = Tally(ResolutionSource(source), bool(outcome), count, resolved_at, seq)
        found.setdefault((agent_id, shadow_id), []).append(tally)
    return found


def resolutions_of(
    session: Session, agent_id: str, shadow_id: str
) -> tuple[list[ResolutionOut], bool]:
    """Its resolutions in order of time, the newest thousand; and whether those are all."""
    place = (
        InferenceResolution.resolved_at,
        InferenceResolution.log,
        InferenceResolution.seq,
    )
    rows = session.execute(
        select(*_RESOLUTION_COLUMNS)
        .where(InferenceResolution.agent_id == agent_id, InferenceResolution.shadow_id == shadow_id)
        .order_by(*(column.desc() for column in place))
        .limit(MAX_RESOLUTIONS + 1)
    ).all()
    resolutions = [
        ResolutionOut(
            row.resolution_id, row.log, row.seq, row.source, bool(row.outcome),
            raw(row.evidence), format_instant(row.resolved_at),
        )
        for row in rows[:MAX_RESOLUTIONS]
    ]  # fmt: skip
    return resolutions[::-1], len(rows) <= MAX_RESOLUTIONS


def contexts_of(session: Session, agent_id: str, shadow_id: str) -> list[ContextOut]:
    """What became known of it after its snapshot, in order of arrival."""
    rows = session.scalars(
        select(InferenceContext)
        .where(InferenceContext.agent_id == agent_id, InferenceContext.shadow_id == shadow_id)
        .order_by(InferenceContext.log, InferenceContext.seq)
        .limit(MAX_RESOLUTIONS)
    )
    return [
        ContextOut(
            row.context_id, row.kind, row.log, row.seq, format_instant(row.recorded_at),
            row.session_id, row.turn_id, row.commit_sha, raw(row.evidence),
        )
        for row in rows
    ]  # fmt: skip


def same_claim(session: Session, shadow: ShadowInferenceOut) -> list[str]:
    """The other shadow inferences of the same belief, oldest first."""
    if shadow.belief_id is None:
        return []
    found = (
        select(ShadowInference.shadow_id)
        .where(
            ShadowInference.agent_id == shadow.agent_id,
            ShadowInference.belief_id == shadow.belief_id,
            ShadowInference.shadow_id != shadow.shadow_id,
        )
        .order_by(ShadowInference.ts, ShadowInference.log, ShadowInference.seq)
        .limit(MAX_RESOLUTIONS)
    )
    return list(session.scalars(found))


def _shadow_out(row: Any, tallies: Tallies, now: int) -> ShadowInferenceOut:
    said = sorted(
        tallies.get((row.agent_id, row.shadow_id), []),
        key=lambda tally: (list(ResolutionSource).index(tally.source), not tally.outcome),
    )
    found = effective_outcome(said)
    return ShadowInferenceOut(
        row.agent_id, row.shadow_id, row.log, row.seq, row.source, row.event_id,
        format_instant(row.ts), format_instant(row.recorded_at), row.session_id, row.turn_id,
        row.worker, row.belief_id, row.statement, row.category, row.label, row.confidence,
        raw(row.evidence), raw(row.alternatives), row.gate_decision, row.commit_sha,
        state_of(found, row.ts, now), _outcome_out(found),
        [TallyOut(t.source, t.outcome, t.count, format_instant(t.resolved_at)) for t in said],
    )  # fmt: skip


def _outcome_out(found: Outcome | None) -> OutcomeOut | None:
    if found is None:
        return None
    return OutcomeOut(
        found.outcome, found.source, format_instant(found.resolved_at), found.is_disputed
    )
