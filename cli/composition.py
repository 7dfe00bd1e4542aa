"""Puts the service, its pages and its auditor together: the one place that knows them all."""

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import FastAPI

from dashboards.pages import router as pages_router
from service.app import create_app, system_clock
from service.db.opening import open_database
from service.settings import Settings
from service.upkeep import Upkeep


def compose(settings: Settings) -> FastAPI:
    """The API and the pages over a migrated database."""
    app = create_app(settings)
    app.include_router(pages_router)
    return app


@contextmanager
def keeping(app: FastAPI) -> Iterator[None]:
    """Does what is due by the clock (`service.upkeep`) while the block serves the app."""
    state = app.state.doxa
    upkeep = Upkeep(
        state.database,
        app.state.writer,
        clock=state.clock,
        retain_payloads=state.settings.retain_payloads,
    )
    upkeep.start()
    try:
        yield
    finally:
        upkeep.stop()


@contextmanager
def auditing(settings: Settings) -> Iterator[None]:
    """Keeps the nightly audits, the queue and the Monday report while the block runs."""
    from auditor.scheduler import AuditScheduler
    from service.reports.operations import publish_report

    database = open_database(settings)

    def publish(agent_id: str, week: str) -> None:
        with database.write() as session:
            publish_report(session, agent_id, week, system_clock())

    scheduler = AuditScheduler(database, settings, clock=system_clock, publish_week=publish)
    scheduler.start()
    try:
        yield
    finally:
        scheduler.stop()
        database.close()
