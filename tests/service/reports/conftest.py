from collections.abc import Iterator

import httpx
import pytest

from cli.server import serving_in_background
from service.app import create_app
from service.db.database import Database
from service.settings import Settings
from tests.service.ratios.record_builder import NEXT_MONDAY, RecordBuilder


@pytest.fixture
def record(database: Database) -> RecordBuilder:
    """An agent in UTC with an empty record."""
    return RecordBuilder(database)


@pytest.fixture
def week(record: RecordBuilder) -> RecordBuilder:
    """The week of 28 September 2026 with something in every ratio."""
    record.lay_down()
    return record


@pytest.fixture
def client(settings: Settings, database: Database) -> Iterator[httpx.Client]:
    """A client of a real server whose clock stands at the end of the week."""
    app = create_app(settings, clock=lambda: NEXT_MONDAY)
    with (
        serving_in_background(app, settings) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=30) as opened,
    ):
        yield opened
