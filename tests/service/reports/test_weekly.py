import pytest

from scoring.figures import Status
from service.reports.operations import publish_report
from service.reports.weekly import SPECIFICATIONS
from tests.service.ratios.record_builder import AGENT, RecordBuilder, at
from tests.service.reports.making import WEEK, figures, parts, report

NAMES = [
    "inference_opportunities", "machinery_engagement", "unsupported_assertions",
    "live_calibration", "look_before_infer", "contradictions", "revision", "label_mix",
]  # fmt: skip


def test_the_eight_are_these_in_this_order(week: RecordBuilder) -> None:
    body = report(week.database).as_json()
    assert [figure["name"] for figure in body["figures"]] == NAMES
    assert [one.name for one in SPECIFICATIONS] == NAMES
    for figure in body["figures"]:
        assert len(figure["sparkline"]) == 4
        assert figure["sparkline"][-1] == figure["value"]
        assert figure["sparkline"][-2] == figure["previous"]


def test_the_figures_count_what_spec_2_6_says(week: RecordBuilder) -> None:
    found = figures(report(week.database))
    # Four findings in two of four turns: eight in all.
    opportunities = found["inference_opportunities"]
    assert opportunities["value"] == pytest.approx(8)
    assert opportunities["interval"]["low"] <= 8 <= opportunities["interval"]["high"]
    # One abducted, one gated, of four.
    engagement = found["machinery_engagement"]
    assert (engagement["numerator"], engagement["denominator"]) == (2, 4)
    assert parts(engagement)["gated"]["numerator"] == 1
    assert parts(engagement)["abducted"]["numerator"] == 1
    closed = parts(found["contradictions"])
    assert found["contradictions"]["value"] == 2
    assert closed["median_age_days"]["value"] == 10
    assert (closed["resolved"]["value"], closed["expired"]["value"]) == (2, 1)
    revision = found["revision"]
    assert (revision["numerator"], revision["denominator"]) == (1, 3)
    assert parts(revision)["silent_overwrites"]["numerator"] == 1


def test_labels_are_counted_by_writer_and_what_grew_stronger_is_shown(
    record: RecordBuilder,
) -> None:
    def created(worker: str | None, label: str | None) -> None:
        record.event(
            "belief.created", at(1), belief_id=f"{worker}{label}", worker=worker, label_to=label
        )

    created("day", "infer")
    created("day", None)
    created(None, "guess")
    record.event(
        "belief.relabelled", at(2), belief_id="dayinfer", label_from="infer", label_to="remember"
    )
    # Does not say what the label was: the record does, and it is remember by now.
    record.event("belief.relabelled", at(3), belief_id="dayinfer", label_to="remember")
    for going_in, coming_out in (("guess", "infer"), ("infer", "infer"), ("infer", "suspect")):
        detail = {"labels_in": {"know": 2, going_in: 1}, "labels_out": {coming_out: 1}}
        record.event("summary.written", at(4), detail=detail)
    record.event("summary.written", at(4), detail={"text": "says nothing of labels"})
    figure = figures(report(record.database))["label_mix"]
    assert figure["value"] == 1
    summaries = parts(figure)["stronger_summaries"]
    assert (summaries["numerator"], summaries["denominator"]) == (1, 3)
    assert parts(figure)["unlabelled"]["value"] == pytest.approx(1 / 3)
    mix = {row["writer"]: row for row in figure["mix"]}
    assert (mix["day"]["total"], mix["day"]["labels"]["unlabelled"]) == (2, 1)
    assert mix["(none)"]["labels"]["guess"] == 1


def test_looking_before_inferring_counts_where_a_decisive_source_was_at_hand(
    record: RecordBuilder,
) -> None:
    facts = [(1, 1), (1, 0), (1, 0), (0, 1), (0, 0)]
    findings = [{"decisive_source": source, "tool_before": tool} for source, tool in facts]
    record.audited("t1", at(0, 1), findings, population=1, sample=1, method="llm")
    figure = figures(report(record.database))["look_before_infer"]
    assert (figure["numerator"], figure["denominator"]) == (1, 3)
    assert figure["value"] == pytest.approx(1 / 3)


def test_what_the_method_cannot_tell_is_unavailable_and_not_zero(week: RecordBuilder) -> None:
    found = figures(report(week.database))
    for name in ("unsupported_assertions", "look_before_infer"):
        assert found[name]["value"] is None
        assert found[name]["status"] == Status.UNAVAILABLE
        assert "built-in" in found[name]["reason"]


def test_an_empty_agent_has_eight_figures_with_their_reasons(record: RecordBuilder) -> None:
    made = report(record.database)
    for figure in made.as_json()["figures"]:
        assert figure["value"] is None, figure["name"]
        assert figure["status"] == Status.UNAVAILABLE
        assert figure["reason"]
        assert figure["sparkline"] == [None] * 4
    assert made.bench.run is None
    assert made.bench.line == "No benchmark run recorded."
    assert "no figure for this week" in made.top


def test_made_twice_it_is_the_same_to_the_byte_however_much_arrives(week: RecordBuilder) -> None:
    first = report(week.database)
    assert report(week.database).as_text() == first.as_text()
    week.event("belief.superseded", at(5), belief_id="k1")
    week.event("belief.challenged", at(-5), belief_id="k1")
    week.audited("t3", at(0, 3), [{}], population=4, sample=3)
    assert report(week.database, as_of=first.view.as_of).as_text() == first.as_text()
    assert report(week.database).as_text() != first.as_text()


def test_the_weeks_before_make_the_line(week: RecordBuilder) -> None:
    later = figures(report(week.database, "2026-W41"))
    assert later["revision"]["sparkline"] == [None, None, pytest.approx(1 / 3), None]
    assert later["revision"]["previous"] == pytest.approx(1 / 3)
    assert later["revision"]["value"] is None
    assert later["contradictions"]["sparkline"] == [1, 1, 2, 2]


def test_the_week_begins_in_the_agents_zone(record: RecordBuilder) -> None:
    # Sunday 23:00 UTC is Monday in Tokyo.
    record.event("belief.challenged", at(0, -1), belief_id="b")
    assert figures(report(record.database))["revision"]["value"] is None
    assert figures(report(record.database, zone="Asia/Tokyo"))["revision"]["value"] == 0


def test_a_report_is_published_once_and_stays(week: RecordBuilder) -> None:
    with week.database.write() as session:
        first = publish_report(session, AGENT, WEEK, 5)
        body, as_of = first.body, first.as_of
    assert body == report(week.database).as_text()
    week.event("belief.superseded", at(5), belief_id="k1")
    with week.database.write() as session:
        again = publish_report(session, AGENT, WEEK, 9)
        assert (again.body, again.as_of, again.made_at) == (body, as_of, 5)


@pytest.mark.parametrize("edge", ["0001-W01", "0001-W03", "9998-W52"])
def test_weeks_at_the_edge_of_the_calendar_are_empty_and_no_error(
    week: RecordBuilder, edge: str
) -> None:
    assert figures(report(week.database, edge))["revision"]["value"] is None
