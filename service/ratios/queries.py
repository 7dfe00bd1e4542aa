"""Gathers what figures count, from write-once rows only, each statement bounded by `as_of`.

The mutable projections are never read: they know only the present, and a figure must stay what it
was however late events arrive.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, case, exists, func, select
from sqlalchemy.orm import Session, aliased

from service.events.queries import log_sizes
from service.events.vocabulary import EventType, Log
from service.models import (
    AuditedTurn,
    AuditRun,
    CogEvent,
    Finding,
    Turn,
)
from service.ratios.window import AsOf, View

# A row with the columns of EVENT and those asked for beside them.
EventRow = Any
EVENT = (
    CogEvent.ts, CogEvent.log, CogEvent.seq, CogEvent.event_id, CogEvent.event,
    CogEvent.session_id, CogEvent.turn_id, CogEvent.worker, CogEvent.belief_id,
    CogEvent.contradiction_id, CogEvent.label_from, CogEvent.label_to,
)  # fmt: skip
_CHUNK = 5_000


def recorded(model: Any, view: View) -> tuple[ColumnElement[bool], ...]:
    """Rows of the agent that stand in the record as of the view."""
    # A CASE, not an OR over both logs: the OR tempts SQLite to walk the whole log by its key.
    length = case((model.log == Log.AGENT, view.as_of.agent), else_=view.as_of.audit)
    return (model.agent_id == view.agent_id, model.seq <= length)


def in_window(model: Any, view: View) -> tuple[ColumnElement[bool], ...]:
    """Rows of the view's record whose instant lies in its window."""
    window = view.window
    return (*recorded(model, view), model.ts >= window.start, model.ts < window.until)


def _types(model: Any, view: View, types: Iterable[str]) -> tuple[ColumnElement[bool], ...]:
    """Of some types, before the window's end; for rows that are found by their subject's id.

    Written so that no index on (event, ts) can serve: without statistics SQLite prefers it to the
    few rows of the subject, and reads the history.
    """
    before = (model.ts + 0) < view.window.until
    return (*recorded(model, view), model.event.concat("").in_(sorted(types)), before)


def events(
    session: Session,
    view: View,
    types: Iterable[str],
    *more: Any,
    only: ColumnElement[bool] | None = None,
) -> Sequence[EventRow]:
    """Events of the window of some types, with further columns, in the order of folding."""
    wanted = () if only is None else (only,)
    return session.execute(
        select(*EVENT, *more)
        .where(*in_window(CogEvent, view), CogEvent.event.in_(sorted(types)), *wanted)
        .order_by(CogEvent.ts, CogEvent.log, CogEvent.seq)
    ).all()


def was_abducted(view: View) -> ColumnElement[bool]:
    """Whether the event's turn has an `abduction.invoked`; no turn counts as without."""
    other = aliased(CogEvent)
    return exists(
        select(other.seq).where(
            *_types(other, view, [EventType.ABDUCTION_INVOKED]),
            other.turn_id == CogEvent.turn_id,
        )
    )


def was_closed_before(view: View, closing: Iterable[str]) -> ColumnElement[bool]:
    """Whether an event of `closing` ended the row's contradiction before the window began."""
    other = aliased(CogEvent)
    return exists(
        select(other.seq).where(
            *_types(other, view, closing),
            (other.ts + 0) < view.window.start,
            other.contradiction_id == CogEvent.contradiction_id,
        )
    )


def subjects(view: View, column: Any, event: str, *more: ColumnElement[bool]) -> Select[Any]:
    """The ids in a column of the window's events of one type, to find their other events by."""
    return select(column).where(*in_window(CogEvent, view), CogEvent.event == event, *more)


def events_about(
    session: Session,
    view: View,
    column: Any,
    ids: Select[Any] | Collection[str],
    types: Iterable[str],
    *more: Any,
) -> list[EventRow]:
    """All events before the window's end about some subjects, in the order of folding."""
    if isinstance(ids, Select):
        chunks: list[Any] = [ids]
    else:
        # Some stand in free detail: what no row can be called is not asked for.
        ordered = sorted(name for name in ids if "\x00" not in name)
        chunks = [ordered[i : i + _CHUNK] for i in range(0, len(ordered), _CHUNK)]
    found: list[EventRow] = []
    for chunk in chunks:
        statement = select(*EVENT, *more).where(*_types(CogEvent, view, types), column.in_(chunk))
        found.extend(session.execute(statement))
    found.sort(key=lambda row: (row.ts, row.log, row.seq))
    return found


def still_open(session: Session, view: View, closing: Iterable[str]) -> Sequence[EventRow]:
    """Creations of contradictions that nothing closed before the window's end, oldest first."""
    other = aliased(CogEvent)
    closed = exists(
        select(other.seq).where(
            *_types(other, view, closing),
            other.contradiction_id == CogEvent.contradiction_id,
        )
    )
    return session.execute(
        select(*EVENT)
        .where(
            *recorded(CogEvent, view),
            CogEvent.event == EventType.CONTRADICTION_CREATED,
            CogEvent.ts < view.window.until,
            ~closed,
        )
        .order_by(CogEvent.ts, CogEvent.log, CogEvent.seq)
    ).all()


def turn_facts(
    session: Session, view: View, turn_ids: Collection[str]
) -> dict[str, tuple[str | None, str | None]]:
    """Model and commit of turns by id, as far as their transcripts are recorded."""
    ordered = sorted(turn_ids)
    found: dict[str, tuple[str | None, str | None]] = {}
    for start in range(0, len(ordered), _CHUNK):
        rows = session.execute(
            select(Turn.turn_id, Turn.model, Turn.commit_sha).where(
                *recorded(Turn, view), Turn.turn_id.in_(ordered[start : start + _CHUNK])
            )
        )
        found.update({turn_id: (model, commit) for turn_id, model, commit in rows})
    return found


def count_turns(session: Session, view: View) -> int:
    """How many turns of the window have a transcript."""
    statement = select(func.count()).select_from(Turn).where(*in_window(Turn, view))
    return session.scalar(statement) or 0


def audited_turns(session: Session, view: View) -> Sequence[Any]:
    """Drawn turns of every audit run that drew a turn of the window, with the run's method.

    Also those outside the window: a stratum is estimated from all that was drawn of it.
    """
    runs = select(AuditedTurn.run_id).where(*in_window(AuditedTurn, view)).distinct()
    return session.execute(
        select(
            AuditedTurn.turn_id, AuditedTurn.session_id, AuditedTurn.ts, AuditedTurn.worker,
            AuditedTurn.model, AuditedTurn.commit_sha, AuditedTurn.run_id, AuditedTurn.stratum,
            AuditedTurn.stratum_population, AuditedTurn.state, AuditRun.method,
        )
        .outerjoin(AuditRun, AuditRun.run_id == AuditedTurn.run_id)
        .where(*recorded(AuditedTurn, view), AuditedTurn.run_id.in_(runs))
        .order_by(AuditedTurn.seq)
    ).all()  # fmt: skip


def findings(session: Session, view: View) -> Sequence[Any]:
    """Findings in turns of the window, without their texts."""
    return session.execute(
        select(
            Finding.log, Finding.seq, Finding.finding_id, Finding.turn_id, Finding.session_id,
            Finding.ts, Finding.support, Finding.decisive_source, Finding.tool_before,
            Finding.abducted, Finding.gated, Finding.written, Finding.belief_id,
        )
        .where(*in_window(Finding, view))
        .order_by(Finding.ts, Finding.seq)
    ).all()  # fmt: skip


def reports_writes(session: Session, view: View) -> bool:
    """Whether the agent's log told of any ledger write before the window's end."""
    told = select(CogEvent.seq).where(
        *_types(CogEvent, view, [EventType.BELIEF_CREATED]), CogEvent.log == str(Log.AGENT)
    )
    return session.execute(told.limit(1)).first() is not None


def events_in_audited_turns(session: Session, view: View, types: Iterable[str]) -> Sequence[Any]:
    """(turn_id, event, number of events) of some types in the audited turns of the window."""
    turns = select(AuditedTurn.turn_id).where(*in_window(AuditedTurn, view))
    return session.execute(
        select(CogEvent.turn_id, CogEvent.event, func.count())
        .where(*_types(CogEvent, view, types), CogEvent.turn_id.in_(turns))
        .group_by(CogEvent.turn_id, CogEvent.event)
    ).all()


def last_instant(session: Session, view: View) -> int | None:
    """The instant of the newest event or turn before the window's end, None for an empty record."""
    newest = [
        session.scalar(
            select(model.ts)
            .where(*recorded(model, view), model.ts < view.window.until)
            .order_by(model.ts.desc())
            .limit(1)
        )
        for model in (CogEvent, Turn)
    ]
    return max((instant for instant in newest if instant is not None), default=None)


def details_of(
    session: Session, agent_id: str, places: Collection[tuple[str, int]]
) -> dict[tuple[str, int], str | None]:
    """The detail of events by log and position; for one page of rows."""
    found: dict[tuple[str, int], str | None] = {}
    for log in sorted({log for log, _ in places}):
        positions = [seq for name, seq in places if name == log]
        rows = session.execute(
            select(CogEvent.seq, CogEvent.detail).where(
                CogEvent.agent_id == agent_id, CogEvent.log == log, CogEvent.seq.in_(positions)
            )
        )
        found.update({(log, seq): detail for seq, detail in rows})
    return found


def quotes_of(session: Session, agent_id: str, finding_ids: Collection[str]) -> dict[str, Any]:
    """Statement, quote and support of findings by id; for one page of rows."""
    rows = session.execute(
        select(Finding.finding_id, Finding.statement, Finding.quote, Finding.support).where(
            Finding.agent_id == agent_id, Finding.finding_id.in_(finding_ids)
        )
    )
    return {row.finding_id: row for row in rows}


def current_as_of(session: Session, agent_id: str) -> AsOf:
    """The record as it stands in this snapshot."""
    sizes = log_sizes(session, agent_id)
    return AsOf(sizes[Log.AGENT], sizes[Log.AUDIT])
