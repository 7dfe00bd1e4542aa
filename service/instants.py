"""Instants: stored as whole microseconds since 1970 UTC, written as RFC 3339 with six digits."""

import re
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST = -62_135_596_800_000_000  # 0001-01-01T00:00:00Z
LATEST = 253_402_300_799_999_999  # 9999-12-31T23:59:59.999999Z
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

_SHORT_DURATION = re.compile(r"(\d{1,20})(s|m|h|d|w)", re.ASCII)
_ISO_DURATION = re.compile(
    r"P(?:(\d{1,20})W)?(?:(\d{1,20})D)?(?:T(?:(\d{1,20})H)?(?:(\d{1,20})M)?(?:(\d{1,20})S)?)?",
    re.ASCII,
)
_UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}


def to_microseconds(instant: datetime) -> int:
    """Microseconds since 1970 UTC of an aware datetime, exact beyond the calendar's ends, too."""
    delta = instant - EPOCH
    return (delta.days * 86_400 + delta.seconds) * SECOND + delta.microseconds


def to_datetime(microseconds: int) -> datetime:
    """The aware UTC datetime of a stored instant."""
    return EPOCH + timedelta(microseconds=microseconds)


def format_instant(microseconds: int) -> str:
    """RFC 3339 in UTC with six digits, so that text sorts as time."""
    return to_datetime(microseconds).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def parse_instant(text: str) -> int:
    """Microseconds of an RFC 3339 text; ValueError says what is wrong and what to write instead."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as problem:
        hint = " (in an address, + is written %2B)" if " " in text else ""
        raise ValueError(f"{problem}: write an instant like 2026-10-03T12:00:00Z{hint}") from None
    if instant.tzinfo is None:
        raise ValueError("has no offset: add one, for example Z or +02:00")
    return checked(to_microseconds(instant))


def checked(microseconds: int) -> int:
    """The instant itself, or ValueError when it lies outside years 1 to 9999 in UTC."""
    if not EARLIEST <= microseconds <= LATEST:
        raise ValueError("lies outside the years 0001 to 9999 in UTC")
    return microseconds


def parse_duration(text: str) -> int:
    """Microseconds of a positive duration, ISO 8601 (`P7D`, `PT12H`) or short (`7d`, `12h`)."""
    if short := _SHORT_DURATION.fullmatch(text):
        length = int(short[1]) * _UNITS[short[2]]
    elif (iso := _ISO_DURATION.fullmatch(text)) and any(iso.groups()):
        parts = [int(part or 0) for part in iso.groups()]
        length = sum(
            n * unit for n, unit in zip(parts, (7 * DAY, DAY, HOUR, MINUTE, SECOND), strict=True)
        )
    else:
        raise ValueError("is no duration: write 7d, 12h, P7D or PT12H")
    if length <= 0:
        raise ValueError("must be longer than nothing")
    if length > 2**62:
        raise ValueError("is longer than the calendar")
    return length


def parse_or_none(value: object) -> int | None:
    """The instant of a text that an agent put into free detail; None when it is none."""
    if not isinstance(value, str):
        return None
    try:
        return parse_instant(value)
    except ValueError:
        return None


def parse_duration_or_none(text: str) -> int | None:
    """The duration of a text that an agent put into free detail; None when it is none."""
    try:
        return parse_duration(text)
    except ValueError:
        return None
