"""Policy `record`: what is done to a watched ledger happens, and each change of content is noted.

The ledger here is an agent's own: a table of its shape, in a database with the change table alone.
"""

import json
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from tests.attacks.attacker import Attacker
from tests.postgres import PostgresCluster
from triggers.recording import Ledger, change_table_statements, record_statements

LEDGER = Ledger(
    "Beliefs of 'piper'", "id", ("content", "label"), unique=(("slug",),), agent_id="pi\"p'er"
)
NAME = "\"Beliefs of 'piper'\""
TABLES = {
    "sqlite": f"CREATE TABLE {NAME} (id TEXT PRIMARY KEY COLLATE NOCASE, content, "
    "label TEXT COLLATE NOCASE, slug TEXT UNIQUE, uses INTEGER DEFAULT 0)",
    "postgresql": f"CREATE TABLE {NAME} (id text PRIMARY KEY, content text, label text, "
    "slug text UNIQUE, uses bigint DEFAULT 0)",
}
ROWS = (
    f"INSERT INTO {NAME} VALUES ('b1', 'one', 'know', 's1', 0), ('b2', 'two', 'guess', 's2', 0), "
    "('b3', NULL, 'infer', 's3', 0)"
)
UPSERT = "ON CONFLICT (id) DO UPDATE SET content = excluded.content, label = excluded.label"
Change = tuple[str, str, Any, Any]


def install(attacker: Attacker, system: str) -> None:
    attacker.run(TABLES[system])
    for statement in (
        *change_table_statements(system),
        *record_statements(system, LEDGER),
        ROWS,
    ):
        attacker.connection.execute(statement)


@pytest.fixture
def on_sqlite() -> Iterator[Attacker]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        attacker = Attacker(connection)
        install(attacker, "sqlite")
        yield attacker


@pytest.fixture
def on_postgresql(postgres: PostgresCluster) -> Iterator[Attacker]:
    url = postgres.create(f"ledger_{uuid.uuid4().hex}")
    with psycopg.connect(url, autocommit=True) as connection:
        attacker = Attacker(connection)
        install(attacker, "postgresql")
        yield attacker


@pytest.fixture(params=["sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest) -> Attacker:
    found: Attacker = request.getfixturevalue(f"on_{request.param}")
    return found


def noted(attacker: Attacker, statement: str) -> list[Change]:
    """What a statement leaves in the change table: operation, key, old and new content."""
    last = attacker.run("SELECT coalesce(max(change_id), 0) FROM ledger_changes")[0][0]
    attacker.run(statement)
    rows = attacker.run(
        "SELECT op, row_key, old_row, new_row, refused, table_name, at FROM ledger_changes "
        f"WHERE change_id > {last} ORDER BY change_id"
    )
    changes = []
    for op, key, old, new, refused, table, at in rows:
        named = json.loads(key)
        assert named.pop("agent_id") == LEDGER.agent_id
        assert (refused, table) == (0, LEDGER.table)
        assert at > 1_700_000_000_000_000
        changes.append((op, named["id"], json.loads(old), json.loads(new) if new else None))
    return changes


def content(text: Any, label: Any) -> dict[str, Any]:
    return {"content": text, "label": label}


def test_bookkeeping_a_thousand_times_and_content_once_is_one_change(ledger: Attacker) -> None:
    last = ledger.run("SELECT count(*) FROM ledger_changes")[0][0]
    for _ in range(500):
        ledger.run(f"UPDATE {NAME} SET uses = uses + 1 WHERE id = 'b1'")
    ledger.run(f"UPDATE {NAME} SET content = 'other', uses = uses + 1 WHERE id = 'b1'")
    for _ in range(500):
        ledger.run(f"UPDATE {NAME} SET uses = uses + 1 WHERE id = 'b1'")
    assert ledger.run(f"SELECT uses FROM {NAME} WHERE id = 'b1'") == [(1001,)]
    assert ledger.run("SELECT count(*) FROM ledger_changes")[0][0] == last + 1


@pytest.mark.parametrize(
    ("assignment", "old", "new"),
    [
        ("content = 'uno'", content("one", "know"), content("uno", "know")),
        ("content = NULL", content("one", "know"), content(None, "know")),
        ("label = 'KNOW'", content("one", "know"), content("one", "KNOW")),
        ("content = 'One'", content("one", "know"), content("One", "know")),
        ("content = 'one '", content("one", "know"), content("one ", "know")),
        ("content = 'x', label = NULL", content("one", "know"), content("x", None)),
    ],
)
def test_any_change_of_content_is_noted(
    ledger: Attacker, assignment: str, old: dict[str, Any], new: dict[str, Any]
) -> None:
    changes = noted(ledger, f"UPDATE {NAME} SET {assignment} WHERE id = 'b1'")
    assert changes == [("update", "b1", old, new)]


def test_a_value_where_there_was_none_is_noted(ledger: Attacker) -> None:
    changes = noted(ledger, f"UPDATE {NAME} SET content = '' WHERE id = 'b3'")
    assert changes == [("update", "b3", content(None, "infer"), content("", "infer"))]


def test_what_changes_nothing_is_not_noted(ledger: Attacker) -> None:
    for statement in (
        f"UPDATE {NAME} SET content = content, label = label, id = id",
        f"INSERT INTO {NAME} VALUES ('b1', 'one', 'know', 's1', 9) {UPSERT}",
        f"INSERT INTO {NAME} VALUES ('b1', 'other', 'know', 's9', 9) ON CONFLICT DO NOTHING",
        f"INSERT INTO {NAME} VALUES ('b9', 'nine', 'know', 's9', 9)",
        f"DELETE FROM {NAME} WHERE id = 'none'",
    ):
        assert noted(ledger, statement) == [], statement


def test_a_deletion_is_noted_row_by_row(ledger: Attacker) -> None:
    changes = noted(ledger, f"DELETE FROM {NAME} WHERE id <> 'b3'")
    assert sorted(changes, key=lambda change: change[1]) == [
        ("delete", "b1", content("one", "know"), None),
        ("delete", "b2", content("two", "guess"), None),
    ]


def test_another_key_is_noted_as_a_belief_that_went(ledger: Attacker) -> None:
    changes = noted(ledger, f"UPDATE {NAME} SET id = 'b7' WHERE id = 'b1'")
    new = content("one", "know") | {"id": "b7", "agent_id": LEDGER.agent_id}
    assert changes == [("rename", "b1", content("one", "know"), new)]


def test_an_upsert_is_noted_once_as_an_update(ledger: Attacker) -> None:
    changes = noted(
        ledger,
        f"INSERT INTO {NAME} VALUES ('b1', 'uno', 'know', 's1', 9) {UPSERT}",
    )
    assert changes == [("update", "b1", content("one", "know"), content("uno", "know"))]


def test_the_notes_cannot_be_changed(ledger: Attacker) -> None:
    ledger.run(f"DELETE FROM {NAME} WHERE id = 'b1'")
    before = ledger.run("SELECT * FROM ledger_changes")
    for statement in ("UPDATE ledger_changes SET op = 'none'", "DELETE FROM ledger_changes"):
        ledger.attempt(statement)
        assert ledger.run("SELECT * FROM ledger_changes ORDER BY change_id")[:1] == before


def test_truncate_is_noted_row_by_row(on_postgresql: Attacker) -> None:
    changes = noted(on_postgresql, f"TRUNCATE {NAME}")
    assert [change[:2] for change in changes] == [
        ("truncate", "b1"), ("truncate", "b2"), ("truncate", "b3"),
    ]  # fmt: skip
    assert on_postgresql.run(f"SELECT count(*) FROM {NAME}") == [(0,)]


def test_a_replica_notes_as_well(on_postgresql: Attacker) -> None:
    on_postgresql.run("SET session_replication_role = replica")
    assert len(noted(on_postgresql, f"UPDATE {NAME} SET content = 'x'")) == 3


@pytest.mark.parametrize("recursive", ["OFF", "ON"])
def test_a_replaced_row_is_noted_with_old_and_new(on_sqlite: Attacker, recursive: str) -> None:
    on_sqlite.run(f"PRAGMA recursive_triggers = {recursive}")
    changes = noted(on_sqlite, f"REPLACE INTO {NAME} VALUES ('b1', 'uno', 'know', 's1', 0)")
    replaced = ("replace", "b1", content("one", "know"), content("uno", "know"))
    deleted = ("delete", "b1", content("one", "know"), None)
    assert changes == ([replaced] if recursive == "OFF" else [deleted, replaced])


def test_replacing_a_row_with_itself_is_not_noted(on_sqlite: Attacker) -> None:
    assert noted(on_sqlite, f"REPLACE INTO {NAME} VALUES ('b1', 'one', 'know', 's1', 77)") == []


@pytest.mark.parametrize(
    "statement",
    [
        f"REPLACE INTO {NAME} VALUES ('b9', 'nine', 'know', 's1', 0)",
        f"INSERT OR REPLACE INTO {NAME} (rowid, id) VALUES (1, 'b9')",
        f"UPDATE OR REPLACE {NAME} SET slug = 's1' WHERE id = 'b2'",
        f"UPDATE OR REPLACE {NAME} SET rowid = 1 WHERE id = 'b2'",
    ],
)
def test_a_row_that_another_one_eats_is_noted(on_sqlite: Attacker, statement: str) -> None:
    assert noted(on_sqlite, statement) == [("replace", "b1", content("one", "know"), None)]
    assert on_sqlite.run(f"SELECT count(*) FROM {NAME} WHERE id = 'b1'") == [(0,)]


def test_a_key_that_eats_another_row_is_noted_for_both(on_sqlite: Attacker) -> None:
    changes = noted(on_sqlite, f"UPDATE OR REPLACE {NAME} SET id = 'b1' WHERE id = 'b2'")
    assert sorted(change[:2] for change in changes) == [("rename", "b2"), ("replace", "b1")]


def test_a_key_of_another_case_replaces_the_same_row(on_sqlite: Attacker) -> None:
    changes = noted(on_sqlite, f"REPLACE INTO {NAME} VALUES ('B1', 'one', 'know', 's1', 0)")
    assert changes == [("replace", "b1", content("one", "know"), None)]


def test_an_ignored_insert_does_not_hide_or_make_up_a_later_change(on_sqlite: Attacker) -> None:
    ignored = f"INSERT OR IGNORE INTO {NAME} VALUES ('b1', 'other', 'guess', 's9', 0)"
    assert noted(on_sqlite, ignored) == []
    assert [c[:2] for c in noted(on_sqlite, f"DELETE FROM {NAME} WHERE id = 'b1'")] == [
        ("delete", "b1")
    ]
    fresh = f"INSERT INTO {NAME} VALUES ('b1', 'again', 'guess', 's1', 0)"
    assert noted(on_sqlite, fresh) == []


def test_bytes_and_other_types_are_noted(on_sqlite: Attacker) -> None:
    for value in ("x'00ff'", "1", "1.0", "'1'"):
        assert len(noted(on_sqlite, f"UPDATE {NAME} SET content = {value} WHERE id = 'b1'")) == 1
