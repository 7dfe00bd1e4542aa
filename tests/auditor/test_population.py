from datetime import date
from zoneinfo import ZoneInfo

from sqlalchemy import text

from auditor.method import builtin_method
from auditor.population import has_late_turns, population_of
from auditor.run import Auditor, DayOutcome, RunOptions
from service.db.database import Database
from service.instants import DAY, HOUR
from tests.auditor.recording import AGENT, NOON, a_turn, audited, record_turns, samples

UTC = ZoneInfo("UTC")
MONDAY, TUESDAY, WEDNESDAY = date(2026, 10, 5), date(2026, 10, 6), date(2026, 10, 7)


def audit(database: Database, day: date, sample: int = 50) -> DayOutcome:
    auditor = Auditor(database, builtin_method(), lambda: NOON + 10 * DAY, 50)
    return auditor.audit_day(AGENT, day, RunOptions(sample))


def strata(database: Database, day: date) -> dict[str, list[str]]:
    with database.read() as session:
        return population_of(session, AGENT, day, UTC).strata


def test_a_day_has_a_stratum_for_each_worker(database: Database) -> None:
    record_turns(
        database,
        [
            a_turn("a", worker="day"),
            a_turn("b", worker="night"),
            a_turn("c", worker=None),
            a_turn("tomorrow", ts=NOON + DAY),
        ],
    )
    assert strata(database, MONDAY) == {
        "2026-10-05|": ["c"],
        "2026-10-05|day": ["a"],
        "2026-10-05|night": ["b"],
    }


def test_turns_that_came_after_their_night_are_a_stratum_of_the_next(database: Database) -> None:
    record_turns(database, [a_turn("m1", worker="day"), a_turn("m2", worker="day")])
    audit(database, MONDAY, sample=1)
    record_turns(database, [a_turn("m3", worker="day"), a_turn("tu", worker="day", ts=NOON + DAY)])
    assert strata(database, TUESDAY) == {
        "2026-10-06|day": ["tu"],
        "late:2026-10-05:day": ["m3"],
    }
    audit(database, TUESDAY)
    assert {row.turn_id for row in audited(database)} >= {"m3", "tu"}


def test_a_late_turn_has_its_chance_in_one_night_only(database: Database) -> None:
    record_turns(database, [a_turn("m1")])
    audit(database, MONDAY)
    record_turns(database, [*(a_turn(f"late{i}") for i in range(5)), a_turn("tu", ts=NOON + DAY)])
    audit(database, TUESDAY, sample=2)
    assert len(samples(database)) == 3
    record_turns(database, [a_turn("we", ts=NOON + 2 * DAY)])
    assert strata(database, WEDNESDAY) == {"2026-10-07|": ["we"]}


def test_what_came_before_the_draw_and_was_not_drawn_is_not_late(database: Database) -> None:
    record_turns(database, [a_turn(f"m{i}") for i in range(9)])
    audit(database, MONDAY, sample=3)
    record_turns(database, [a_turn("tu", ts=NOON + DAY)])
    assert strata(database, TUESDAY) == {"2026-10-06|": ["tu"]}


def test_turns_of_a_day_that_no_run_read_are_that_days_not_late(database: Database) -> None:
    record_turns(database, [a_turn("tu", ts=NOON + DAY)])
    audit(database, TUESDAY)
    record_turns(database, [a_turn("m1"), a_turn("we", ts=NOON + 2 * DAY)])
    assert strata(database, WEDNESDAY) == {"2026-10-07|": ["we"]}
    assert strata(database, MONDAY) == {"2026-10-05|": ["m1"]}


def test_a_night_without_turns_of_its_own_still_has_the_late_ones(database: Database) -> None:
    record_turns(database, [a_turn("m1")])
    audit(database, MONDAY)
    with database.read() as session:
        assert not has_late_turns(session, AGENT, TUESDAY, UTC)
    record_turns(database, [a_turn("m2")])
    with database.read() as session:
        assert has_late_turns(session, AGENT, TUESDAY, UTC)
    audit(database, TUESDAY)
    assert [row.stratum for row in audited(database)][-1] == "late:2026-10-05:"


def test_an_agent_that_moved_to_another_zone_is_not_audited_twice(database: Database) -> None:
    record_turns(database, [a_turn("noon"), a_turn("late evening", ts=NOON + 11 * HOUR)])
    audit(database, MONDAY)
    with database.write() as session:
        session.execute(text("UPDATE agents SET time_zone = 'Asia/Tokyo'"))
    record_turns(database, [a_turn("tokyo", ts=NOON + 13 * HOUR)])
    audit(database, TUESDAY)
    assert [row.turn_id for row in audited(database)].count("late evening") == 1
    assert {row.stratum_population for row in audited(database)[2:]} == {1}
