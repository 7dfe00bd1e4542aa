"""Checks of single fields that every ingested row shares."""

from datetime import datetime

from service import instants
from service.errors import Fault
from service.settings import Settings


def id_fault(name: str, value: str, settings: Settings) -> Fault | None:
    """What is wrong with an id or a name, if anything: its length, or a character in it."""
    if value.isprintable() and 0 < len(value) <= settings.max_id_chars:
        return None
    if not value:
        return Fault(f"/{name}", "is empty: leave the field out or give a value")
    if len(value) > settings.max_id_chars:
        return Fault(
            f"/{name}",
            f"has {len(value)} characters, more than {settings.max_id_chars} (DOXA_MAX_ID_CHARS)",
        )
    if any(c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in value):
        return Fault(f"/{name}", "holds a control character or half a character: remove it")
    return None


def instant_fault(name: str, microseconds: int, settings: Settings) -> Fault | None:
    """What is wrong with an instant, if anything: outside the calendar, or below the floor."""
    try:
        instants.checked(microseconds)
    except ValueError as problem:
        return Fault(f"/{name}", str(problem))
    if microseconds < instants.to_microseconds(settings.retention_floor):
        floor = settings.retention_floor.isoformat()
        return Fault(
            f"/{name}", f"is older than the retention floor {floor} (DOXA_RETENTION_FLOOR)"
        )
    return None


def stated_instant(ts: datetime | None, now: int, settings: Settings, faults: list[Fault]) -> int:
    """The instant a row says it has, or the server's; what is wrong with it goes to `faults`."""
    if ts is None:
        return now
    if ts.tzinfo is None:
        faults.append(Fault("/ts", "has no offset: add one, for example Z or +02:00"))
        return now
    microseconds = instants.to_microseconds(ts)
    if fault := instant_fault("ts", microseconds, settings):
        faults.append(fault)
    return microseconds


WHOLE_LIMIT = 2**63 - 1


def amount_fault(name: str, value: float | None) -> Fault | None:
    """What is wrong with a count, a cost or a latency: negative, or beyond 2⁶³ − 1."""
    if value is None or 0 <= value <= WHOLE_LIMIT:
        return None
    if value < 0:
        return Fault(f"/{name}", "is negative: it counts something")
    return Fault(f"/{name}", f"is larger than {WHOLE_LIMIT}")
