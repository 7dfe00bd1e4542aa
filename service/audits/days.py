"""Days as an agent's time zone has them: half-open windows of instants that leave no gap."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from service.instants import EARLIEST, LATEST, to_datetime, to_microseconds

ONE_DAY = timedelta(days=1)


def day_start(day: date, zone: ZoneInfo) -> int:
    """Microseconds UTC at which a day begins; where the clock skips midnight, at the skip."""
    if day == date.min:
        return EARLIEST  # west of Greenwich, some of what UTC calls year 1 is still year 0
    start = to_microseconds(datetime.combine(day, time(), tzinfo=zone))
    return max(EARLIEST, min(start, LATEST + 1))


def day_window(day: date, zone: ZoneInfo) -> tuple[int, int]:
    """[start, start of the next day) of a day, in microseconds UTC."""
    until = LATEST + 1 if day == date.max else day_start(day + ONE_DAY, zone)
    return day_start(day, zone), until


def day_of(instant: int, zone: ZoneInfo) -> date:
    """The day whose window holds an instant."""
    try:
        day = to_datetime(instant).astimezone(zone).date()
    except OverflowError:
        # Within a zone's offset of the years 0001 and 9999 there is no local date.
        day = to_datetime(instant).astimezone(UTC).date()
    since, until = day_window(day, zone)
    # Where clocks go back across midnight, some minutes of the old date follow the new day's start.
    if instant >= until:
        return day + ONE_DAY
    return day - ONE_DAY if instant < since and day > date.min else day


def days_between(since: int, until: int, zone: ZoneInfo) -> Iterator[date]:
    """The days that begin in [since, until), oldest first."""
    day = day_of(min(since, LATEST), zone)
    if day_start(day, zone) < since:
        day += ONE_DAY
    while day_start(day, zone) < until:
        yield day
        if day == date.max:
            return
        day += ONE_DAY
