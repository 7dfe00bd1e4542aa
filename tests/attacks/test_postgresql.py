"""What PostgreSQL offers to get around a trigger: as a superuser, and in the roles Doxa makes."""

import pytest

from service.db import schema
from service.db.database import Database
from service.db.triggers import counted_attempts
from service.errors import ConfigurationError
from tests.attacks.attacker import (
    WRITE_ONCE,
    a_row,
    attacking,
    notes,
    rows_of,
    table_called,
)


@pytest.fixture
def guarded(postgresql_record: Database) -> Database:
    """A record whose tables belong to a role of their own."""
    schema.make_roles(postgresql_record.writing)
    return postgresql_record


def test_truncate_is_refused_and_counted_though_not_noted(postgresql_record: Database) -> None:
    with attacking(postgresql_record.url) as attacker:
        for name in WRITE_ONCE:
            before, noted = rows_of(postgresql_record, name), notes(postgresql_record)
            with postgresql_record.writing.connect() as connection:
                counted = counted_attempts(connection)
            for statement in (f"TRUNCATE {name}", f"TRUNCATE {name} CASCADE"):
                refusal = attacker.attempt(statement)
                assert refusal is not None
                assert f"write-once: {name} refuses TRUNCATE" in refusal
            assert rows_of(postgresql_record, name) == before
            assert notes(postgresql_record) == noted
            with postgresql_record.writing.connect() as connection:
                assert counted_attempts(connection) == counted + 2


def test_an_attempt_that_is_rolled_back_stays_counted(postgresql_record: Database) -> None:
    with postgresql_record.writing.connect() as connection:
        counted = counted_attempts(connection)
    with attacking(postgresql_record.url) as attacker:
        for statement in ("BEGIN", "DELETE FROM turns WHERE seq = 1", "ROLLBACK"):
            attacker.run(statement)
    with postgresql_record.writing.connect() as connection:
        assert counted_attempts(connection) == counted + 1
    assert ("turns", "delete") not in notes(postgresql_record)


def test_triggers_fire_for_a_replica_as_well(postgresql_record: Database) -> None:
    before = rows_of(postgresql_record, "turns")
    with attacking(postgresql_record.url) as attacker:
        attacker.run("SET session_replication_role = replica")
        attacker.run("UPDATE turns SET ts = 0")
        attacker.run("DELETE FROM turns")
        assert attacker.attempt("TRUNCATE turns") is not None
    assert rows_of(postgresql_record, "turns") == before
    assert notes(postgresql_record)[-4:] == [("turns", "update")] * 2 + [("turns", "delete")] * 2


def test_names_that_come_first_in_the_search_path_open_nothing(
    postgresql_record: Database,
) -> None:
    before = rows_of(postgresql_record, "turns")
    with attacking(postgresql_record.url) as attacker:
        for statement in (
            "CREATE TEMP TABLE ledger_changes (LIKE public.ledger_changes)",
            (
                "CREATE TEMP TABLE redactions AS SELECT 'piper'::text AS agent_id, "
                "'agent'::text AS target_log, 1 AS target_seq, 'turns'::text AS target_table"
            ),
            "CREATE SCHEMA mine",
            (
                "CREATE FUNCTION mine.to_jsonb(anyelement) RETURNS jsonb LANGUAGE sql "
                "AS 'SELECT NULL::jsonb'"
            ),
            "SET search_path = mine, pg_temp, public",
            "UPDATE public.turns SET payload = NULL, payload_salt = NULL WHERE seq = 1",
            "DELETE FROM public.turns",
        ):
            attacker.run(statement)
        assert attacker.run("SELECT count(*) FROM pg_temp.ledger_changes") == [(0,)]
    assert rows_of(postgresql_record, "turns") == before
    assert notes(postgresql_record)[-1] == ("turns", "delete")


def test_a_cascade_stops_at_a_write_once_row(postgresql_record: Database) -> None:
    with attacking(postgresql_record.url) as attacker:
        attacker.run("CREATE TABLE parent (id bigint PRIMARY KEY)")
        attacker.run("INSERT INTO parent VALUES (1), (2)")
        attacker.run(
            "ALTER TABLE turns ADD FOREIGN KEY (seq) REFERENCES parent ON DELETE CASCADE "
            "ON UPDATE CASCADE"
        )
        before = rows_of(postgresql_record, "turns")
        attacker.attempt("UPDATE parent SET id = 12 WHERE id = 2")
        attacker.attempt("DELETE FROM parent WHERE id = 1")
        attacker.attempt("TRUNCATE parent CASCADE")
    assert rows_of(postgresql_record, "turns") == before
    assert {("turns", "update"), ("turns", "delete")} <= set(notes(postgresql_record))


@pytest.fixture(params=["doxa_writer", "doxa_auditor", "doxa_reader"])
def role(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_no_role_changes_a_row(guarded: Database, role: str) -> None:
    with attacking(guarded.url, role) as attacker:
        for name in WRITE_ONCE:
            column = table_called(name).columns.keys()[-1]
            before = rows_of(guarded, name)
            for statement in (
                f"UPDATE {name} SET {column} = NULL",
                f"DELETE FROM {name}",
                f"TRUNCATE {name}",
                f"MERGE INTO {name} AS t USING (SELECT 1) AS s ON true WHEN MATCHED THEN DELETE",
                f"COPY {name} FROM PROGRAM 'true'",
            ):
                assert "permission denied" in (attacker.attempt(statement) or ""), statement
            assert rows_of(guarded, name) == before


DEFINITIONS = (
    "CREATE TEMP TABLE turns (a int)",
    "CREATE TABLE public.mine (a int)",
    "CREATE SCHEMA mine",
    "CREATE FUNCTION public.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    (
        "CREATE OR REPLACE FUNCTION public.doxa_write_once() RETURNS trigger LANGUAGE plpgsql "
        "AS 'BEGIN RETURN NEW; END'"
    ),
    "DROP FUNCTION public.doxa_write_once() CASCADE",
    "ALTER TABLE turns DISABLE TRIGGER ALL",
    "ALTER TABLE turns DISABLE TRIGGER turns_refuse_change",
    "ALTER TABLE turns RENAME TO other",
    "ALTER TABLE turns ADD COLUMN other int",
    "ALTER TABLE turns DISABLE ROW LEVEL SECURITY",
    "DROP TABLE turns",
    "DROP TRIGGER turns_refuse_change ON turns",
    "ALTER TRIGGER turns_refuse_change ON turns RENAME TO other",
    (
        "CREATE TRIGGER other BEFORE UPDATE ON turns FOR EACH ROW "
        "EXECUTE FUNCTION suppress_redundant_updates_trigger()"
    ),
    "CREATE RULE other AS ON UPDATE TO turns DO INSTEAD NOTHING",
    "CREATE POLICY other ON turns",
    "CREATE TABLE other () INHERITS (turns)",
    "ALTER SEQUENCE ledger_changes_change_id_seq RESTART",
    "ALTER SCHEMA public RENAME TO other",
    "DROP SCHEMA doxa_guard CASCADE",
    "DROP EVENT TRIGGER doxa_no_ddl",
    "ALTER EVENT TRIGGER doxa_no_ddl DISABLE",
    "TRUNCATE doxa_guard.protected",
)  # fmt: skip


def test_no_role_defines_anything(guarded: Database, role: str) -> None:
    with attacking(guarded.url, role) as attacker:
        for statement in (
            *DEFINITIONS,
            "SET session_replication_role = replica",
            "SET ROLE doxa_owner",
            "SELECT setval('ledger_changes_change_id_seq', 1)",
        ):
            assert attacker.attempt(statement) is not None, statement
        attacker.attempt(f"GRANT UPDATE ON turns TO {role}")  # a warning, and nothing granted
        assert attacker.run("SELECT has_table_privilege('turns', 'UPDATE')") == [(False,)]
    schema.check(guarded.writing)


def test_not_even_the_owner_takes_the_guard_away(guarded: Database) -> None:
    with attacking(guarded.url) as attacker:
        attacker.run("GRANT CREATE ON SCHEMA public TO doxa_owner")
        attacker.run("SET ROLE doxa_owner")
        for statement in DEFINITIONS:
            if statement.startswith(("CREATE TABLE public.mine", "CREATE FUNCTION public.mine")):
                continue  # what is new touches nothing of ours
            assert attacker.attempt(statement) is not None, statement
    schema.check(guarded.writing)


def test_what_is_protected_is_known_by_its_oid(guarded: Database) -> None:
    """A superuser who lifts the event triggers and renames a table does not free it by that."""
    with attacking(guarded.url) as attacker:
        attacker.run("ALTER EVENT TRIGGER doxa_no_ddl DISABLE")
        attacker.run("ALTER TABLE turns RENAME TO other")
        attacker.run("ALTER EVENT TRIGGER doxa_no_ddl ENABLE ALWAYS")
        for statement in ("ALTER TABLE other DISABLE TRIGGER ALL", "DROP TABLE other"):
            assert "write-once" in (attacker.attempt(statement) or ""), statement
        with pytest.raises(ConfigurationError, match="turns_refuse_change on turns is missing"):
            schema.check(guarded.writing)


def test_only_triggers_write_notes(guarded: Database, role: str) -> None:
    with attacking(guarded.url, role) as attacker:
        refusal = attacker.attempt(
            "INSERT INTO ledger_changes (at, table_name, op, refused, row_key) "
            "VALUES (0, 'turns', 'update', 1, '{}')"
        )
    assert "permission denied" in (refusal or "")


def test_the_writers_attempt_on_a_payload_is_noted(guarded: Database) -> None:
    before = rows_of(guarded, "turns")
    with attacking(guarded.url, "doxa_writer") as attacker:
        attacker.run("UPDATE turns SET payload = NULL, payload_salt = NULL")
        row = a_row(table_called("turns"), 3)
        places = ", ".join(["%s"] * len(row))
        attacker.connection.execute(
            f"INSERT INTO turns ({', '.join(row)}) VALUES ({places}) "
            "ON CONFLICT (agent_id, turn_id) DO UPDATE SET payload = 'other'",
            list((row | {"turn_id": "turn_id-1"}).values()),
        )
    assert rows_of(guarded, "turns") == before
    assert notes(guarded)[-3:] == [("turns", "update")] * 3


def test_readers_see_neither_keys_nor_the_seed_of_a_draw(guarded: Database) -> None:
    with attacking(guarded.url, "doxa_reader") as attacker:
        for statement in (
            "SELECT * FROM api_keys",
            "SELECT * FROM idempotency_keys",
            "SELECT seed FROM audit_runs",
            "SELECT * FROM audit_samples",
        ):
            assert "permission denied" in (attacker.attempt(statement) or ""), statement
        assert attacker.attempt("SELECT state, population FROM audit_runs") is None
        assert attacker.attempt("SELECT * FROM cog_events") is None


def test_a_superuser_can_lift_all_of_it_and_is_found_at_the_next_start(
    guarded: Database,
) -> None:
    """Not refused: whoever is superuser, or holds the data folder, is beyond ring 1."""
    with attacking(guarded.url) as attacker:
        attacker.run("ALTER EVENT TRIGGER doxa_no_ddl DISABLE")
        with pytest.raises(ConfigurationError, match="doxa_no_ddl"):
            schema.check(guarded.writing)
        attacker.run("ALTER TABLE turns DISABLE TRIGGER ALL")
        attacker.run("UPDATE turns SET ts = 0")
    place = table_called("turns").columns.keys().index("ts")
    assert {row[place] for row in rows_of(guarded, "turns")} == {0}
    with pytest.raises(ConfigurationError, match="turns_refuse_change on turns is not enabled"):
        schema.check(guarded.writing)
    schema.put_triggers_back(guarded.writing)
    schema.check(guarded.writing)
