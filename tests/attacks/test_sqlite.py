"""What SQLite offers to get around a trigger, tried on every write-once table."""

import sqlite3
from collections.abc import Sequence

import pytest
from sqlalchemy import UniqueConstraint

from service.db.database import Database
from tests.attacks.attacker import WRITE_ONCE, a_row, attacking, notes, rows_of, table_called

NUMBERED = sorted(set(WRITE_ONCE) - {"ledger_changes"})
CONFLICTS = ("ROLLBACK", "ABORT", "FAIL", "IGNORE", "REPLACE")


def unique_keys(name: str) -> list[list[str]]:
    table = table_called(name)
    others = [u for u in table.constraints if isinstance(u, UniqueConstraint)]
    return [table.primary_key.columns.keys(), *(u.columns.keys() for u in others)]


def literal(value: object) -> str:
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return f"'{value}'" if isinstance(value, str) else str(value)


def colliding(name: str, key: Sequence[str]) -> str:
    """Columns and values of a new row that collides with row 1 by one unique key alone."""
    table = table_called(name)
    row = a_row(table, 5) | {column: a_row(table, 1)[column] for column in key}
    return f"({', '.join(row)}) VALUES ({', '.join(map(literal, row.values()))})"


@pytest.mark.parametrize("verb", ["REPLACE INTO", "INSERT OR REPLACE INTO"])
@pytest.mark.parametrize("recursive", ["OFF", "ON"])
def test_no_row_is_replaced_by_any_unique_key(
    sqlite_record: Database, verb: str, recursive: str
) -> None:
    with attacking(sqlite_record.url) as attacker:
        attacker.run(f"PRAGMA recursive_triggers = {recursive}")
        for name in NUMBERED:
            before = rows_of(sqlite_record, name)
            for key in unique_keys(name):
                refusal = attacker.attempt(f"{verb} {name} {colliding(name, key)}")
                assert refusal == f"already recorded: {name}"
            assert rows_of(sqlite_record, name) == before, name


def test_no_row_is_replaced_by_its_rowid(sqlite_record: Database) -> None:
    with attacking(sqlite_record.url) as attacker:
        for name in NUMBERED:
            before = rows_of(sqlite_record, name)
            row = a_row(table_called(name), 5)
            for alias in ("rowid", "oid", "_rowid_"):
                assert attacker.attempt(
                    f"REPLACE INTO {name} ({alias}, {', '.join(row)}) "
                    f"VALUES (1, {', '.join(map(literal, row.values()))})"
                )
            assert rows_of(sqlite_record, name) == before, name


def test_a_note_is_not_replaced_by_its_number(sqlite_record: Database) -> None:
    before = rows_of(sqlite_record, "ledger_changes")
    with attacking(sqlite_record.url) as attacker:
        refusal = attacker.attempt(
            "REPLACE INTO ledger_changes VALUES (1, 0, 'none', 'none', 0, '{}', NULL, NULL)"
        )
    assert refusal is not None
    assert rows_of(sqlite_record, "ledger_changes") == before


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_no_conflict_clause_gets_an_update_through(sqlite_record: Database, conflict: str) -> None:
    with attacking(sqlite_record.url) as attacker:
        for name in WRITE_ONCE:
            before = rows_of(sqlite_record, name)
            noted = len(notes(sqlite_record))
            key = unique_keys(name)[0][-1]
            first = literal(a_row(table_called(name), 1)[key])
            for change in (f"{key} = {first}", "rowid = 1", f"rowid = rowid + 1, {key} = {first}"):
                refusal = attacker.attempt(f"UPDATE OR {conflict} {name} SET {change}")
                assert refusal == f"write-once: {name} refuses UPDATE"
            assert rows_of(sqlite_record, name)[: len(before)] == before, name
            assert notes(sqlite_record)[noted:] == [(name, "update")] * 3


def test_a_cascade_stops_at_a_write_once_row(sqlite_record: Database) -> None:
    with attacking(sqlite_record.url) as attacker:
        attacker.run("PRAGMA foreign_keys = ON")
        attacker.run("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
        attacker.run("INSERT INTO parent VALUES (1)")
        for action in ("CASCADE", "SET NULL"):
            column = f"parent_{action.replace(' ', '_').lower()}"
            attacker.run(
                f"ALTER TABLE turns ADD COLUMN {column} INTEGER "
                f"REFERENCES parent (id) ON DELETE {action}"
            )
            row = a_row(table_called("turns"), 6 + len(action)) | {column: 1}
            attacker.run(
                f"INSERT INTO turns ({', '.join(row)}) "
                f"VALUES ({', '.join(map(literal, row.values()))})"
            )
            before = rows_of(sqlite_record, "turns")
            assert attacker.attempt("DELETE FROM parent") is not None
            assert rows_of(sqlite_record, "turns") == before


def test_an_attached_file_refuses_as_well(sqlite_record: Database) -> None:
    before = rows_of(sqlite_record, "turns")
    path = sqlite_record.url.removeprefix("sqlite:///")
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("ATTACH ? AS record", (path,))
    for statement in (
        "UPDATE record.turns SET ts = 0",
        "DELETE FROM record.turns",
        f"REPLACE INTO record.turns {colliding('turns', ['agent_id', 'turn_id'])}",
    ):
        with pytest.raises(sqlite3.IntegrityError, match=r"write-once|already recorded"):
            connection.execute(statement)
    connection.close()
    assert rows_of(sqlite_record, "turns") == before
    assert notes(sqlite_record)[-2:] == [("turns", "update"), ("turns", "delete")]


def test_temporary_tables_and_triggers_of_the_same_names_open_nothing(
    sqlite_record: Database,
) -> None:
    before = rows_of(sqlite_record, "turns")
    with attacking(sqlite_record.url) as attacker:
        for statement in (
            "CREATE TEMP TABLE ledger_changes AS SELECT * FROM main.ledger_changes",
            (
                "CREATE TEMP TABLE redactions AS SELECT 'piper' agent_id, 'agent' target_log, "
                "1 target_seq, 'turns' target_table"
            ),
            (
                "CREATE TEMP TRIGGER turns_refuse_update BEFORE UPDATE ON main.turns "
                "BEGIN SELECT 1; END"
            ),
            (
                "CREATE TEMP TRIGGER turns_refuse_delete BEFORE DELETE ON main.turns "
                "BEGIN SELECT 1; END"
            ),
        ):
            attacker.run(statement)
        for statement in (
            "UPDATE turns SET ts = 0",
            "UPDATE main.turns SET payload = NULL, payload_salt = NULL WHERE seq = 1",
            "DELETE FROM main.turns",
        ):
            assert attacker.attempt(statement) is not None
    assert rows_of(sqlite_record, "turns") == before
    assert notes(sqlite_record)[-1] == ("turns", "delete"), "noted in the real table"


def test_a_temporary_trigger_can_hide_the_note_but_not_make_the_change(
    sqlite_record: Database,
) -> None:
    before, noted = rows_of(sqlite_record, "turns"), notes(sqlite_record)
    with attacking(sqlite_record.url) as attacker:
        attacker.run(
            "CREATE TEMP TRIGGER quiet BEFORE INSERT ON main.ledger_changes "
            "BEGIN SELECT RAISE(IGNORE); END"
        )
        assert attacker.attempt("DELETE FROM turns") is not None
    assert rows_of(sqlite_record, "turns") == before
    assert notes(sqlite_record) == noted, "what the threat model says is not kept"


def test_functions_of_the_attackers_own_change_nothing(sqlite_record: Database) -> None:
    before = rows_of(sqlite_record, "turns")
    with attacking(sqlite_record.url) as attacker:
        for name in ("json_object", "strftime", "substr", "hex"):
            attacker.connection.create_function(name, -1, lambda *_: 1 / 0)
        assert attacker.attempt("DELETE FROM turns") is not None
        assert attacker.attempt("UPDATE turns SET ts = 0") is not None
        key = unique_keys("turns")[1]
        assert attacker.attempt(f"REPLACE INTO turns {colliding('turns', key)}") is not None
    assert rows_of(sqlite_record, "turns") == before
