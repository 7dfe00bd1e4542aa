from typing import Any
from zoneinfo import ZoneInfo

from service.db.database import Database
from service.ratios.queries import current_as_of
from service.ratios.window import AsOf
from service.reports.weekly import Report, make_report
from tests.service.ratios.record_builder import AGENT

WEEK = "2026-W40"


def report(
    database: Database, week: str = WEEK, *, zone: str = "UTC", as_of: AsOf | None = None
) -> Report:
    """The report of a week from the record as it stands, or as it stood."""
    with database.read() as session:
        state = as_of or current_as_of(session, AGENT)
        return make_report(session, AGENT, ZoneInfo(zone), week, state)


def figures(made: Report) -> dict[str, dict[str, Any]]:
    """The eight by name, as they stand in answers."""
    return {figure["name"]: figure for figure in made.as_json()["figures"]}


def parts(figure: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A figure's parts by name."""
    return {part["name"]: part for part in figure["parts"]}
