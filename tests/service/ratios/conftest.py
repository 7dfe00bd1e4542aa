import pytest

from service.db.database import Database
from tests.service.ratios.record_builder import RecordBuilder


@pytest.fixture
def record(database: Database) -> RecordBuilder:
    """An agent in UTC with an empty record."""
    return RecordBuilder(database)


@pytest.fixture
def week(record: RecordBuilder) -> RecordBuilder:
    """The week of 28 September 2026 with something in every ratio."""
    record.lay_down()
    return record
