from collections.abc import Iterable
from typing import Any
from zoneinfo import ZoneInfo

from service.db.database import Database
from service.ratios.definitions import Dimension
from service.ratios.figures import RatioName
from service.ratios.queries import current_as_of
from service.ratios.reading import Ratios, read_ratios
from service.ratios.window import AsOf, View, Window
from tests.service.ratios.record_builder import AGENT, MONDAY, NEXT_MONDAY


def view(
    database: Database,
    *,
    start: int = MONDAY,
    until: int = NEXT_MONDAY,
    zone: str = "UTC",
    as_of: AsOf | None = None,
) -> View:
    """The week of 28 September 2026, or another window, of the record as it stands."""
    with database.read() as session:
        current = current_as_of(session, AGENT)
    return View(AGENT, ZoneInfo(zone), as_of or current, Window(start, until))


def ratios(
    seen: View,
    database: Database,
    *,
    names: Iterable[RatioName] = tuple(RatioName),
    dimension: Dimension | None = None,
) -> Ratios:
    """Ratios of a view."""
    with database.read() as session:
        return read_ratios(session, seen, names, dimension=dimension)


def as_json(found: Ratios) -> dict[str, Any]:
    """All that was read, as it stands in answers."""
    body: dict[str, Any] = {name: figure.as_json() for name, figure in found.figures.items()}
    if found.signature is not None:
        body["bypass_signature"] = found.signature.as_json()
    return body
