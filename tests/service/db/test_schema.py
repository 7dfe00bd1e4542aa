"""One migration path: whole or not at all, and no code runs on a schema it does not know."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import inspect, text

from service.db import schema
from service.db.database import Database
from service.db.engines import open_engine
from service.errors import ConfigurationError
from service.models import Record
from tests.postgres import PostgresCluster
from tests.processes import ROOT, doxa, environment

TABLES = set(Record.metadata.tables)


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database that was never migrated."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    cluster: PostgresCluster = request.getfixturevalue("postgres")
    return cluster.create(f"empty_{os.getpid()}_{time.time_ns()}")


def tables(url: str) -> set[str]:
    engine = open_engine(url, read_only=False)
    found = set(inspect(engine).get_table_names())
    engine.dispose()
    return found


def test_the_revisions_make_what_the_models_say(database: Database) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    with database.writing.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Record.metadata) == []


def test_sqlite_tables_are_strict(sqlite_template: Path) -> None:
    engine = open_engine(f"sqlite:///{sqlite_template}", read_only=True)
    with engine.connect() as connection:
        rows = connection.exec_driver_sql("PRAGMA table_list").all()
    engine.dispose()
    strict = {row[1] for row in rows if row[5]}
    assert strict >= TABLES


def test_sqlite_is_durable_and_checks_its_keys(sqlite_template: Path) -> None:
    engine = open_engine(f"sqlite:///{sqlite_template}", read_only=False)
    with engine.connect() as connection:
        found = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "foreign_keys")
        }
    engine.dispose()
    assert found == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


def test_migrating_again_changes_nothing(empty_url: str) -> None:
    engine = open_engine(empty_url, read_only=False)
    for _ in range(2):
        schema.migrate(engine)
        schema.check(engine)
    engine.dispose()
    assert tables(empty_url) >= TABLES


def test_an_unmigrated_database_is_refused_with_what_to_do(empty_url: str) -> None:
    engine = open_engine(empty_url, read_only=False)
    with pytest.raises(ConfigurationError, match="doxa migrate"):
        schema.check(engine)
    engine.dispose()


def test_old_code_refuses_a_newer_schema_and_names_both(database_url: str, tmp_path: Path) -> None:
    engine = open_engine(database_url, read_only=False)
    with engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    before = tables(database_url)
    for attempt in (schema.check, schema.migrate):
        with pytest.raises(ConfigurationError) as refusal:
            attempt(engine)
        assert "9999" in str(refusal.value)
        assert schema.expected_revision() in str(refusal.value)
    engine.dispose()
    started = subprocess.run(
        doxa("serve", "--port", "0"),
        cwd=ROOT,
        env=environment(database_url=database_url, data_dir=str(tmp_path)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert started.returncode == 2
    assert "newer Doxa" in started.stderr
    assert "Traceback" not in started.stderr
    assert tables(database_url) == before


SLOW_MIGRATION = """
import sys, time
from sqlalchemy import event
from service.db import schema
from service.db.engines import open_engine
engine = open_engine(sys.argv[1], read_only=False)
@event.listens_for(engine, "after_cursor_execute")
def slowly(connection, cursor, statement, parameters, context, executemany):
    if statement.lstrip().startswith("CREATE TABLE beliefs"):
        print("half-way", flush=True)
        time.sleep(60)
schema.migrate(engine)
"""


def test_a_migration_killed_half_way_can_be_run_again(empty_url: str) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", SLOW_MIGRATION, empty_url],
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "half-way\n", "the fault must hit inside the migration"
    child.send_signal(signal.SIGKILL)
    child.wait(10)
    child.stdout.close()
    assert tables(empty_url).isdisjoint(TABLES), "half a schema is no schema"
    engine = open_engine(empty_url, read_only=False)
    schema.migrate(engine)
    schema.check(engine)
    engine.dispose()
    assert tables(empty_url) >= TABLES


def test_two_processes_that_migrate_at_once_both_succeed(empty_url: str) -> None:
    children = [
        subprocess.Popen(
            doxa("migrate"), cwd=ROOT, env=environment(database_url=empty_url),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    for child in children:
        _out, err = child.communicate(timeout=60)
        assert child.returncode == 0, err
    assert tables(empty_url) >= TABLES
