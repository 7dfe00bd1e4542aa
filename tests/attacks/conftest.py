import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.db.database import Database
from tests.attacks.attacker import lay_down
from tests.postgres import PostgresCluster


@pytest.fixture
def record(database: Database) -> Database:
    """A record with two rows in every write-once table, on both databases."""
    lay_down(database)
    return database


@pytest.fixture
def sqlite_record(sqlite_template: Path, tmp_path: Path) -> Iterator[Database]:
    """The same, on SQLite."""
    path = tmp_path / "doxa.db"
    shutil.copy(sqlite_template, path)
    opened = Database(f"sqlite:///{path}")
    lay_down(opened)
    yield opened
    opened.close()


@pytest.fixture
def postgresql_record(postgres: PostgresCluster) -> Iterator[Database]:
    """The same, on PostgreSQL."""
    opened = Database(postgres.create(f"attacked_{uuid.uuid4().hex}", template="doxa_template"))
    lay_down(opened)
    yield opened
    opened.close()
