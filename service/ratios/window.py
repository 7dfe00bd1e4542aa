"""Which stretch of time, and which state of the record, a figure speaks of."""

import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Self
from zoneinfo import ZoneInfo

from service import instants
from service.audits.days import day_of, day_start
from service.errors import Fault, Malformed

DEFAULT_LENGTH = 30 * instants.DAY
_WEEK = re.compile(r"(\d{4})-W(\d{2})", re.ASCII)
_AS_OF = re.compile(r"(\d{1,18})\.(\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Window:
    """Half-open `[start, until)` on event time, in microseconds since 1970 UTC."""

    start: int
    until: int

    def before(self) -> "Window":
        """The window before, of the same length (cut off where the calendar begins)."""
        start = max(instants.EARLIEST, self.start - (self.until - self.start))
        return Window(start, self.start)

    def holds(self, instant: int) -> bool:
        """Whether an instant lies in it."""
        return self.start <= instant < self.until

    def as_json(self) -> dict[str, str]:
        """As it stands in answers."""
        return {
            "from": instants.format_instant(self.start),
            "until": instants.format_instant(self.until),
        }


@dataclass(frozen=True, slots=True)
class AsOf:
    """A state of the record: the lengths of the agent's log and of the audit log."""

    agent: int
    audit: int

    def __str__(self) -> str:
        return f"{self.agent}.{self.audit}"

    @classmethod
    def parse(cls, text: str, current: "AsOf") -> Self:
        """From "1234.56"; Malformed for other texts and for lengths not reached yet."""
        found = _AS_OF.fullmatch(text)
        if found is None:
            raise _malformed("as_of", "is no state of the record: write it as given, like 1234.56")
        wanted = cls(int(found[1]), int(found[2]))
        if wanted.agent > current.agent or wanted.audit > current.audit:
            raise _malformed("as_of", f"lies beyond the record, which stands at {current}")
        return wanted


@dataclass(frozen=True, slots=True)
class View:
    """All that a figure depends on. "Now" inside a figure is `window.until`."""

    agent_id: str
    zone: ZoneInfo
    as_of: AsOf
    window: Window

    def over(self, window: Window) -> "View":
        """The same record seen through another window."""
        return replace(self, window=window)

    def day_of(self, instant: int) -> str:
        """The day of the agent's zone, as 2026-10-03."""
        return day_of(instant, self.zone).isoformat()

    def week_of(self, instant: int) -> str:
        """The ISO week of the agent's zone, as 2026-W40."""
        return iso_week_of(instant, self.zone)


def iso_week_of(instant: int, zone: ZoneInfo) -> str:
    """The ISO week of a zone that an instant lies in, as 2026-W40."""
    year, week, _ = day_of(instant, zone).isocalendar()
    return f"{year:04}-W{week:02}"


def parse_week(text: str, name: str = "week") -> date:
    """The Monday of an ISO week like 2026-W40; Malformed for a week that does not exist."""
    found = _WEEK.fullmatch(text)
    if found is None:
        raise _malformed(name, "is no ISO week: write it like 2026-W40")
    try:
        monday = date.fromisocalendar(int(found[1]), int(found[2]), 1)
        monday + timedelta(days=7)
    except (ValueError, OverflowError):
        raise _malformed(
            name,
            f"{text} does not exist, or ends beyond the calendar: ISO years have 52 or 53 weeks",
        ) from None
    return monday


def week_window(monday: date, zone: ZoneInfo) -> Window:
    """Monday to Monday, 00:00 in the agent's zone; not 168 hours where a clock changes."""
    return Window(day_start(monday, zone), day_start(monday + timedelta(days=7), zone))


@dataclass(frozen=True, slots=True)
class Asked:
    """The query parameters that choose a window, as they were sent."""

    start: str | None = None
    until: str | None = None
    window: str | None = None
    week: str | None = None


def choose_window(asked: Asked, zone: ZoneInfo, now: int) -> Window:
    """The window asked for; by default the 30 days until now. Malformed for what contradicts."""
    if asked.week is not None:
        if asked.start or asked.until or asked.window:
            raise _malformed("week", "is a window by itself: leave out from, until and window")
        return week_window(parse_week(asked.week), zone)
    until = _instant(asked.until, "until", now)
    if asked.start is not None:
        if asked.window is not None:
            raise _malformed("window", "and from exclude each other: leave one out")
        start = _instant(asked.start, "from", now)
    else:
        start = max(instants.EARLIEST, until - _length(asked.window))
    if start >= until:
        raise _malformed("from", f"is not before until ({instants.format_instant(until)})")
    return Window(start, until)


def _instant(text: str | None, name: str, default: int) -> int:
    if text is None:
        return default
    try:
        return instants.parse_instant(text)
    except ValueError as problem:
        raise _malformed(name, str(problem)) from None


def _length(text: str | None) -> int:
    if text is None:
        return DEFAULT_LENGTH
    try:
        return instants.parse_duration(text)
    except ValueError as problem:
        raise _malformed("window", str(problem)) from None


def _malformed(name: str, reason: str) -> Malformed:
    return Malformed(f"{name} {reason}.", errors=(Fault(f"/query/{name}", reason),))
