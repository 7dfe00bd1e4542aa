"""Folds events into one row a subject, in the order of their instants, however they arrived."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from sqlalchemy import Table
from sqlalchemy.orm import InstrumentedAttribute, Session

from service.db.bulk import rows_by_key, upsert_rows
from service.events.queries import events_of
from service.events.schemas import Event


class Subject(Protocol):
    """What a fold keeps of a subject; its fields are the table's columns, in their order."""

    last_ts: int
    last_log: str
    last_seq: int


State = TypeVar("State", bound=Subject)
Order = tuple[int, str, int]


def order(event: Event) -> Order:
    """The order of folding: instant, then log, then arrival."""
    return (event.ts, event.log, event.seq)


@dataclass(frozen=True, slots=True)
class Fold(Generic[State]):
    """How one kind of subject is folded.

    `apply(state, event)` changes the state and returns the flags that the event earns.
    """

    table: Table
    state_type: type[State]
    key: Callable[[Event], str | None]
    key_column: InstrumentedAttribute[Any]
    event_column: InstrumentedAttribute[Any]
    start: Callable[[str, str], State]
    apply: Callable[[State, Event], Sequence[str]]
    event_types: frozenset[str]

    def project(self, session: Session, events: Sequence[Event]) -> None:
        """Folds new events into the stored rows; subjects with late ones are folded anew."""
        by_subject: dict[tuple[str, str], list[Event]] = {}
        for event in events:
            if (key := self.key(event)) is not None:
                by_subject.setdefault((event.agent_id, key), []).append(event)
        states = self._load(session, sorted(by_subject))
        late = [
            subject
            for subject, arrived in by_subject.items()
            if (state := states.get(subject)) is not None
            and min(map(order, arrived)) < (state.last_ts, state.last_log, state.last_seq)
        ]
        earlier = self._history(session, late)
        for subject, arrived in by_subject.items():
            if subject in earlier or subject not in states:
                states[subject] = self.start(*subject)
            self.fold(states[subject], earlier.get(subject, []), arrived)
        rows = [msgspec.structs.astuple(states[s]) for s in sorted(by_subject)]  # type: ignore[arg-type]
        upsert_rows(session, self.table, rows)

    def fold(self, state: State, earlier: Sequence[Event], arrived: Sequence[Event]) -> None:
        """Applies both in order; only what has just arrived is given flags."""
        new = set(map(order, arrived))
        for event in sorted([*earlier, *arrived], key=order):
            flags = self.apply(state, event)
            state.last_ts, state.last_log, state.last_seq = order(event)
            if flags and order(event) in new:
                event.noted.extend(flags)

    def _load(
        self, session: Session, subjects: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], State]:
        rows = rows_by_key(session, self.table, self.key_column.key, subjects)
        return {(row[0], row[1]): self.state_type(*row) for row in rows}

    def _history(
        self, session: Session, subjects: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], list[Event]]:
        found: dict[tuple[str, str], list[Event]] = {subject: [] for subject in subjects}
        keys: dict[str, list[str]] = {}
        for agent_id, key in subjects:
            keys.setdefault(agent_id, []).append(key)
        for agent_id, mine in keys.items():
            for start in range(0, len(mine), _CHUNK):
                among = self.event_column.in_(mine[start : start + _CHUNK])
                for event in events_of(session, agent_id, among, self.event_types):
                    if (own := self.key(event)) is not None:
                        found[agent_id, own].append(event)
        return found


# Subjects looked up by one statement: two parameters each, far below what either database takes.
_CHUNK = 5_000
