"""What both databases refuse whoever asks, and what they note of it."""

import json

import pytest
from sqlalchemy import Table, UniqueConstraint, select

from service.db.database import Database
from service.models import LedgerChange
from tests.attacks.attacker import (
    PAYLOADS,
    WRITE_ONCE,
    a_row,
    attacking,
    notes,
    rows_of,
    table_called,
)
from tests.service.factories import row_of

# Every form in which a row's content or key can be told to change.
UPDATES = (
    "UPDATE {table} SET {column} = {value}",
    "UPDATE {table} SET {column} = {value} WHERE {key} = {first}",
    "UPDATE {table} SET {column} = {value} FROM (SELECT 1 AS one) AS other WHERE one = 1",
    "UPDATE {table} SET {key} = {value_of_key}",
    "WITH chosen AS (SELECT 1) UPDATE {table} SET {column} = {value}",
)


def filled(statement: str, table: Table) -> str:
    """The statement with names and values of a table: its last key column, and another column."""
    key = list(table.primary_key.columns)[-1]
    column = next(c for c in table.columns if not c.primary_key and c.name not in ("log", "seq"))
    row = a_row(table)
    return statement.format(
        table=table.name, column=column.name, key=key.name,
        value=_literal(_other(row[column.name])), first=_literal(row[key.name]),
        value_of_key=_literal(_other(row[key.name])),
    )  # fmt: skip


def _other(value: object) -> object:
    return value + 900 if isinstance(value, int | float) else f"{value}-changed"


def _literal(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def changes_of(record: Database, table: str) -> list[int]:
    with record.read() as session:
        chosen = select(LedgerChange.change_id).where(LedgerChange.table_name == table)
        return list(session.scalars(chosen))


@pytest.mark.parametrize("update", UPDATES)
def test_no_row_is_updated_and_each_attempt_is_noted(record: Database, update: str) -> None:
    with attacking(record.url) as attacker:
        for name in WRITE_ONCE:
            before, noted = rows_of(record, name), len(notes(record))
            attacker.attempt(filled(update, table_called(name)))
            assert rows_of(record, name)[: len(before)] == before, name
            assert (name, "update") in notes(record)[noted:], name


def test_no_row_is_deleted_and_each_attempt_is_noted(record: Database) -> None:
    with attacking(record.url) as attacker:
        for name in WRITE_ONCE:
            before, noted = rows_of(record, name), len(notes(record))
            attacker.attempt(f"DELETE FROM {name}")
            assert rows_of(record, name)[: len(before)] == before, name
            assert (name, "delete") in notes(record)[noted:], name


def test_no_row_is_replaced_by_an_upsert(record: Database) -> None:
    with attacking(record.url) as attacker:
        for name in set(WRITE_ONCE) - {"ledger_changes"}:
            table = table_called(name)
            before = rows_of(record, name)
            for conflict in [
                table.primary_key.columns.keys(),
                *(
                    unique.columns.keys()
                    for unique in table.constraints
                    if isinstance(unique, UniqueConstraint)
                ),
            ]:
                last = list(table.columns)[-1].name
                attacker.attempt(
                    f"INSERT INTO {name} SELECT * FROM {name} WHERE true "
                    f"ON CONFLICT ({', '.join(conflict)}) DO UPDATE SET {last} = NULL"
                )
                assert rows_of(record, name) == before, (name, conflict)


def test_a_note_says_which_row_and_what_was_wanted(record: Database) -> None:
    with attacking(record.url) as attacker:
        attacker.attempt("UPDATE shadow_inferences SET confidence = 0.99 WHERE seq = 2")
    (number,) = changes_of(record, "shadow_inferences")
    note = row_of(record, LedgerChange, number)
    assert json.loads(note["row_key"]) == {
        "agent_id": "piper", "shadow_id": "shadow_id-2", "log": "agent", "seq": 2,
        "belief_id": "belief_id-2",
    }  # fmt: skip
    assert json.loads(note["new_row"]) == {"confidence": 0.99}
    assert note["refused"] == 1
    assert note["at"] > 1_700_000_000_000_000


def test_an_attempt_that_is_rolled_back_changes_nothing(record: Database) -> None:
    before = rows_of(record, "turns")
    with attacking(record.url) as attacker:
        attacker.run("BEGIN")
        attacker.attempt("UPDATE turns SET ts = 0")
        attacker.run("ROLLBACK")
    assert rows_of(record, "turns") == before
    assert ("turns", "update") not in notes(record), "what the threat model says is not kept"


@pytest.mark.parametrize("name", sorted(PAYLOADS))
def test_a_payload_goes_only_once_a_tombstone_names_its_row(record: Database, name: str) -> None:
    payload, salt = PAYLOADS[name]
    table = table_called(name)
    before = rows_of(record, name)
    removal = f"UPDATE {name} SET {payload} = NULL, {salt} = NULL WHERE seq = 9"
    with record.write() as session:
        session.execute(table.insert().values(a_row(table, 9)))
    with attacking(record.url) as attacker:
        attacker.attempt(removal)
        assert rows_of(record, name)[-1] == tuple(a_row(table, 9).values()), "no tombstone"
        with record.write() as session:
            tombstone = a_row(table_called("redactions"), 9)
            session.execute(
                table_called("redactions").insert().values(tombstone | {"target_table": "findings"})
            )
        attacker.attempt(removal)
        assert rows_of(record, name)[-1] == tuple(a_row(table, 9).values()), "another table's"
    assert rows_of(record, name)[:-1] == before


@pytest.mark.parametrize("name", sorted(PAYLOADS))
def test_with_the_payload_nothing_else_goes(record: Database, name: str) -> None:
    payload, salt = PAYLOADS[name]
    table = table_called(name)
    with record.write() as session:
        session.execute(table.insert().values(a_row(table, 9)))
        tombstone = a_row(table_called("redactions"), 9) | {"target_table": name}
        session.execute(table_called("redactions").insert().values(tombstone))
    whole = a_row(table, 9)
    with attacking(record.url) as attacker:
        for column in table.columns:
            if column.name in (payload, salt):
                continue
            wanted = f"{payload} = NULL, {salt} = NULL, {column.name} = "
            value = whole[column.name]
            if isinstance(value, bytes):
                wanted += "NULL"
            else:
                wanted += _literal(_other(value))
            attacker.attempt(f"UPDATE {name} SET {wanted} WHERE seq = 9")
            assert tuple(whole.values()) in rows_of(record, name), column.name
        for half in (f"{payload} = NULL", f"{salt} = NULL", f"{payload} = '{{}}', {salt} = NULL"):
            attacker.attempt(f"UPDATE {name} SET {half} WHERE seq = 9")
            assert tuple(whole.values()) in rows_of(record, name), half
        assert (
            attacker.attempt(f"UPDATE {name} SET {payload} = NULL, {salt} = NULL WHERE seq = 9")
            is None
        )
    removed = whole | {payload: None, salt: None}
    assert tuple(removed.values()) in rows_of(record, name)
