"""What came of sending."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional


@dataclass(frozen=True)
class Rejection:
    """One event or turn that Doxa did not store, and why; it is not sent again.

    `id` is the event id or the turn id, `pointer` the JSON pointer of the field at fault within it
    (empty when it is the whole of it).
    """

    id: str
    pointer: str
    reason: str


@dataclass(frozen=True)
class FlushResult:
    """What came of everything sent since the last flush, batches that went by themselves included.

    `accepted` and `duplicates` count events and turns together; `unsent` counts those still in the
    buffer, which the next flush sends, and `unsent_reason` says why.
    """

    accepted: int
    duplicates: int
    rejected: tuple[Rejection, ...]
    unsent: int
    unsent_reason: Optional[str] = None


@dataclass
class Tally:
    """Running counts between two flushes."""

    accepted: int = 0
    duplicates: int = 0
    rejected: list[Rejection] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Count in what one answer said."""
        self.accepted += other.accepted
        self.duplicates += other.duplicates
        self.rejected.extend(other.rejected)

    def close(self, unsent: int, unsent_reason: Optional[str]) -> FlushResult:
        """Return the counts as a result and start again from zero."""
        result = FlushResult(
            self.accepted, self.duplicates, tuple(self.rejected), unsent, unsent_reason
        )
        self.accepted, self.duplicates, self.rejected = 0, 0, []
        return result
