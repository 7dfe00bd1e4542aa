import threading
import time
from collections.abc import Callable
from datetime import date
from zoneinfo import ZoneInfo

from sqlalchemy import text

from auditor.method import builtin_method
from auditor.run import Auditor
from auditor.scheduler import CATCH_UP_DAYS, AuditScheduler, complete_week, due_days
from service.audits import operations
from service.audits.days import day_start
from service.db.database import Database
from service.instants import DAY, HOUR, parse_instant, to_datetime
from service.models import AuditRequest
from service.settings import Settings
from tests.auditor.recording import (
    AGENT,
    MONDAY,
    NOON,
    a_turn,
    audited,
    record_turns,
    rows_of,
    runs,
)

UTC = ZoneInfo("UTC")
VIENNA = ZoneInfo("Europe/Vienna")


def scheduler(
    database: Database,
    settings: Settings,
    now: int,
    publish: Callable[[str, str], None] | None = None,
) -> AuditScheduler:
    return AuditScheduler(database, settings, clock=lambda: now, publish_week=publish)


def days_of_runs(database: Database) -> list[date]:
    by_start = sorted(runs(database), key=lambda run: run.started_at)
    return [to_datetime(run.window_from).date() for run in by_start]


def test_a_day_is_due_at_the_audit_hour_of_the_next(database: Database) -> None:
    record_turns(database, [a_turn()])
    with database.read() as session:
        early, late = (
            due_days(session, AGENT, UTC, MONDAY + DAY + at, 3) for at in (3 * HOUR - 1, 3 * HOUR)
        )
    assert (early, late) == ([], [date(2026, 10, 5)])


def test_the_audit_hour_holds_where_the_night_is_an_hour_short(database: Database) -> None:
    record_turns(database, [a_turn(ts=parse_instant("2027-03-27T12:00:00Z"))])
    three_in_summer_time = parse_instant("2027-03-28T01:00:00Z")
    with database.read() as session:
        assert due_days(session, AGENT, VIENNA, three_in_summer_time, 3) == [date(2027, 3, 27)]
        assert due_days(session, AGENT, VIENNA, three_in_summer_time - 1, 3) == []


def test_missed_nights_are_caught_up_oldest_first_and_only_once(
    database: Database, settings: Settings
) -> None:
    record_turns(database, [a_turn(ts=NOON + n * DAY) for n in (3, 0, 1)])
    kept = scheduler(database, settings, MONDAY + 10 * DAY)
    kept.keep_night(AGENT)
    kept.keep_night(AGENT)
    assert len(audited(database)) == 3
    with database.read() as session:
        assert due_days(session, AGENT, UTC, MONDAY + 10 * DAY, 3) == []
    assert days_of_runs(database) == [date(2026, 10, d) for d in (5, 6, 8)]


def test_catching_up_takes_the_last_days_that_have_turns(database: Database) -> None:
    record_turns(database, [a_turn(ts=NOON + n * 3 * DAY) for n in range(CATCH_UP_DAYS + 5)])
    with database.read() as session:
        days = due_days(session, AGENT, UTC, NOON + 1_000 * DAY, 3)
    assert len(days) == CATCH_UP_DAYS
    assert days == sorted(days)
    assert days[0] == to_datetime(NOON + 5 * 3 * DAY).date()


def test_a_run_that_a_killed_process_left_is_caught_up(
    database: Database, settings: Settings
) -> None:
    record_turns(database, [a_turn()])
    Auditor(database, builtin_method(), lambda: NOON + DAY, 50).audit_day(AGENT, date(2026, 10, 5))
    with database.write() as session:
        session.execute(text("UPDATE audit_runs SET state = 'running', finished_at = NULL"))
    scheduler(database, settings, NOON + 2 * DAY).keep_night(AGENT)
    assert [run.state for run in runs(database)] == ["done"]


def test_late_turns_are_read_in_a_night_that_has_none_of_its_own(
    database: Database, settings: Settings
) -> None:
    record_turns(database, [a_turn("m1")])
    scheduler(database, settings, MONDAY + DAY + 4 * HOUR).keep_night(AGENT)
    record_turns(database, [a_turn("m2")])
    scheduler(database, settings, MONDAY + 2 * DAY + 4 * HOUR).keep_night(AGENT)
    assert [row.turn_id for row in audited(database)] == ["m1", "m2"]


def test_the_complete_week_changes_on_monday_at_the_audit_hour() -> None:
    assert complete_week(MONDAY + 3 * HOUR - 1, UTC, 3) == "2026-W39"
    assert complete_week(MONDAY + 3 * HOUR, UTC, 3) == "2026-W40"
    assert complete_week(MONDAY + 6 * DAY + 23 * HOUR, UTC, 3) == "2026-W40"
    assert complete_week(parse_instant("2027-01-04T05:00:00Z"), UTC, 3) == "2026-W53"


def test_the_weeks_report_follows_the_nights_audit(database: Database, settings: Settings) -> None:
    record_turns(database, [a_turn(ts=MONDAY - 1)])
    published: list[tuple[str, str, int]] = []

    def publish(agent_id: str, week: str) -> None:
        published.append((agent_id, week, len(audited(database))))

    scheduler(database, settings, MONDAY + 4 * HOUR, publish).keep_night(AGENT)
    assert published == [(AGENT, "2026-W40", 1)]


def queue_day(database: Database, day: date, until: date) -> str:
    with database.write() as session:
        return operations.queue_request(
            session, AGENT, day_start(day, UTC), day_start(until, UTC), NOON
        )


def test_a_request_is_served_day_by_day_and_says_what_became_of_it(
    database: Database, settings: Settings
) -> None:
    record_turns(database, [a_turn(), a_turn(ts=NOON + 2 * DAY)])
    first = queue_day(database, date(2026, 10, 1), date(2026, 10, 9))
    assert queue_day(database, date(2026, 10, 1), date(2026, 10, 9)) == first
    queue_day(database, date(2020, 1, 1), date(2020, 1, 2))
    kept = scheduler(database, settings, NOON + 9 * DAY)
    assert [kept.take_request() for _ in range(3)] == [True, True, False]
    outcomes = sorted(str(row.outcome) for row in rows_of(database, AuditRequest))
    assert outcomes[0].startswith("2026-10-05: done, 1 of 1 drawn turns read")
    assert "2026-10-07: done" in outcomes[0]
    assert outcomes[1] == "no day of this window has turns"


def test_a_request_whose_taker_died_is_taken_again(database: Database) -> None:
    record_turns(database, [a_turn()])
    queue_day(database, date(2026, 10, 5), date(2026, 10, 6))
    with database.write() as session:
        assert operations.take_request(session, NOON) is not None
    with database.write() as session:
        assert operations.take_request(session, NOON + operations.STALE_AFTER) is None
        assert operations.take_request(session, NOON + operations.STALE_AFTER + 1) is not None


def test_two_schedulers_serve_a_request_once(database: Database, settings: Settings) -> None:
    record_turns(database, [a_turn() for _ in range(5)])
    queue_day(database, date(2026, 10, 5), date(2026, 10, 6))
    served: list[bool] = []
    threads = [
        threading.Thread(
            target=lambda: served.append(scheduler(database, settings, NOON + DAY).take_request())
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(served) == [False, False, False, True]
    assert len(audited(database)) == 5


def test_the_running_scheduler_catches_up_and_serves_the_queue(
    database: Database, settings: Settings
) -> None:
    record_turns(database, [a_turn(), a_turn(ts=NOON + DAY)])
    running = scheduler(
        database, settings.model_copy(update={"auditor_poll_seconds": 0.05}), NOON + DAY
    )
    running.start()
    try:
        queue_day(database, date(2026, 10, 6), date(2026, 10, 7))
        deadline = time.monotonic() + 30
        while len(audited(database)) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        running.stop()
    assert sorted(row.ts for row in audited(database))[1] >= NOON + DAY
    assert [run.state for run in runs(database)] == ["done", "done"]
