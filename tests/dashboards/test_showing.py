"""What agents send is shown as what it is, and nothing of it is invisible or acts."""

import unicodedata
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboards.showing import ago, local_day, local_time, per_cent, prose, shown
from service.instants import DAY, HOUR, MINUTE, SECOND, parse_instant

NOW = parse_instant("2026-10-03T12:00:00Z")


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("a\x00b\nc\td\x7f", "a␀b␊c␉d␡"),
        ("\x9b31m", "[U+009B]31m"),
        ("safe\u202egnp.exe", "safe[U+202E]gnp.exe"),
        ("\u2066x\u2069\u200f", "[U+2066]x[U+2069][U+200F]"),
        ("ad\u200bmin\ufeff", "ad[U+200B]min[U+FEFF]"),
        ("line\u2028line", "line[U+2028]line"),
        ("\U000e0041", "[U+E0041]"),
    ],
)
def test_what_cannot_be_seen_is_made_visible(sent: str, seen: str) -> None:
    assert shown(sent) == seen


@pytest.mark.parametrize(
    "text", ["piper", "עוזר שיחות", "می‌خواهم", "👩‍👩‍👧", "naïve a\u00a0b", "日本"]
)
def test_writing_of_all_scripts_stays_as_it_is(text: str) -> None:
    assert shown(text) == text


@given(st.text())
def test_nothing_that_is_shown_controls_anything(text: str) -> None:
    left = {unicodedata.category(c) for c in shown(text) if c not in "\u200c\u200d"}
    assert left.isdisjoint({"Cc", "Cf", "Cs", "Zl", "Zp"})


def test_descriptions_become_paragraphs_with_code_and_nothing_else() -> None:
    html = prose("One `next` <b>\nline.\n\nTwo `a<b`.")
    assert html == "<p>One <code>next</code> &lt;b&gt; line.</p><p>Two <code>a&lt;b</code>.</p>"


@pytest.mark.parametrize(
    ("part", "whole", "seen"),
    [(0, 5, "0 %"), (1, 1000, "< 1 %"), (999, 1000, "99 %"), (5, 5, "100 %"), (2, 3, "66 %")],
)
def test_a_hundred_per_cent_means_all_and_zero_none(part: int, whole: int, seen: str) -> None:
    assert per_cent(part, whole).replace("\u00a0", " ") == seen


@pytest.mark.parametrize(
    ("distance", "seen"),
    [
        (0, "just now"),
        (30 * SECOND, "less than a minute ago"),
        (90 * SECOND, "1 minute ago"),
        (2 * HOUR - 1, "1 hour ago"),
        (2 * DAY, "2 days ago"),
        (4000 * DAY, "4,000 days ago"),
        (-3 * HOUR, "in 3 hours"),
        (-MINUTE, "in 1 minute"),
    ],
)
def test_distances_are_told_in_their_largest_unit(distance: int, seen: str) -> None:
    assert ago(NOW - distance, NOW) == seen


def test_times_and_days_are_those_of_the_zone() -> None:
    zone = ZoneInfo("America/Los_Angeles")
    assert local_time(parse_instant("2026-10-03T06:05:00Z"), zone) == "2 Oct 2026, 23:05"
    assert local_day(parse_instant("2026-10-03T06:05:00Z"), zone) == "2 Oct 2026"
