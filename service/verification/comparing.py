"""Two tables side by side, row by row, in the order of their keys."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from sqlalchemy import Select, Table, select, tuple_
from sqlalchemy.orm import Session

from service.db.scanning import readable

PAGE = 500
# Characters of a value in a message; the row itself can be looked at.
_SHOWN_CHARS = 80
Row = tuple[Any, ...]


class Kind(StrEnum):
    """How a stored row differs from the one that its events give."""

    CHANGED = "changed"
    MISSING = "missing"
    FOREIGN = "foreign"
    UNFOLDABLE = "unfoldable"


_SAID = {
    Kind.MISSING: "is not there, and its events make it",
    Kind.FOREIGN: "is there, and no event makes it",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One row of a projection that does not follow from the events; values as (stored, rebuilt)."""

    kind: Kind
    table: str
    agent_id: str
    key: dict[str, Any]
    columns: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    note: str = ""
    rebuilt: Row | None = field(default=None, repr=False)

    @property
    def reason(self) -> str:
        """What is wrong with the row, in words."""
        if self.note:
            return self.note
        if self.kind is not Kind.CHANGED:
            return _SAID[self.kind]
        return "; ".join(
            f"{name} is {_shown(stored)}, and its events say {_shown(rebuilt)}"
            for name, (stored, rebuilt) in self.columns.items()
        )

    def __str__(self) -> str:
        named = ", ".join(f"{name} {value!r}" for name, value in self.key.items())
        return f"{self.table} of agent {self.agent_id!r} ({named}): {self.reason}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def compare_rows(
    live: Session, scratch: Session, table: Table, agent_id: str | None
) -> Iterator[tuple[Row | None, Row | None]]:
    """Stored and rebuilt row by row, None where one side has none; equal ones, too."""
    names = [str(column.name) for column in table.columns]
    key = [names.index(str(column.name)) for column in table.primary_key]
    stored_rows = _pages(live, table, key, agent_id)
    rebuilt_rows = _pages(scratch, table, key, agent_id)
    stored, rebuilt = next(stored_rows, None), next(rebuilt_rows, None)
    while stored is not None or rebuilt is not None:
        one = None if stored is None else tuple(stored[at] for at in key)
        other = None if rebuilt is None else tuple(rebuilt[at] for at in key)
        if other is None or (one is not None and one < other):
            yield stored, None
            stored = next(stored_rows, None)
        elif one is None or other < one:
            yield None, rebuilt
            rebuilt = next(rebuilt_rows, None)
        else:
            yield stored, rebuilt
            stored, rebuilt = next(stored_rows, None), next(rebuilt_rows, None)


def difference(
    table: Table, stored: Row | None, rebuilt: Row | None, ignored: frozenset[str]
) -> Difference | None:
    """How two rows of one key differ; None when they do not."""
    names = [str(column.name) for column in table.columns]
    row = stored if stored is not None else rebuilt
    if row is None:
        return None
    by_name = dict(zip(names, row, strict=True))
    key = {str(c.name): by_name[str(c.name)] for c in table.primary_key if c.name != "agent_id"}
    if stored is None or rebuilt is None:
        kind = Kind.MISSING if stored is None else Kind.FOREIGN
        return Difference(kind, str(table.name), by_name["agent_id"], key, rebuilt=rebuilt)
    columns = {
        name: (was, is_now)
        for name, was, is_now in zip(names, stored, rebuilt, strict=True)
        if name not in ignored and was != is_now
    }
    if not columns:
        return None
    return Difference(
        Kind.CHANGED, str(table.name), by_name["agent_id"], key, columns, rebuilt=rebuilt
    )


def _pages(
    session: Session, table: Table, key: Sequence[int], agent_id: str | None
) -> Iterator[Row]:
    """All rows by key, a page at a time: what is written to a page behind is not met again."""
    last: Row | None = None
    while True:
        with readable():
            rows = [tuple(row) for row in session.execute(_page(table, last, agent_id))]
        yield from rows
        if len(rows) < PAGE:
            return
        last = tuple(rows[-1][at] for at in key)


def _page(table: Table, after: Row | None, agent_id: str | None) -> Select[Any]:
    place = tuple(table.primary_key)
    statement = select(*table.columns).order_by(*place).limit(PAGE)
    if agent_id is not None:
        statement = statement.where(table.c.agent_id == agent_id)
    return statement if after is None else statement.where(tuple_(*place) > after)
