from service.instants import parse_instant, to_datetime
from service.reports.operations import record_bench_run
from service.reports.schemas import BenchRunIn
from tests.service.ratios.record_builder import AGENT, NEXT_MONDAY, RecordBuilder, at
from tests.service.reports.making import report


def bench(record: RecordBuilder, loss: float, bare: float, ran_at: int = at(1)) -> None:
    run = BenchRunIn(to_datetime(ran_at), "0123456789abcdef", loss, bare)
    with record.database.write() as session:
        record_bench_run(session, AGENT, run)


def test_a_lost_benchmark_is_the_first_item(week: RecordBuilder) -> None:
    bench(week, 0.4, 0.3)
    made = report(week.database)
    assert made.bench.beats_bare is False
    assert made.top == made.bench.line
    assert "does not beat the bare model: JustLoss 0.400 against 0.300" in made.top
    assert "commit 0123456789ab, run of 2026-09-29" in made.top


def test_equal_to_the_bare_model_is_not_better(week: RecordBuilder) -> None:
    bench(week, 0.3, 0.3)
    assert report(week.database).bench.beats_bare is False


def test_a_won_benchmark_has_its_line_and_not_the_first(week: RecordBuilder) -> None:
    bench(week, 0.2, 0.3)
    made = report(week.database)
    assert made.bench.beats_bare is True
    assert made.top != made.bench.line


def test_the_last_run_before_the_weeks_end_counts_and_only_as_of_then(
    week: RecordBuilder,
) -> None:
    before = report(week.database)
    bench(week, 0.4, 0.3, at(-20))
    bench(week, 0.2, 0.3, at(2))
    bench(week, 0.9, 0.3, NEXT_MONDAY)
    assert report(week.database).bench.beats_bare is True
    assert report(week.database, "2026-W38").bench.beats_bare is False
    assert report(week.database, "2026-W36").bench.run is None
    assert report(week.database, as_of=before.view.as_of).bench.run is None


def test_the_bypass_signature_comes_before_what_moved(record: RecordBuilder) -> None:
    for name, day, count, fields in (
        ("belief.created", 0, 60, {"label_to": "infer"}),
        ("belief.challenged", 2, 40, {}),
    ):
        record.events(
            [(name, at(day, i / 9), {"belief_id": f"b{i}", **fields}) for i in range(count)]
        )
    for i in range(60):
        record.audited(f"t{i}", at(0, i / 9), [{}], population=60, sample=60)
    assert report(record.database).top.startswith("The bypass signature holds")


def test_what_moved_most_is_said_with_both_values(record: RecordBuilder) -> None:
    def challenge(start: float, challenged: int, superseded: int) -> None:
        for i in range(challenged):
            belief = f"{start}-{i}"
            record.event("belief.challenged", at(start), belief_id=belief)
            if i < superseded:
                record.event("belief.superseded", at(start + 1), belief_id=belief)

    challenge(-6, 10, 1)
    challenge(1, 10, 6)
    top = report(record.database).top
    assert top.replace("\u00a0", " ").startswith(
        "What moved most: Revised after a challenge, from 10 % last week to 60 % (6 of 10"
    )


def test_a_record_that_ends_early_says_so(week: RecordBuilder) -> None:
    assert report(week.database).record_ends == at(5, 5)
    assert parse_instant("2026-10-03T05:00:00Z") == at(5, 5)
