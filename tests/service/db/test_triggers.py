"""The triggers that stand are those of the files, after every migration and at every start."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Column, Connection, UniqueConstraint

import triggers
from service.db import schema
from service.db.database import Database
from service.db.grants import GRANTS, PROTECTED
from service.db.triggers import differences
from service.errors import ConfigurationError
from service.models import Record
from tests.attacks.attacker import (
    PAYLOADS,
    WRITE_ONCE,
    attacking,
    lay_down,
    rows_of,
    table_called,
)
from tests.postgres import PostgresCluster
from tests.processes import ROOT, doxa, environment

SYSTEMS = ("sqlite", "postgresql")


def test_every_write_once_table_has_its_file() -> None:
    committed = {
        name for name, table in Record.metadata.tables.items() if "leaf_hash" in table.columns
    }
    assert set(WRITE_ONCE) == committed | {"belief_versions", "ledger_changes"}
    assert set(triggers.tables()) == set(WRITE_ONCE)
    assert triggers.tables()[0] == triggers.FIRST


def names(columns: Iterable[Column[Any]]) -> list[str]:
    return [str(column.name) for column in columns]


@pytest.mark.parametrize("name", WRITE_ONCE)
def test_the_guard_of_inserts_looks_at_every_unique_key(name: str) -> None:
    if name == "ledger_changes":
        return  # takes no number from outside at all
    table = table_called(name)
    (guard,) = [text for text in triggers.statements("sqlite", name) if "BEFORE INSERT" in text]
    uniques = [u for u in table.constraints if isinstance(u, UniqueConstraint)]
    for key in (table.primary_key, *uniques):
        looked_up = " AND ".join(f"{column} = NEW.{column}" for column in names(key.columns))
        assert f"WHERE {looked_up}\n" in guard
    assert guard.count("EXISTS") == 1 + len(uniques)


@pytest.mark.parametrize("name", WRITE_ONCE)
def test_a_refused_update_is_compared_in_all_columns(name: str) -> None:
    (update,) = [text for text in triggers.statements("sqlite", name) if "BEFORE UPDATE" in text]
    allowed, noted = update.split("BEGIN")
    for column in names(table_called(name).columns):
        assert f"NEW.{column} IS NOT OLD.{column}" in noted
        if name in PAYLOADS:
            kept = column not in PAYLOADS[name]
            assert (f"NEW.{column} IS OLD.{column}" in allowed) == kept
            assert (f"NEW.{column} IS NULL" in allowed) != kept


def test_every_table_has_its_grants() -> None:
    assert set(GRANTS) == {*Record.metadata.tables, "alembic_version"}
    for name in WRITE_ONCE:
        for privileges in (GRANTS[name].writer, GRANTS[name].auditor, GRANTS[name].reader):
            assert "DELETE" not in privileges
            assert re.findall(r"UPDATE.*", privileges) in (
                [], [f"UPDATE ({', '.join(PAYLOADS.get(name, ()))})"]
            )  # fmt: skip
    assert set(PROTECTED) >= set(WRITE_ONCE)


def migrate_down(database: Database, target: str) -> None:
    config = schema.alembic_config()
    with database.writing.begin() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, target)


def found(database: Database) -> list[str]:
    with database.writing.connect() as connection:
        return [str(difference) for difference in differences(connection)]


def test_up_down_and_up_again_with_rows_in_every_table(database: Database) -> None:
    lay_down(database)
    before = {name: rows_of(database, name) for name in WRITE_ONCE}
    migrate_down(database, "0002")
    assert len(found(database)) == len(
        [made for made in triggers.definitions(database.writing.name) if made.kind == "trigger"]
    )
    with attacking(database.url) as attacker:
        assert attacker.attempt("DELETE FROM hand_check_verdicts") is None
    schema.migrate(database.writing)
    assert found(database) == []
    del before["hand_check_verdicts"]
    assert {name: rows_of(database, name) for name in before} == before
    migrate_down(database, "base")
    schema.migrate(database.writing)
    assert found(database) == []


SPOILT: dict[str, dict[str, str]] = {
    "sqlite": {
        "DROP TRIGGER turns_refuse_update": "turns_refuse_update on turns is missing",
        "ALTER TABLE turns RENAME TO other; ALTER TABLE other RENAME TO turns": (
            "turns_refuse_update on turns was altered"
        ),
        "CREATE TRIGGER mine BEFORE INSERT ON turns BEGIN SELECT RAISE(IGNORE); END": (
            "mine on turns is none of Doxa's"
        ),
        "CREATE TRIGGER mine AFTER UPDATE ON log_heads BEGIN SELECT 1; END": (
            "mine on log_heads is none of Doxa's"
        ),
    },
    "postgresql": {
        "DROP TRIGGER turns_refuse_change ON turns": "turns_refuse_change on turns is missing",
        "ALTER TABLE turns DISABLE TRIGGER turns_refuse_change": (
            "turns_refuse_change on turns is not enabled always"
        ),
        "ALTER TABLE turns ENABLE TRIGGER turns_refuse_truncate": (
            "turns_refuse_truncate on turns is not enabled always"
        ),
        "CREATE OR REPLACE TRIGGER turns_refuse_change BEFORE DELETE ON turns FOR EACH ROW "
        "EXECUTE FUNCTION doxa_write_once('agent_id')": "turns_refuse_change on turns was altered",
        "CREATE OR REPLACE FUNCTION doxa_write_once() RETURNS trigger LANGUAGE plpgsql "
        "SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN NEW; END'": (
            "turns_refuse_change on turns runs a function doxa_write_once that was altered"
        ),
        "ALTER FUNCTION doxa_write_once() RESET search_path": (
            "turns_refuse_change on turns runs a function doxa_write_once that was altered"
        ),
        "CREATE RULE mine AS ON UPDATE TO turns DO INSTEAD NOTHING": (
            "mine on turns is none of Doxa's"
        ),
        "CREATE TRIGGER mine BEFORE INSERT ON turns FOR EACH ROW "
        "EXECUTE FUNCTION suppress_redundant_updates_trigger()": "mine on turns is none of Doxa's",
    },
}


@pytest.mark.parametrize(
    ("system", "spoiling"), [(s, text) for s, texts in SPOILT.items() for text in texts]
)
def test_what_is_missing_or_altered_is_named_with_the_remedy_which_works(
    system: str, spoiling: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    database = request.getfixturevalue(f"{system}_database")
    with attacking(database.url) as attacker:
        for statement in re.split("; (?=ALTER TABLE)", spoiling):
            attacker.run(statement)
    expected = SPOILT[system][spoiling]
    for attempt in (schema.check, schema.migrate):
        with pytest.raises(ConfigurationError, match="doxa migrate --triggers") as refusal:
            attempt(database.writing)
        assert expected in str(refusal.value)
    schema.put_triggers_back(database.writing)
    schema.check(database.writing)
    schema.migrate(database.writing)


@pytest.fixture
def sqlite_database(sqlite_template: Path, tmp_path: Path) -> Iterator[Database]:
    path = tmp_path / "doxa.db"
    shutil.copy(sqlite_template, path)
    opened = Database(f"sqlite:///{path}")
    yield opened
    opened.close()


@pytest.fixture
def postgresql_database(
    postgres: PostgresCluster, request: pytest.FixtureRequest
) -> Iterator[Database]:
    name = f"spoilt_{abs(hash(request.node.name))}"
    opened = Database(postgres.create(name, template="doxa_template"))
    yield opened
    opened.close()


def test_doxa_refuses_to_start_without_a_trigger_and_its_remedy_helps(
    database_url: str, tmp_path: Path
) -> None:
    drop = {
        "sqlite": "DROP TRIGGER cog_events_refuse_delete",
        "postgresql": "DROP TRIGGER cog_events_refuse_change ON cog_events",
    }
    with attacking(database_url) as attacker:
        attacker.run(drop[database_url.partition(":")[0].partition("+")[0]])
    settings = environment(database_url=database_url, data_dir=str(tmp_path))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            doxa(*arguments), cwd=ROOT, env=settings, capture_output=True, text=True,
            timeout=60, check=False,
        )  # fmt: skip

    refused = run("serve", "--port", "0")
    assert refused.returncode == 2
    assert "cog_events_refuse" in refused.stderr
    assert "doxa migrate --triggers" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert run("migrate", "--triggers").returncode == 0
    again = Database(database_url)
    schema.check(again.writing)
    again.close()


def rebuild(connection: Connection, *, reinstall: bool) -> None:
    """What a later revision may do to a table: batch mode makes it anew on SQLite."""
    operations = Operations(MigrationContext.configure(connection))
    with operations.batch_alter_table("findings", recreate="always") as batch:
        batch.alter_column("statement", nullable=True)
    if reinstall:
        triggers.reinstall(connection, "findings")


def test_a_revision_that_rebuilds_a_table_must_reinstall_its_triggers(
    sqlite_database: Database,
) -> None:
    lay_down(sqlite_database)
    with sqlite_database.writing.begin() as connection:
        rebuild(connection, reinstall=False)
    assert [line.partition(" ")[0] for line in found(sqlite_database)] == [
        "findings_refuse_replace", "findings_refuse_update", "findings_refuse_delete",
    ]  # fmt: skip
    with pytest.raises(ConfigurationError, match="findings_refuse_update on findings is missing"):
        schema.migrate(sqlite_database.writing)
    with sqlite_database.writing.begin() as connection:
        rebuild(connection, reinstall=True)
    schema.check(sqlite_database.writing)


def test_reinstalling_changes_nothing_where_nothing_is_wrong(database: Database) -> None:
    with database.writing.begin() as connection:
        for table in triggers.tables():
            triggers.reinstall(connection, table)
    schema.check(database.writing)


def test_putting_triggers_back_needs_this_versions_schema(database: Database) -> None:
    migrate_down(database, "0002")
    with pytest.raises(ConfigurationError, match="run `doxa migrate`"):
        schema.put_triggers_back(database.writing)


def test_sqlite_has_no_roles_and_says_so(sqlite_database: Database) -> None:
    with pytest.raises(ConfigurationError, match="SQLite file has none"):
        schema.make_roles(sqlite_database.writing)
