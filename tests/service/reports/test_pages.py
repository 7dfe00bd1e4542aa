import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from scoring.intervals import Interval, wilson
from service.reports.html import Links, as_html, content_security_policy
from service.reports.markdown import as_markdown
from service.reports.presentation import ShownReport, present, sparkline
from service.reports.wording import number, shown
from tests.service.ratios.record_builder import RecordBuilder, at
from tests.service.reports.making import report

VOID = {"meta", "line", "polyline", "circle", "br"}


class Page(HTMLParser):
    """Checks that elements nest, and gathers what a page asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(page: str) -> Page:
    parser = Page()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    return parser


@pytest.fixture
def told(week: RecordBuilder) -> ShownReport:
    return present(report(week.database))


def test_the_page_asks_for_nothing_and_runs_nothing(told: ShownReport) -> None:
    page = read(as_html(told))
    assert page.seen.isdisjoint({"script", "link", "img", "iframe", "object", "form"})
    assert "style" not in page.attributes
    assert not any(name.startswith("on") for name in page.attributes)
    assert all(link.startswith("#note-") for link in page.links)
    assert page.seen >= {"svg", "polyline"} or "circle" in page.seen


def test_the_policy_allows_the_one_style_sheet_by_its_hash(told: ShownReport) -> None:
    (style,) = re.findall(r"<style>(.*?)</style>", as_html(told), re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = content_security_policy()
    assert policy.startswith("default-src 'none'; ")
    assert f"style-src 'sha256-{digest}'" in policy


def test_the_page_links_to_the_weeks_beside_it_and_to_the_rows(told: ShownReport) -> None:
    page = read(as_html(told, Links("/doxa", "2026-W39", None)))
    assert "/doxa/v1/reports/weekly/2026-W39?agent=piper" in page.links
    assert not any("W41" in link for link in page.links)
    rows = [link for link in page.links if "/v1/ratios/revision/items" in link]
    assert len(rows) == 1
    assert "week=2026-W40" in rows[0]
    assert "as_of=" in rows[0]


def test_what_agents_call_themselves_is_text_on_every_page(record: RecordBuilder) -> None:
    name = "<script>alert(1)</script>|*x*"
    record.event("belief.created", at(1), belief_id="b", worker=name, label_to="infer")
    told = present(report(record.database))
    page = as_html(told)
    assert name not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;|*x*" in page
    read(page)
    assert r"\<script\>alert(1)\</script\>\|\*x\*" in as_markdown(told)


def test_markdown_has_all_eight_and_their_notes(told: ShownReport) -> None:
    text = as_markdown(told)
    assert [line[3] for line in text.splitlines() if re.match(r"## \d\.", line)] == list("12345678")
    assert "33\u00a0% (1 of 3, 6.1\u201379\u00a0%)" in text
    assert "[1] auditor-flagged, uncorrected" in text
    assert "Not available: the built-in auditor cannot tell an inferred claim" in text


def test_numbers_are_said_with_what_they_rest_on() -> None:
    assert shown(0.15, 3, 20, wilson(3, 20), "ratio") == "15\u00a0% (3 of 20, 5.2\u201336\u00a0%)"
    assert shown(0.0, 0, 370, wilson(0, 370), "ratio") == "0\u00a0% (0 of 370, 0\u20131\u00a0%)"
    assert shown(None, 0, 0, None, "ratio") == "\u2014"
    age = Interval(2.0, 9.5, "order statistics")
    assert shown(4.96, None, 97, age, "days") == "5\u00a0days (n = 97, 2\u20139.5\u00a0days)"
    assert number(1204.4, "count") == "1,204"
    assert number(0.0831, "score") == "0.083"
    # What is not all must not be said to be all, nor what is something to be nothing.
    assert number(0.9996, "ratio") == ">99.9\u00a0%"
    assert number(0.0004, "ratio") == "<0.1\u00a0%"


def test_a_week_without_a_value_is_a_gap_in_the_line_and_no_zero() -> None:
    line = sparkline([0.1, 0.2, None, 0.4], "ratio")
    assert len(line.runs) == 1
    assert len(line.runs[0].split()) == 2
    assert len(line.dots) == 1
    assert line.dots[0] == line.last
    assert line.words == "10\u00a0%, 20\u00a0%, no value, 40\u00a0%"
    empty = sparkline([None] * 4, "ratio")
    assert (empty.runs, empty.dots, empty.last) == ((), (), None)
    flat = sparkline([0.0] * 4, "ratio")
    assert len(flat.runs) == 1
