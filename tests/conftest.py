"""Both databases for every test that touches one: built by migrations, copied from a template."""

import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from service.db import schema
from service.db.database import Database
from service.db.opening import open_database
from service.settings import Settings
from tests.postgres import PostgresCluster, running_cluster

DIALECTS = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def key_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The keys of all databases of this test process, for its children, too."""
    return tmp_path_factory.mktemp("keys")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch, key_dir: Path) -> None:
    for name in list(os.environ):
        if name.startswith("DOXA_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DOXA_KEY_DIR", str(key_dir))


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresCluster]:
    """A real PostgreSQL server of this test process, with a migrated template."""
    with running_cluster() as cluster:
        template = Database(cluster.create("doxa_template"))
        schema.migrate(template.writing)
        template.close()
        yield cluster


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy from."""
    path = tmp_path_factory.mktemp("template") / "doxa.db"
    database = Database(f"sqlite:///{path}")
    schema.migrate(database.writing)
    with database.writing.connect() as connection:
        connection.exec_driver_sql("COMMIT")
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.exec_driver_sql("BEGIN")
    database.close()
    return path


@pytest.fixture(params=DIALECTS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a fresh, migrated database: once SQLite, once PostgreSQL."""
    if request.param == "sqlite":
        path = tmp_path / "doxa-data" / "doxa.db"
        path.parent.mkdir()
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    cluster: PostgresCluster = request.getfixturevalue("postgres")
    name = f"doxa_{uuid.uuid4().hex}"
    url = cluster.create(name, template="doxa_template")
    yield url
    with psycopg.connect(cluster.url("postgres"), autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Settings of a service over the fresh database."""
    return Settings(database_url=database_url, data_dir=tmp_path / "doxa-data")


@pytest.fixture
def database(settings: Settings) -> Iterator[Database]:
    """A fresh, migrated database with its keys, on both kinds."""
    opened = open_database(settings)
    yield opened
    opened.close()
