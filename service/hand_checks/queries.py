"""Reading hand-checks, and what could be drawn for one."""

from collections.abc import Iterable
from typing import Any

import msgspec
from sqlalchemy import exists, func, select, tuple_
from sqlalchemy.orm import Session

from service.api.parameters import Place
from service.beliefs.queries import belief_called, raw
from service.contradictions.projection import NOT_A_CONTRADICTION, ContradictionState
from service.contradictions.queries import contradiction_called, stored_members
from service.hand_checks.drawing import Candidate
from service.hand_checks.schemas import CheckState, HandCheckOut, VerdictOut
from service.instants import format_instant
from service.models import Contradiction, HandCheck, HandCheckVerdict

RESOLVED = (ContradictionState.RESOLVED, ContradictionState.SCOPED)
_CHECKS = tuple(HandCheck.__table__.columns)


def resolutions(session: Session, agent_id: str, since: int, until: int) -> list[Candidate]:
    """What was resolved or scoped within [since, until)."""
    rows = session.execute(
        select(Contradiction.contradiction_id, Contradiction.resolution).where(
            Contradiction.agent_id == agent_id,
            Contradiction.state.in_(RESOLVED),
            Contradiction.closed_at >= since,
            Contradiction.closed_at < until,
        )
    )
    return [Candidate(one, resolution == NOT_A_CONTRADICTION) for one, resolution in rows]


def drawn(session: Session, agent_id: str, week: str) -> set[str]:
    """The subjects that were drawn for a week."""
    return set(
        session.scalars(
            select(HandCheck.subject_id).where(
                HandCheck.agent_id == agent_id, HandCheck.iso_week == week
            )
        )
    )


def snapshot(session: Session, agent_id: str, contradiction_id: str, now: int) -> str:
    """All that a person needs to judge a resolution, as it stands now."""
    found = contradiction_called(session, agent_id, contradiction_id, now=now)
    assert found is not None  # noqa: S101 - it was just drawn in this transaction
    members = stored_members(bytes(found.beliefs).decode())
    beliefs = [belief_called(session, agent_id, one) for one in members]
    shown = {"contradiction": found, "members": [b for b in beliefs if b is not None]}
    return msgspec.json.encode(shown).decode()


def _is_answered() -> Any:
    return exists().where(
        HandCheckVerdict.agent_id == HandCheck.agent_id,
        HandCheckVerdict.check_id == HandCheck.check_id,
    )


def newest_checks(
    session: Session,
    agent_id: str | None,
    week: str | None,
    state: CheckState | None,
    *,
    limit: int,
    after: Place | None,
) -> tuple[list[HandCheckOut], Place | None]:
    """One page by (drawn_at, agent, id), newest first, and the place where the next one begins."""
    place = (HandCheck.drawn_at, HandCheck.agent_id, HandCheck.check_id)
    statement = select(*_CHECKS).where(*_conditions(agent_id, week))
    if state is not None:
        is_answered = _is_answered()
        statement = statement.where(is_answered if state is CheckState.ANSWERED else ~is_answered)
    if after is not None:
        statement = statement.where(HandCheck.drawn_at <= after[0], tuple_(*place) < after)
    rows = session.execute(statement.order_by(*(c.desc() for c in place)).limit(limit + 1)).all()
    end = rows[limit - 1] if len(rows) > limit else None
    return _shown(session, rows[:limit]), end and (end.drawn_at, end.agent_id, end.check_id)


def _conditions(agent_id: str | None, week: str | None) -> list[Any]:
    equal = {HandCheck.agent_id: agent_id, HandCheck.iso_week: week}
    return [column == value for column, value in equal.items() if value is not None]


def count_by_state(session: Session, agent_id: str | None, week: str | None) -> dict[str, int]:
    """How many wait for an answer, and how many have one."""
    where = _conditions(agent_id, week)
    counted = select(func.count()).select_from(HandCheck).where(*where)
    answered = session.scalar(counted.where(_is_answered())) or 0
    total = session.scalar(counted) or 0
    return {CheckState.PENDING: total - answered, CheckState.ANSWERED: answered}


def check_called(session: Session, check_id: str) -> HandCheckOut | None:
    """One hand-check; its id holds the agent's."""
    rows = session.execute(select(*_CHECKS).where(HandCheck.check_id == check_id)).all()
    return _shown(session, rows)[0] if rows else None


def _shown(session: Session, rows: Iterable[Any]) -> list[HandCheckOut]:
    listed = list(rows)
    told: dict[tuple[str, str], list[VerdictOut]] = {}
    found = session.execute(
        select(HandCheckVerdict)
        .where(
            tuple_(HandCheckVerdict.agent_id, HandCheckVerdict.check_id).in_(
                [(row.agent_id, row.check_id) for row in listed]
            )
        )
        .order_by(HandCheckVerdict.agent_id, HandCheckVerdict.seq)
    ).scalars()
    for verdict in found:
        told.setdefault((verdict.agent_id, verdict.check_id), []).append(
            VerdictOut(
                verdict.verdict_id, verdict.verdict, verdict.note, verdict.decided_by,
                format_instant(verdict.decided_at),
            )
        )  # fmt: skip
    return [_check_out(row, told.get((row.agent_id, row.check_id), [])) for row in listed]


def _check_out(row: Any, verdicts: list[VerdictOut]) -> HandCheckOut:
    return HandCheckOut(
        row.agent_id, row.check_id, row.kind, row.subject_id, row.iso_week,
        format_instant(row.drawn_at),
        CheckState.ANSWERED if verdicts else CheckState.PENDING,
        verdicts[-1].verdict if verdicts else None, verdicts, raw(row.snapshot),
    )  # fmt: skip
