from zoneinfo import ZoneInfo

import pytest

from service.errors import Malformed
from service.instants import DAY, HOUR, parse_instant
from service.ratios.window import Asked, AsOf, Window, choose_window, parse_week, week_window

UTC = ZoneInfo("UTC")
BERLIN = ZoneInfo("Europe/Berlin")
NOW = parse_instant("2026-10-03T12:00:00Z")


def test_the_default_is_the_thirty_days_until_now() -> None:
    assert choose_window(Asked(), UTC, NOW) == Window(NOW - 30 * DAY, NOW)


def test_a_window_may_be_said_in_four_ways() -> None:
    monday, sunday = "2026-09-28T00:00:00Z", "2026-10-05T00:00:00Z"
    wanted = Window(parse_instant(monday), parse_instant(sunday))
    assert choose_window(Asked(start=monday, until=sunday), UTC, NOW) == wanted
    assert choose_window(Asked(until=sunday, window="7d"), UTC, NOW) == wanted
    assert choose_window(Asked(until=sunday, window="P7D"), UTC, NOW) == wanted
    assert choose_window(Asked(week="2026-W40"), UTC, NOW) == wanted


def test_a_week_is_the_agents_own_and_not_always_168_hours() -> None:
    winter = week_window(parse_week("2026-W43"), BERLIN)
    assert winter.start == parse_instant("2026-10-18T22:00:00Z")
    assert winter.until - winter.start == 7 * DAY + HOUR


@pytest.mark.parametrize("week", ["2026-W54", "2025-W53", "2026-W00", "2026-40", "W40", "0000-W01"])
def test_a_week_that_does_not_exist_is_refused(week: str) -> None:
    with pytest.raises(Malformed):
        parse_week(week)


def test_the_years_with_53_weeks_have_them() -> None:
    assert parse_week("2026-W53").isoformat() == "2026-12-28"


@pytest.mark.parametrize(
    ("asked", "parameter"),
    [
        (Asked(start="2026-10-04T00:00:00Z"), "from"),
        (Asked(start="2026-09-01T00:00:00Z", window="7d"), "window"),
        (Asked(week="2026-W40", window="7d"), "week"),
        (Asked(window="a week"), "window"),
        (Asked(window="0d"), "window"),
        (Asked(until="2026-10-03"), "until"),
        (Asked(until="2026-10-03T12:00:00"), "until"),
    ],
)
def test_what_contradicts_or_is_no_time_is_named(asked: Asked, parameter: str) -> None:
    with pytest.raises(Malformed) as refusal:
        choose_window(asked, UTC, NOW)
    assert refusal.value.errors[0].pointer == f"/query/{parameter}"


def test_windows_at_the_edge_of_the_calendar_stay_inside_it() -> None:
    asked = Asked(until="0001-01-02T00:00:00Z", window="999999w")
    window = choose_window(asked, UTC, NOW)
    assert window.until - window.start == DAY
    assert window.before().start == window.start


def test_as_of_names_lengths_that_were_reached() -> None:
    current = AsOf(12, 3)
    assert AsOf.parse("12.3", current) == current
    assert str(AsOf.parse("1.0", current)) == "1.0"
    for text in ("13.0", "0.4", "12", "a.b", "-1.0", "1.2.3", "\u0661.\u0662"):
        with pytest.raises(Malformed):
            AsOf.parse(text, current)
