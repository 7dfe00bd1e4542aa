"""Folds all events anew into scratch tables, and compares what is stored with what they give."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from sqlalchemy import Engine, Table, delete, func, select
from sqlalchemy.orm import Session

from service.beliefs import projection as beliefs
from service.contradictions import projection as contradictions
from service.db.bulk import insert_rows, upsert_rows
from service.db.database import Database
from service.db.freezing import freeze
from service.db.refusals import translated
from service.db.scanning import readable
from service.db.upserts import insert_or
from service.events.log import LogPositions
from service.events.queries import event_of
from service.events.schemas import Event
from service.events.vocabulary import EventType
from service.inferences import projection as inferences
from service.inferences.judging import resolution_row
from service.inferences.snapshots import shadow_rows
from service.models import (
    Belief,
    BeliefSupport,
    BeliefVersion,
    CogEvent,
    Contradiction,
    InferenceResolution,
    LogHead,
    Prediction,
    Redaction,
    ShadowInference,
)
from service.models.record import Record
from service.predictions import projection as predictions
from service.trust.leaves import UNHASHED
from service.verification.audit_shadows import audit_shadow_rows
from service.verification.comparing import Difference, Kind, Row, compare_rows, difference
from service.verification.lost_evidence import LostEvidence
from service.verification.scratch import scratch_tables

# Differences that are kept to be shown; all are counted.
SHOWN = 1_000
NOT_COMPARED = (
    "companion rows of shadow inferences (inference_contexts): they hold what turns told later",
    "the gate's decision in the shadow of a finding, and whether a finding has one",
    "the position, leaf and seal of a row: `doxa verify` looks at those",
)
_EVENTS: Table = CogEvent.__table__  # type: ignore[assignment]
_BATCH = 1_000
OnProgress = Callable[[int], None]


def _table(model: type[Record]) -> Table:
    return model.__table__  # type: ignore[return-value]


_SHADOWS, _RESOLUTIONS = _table(ShadowInference), _table(InferenceResolution)
_SUPPORTS = _table(BeliefSupport)
# May be written anew from events; the others are write-once.
REPAIRED = (_table(Belief), _SUPPORTS, _table(Contradiction), _table(Prediction))
COMPARED = (*REPAIRED, _table(BeliefVersion), _SHADOWS, _RESOLUTIONS)
_FOLDS = (beliefs, contradictions, predictions)
_FOLDED_TYPES = sorted({kind for area in (*_FOLDS, inferences) for kind in area.EVENT_TYPES})
# What a damaged or forged event makes of a fold.
_UNFOLDABLE = (KeyError, TypeError, ValueError, AttributeError)
# Rows of before there were seals were made by other rules in these columns.
_RULED_OTHERWISE = {_SHADOWS: {"evidence", "session_id", "commit_sha"}, _RESOLUTIONS: {"source"}}


@dataclass(slots=True)
class Comparison:
    """What was compared, and which rows do not follow from their events."""

    events: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    difference_count: int = 0
    repaired: int = 0
    # Payloads that were removed, by table; evidence whose text stood in one of them.
    removed: dict[str, int] = field(default_factory=dict)
    lost_evidence: int = 0

    def add(self, found: Difference) -> None:
        """Takes a difference down."""
        self.difference_count += 1
        if len(self.differences) < SHOWN:
            self.differences.append(found)

    @property
    def remaining(self) -> int:
        """Differences that still stand."""
        return self.difference_count - self.repaired


def compare_projections(
    engine: Engine, on_progress: OnProgress, *, agent_id: str | None = None
) -> Comparison:
    """Folds every agent's events (or one's) anew beside a snapshot, which is only read."""
    with translated(), Session(engine, autoflush=False) as session, session.begin():
        return _compare(session, agent_id, on_progress, is_repairing=False)


def repair_projections(
    database: Database, on_progress: OnProgress, *, agent_id: str | None = None
) -> Comparison:
    """The same, and writes what follows from the events into the tables that are not write-once.

    One transaction, in which nobody else writes.
    """
    with database.write() as session:
        freeze(session)
        session.execute(select(LogHead).order_by(LogHead.agent_id, LogHead.log).with_for_update())
        return _compare(session, agent_id, on_progress, is_repairing=True)


def count_events(engine: Engine, agent_id: str | None = None) -> int:
    """How many events there are to fold."""
    with translated(), Session(engine) as session, session.begin():
        statement = select(func.count()).select_from(_EVENTS).where(*_folded(agent_id))
        return session.execute(statement).scalar_one()


def _compare(
    session: Session, agent_id: str | None, on_progress: OnProgress, *, is_repairing: bool
) -> Comparison:
    comparison = Comparison()
    with scratch_tables(COMPARED) as scratch:
        refold = _Refold(session, scratch, comparison)
        for events in _event_batches(session, agent_id, comparison):
            refold.take(events)
            on_progress(len(events))
        for rows in audit_shadow_rows(session, agent_id):
            refold.insert(_SHADOWS, rows)
        lost = LostEvidence(session)
        for table in COMPARED:
            before = comparison.difference_count
            _compare_table(session, scratch, table, agent_id, comparison, lost)
            if is_repairing and table in REPAIRED and comparison.difference_count > before:
                comparison.repaired += _repair(session, scratch, table, agent_id)
    _note_removed(session, agent_id, comparison)
    return comparison


def _folded(agent_id: str | None) -> list[Any]:
    of_agent = [] if agent_id is None else [CogEvent.agent_id == agent_id]
    return [CogEvent.event.in_(_FOLDED_TYPES), *of_agent]


def _event_batches(
    session: Session, agent_id: str | None, comparison: Comparison
) -> Iterator[list[Event]]:
    """Events in the order of folding; what cannot be read is a difference of its own."""
    rows = session.execute(
        select(*_EVENTS.columns)
        .where(*_folded(agent_id))
        .order_by(CogEvent.agent_id, CogEvent.ts, CogEvent.log, CogEvent.seq)
        .execution_options(yield_per=_BATCH)
    )
    with readable():
        for part in rows.partitions():
            events = []
            for row in part:
                if row.detail is None:
                    note = "its detail was removed, and a projection rests on it"
                    comparison.add(_unfoldable(row, note))
                try:
                    events.append(event_of(row))
                except _UNFOLDABLE as problem:
                    comparison.add(_unfoldable(row, f"its row cannot be read: {problem}"))
            comparison.events += len(events)
            yield events


def _unfoldable(event: Any, note: str) -> Difference:
    key = {"log": event.log, "seq": event.seq, "event_id": event.event_id}
    return Difference(Kind.UNFOLDABLE, str(_EVENTS.name), event.agent_id, key, note=note)


class _Refold:
    """Takes events in the order of folding into the scratch tables, by the app's own folds."""

    def __init__(self, live: Session, scratch: Session, comparison: Comparison) -> None:
        self._live, self._scratch, self._comparison = live, scratch, comparison
        self._positions = LogPositions(scratch)
        self._numbers = count(1)

    def take(self, events: Sequence[Event]) -> None:
        """A batch; where one of them fails, one by one, so that it is named."""
        try:
            with self._scratch.begin_nested():
                self._fold(events)
        except _UNFOLDABLE as problem:
            if len(events) == 1:
                self._comparison.add(_unfoldable(events[0], f"cannot be folded: {problem!r}"))
                return
            for event in events:
                self.take([event])

    def _fold(self, events: Sequence[Event]) -> None:
        for area in _FOLDS:
            if mine := [event for event in events if event.event in area.EVENT_TYPES]:
                area.project(self._scratch, self._positions, mine)
        shadows = [event for event in events if inferences.leaves_shadow(event)]
        self.insert(_SHADOWS, shadow_rows(self._live, shadows))
        told = [event for event in events if event.event == EventType.INFERENCE_OUTCOME]
        self.insert(_RESOLUTIONS, [resolution_row(event) for event in told])

    def insert(self, table: Table, told: Sequence[Row]) -> None:
        """Rows that are told without position, leaf and seal."""
        place = list(table.columns.keys()).index("seq")
        # Any number will do: the position does not follow from the event.
        rows = [(*row[:place], next(self._numbers), *row[place:], None, None) for row in told]
        insert_rows(self._scratch, table, rows)


def _compare_table(
    session: Session,
    scratch: Session,
    table: Table,
    agent_id: str | None,
    comparison: Comparison,
    lost: LostEvidence,
) -> None:
    ignored = UNHASHED if "leaf_hash" in table.columns else frozenset()
    name = str(table.name)
    comparison.rows[name] = 0
    for stored, rebuilt in compare_rows(session, scratch, table, agent_id):
        comparison.rows[name] += stored is not None
        found = difference(table, stored, rebuilt, ignored | _otherwise(table, stored))
        if found is None:
            continue
        if table is _SHADOWS and lost.explains(found):
            comparison.lost_evidence += 1
            continue
        comparison.add(found)


def _otherwise(table: Table, stored: Row | None) -> set[str]:
    is_unsealed = stored is not None and stored[-1] is None
    return _RULED_OTHERWISE.get(table, set()) if is_unsealed else set()


def _repair(session: Session, scratch: Session, table: Table, agent_id: str | None) -> int:
    """Puts right what differs, in the same order; how many rows."""
    repaired = 0
    for stored, rebuilt in compare_rows(session, scratch, table, agent_id):
        if (found := difference(table, stored, rebuilt, frozenset())) is None:
            continue
        repaired += 1
        if found.rebuilt is None:
            conditions = [table.c.agent_id == found.agent_id]
            conditions += [table.c[name] == value for name, value in found.key.items()]
            session.execute(delete(table).where(*conditions))
        elif table is _SUPPORTS:
            row = dict(zip(table.columns.keys(), found.rebuilt, strict=True))
            session.execute(insert_or(session, BeliefSupport).values(row).on_conflict_do_nothing())
        else:
            upsert_rows(session, table, [found.rebuilt])
    return repaired


def _note_removed(session: Session, agent_id: str | None, comparison: Comparison) -> None:
    """Counts the payloads that are gone."""
    of_agent = [] if agent_id is None else [Redaction.agent_id == agent_id]
    counts = session.execute(
        select(Redaction.target_table, func.count())
        .where(*of_agent)
        .group_by(Redaction.target_table)
    )
    comparison.removed = {row[0]: row[1] for row in counts}
