"""How values are written for people: hostile text made visible, times in an agent's zone."""

import re
import unicodedata
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from service.instants import DAY, HOUR, MINUTE, SECOND, to_datetime

# Joiners belong to words of some scripts and to emoji; all else that is invisible is shown.
_JOINERS = "\u200c\u200d"
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_CODE = re.compile(r"`([^`]+)`")
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_STEPS = ((DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"))


def shown(text: object) -> str:
    """Text with every control, direction and other invisible character replaced by a visible one.

    C0 controls become their pictures (U+2400 and following), all others their number: `[U+202E]`.
    """
    given = str(text)
    if given.isprintable():
        return given
    return "".join(map(_visible, given))


def _visible(character: str) -> str:
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if character not in _JOINERS and unicodedata.category(character) in _INVISIBLE:
        return f"[U+{code:04X}]"
    return character


def prose(text: str) -> Markup:
    """Our own descriptions as HTML: paragraphs at blank lines, `code` between backquotes."""
    paragraphs = (" ".join(part.split()) for part in text.strip().split("\n\n"))
    return Markup("").join(
        Markup("<p>{}</p>").format(coded(paragraph)) for paragraph in paragraphs if paragraph
    )


def coded(text: str) -> Markup:
    """A line as HTML, with `code` between backquotes."""
    # Odd parts stand between backquotes.
    parts = _CODE.split(shown(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def local_time(instant: int, zone: ZoneInfo) -> str:
    """An instant in a zone, as 3 Oct 2026, 14:00."""
    try:
        local = to_datetime(instant).astimezone(zone)
    except OverflowError:
        # Within a zone's offset of the years 0001 and 9999 there is no local time.
        return utc_time(instant)
    month = _MONTHS[local.month - 1]
    return f"{local.day} {month} {local.year}, {local.hour:02}:{local.minute:02}"


def local_day(instant: int, zone: ZoneInfo) -> str:
    """The day of a zone that an instant lies in, as 3 Oct 2026."""
    return local_time(instant, zone).partition(",")[0]


def utc_time(instant: int) -> str:
    """An instant in UTC, as 2026-10-03 12:00:00 UTC."""
    moment = to_datetime(instant)
    return f"{moment.replace(tzinfo=None).isoformat(' ', 'seconds')} UTC"


def ago(instant: int, now: int) -> str:
    """How long before (or after) `now` an instant lies, in its largest unit."""
    distance = abs(now - instant)
    for unit, name in _STEPS:
        if distance >= unit:
            number = distance // unit
            text = f"{number:,} {name}{'' if number == 1 else 's'}"
            return f"{text} ago" if instant <= now else f"in {text}"
    return "just now" if distance < 10 * SECOND or instant > now else "less than a minute ago"


def count(number: int) -> str:
    """A whole number with its thousands apart."""
    return f"{number:,}"


def per_cent(part: int, whole: int) -> str:
    """A share in whole per cent, rounded down: 100 % means all of them, and 0 % none."""
    if part > 0 and 100 * part < whole:
        return "< 1\u00a0%"
    return f"{100 * part // whole}\u00a0%"
