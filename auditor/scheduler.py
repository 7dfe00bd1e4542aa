"""The auditor's clock: every agent's nights, the ones that were missed, and what was asked for.

Runs in threads of its own beside the service, or alone. Several of these against one database
share the work: a run has one holder, a request one taker.
"""

import logging
from collections.abc import Callable
from datetime import date, timedelta
from threading import Event
from zoneinfo import ZoneInfo

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger
from sqlalchemy.orm import Session

from auditor.days import days_with_turns, latest_days_with_turns, unaudited
from auditor.method import Method, builtin_method
from auditor.population import has_late_turns
from auditor.run import Auditor, NothingToAuditError, Progress, RunBusyError, StoppedError
from service.agents.queries import agent_called, all_agents, zone_of
from service.audits import operations
from service.audits.days import ONE_DAY, day_of, day_start
from service.db.database import Database
from service.errors import Unavailable
from service.instants import SECOND, to_datetime
from service.models import AuditRequest, WeeklyReport
from service.settings import Settings

CATCH_UP_DAYS = 60
"""So many of the latest days with turns are caught up by themselves; older ones by hand."""

TOUCH_EVERY = 20 * SECOND
_log = logging.getLogger("doxa.auditor")

# Publishes the report of (agent id, ISO week like 2026-W40); it is called again until the report
# stands in `weekly_reports`.
PublishWeek = Callable[[str, str], None]


def due_days(session: Session, agent_id: str, zone: ZoneInfo, now: int, hour: int) -> list[date]:
    """The days whose night has come and that no run has ended, oldest first.

    The latest day is also due without turns of its own when turns of earlier days came late.
    """
    until = day_start(_today(now, zone, hour), zone)
    days = latest_days_with_turns(session, agent_id, zone, until, limit=CATCH_UP_DAYS)
    latest = day_of(until - 1, zone)
    if latest not in days and has_late_turns(session, agent_id, latest, zone):
        days.append(latest)
    return unaudited(session, agent_id, zone, days)


def _today(now: int, zone: ZoneInfo, hour: int) -> date:
    """The day that began last and whose audit hour has come: the ones before it are due."""
    today = day_of(now, zone)
    return today if to_datetime(now).astimezone(zone).hour >= hour else today - ONE_DAY


def complete_week(now: int, zone: ZoneInfo, hour: int) -> str:
    """The last ISO week whose Sunday has been due for its audit."""
    today = _today(now, zone, hour)
    sunday = today - timedelta(days=today.isoweekday())
    year, week, _ = sunday.isocalendar()
    return f"{year:04d}-W{week:02d}"


class AuditScheduler:
    """Nightly runs, catch-up and the queue; `start` returns at once, `stop` ends after a turn."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        clock: Callable[[], int],
        method: Method | None = None,
        publish_week: PublishWeek | None = None,
    ) -> None:
        self._database = database
        self._settings = settings
        self._clock = clock
        self._publish_week = publish_week
        self._stopping = Event()
        self._zones: dict[str, str] = {}
        self._touched_at = 0
        self._auditor = self._make_auditor(method or builtin_method())
        self._scheduler = BackgroundScheduler(
            timezone=ZoneInfo("UTC"),
            executors={"default": ThreadPoolExecutor(2), "queue": ThreadPoolExecutor(1)},
            # A night that passed while the machine slept is still a night.
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
        )

    def _make_auditor(self, method: Method) -> Auditor:
        return Auditor(
            self._database,
            method,
            self._clock,
            self._settings.audit_sample,
            should_stop=self._stopping.is_set,
        )

    def start(self) -> None:
        """Catches up what was missed, and from then on keeps the nights and the queue."""
        # A request that takes longer than the poll is no reason for a warning every few seconds.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._scheduler.add_job(self._first_pass, id="first-pass")
        self._scheduler.add_job(
            self._poll,
            "interval",
            seconds=self._settings.auditor_poll_seconds,
            id="queue",
            executor="queue",
        )
        self._scheduler.start()

    def stop(self) -> None:
        """Stops after the turn that is being read; the run goes on in the next process."""
        self._stopping.set()
        if self._scheduler.running:
            self._scheduler.shutdown(wait=True)

    def _first_pass(self) -> None:
        with self._database.read() as session:
            agents = [agent.agent_id for agent in all_agents(session)]
        self.refresh_nights()
        for agent_id in agents:
            self.keep_night(agent_id)

    def refresh_nights(self) -> None:
        """Gives every agent its nightly job, at the hour of the zone it has now."""
        with self._database.read() as session:
            zones = {agent.agent_id: agent.time_zone for agent in all_agents(session)}
        for agent_id, zone in zones.items():
            if self._zones.get(agent_id) != zone:
                self._scheduler.add_job(
                    self.keep_night,
                    CronTrigger(hour=self._settings.audit_hour, timezone=ZoneInfo(zone)),
                    args=[agent_id],
                    id=f"night:{agent_id}",
                    replace_existing=True,
                )
                self._zones[agent_id] = zone

    def keep_night(self, agent_id: str) -> None:
        """Audits the days that are due, oldest first, then sees to the week's report."""
        hour = self._settings.audit_hour
        try:
            with self._database.read() as session:
                zone = zone_of(agent_called(session, agent_id))
                days = due_days(session, agent_id, zone, self._clock(), hour)
            for day in days:
                self._audit(self._auditor, agent_id, day)
            self._publish(agent_id, zone)
        except StoppedError:
            return
        except Unavailable as problem:
            _log.warning("the audit of %s waits for its next night: %s", agent_id, problem)

    def _audit(self, auditor: Auditor, agent_id: str, day: date) -> str:
        try:
            outcome = auditor.audit_day(agent_id, day)
        except NothingToAuditError as nothing:
            return str(nothing)
        except RunBusyError as busy:
            _log.info("%s", busy)
            return str(busy)
        audit = outcome.audit
        text = (
            f"{day}: {audit.state}, {audit.turns['done']} of {audit.drawn} drawn turns read, "
            f"{audit.findings} findings"
        )
        if not outcome.was_ended:
            _log.info("audited %s on %s", agent_id, text)
        return text

    def _publish(self, agent_id: str, zone: ZoneInfo) -> None:
        if self._publish_week is None:
            return
        week = complete_week(self._clock(), zone, self._settings.audit_hour)
        with self._database.read() as session:
            is_published = session.get(WeeklyReport, (agent_id, week)) is not None
        if not is_published:
            self._publish_week(agent_id, week)

    def _poll(self) -> None:
        try:
            self.refresh_nights()
            while not self._stopping.is_set() and self.take_request():
                pass
        except StoppedError:
            return
        except Unavailable as problem:
            _log.warning("the audit queue is looked at again later: %s", problem)

    def take_request(self) -> bool:
        """Serves the oldest request, if there is one."""
        with self._database.write() as session:
            request = operations.take_request(session, self._clock())
        if request is None:
            return False
        self._touched_at = self._clock()
        outcome = self._serve(request)
        with self._database.write() as session:
            operations.close_request(session, request.request_id, outcome, self._clock())
        return True

    def _serve(self, request: AuditRequest) -> str:
        def touch(_progress: Progress) -> None:
            if self._clock() - self._touched_at > TOUCH_EVERY:
                self._touched_at = self._clock()
                with self._database.write() as session:
                    operations.touch_request(session, request.request_id, self._touched_at)

        auditor = self._make_auditor(self._auditor.method)
        auditor.on_progress = touch
        with self._database.read() as session:
            zone = zone_of(agent_called(session, request.agent_id))
            days = list(
                days_with_turns(
                    session, request.agent_id, zone, request.window_from, request.window_until
                )
            )
        if not days:
            return "no day of this window has turns"
        return "; ".join(self._audit(auditor, request.agent_id, day) for day in days)
