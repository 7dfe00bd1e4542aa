from datetime import date
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from service.audits.days import day_of, day_start, day_window, days_between
from service.instants import EARLIEST, HOUR, LATEST, format_instant, parse_instant

ZONES = st.sampled_from(
    [
        "UTC",
        "Europe/Vienna",
        "America/Sao_Paulo",  # its clock skipped midnight until 2018
        "America/St_Johns",  # its clock went back across midnight until 2011
        "Pacific/Apia",  # it has no 2011-12-30
        "Asia/Kathmandu",
        "Pacific/Kiritimati",
    ]
).map(ZoneInfo)
INSTANTS = st.integers(EARLIEST, LATEST) | st.integers(
    parse_instant("1990-01-01T00:00:00Z"), parse_instant("2030-01-01T00:00:00Z")
)


@given(INSTANTS, ZONES)
def test_every_instant_lies_in_the_window_of_its_day(instant: int, zone: ZoneInfo) -> None:
    since, until = day_window(day_of(instant, zone), zone)
    assert since <= instant < until


@given(st.dates(min_value=date(1, 1, 2), max_value=date(9999, 12, 30)), ZONES)
def test_a_day_ends_where_the_next_begins(day: date, zone: ZoneInfo) -> None:
    since, until = day_window(day, zone)
    following = date.fromordinal(day.toordinal() + 1)
    assert day_start(following, zone) == until
    assert since <= until


def test_a_day_is_as_long_as_the_zone_makes_it() -> None:
    vienna = ZoneInfo("Europe/Vienna")
    for day, hours in ((date(2026, 3, 29), 23), (date(2026, 10, 25), 25), (date(2026, 7, 1), 24)):
        since, until = day_window(day, vienna)
        assert until - since == hours * HOUR
    since, _ = day_window(date(2026, 7, 1), vienna)
    assert format_instant(since) == "2026-06-30T22:00:00.000000Z"


def test_days_between_are_those_that_begin_there() -> None:
    utc = ZoneInfo("UTC")
    since, until = day_start(date(2026, 10, 1), utc), day_start(date(2026, 10, 3), utc)
    assert list(days_between(since, until, utc)) == [date(2026, 10, 1), date(2026, 10, 2)]
    assert list(days_between(since + 1, until + 1, utc)) == [date(2026, 10, 2), date(2026, 10, 3)]
