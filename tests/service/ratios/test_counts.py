"""Each ratio on the week of `RecordBuilder.lay_down`, counted by hand."""

from typing import Any

import pytest

from scoring.figures import Status
from service.db.database import Database
from service.instants import DAY
from service.ratios.definitions import DEFINITIONS
from service.ratios.figures import Figure, RatioName
from service.ratios.sampled import BUILT_IN_CAVEAT, NO_WRITES, UNCORRECTED, UNMEASURED_CAVEAT
from tests.service.ratios.record_builder import NEXT_MONDAY, RecordBuilder, at
from tests.service.ratios.seeing import as_json, ratios, view

Name = RatioName


def figures_of(database: Database, **options: Any) -> dict[RatioName, Figure]:
    return dict(ratios(view(database, **options), database).figures)


@pytest.fixture
def figures(week: RecordBuilder) -> dict[RatioName, Figure]:
    return figures_of(week.database)


@pytest.mark.parametrize(
    ("name", "numerator", "denominator"),
    [
        (Name.ABDUCTION_ENGAGEMENT, 1, 4),
        (Name.UNRECORDED_ASSERTIONS, 2, 4),
        (Name.INFER_WITHOUT_ABDUCTION, 3, 4),
        (Name.LAUNDERING, 2, 4),
        (Name.CONTRADICTION_RESOLUTION, 2, 4),
        (Name.REVISION, 1, 3),
        (Name.SILENT_OVERWRITES, 1, 3),
        (Name.DISCRIMINATOR_FOLLOW_THROUGH, 1, 3),
    ],
)
def test_a_ratio_counts_what_spec_2_2_says(
    figures: dict[RatioName, Figure], name: RatioName, numerator: int, denominator: int
) -> None:
    figure = figures[name]
    assert (figure.numerator, figure.denominator) == (numerator, denominator)
    assert figure.value == pytest.approx(numerator / denominator)
    assert figure.interval is not None
    assert figure.interval.contains(figure.value or 0)


def test_what_is_said_to_stand_beside_a_ratio_stands_there(
    figures: dict[RatioName, Figure],
) -> None:
    laundering = figures[Name.LAUNDERING].as_json()
    # b2 twice, b3, b4: relabel events from infer upward, over four infer writes.
    assert laundering["raw"] == {"value": 1.0, "numerator": 4, "denominator": 4}
    assert laundering["derived"] == {
        "value": pytest.approx(1 / 3), "numerator": 1, "denominator": 3,
    }  # fmt: skip
    resolution = figures[Name.CONTRADICTION_RESOLUTION].as_json()
    assert resolution["false_detections"] == 1
    assert resolution["resolved_alone"] == {"value": 0.25, "numerator": 1, "denominator": 4}
    assert figures[Name.SILENT_OVERWRITES].as_json()["refused"] == 1
    events = figures[Name.REVISION].as_json()["events"]
    assert (events["numerator"], events["denominator"]) == (2, 4)
    engagement = figures[Name.ABDUCTION_ENGAGEMENT].as_json()
    assert engagement["raw"] == {"value": 0.25, "numerator": 1, "denominator": 4}
    assert (engagement["in_path"]["numerator"], engagement["in_path"]["denominator"]) == (1, 2)
    assert engagement["disagreement"] == pytest.approx(0.25)
    assert engagement["weighted"]["denominator"] == 8


def test_the_age_is_the_median_of_all_that_are_open_whenever_detected(
    figures: dict[RatioName, Figure],
) -> None:
    age = figures[Name.CONTRADICTION_AGE]
    # c0 is 17 days old and c5 is 3: detected before the window counts too.
    assert (age.value, age.denominator, age.unit) == (10.0, 2, "days")
    assert age.beside["closed_in_window"] == {
        "resolved": 1, "scoped": 1, "expired": 1, "not_a_contradiction": 1,
    }  # fmt: skip
    assert age.caveats == ()


def test_the_age_warns_when_expiry_keeps_it_low(week: RecordBuilder) -> None:
    expire = ("contradiction.expired", at(6), {"contradiction_id": "c5"})
    week.events([expire])
    (caveat,) = figures_of(week.database)[Name.CONTRADICTION_AGE].caveats
    assert "2 of 5" in caveat


def test_support_is_unavailable_under_the_built_in_auditor(
    figures: dict[RatioName, Figure],
) -> None:
    figure = figures[Name.UNSUPPORTED_ASSERTIONS]
    assert figure.value is None
    assert figure.status is Status.UNAVAILABLE
    assert "built-in" in (figure.reason or "")


def test_support_is_counted_where_a_method_judges_it(record: RecordBuilder) -> None:
    kinds = ["unsupported", "contradicted", "weak", "supported", None]
    judged = [{"support": kind} for kind in kinds]
    record.audited("t1", at(0, 1), judged, population=1, sample=1, run_id="r1", method="llm")
    record.audited("t2", at(0, 2), [{}], population=1, sample=1, run_id="r2", method="builtin")
    figure = figures_of(record.database)[Name.UNSUPPORTED_ASSERTIONS]
    # One finding was not judged, one stands in a turn of a method that judges none.
    assert (figure.numerator, figure.denominator, figure.value) == (2, 4, 0.5)
    assert figure.beside["weak"]["numerator"] == 1


def test_sampled_figures_carry_what_is_wrong_with_them(figures: dict[RatioName, Figure]) -> None:
    for name in (Name.ABDUCTION_ENGAGEMENT, Name.UNRECORDED_ASSERTIONS):
        caveats = figures[name].caveats
        assert {UNCORRECTED, BUILT_IN_CAVEAT, UNMEASURED_CAVEAT} <= set(caveats)


def test_a_model_s_figures_do_not_carry_the_built_in_caveat(record: RecordBuilder) -> None:
    record.audited("t1", at(0, 1), [{}], population=1, sample=1, method="llm")
    caveats = figures_of(record.database)[Name.UNRECORDED_ASSERTIONS].caveats
    assert BUILT_IN_CAVEAT not in caveats
    assert UNMEASURED_CAVEAT in caveats


def test_turns_that_no_audit_covered_are_named(week: RecordBuilder) -> None:
    week.turn("late", at(0, 5))
    caveats = figures_of(week.database)[Name.UNRECORDED_ASSERTIONS].caveats
    assert any("4 of the window's 5 turns" in caveat for caveat in caveats)


def test_failed_turns_are_in_no_denominator_and_named(week: RecordBuilder) -> None:
    week.audited("t3", at(0, 3), [], population=4, sample=3, state="failed")
    figure = figures_of(week.database)[Name.UNRECORDED_ASSERTIONS]
    assert figure.denominator == 4
    assert figure.beside["audited_turns"] == 2
    assert any("1 drawn turns" in caveat for caveat in figure.caveats)


def test_sampled_figures_weigh_turns_by_their_strata(record: RecordBuilder) -> None:
    # One day turn stands for 90, one night turn for 10: 90 unrecorded of 100, not 1 of 2.
    record.audited("t1", at(0, 1), [{}], population=90, sample=1, stratum="day")
    record.audited("t2", at(0, 2), [{"written": 1}], population=10, sample=1, stratum="night")
    figure = figures_of(record.database)[Name.UNRECORDED_ASSERTIONS]
    assert (figure.numerator, figure.denominator) == (1, 2)
    assert figure.value == pytest.approx(0.9)
    assert figure.beside["weighted"]["denominator"] == pytest.approx(100)


def test_an_agent_that_reports_no_ledger_is_not_blamed_without_a_word(
    record: RecordBuilder,
) -> None:
    record.audited("t1", at(0, 1), [{}], population=1, sample=1)
    figure = figures_of(record.database)[Name.UNRECORDED_ASSERTIONS]
    assert (figure.value, figure.caveats[0]) == (1.0, NO_WRITES)
    record.event("belief.created", at(0, 2), belief_id="b1", label_to="infer")
    assert NO_WRITES not in figures_of(record.database)[Name.UNRECORDED_ASSERTIONS].caveats


def test_a_window_that_cuts_a_stratum_keeps_its_weights(record: RecordBuilder) -> None:
    # Two of ten turns were read; the window holds one: it stands for five, not for ten.
    record.audited("t1", at(0, 1), [{}], population=10, sample=2)
    record.audited("t2", at(0, 20), [{}], population=10, sample=2)
    figure = figures_of(record.database, until=at(0, 12))[Name.UNRECORDED_ASSERTIONS]
    assert figure.denominator == 1
    assert figure.beside["weighted"]["denominator"] == pytest.approx(5)


def test_all_turns_read_leave_no_sampling_error(record: RecordBuilder) -> None:
    record.audited("t1", at(0, 1), [{}, {"written": 1}], population=2, sample=2)
    record.audited("t2", at(0, 2), [{"written": 1}], population=2, sample=2)
    interval = figures_of(record.database)[Name.UNRECORDED_ASSERTIONS].interval
    assert interval is not None
    assert (interval.method, interval.low, interval.high) == ("census", 1 / 3, 1 / 3)


def test_abduction_told_after_the_audit_still_engages(week: RecordBuilder) -> None:
    week.event("abduction.invoked", at(0, 3), turn_id="t2")
    figure = figures_of(week.database)[Name.ABDUCTION_ENGAGEMENT]
    assert (figure.numerator, figure.denominator) == (4, 4)
    # Rising, but not 1.0: abduction before every word is no judgement.
    assert figure.status is Status.UNHEALTHY


def test_the_previous_value_is_that_of_the_window_before(week: RecordBuilder) -> None:
    later = figures_of(week.database, start=NEXT_MONDAY, until=NEXT_MONDAY + 7 * DAY)
    assert later[Name.LAUNDERING].value is None
    assert later[Name.LAUNDERING].previous == 0.5
    assert later[Name.UNRECORDED_ASSERTIONS].previous == 0.5
    assert later[Name.CONTRADICTION_AGE].previous == 10.0
    assert later[Name.CONTRADICTION_AGE].value == 17.0


def test_census_figures_below_ten_are_inconclusive_and_from_ten_judged(
    record: RecordBuilder,
) -> None:
    def overwrite(count: int) -> None:
        told = [("belief.overwritten", at(1, i / 10), {"belief_id": f"b{i}"}) for i in range(count)]
        record.events([(name, ts, fields) for name, ts, fields in told])

    overwrite(9)
    assert figures_of(record.database)[Name.SILENT_OVERWRITES].status is Status.INCONCLUSIVE
    overwrite(1)
    figure = figures_of(record.database)[Name.SILENT_OVERWRITES]
    assert (figure.denominator, figure.status) == (10, Status.UNHEALTHY)
    assert figure.interval is not None
    assert figure.interval.meaning == "process variation"


def test_an_empty_record_has_no_figure_and_says_why(record: RecordBuilder) -> None:
    found = ratios(view(record.database), record.database)
    for name, figure in found.figures.items():
        body = figure.as_json()
        assert (body["value"], body["status"]) == (None, Status.UNAVAILABLE), name
        assert body["reason"], name
        assert body["denominator"] == 0
        assert body["interval"] is None
    assert found.signature is not None
    assert found.signature.holds is None
    assert "revision" in (found.signature.reason or "")


def test_every_figure_has_every_field_of_spec_2_1(figures: dict[RatioName, Figure]) -> None:
    wanted = {
        "value", "numerator", "denominator", "interval", "previous", "target", "status", "caveats",
    }  # fmt: skip
    assert set(figures) == set(RatioName) == set(DEFINITIONS)
    for figure in figures.values():
        assert wanted <= figure.as_json().keys()


def test_nameless_discriminators_count_as_events_capped_at_one(record: RecordBuilder) -> None:
    record.events([("discriminator.generated", at(0, i), {}) for i in range(2)])
    record.events([("discriminator.acted_on", at(1, i), {}) for i in range(5)])
    figure = figures_of(record.database)[Name.DISCRIMINATOR_FOLLOW_THROUGH]
    assert (figure.numerator, figure.denominator, figure.value) == (2, 2, 1.0)
    assert "2 of 2 discriminators have no id" in figure.caveats[0]


def test_a_second_creation_or_a_move_after_the_end_changes_no_laundering(
    record: RecordBuilder,
) -> None:
    def created(belief: str, ts: int, label: str) -> tuple[str, int, dict[str, Any]]:
        return ("belief.created", ts, {"belief_id": belief, "label_to": label})

    def raised(belief: str, ts: int) -> tuple[str, int, dict[str, Any]]:
        return ("belief.relabelled", ts, {"belief_id": belief, "label_to": "know"})

    record.events(
        [
            created("old", at(-1), "infer"),
            created("old", at(1), "infer"),
            created("known", at(1), "know"),
            created("known", at(2), "infer"),
            created("gone", at(1), "infer"),
            ("belief.superseded", at(2), {"belief_id": "gone"}),
            raised("gone", at(3)),
            created("late", at(1), "infer"),
            raised("late", at(8)),
        ]
    )
    figure = figures_of(record.database)[Name.LAUNDERING]
    assert (figure.numerator, figure.denominator) == (0, 2)


def test_the_signature_needs_all_four_beyond_their_intervals(record: RecordBuilder) -> None:
    assert (
        as_json(ratios(view(record.database), record.database))["bypass_signature"]["holds"] is None
    )
    record.events(
        [
            ("belief.created", at(0, i / 9), {"belief_id": f"b{i}", "label_to": "infer"})
            for i in range(60)
        ]
    )
    record.events([("belief.challenged", at(2, i / 9), {"belief_id": f"b{i}"}) for i in range(40)])
    for i in range(100):
        record.audited(f"t{i}", at(0, i / 9), [{}], population=100, sample=100)
    signature = as_json(ratios(view(record.database), record.database))["bypass_signature"]
    assert signature["holds"] is True
    assert len(signature["held"]) == 4
    # One condition that fails breaks it: now most that was challenged is revised.
    record.events([("belief.superseded", at(3, i / 9), {"belief_id": f"b{i}"}) for i in range(30)])
    signature = as_json(ratios(view(record.database), record.database))["bypass_signature"]
    assert signature["holds"] is False
    assert set(RatioName) & set(signature["held"]) == {
        Name.ABDUCTION_ENGAGEMENT, Name.INFER_WITHOUT_ABDUCTION,
    }  # fmt: skip
