"""What the start page says of each agent, in a bounded number of reads by index."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, func, select, union
from sqlalchemy.orm import Session

from service.agents.queries import zone_of
from service.audits.operations import STALE_AFTER
from service.audits.queries import runs_out
from service.audits.vocabulary import RunState, TurnState
from service.instants import DAY, MINUTE, parse_instant
from service.models import Agent, AuditRun, CogEvent, Turn
from service.ratios.window import Window

LENGTH = 7 * DAY
MAX_AGENTS = 100


@dataclass(frozen=True, slots=True)
class Activity:
    """What an agent sent in a week: the last seven days or, when they are empty, its last ones."""

    window: Window
    is_current: bool
    events: int
    turns: int
    known_turns: int
    transcribed_turns: int


@dataclass(frozen=True, slots=True)
class LastAudit:
    """The run that was started last; `day` is an instant in the day it reads."""

    day: int
    state: str
    drawn: int
    read: int
    findings: int
    failed: int


@dataclass(frozen=True, slots=True)
class AgentOverview:
    """One row of the start page; instants are microseconds since 1970 UTC."""

    agent_id: str
    zone: ZoneInfo
    model: str | None
    last_at: int | None
    has_turns: bool
    activity: Activity | None
    audit: LastAudit | None


@dataclass(frozen=True, slots=True)
class Overview:
    """The agents that were heard from most recently, and how many more there are."""

    agents: tuple[AgentOverview, ...]
    left_out: int

    @property
    def has_data(self) -> bool:
        """Whether any agent has sent anything."""
        return any(agent.last_at is not None for agent in self.agents)


def overview(session: Session, now: int) -> Overview:
    """All agents, the one with the latest event or turn first, then by id."""
    rows = session.execute(
        select(Agent, _latest(CogEvent, Agent.agent_id), _latest(Turn, Agent.agent_id))
    ).all()
    heard = [(agent, _later(event, turn), turn is not None) for agent, event, turn in rows]
    heard.sort(key=lambda row: (row[1] is None, -(row[1] or 0), row[0].agent_id))
    audits = _last_audits(session, [agent.agent_id for agent, _, _ in heard[:MAX_AGENTS]], now)
    agents = tuple(
        AgentOverview(
            agent.agent_id,
            zone_of(agent),
            agent.model,
            last_at,
            has_turns,
            None if last_at is None else _activity(session, agent.agent_id, last_at, now),
            audits.get(agent.agent_id),
        )
        for agent, last_at, has_turns in heard[:MAX_AGENTS]
    )
    return Overview(agents, len(heard) - len(agents))


def _latest(
    model: type[CogEvent] | type[Turn], agent_id: object, *conditions: ColumnElement[bool]
) -> ColumnElement[int | None]:
    statement = select(func.max(model.ts)).where(model.agent_id == agent_id, *conditions)
    return statement.scalar_subquery()


def _later(one: int | None, other: int | None) -> int | None:
    return max((instant for instant in (one, other) if instant is not None), default=None)


def _activity(session: Session, agent_id: str, last_at: int, now: int) -> Activity:
    """Counts of the current week; of a quiet agent, of the week up to the last it sent."""
    until = now + 1
    if last_at > now:
        # A clock ran ahead: what lies in the future says nothing about the last week.
        known = session.execute(
            select(
                _latest(CogEvent, agent_id, CogEvent.ts <= now),
                _latest(Turn, agent_id, Turn.ts <= now),
            )
        ).one()
        last_at = _later(*known) or now
    is_current = last_at > now - LENGTH
    window = Window(now - LENGTH, until) if is_current else Window(last_at - LENGTH, last_at + 1)
    known_turns, transcribed = _transcripts(session, agent_id, window)
    return Activity(
        window,
        is_current,
        events=_counted(session, CogEvent, agent_id, window),
        turns=_counted(session, Turn, agent_id, window),
        known_turns=known_turns,
        transcribed_turns=transcribed,
    )


def _within(
    model: type[CogEvent] | type[Turn], agent_id: str, window: Window
) -> tuple[ColumnElement[bool], ...]:
    return (model.agent_id == agent_id, model.ts >= window.start, model.ts < window.until)


def _counted(
    session: Session, model: type[CogEvent] | type[Turn], agent_id: str, window: Window
) -> int:
    statement = select(func.count()).select_from(model).where(*_within(model, agent_id, window))
    return session.scalar(statement) or 0


def _transcripts(session: Session, agent_id: str, window: Window) -> tuple[int, int]:
    """How many turns events and turns of the window speak of, and how many have a transcript."""
    known = union(
        select(CogEvent.turn_id).where(
            *_within(CogEvent, agent_id, window), CogEvent.turn_id.is_not(None)
        ),
        select(Turn.turn_id).where(*_within(Turn, agent_id, window)),
    ).subquery()
    row = session.execute(
        select(func.count(), func.count(Turn.turn_id))
        .select_from(known)
        .outerjoin(Turn, (Turn.agent_id == agent_id) & (Turn.turn_id == known.c.turn_id))
    ).one()
    return row[0], row[1]


def _last_audits(session: Session, agent_ids: list[str], now: int) -> dict[str, LastAudit]:
    last = (
        select(AuditRun.agent_id, func.max(AuditRun.started_at).label("started_at"))
        .where(AuditRun.agent_id.in_(agent_ids))
        .group_by(AuditRun.agent_id)
        .subquery()
    )
    runs = session.scalars(
        select(AuditRun)
        .join(
            last,
            (AuditRun.agent_id == last.c.agent_id) & (AuditRun.started_at == last.c.started_at),
        )
        .order_by(AuditRun.window_from)
    ).all()
    heartbeats = {run.run_id: run.heartbeat_at for run in runs}
    return {
        run.agent_id: LastAudit(
            # Not its first instant: where a clock skips midnight that may read as the day before.
            parse_instant(run.window["from"]) + MINUTE,
            _state(run.state, heartbeats[run.audit_id], now),
            run.drawn,
            run.turns[TurnState.DONE],
            run.findings,
            run.turns[TurnState.FAILED] + run.turns[TurnState.UNJUDGED],
        )
        for run in runs_out(session, runs)
    }


def _state(state: str, heartbeat_at: int, now: int) -> str:
    if state == RunState.RUNNING and now - heartbeat_at >= STALE_AFTER:
        return "interrupted"
    return state
