"""What a reader hands on: records to send, and what could not be read."""

from dataclasses import dataclass
from enum import StrEnum


class RecordKind(StrEnum):
    """Which of the two collections of the API a record goes to."""

    TURN = "turn"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class Record:
    """One event or turn in its wire shape, with the place it was read from.

    `derived` says that the importer made the id from the content. The service refuses a second
    turn of the same id with another time or model, and for such a record that means "this is
    here already, read at another time", not "somebody else took this id".
    """

    kind: RecordKind
    body: dict[str, object]
    source: str
    line: int | None
    derived: bool = False


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A place in a file that could not be read, or that the service refused, and why."""

    source: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{place}: {self.reason}"


class UnusableFileError(Exception):
    """A whole file that cannot be imported; the text says what is wrong with it."""
