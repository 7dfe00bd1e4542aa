"""Ids and times that depend on what a file says, never on its name or on when it is read."""

from collections import Counter
from dataclasses import dataclass, field

from cli.importing.json_values import content_digest
from service.instants import SECOND, checked, format_instant, parse_instant

# Above this a number of seconds would lie beyond the year 5138: it counts milliseconds.
_SECONDS_LIMIT = 100_000_000_000


@dataclass(slots=True)
class Reading:
    """What the readers of one file share: options, the file's running clock, names given so far.

    `at` (microseconds UTC) is the instant of the file's first step that has no time of its own.
    Each further such step of the file is one second later, so its sessions follow one another.
    """

    source: str
    at: int
    agent: str
    agent_is_given: bool = True
    model: str | None = None
    _ticks: int = 0
    _copies: Counter[str] = field(default_factory=Counter)

    def next_instant(self) -> int:
        """The instant of the next step without a time, microseconds UTC."""
        instant = checked(self.at + self._ticks * SECOND)
        self._ticks += 1
        return instant

    def name_content(self, prefix: str, content: object) -> str:
        """An id for this content: prefix, digest, and from its second copy in the file a number."""
        name = f"{prefix}-{content_digest(content)}"
        self._copies[name] += 1
        copies = self._copies[name]
        return name if copies == 1 else f"{name}-{copies}"


def read_instant(value: object) -> int:
    """Microseconds UTC of a Unix time in seconds or milliseconds, or of an RFC 3339 text."""
    if isinstance(value, str):
        return parse_instant(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("is neither a number nor a text")
    try:
        seconds = value / 1000 if abs(value) >= _SECONDS_LIMIT else value
        return checked(round(seconds * SECOND))
    except OverflowError:
        raise ValueError("is not finite") from None


def step_id(session_id: str, kind: str, position: int) -> str:
    """The id of a step: its session's, and where in the session it stands."""
    return f"{session_id}.{kind}{position:04d}"


def instant_text(instant: int) -> str:
    """The wire form of microseconds UTC."""
    return format_instant(instant)
