"""What can be wrong with a record, and where it was found."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any


class Kind(StrEnum):
    """How a record was changed, as far as it shows."""

    EDITED = "edited"
    REHASHED = "edited and rehashed"
    DELETED = "deleted"
    REORDERED = "reordered"
    RENUMBERED = "renumbered"
    UNSEALED = "unsealed"
    CUT = "cut at the tail"
    RESTORED = "restored from an older file"
    HEAD = "head tampered"
    CHECKPOINT = "checkpoint does not hold"
    TRIGGER = "trigger missing or changed"
    PROJECTION = "projection differs from its events"
    RECEIPT = "receipt not kept"
    DAMAGED = "file damaged"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that does not hold: the first row of it, and why."""

    kind: Kind
    reason: str
    agent_id: str | None = None
    log: str | None = None
    table: str | None = None
    seq: int | None = None
    until: int | None = None
    key: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        where = []
        if self.log is not None:
            where.append(f"agent {self.agent_id!r}, log {self.log}")
        if self.seq is not None:
            span = f"position {self.seq}"
            where.append(span if self.until is None else f"{span} to {self.until}")
        if self.table is not None:
            named = ", ".join(f"{name} {value!r}" for name, value in self.key.items())
            where.append(f"{self.table} ({named})" if named else self.table)
        place = f"{'; '.join(where)}: " if where else ""
        return f"{self.kind.upper()}: {place}{self.reason}"


class Findings:
    """The first fault of each kind in each log, and how many more there are."""

    def __init__(self) -> None:
        self._first: dict[tuple[str | None, str | None, Kind], Fault] = {}
        self.counts: dict[Kind, int] = {}

    def add(self, fault: Fault, count: int = 1) -> None:
        """Takes a fault down, the first of `count` alike."""
        self.counts[fault.kind] = self.counts.get(fault.kind, 0) + count
        self._first.setdefault((fault.agent_id, fault.log, fault.kind), fault)

    @property
    def first(self) -> list[Fault]:
        """The first of each kind in each log, in the order in which they were found."""
        return list(self._first.values())

    def __bool__(self) -> bool:
        return bool(self._first)


class Suspects:
    """Rows whose seal is not Doxa's, until the tree says whether they were added or rehashed."""

    def __init__(self) -> None:
        self._first: Fault | None = None
        self._count = 0

    def add(self, fault: Fault) -> None:
        """Takes one down; the reason goes on from what will be said of it."""
        self._first = self._first or fault
        self._count += 1

    def judge(self, kind: Kind, findings: Findings) -> bool:
        """Names them, now that it is known; whether there were any."""
        first, count = self._first, self._count
        if first is None:
            return False
        self._first, self._count = None, 0
        told = {
            Kind.UNSEALED: "was not written by Doxa: it",
            Kind.REHASHED: "was changed and its leaf computed anew: it",
        }[kind]
        findings.add(replace(first, kind=kind, reason=f"{told} {first.reason}"), count)
        return True
