"""The turns a run draws from: those of its day, and those that missed the night of theirs.

An agent must not escape by sending late. A turn of an earlier day that arrived after the run of
that day had drawn its sample belongs to the next later run that draws: there it forms a stratum
of its own (`late:day:worker`). Each turn is in the population of exactly one run, so no turn is
weighted twice. What arrived before a draw is told by the turn's position in the agent's log: it
is dense and given under a lock, while clocks are neither.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from zoneinfo import ZoneInfo

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.audits.days import day_of, day_window
from service.audits.queries import runs_of
from service.events.queries import log_sizes
from service.events.vocabulary import Log
from service.models import AuditSample, Turn

Strata = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Population:
    """Turn ids by stratum, and the length of the agent's log that they were counted at."""

    strata: Strata
    drawn_seq: int

    @property
    def size(self) -> int:
        """How many turns there are."""
        return sum(len(turns) for turns in self.strata.values())


@dataclass(frozen=True, slots=True)
class _Draw:
    """A run that drew: turns of its window up to `drawn_seq` had their chance in it."""

    since: int
    until: int
    drawn_seq: int

    def holds(self, ts: int) -> bool:
        """Whether an instant lies in the window."""
        return self.since <= ts < self.until


def population_of(session: Session, agent_id: str, day: date, zone: ZoneInfo) -> Population:
    """The turns that a run of this day draws from, if it draws now."""
    since, until = day_window(day, zone)
    # A position that can be read here is committed, and so is every smaller one.
    drawn_seq = log_sizes(session, agent_id)[str(Log.AGENT)]
    draws = _other_draws(session, agent_id, since, until)
    strata: defaultdict[str, list[str]] = defaultdict(list)
    overlapping = [draw for draw in draws if draw.since < until and since < draw.until]
    for turn_id, ts, seq, worker in _turns_of_window(session, agent_id, since, until, drawn_seq):
        if not any(draw.holds(ts) and seq <= draw.drawn_seq for draw in overlapping):
            strata[f"{day.isoformat()}|{worker or ''}"].append(turn_id)
    for turn_id, ts, worker in _late_turns(session, agent_id, since, drawn_seq, draws):
        strata[f"late:{day_of(ts, zone).isoformat()}:{worker or ''}"].append(turn_id)
    _leave_out_drawn(session, agent_id, strata, is_overlapping=bool(overlapping))
    return Population({key: strata[key] for key in sorted(strata) if strata[key]}, drawn_seq)


def has_late_turns(session: Session, agent_id: str, day: date, zone: ZoneInfo) -> bool:
    """Whether a run of this day would find turns that missed their night."""
    since, until = day_window(day, zone)
    draws = _other_draws(session, agent_id, since, until)
    drawn_seq = log_sizes(session, agent_id)[str(Log.AGENT)]
    return any(True for _ in _late_turns(session, agent_id, since, drawn_seq, draws))


def _other_draws(session: Session, agent_id: str, since: int, until: int) -> list[_Draw]:
    return [
        _Draw(run.window_from, run.window_until, run.drawn_seq)
        for run in runs_of(session, agent_id)
        if (run.window_from, run.window_until) != (since, until)
    ]


def _turns_of_window(
    session: Session, agent_id: str, since: int, until: int, drawn_seq: int
) -> Iterable[tuple[str, int, int, str | None]]:
    return session.execute(
        select(Turn.turn_id, Turn.ts, Turn.seq, Turn.worker).where(
            Turn.agent_id == agent_id,
            Turn.ts >= since,
            Turn.ts < until,
            Turn.seq <= drawn_seq,
        )
    )


def _late_turns(
    session: Session, agent_id: str, since: int, drawn_seq: int, draws: Sequence[_Draw]
) -> Iterable[tuple[str, int, str | None]]:
    """Turns before `since` that every run which could have drawn them drew too early for."""
    earlier = [draw for draw in draws if draw.until <= since]
    seen_until = {draw: _seen_until(draw, draws) for draw in earlier}
    if not earlier:
        return
    # After an unbroken row of nights this is what came since the last one, not the history.
    rows = session.execute(
        select(Turn.turn_id, Turn.ts, Turn.seq, Turn.worker).where(
            Turn.agent_id == agent_id,
            Turn.log == str(Log.AGENT),
            Turn.seq > min(seen_until.values()),
            Turn.seq <= drawn_seq,
            Turn.ts < since,
        )
    )
    for turn_id, ts, seq, worker in rows:
        holding = [seen for draw, seen in seen_until.items() if draw.holds(ts)]
        if holding and seq > max(holding):
            yield turn_id, ts, worker


def _seen_until(draw: _Draw, draws: Sequence[_Draw]) -> int:
    """Up to which position the turns of a window had their chance, in its run or a later day's."""
    return max(other.drawn_seq for other in draws if other is draw or other.since >= draw.until)


def _leave_out_drawn(
    session: Session, agent_id: str, strata: Strata, *, is_overlapping: bool
) -> None:
    """Where windows overlap (the agent moved to another zone), no turn is drawn again."""
    if not is_overlapping:
        return
    drawn = set(
        session.scalars(select(AuditSample.turn_id).where(AuditSample.agent_id == agent_id))
    )
    for key, turns in strata.items():
        strata[key] = [turn_id for turn_id in turns if turn_id not in drawn]
