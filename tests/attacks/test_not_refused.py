"""What ring 1 does not stop: who holds the SQLite file can switch it off.

Each of these succeeds, so that the threat model says the truth; `doxa verify` is there to find it.
Where the check at start sees it, that is asserted, too.
"""

import _sqlite3
import ctypes
import sqlite3
from pathlib import Path

import pytest

from service.db import schema
from service.db.database import Database
from service.errors import ConfigurationError
from tests.attacks.attacker import Attacker, a_row, attacking, notes, rows_of, table_called

SQLITE_DBCONFIG_ENABLE_TRIGGER = 1003


def edited(database: Database) -> bool:
    return [row[5] for row in rows_of(database, "turns") if row[5] != 0] == []


def saved_triggers(attacker: Attacker, table: str) -> list[tuple[str, str]]:
    return attacker.run(
        f"SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = '{table}'"
    )


def test_triggers_that_are_dropped_and_made_again_leave_no_sign(sqlite_record: Database) -> None:
    noted = notes(sqlite_record)
    with attacking(sqlite_record.url) as attacker:
        saved = saved_triggers(attacker, "turns")
        for name, _ in saved:
            attacker.run(f"DROP TRIGGER {name}")
        attacker.run("UPDATE turns SET received_at = 0")
        for _, text in saved:
            attacker.run(text)
    assert edited(sqlite_record)
    assert notes(sqlite_record) == noted
    schema.check(sqlite_record.writing)


def test_writable_schema_lifts_a_trigger(sqlite_record: Database) -> None:
    with attacking(sqlite_record.url) as attacker:
        attacker.run("PRAGMA writable_schema = ON")
        attacker.run(
            "UPDATE sqlite_master SET sql = 'CREATE TRIGGER turns_refuse_update BEFORE UPDATE ON "
            "turns BEGIN SELECT 1; END' WHERE name = 'turns_refuse_update'"
        )
        attacker.run("PRAGMA writable_schema = RESET")
    with attacking(sqlite_record.url) as attacker:
        attacker.run("UPDATE turns SET received_at = 0")
    assert edited(sqlite_record)
    with pytest.raises(ConfigurationError, match="turns_refuse_update on turns was altered"):
        schema.check(sqlite_record.writing)


def test_a_table_made_anew_under_the_old_name_has_no_triggers(sqlite_record: Database) -> None:
    with attacking(sqlite_record.url) as attacker:
        attacker.run("CREATE TABLE other AS SELECT * FROM turns")
        attacker.run("UPDATE other SET received_at = 0")
        attacker.run("DROP TABLE turns")
        attacker.run("ALTER TABLE other RENAME TO turns")
    assert edited(sqlite_record)
    with pytest.raises(ConfigurationError, match="turns_refuse_update on turns is missing"):
        schema.check(sqlite_record.writing)


def test_dropping_a_table_fires_no_trigger(sqlite_record: Database) -> None:
    with attacking(sqlite_record.url) as attacker:
        attacker.run("DROP TABLE findings")
    with pytest.raises(ConfigurationError, match="findings_refuse_delete on findings is missing"):
        schema.check(sqlite_record.writing)


def test_a_connection_can_switch_all_triggers_off(sqlite_record: Database) -> None:
    with attacking(sqlite_record.url) as attacker:
        _switch_triggers_off(attacker.connection)
        attacker.run("UPDATE turns SET received_at = 0")
    assert edited(sqlite_record)
    schema.check(sqlite_record.writing)


def _switch_triggers_off(connection: sqlite3.Connection) -> None:
    """`sqlite3.Connection.setconfig` by hand, as Python 3.11 has none."""
    if hasattr(connection, "setconfig"):
        connection.setconfig(SQLITE_DBCONFIG_ENABLE_TRIGGER, False)
        return
    try:
        configure = ctypes.CDLL(_sqlite3.__file__).sqlite3_db_config
    except (AttributeError, OSError):
        pytest.skip("this Python hides the C functions of its SQLite, and has no setconfig")
    # The C struct of a connection: what every object has, then the pointer to the database.
    handle = ctypes.c_void_p.from_address(id(connection) + object.__basicsize__)
    answer = ctypes.c_int(-1)
    configure(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, ctypes.byref(answer))
    assert answer.value == 0, "triggers must be off, or nothing is shown here"


def test_bytes_can_be_edited_in_the_file(sqlite_record: Database) -> None:
    with attacking(sqlite_record.url) as attacker:
        attacker.run("PRAGMA wal_checkpoint(TRUNCATE)")
    sqlite_record.close()
    path = Path(sqlite_record.url.removeprefix("sqlite:///"))
    content = path.read_bytes()
    assert content.count(b"statement-1") > 0
    path.write_bytes(content.replace(b"statement-1", b"statement+1"))
    reopened = Database(sqlite_record.url)
    assert any("statement+1" in row for row in rows_of(reopened, "shadow_inferences"))
    schema.check(reopened.writing)
    reopened.close()


def test_a_forged_tombstone_opens_a_payload(record: Database) -> None:
    """The tombstone has no seal, and its place in the log is found out of order."""
    turns, redactions = table_called("turns"), table_called("redactions")
    with record.write() as session:
        session.execute(turns.insert().values(a_row(turns, 3)))
        forged = a_row(redactions, 3) | {"target_table": "turns"}
        session.execute(redactions.insert().values(forged))
    with attacking(record.url) as attacker:
        attacker.run("UPDATE turns SET payload = NULL, payload_salt = NULL WHERE seq = 3")
    place = turns.columns.keys().index("payload")
    payloads = [row[place] for row in rows_of(record, "turns")]
    assert payloads == ["payload-1", "payload-2", None]
    schema.check(record.writing)


def test_a_forged_note_is_taken(record: Database) -> None:
    """It becomes an event that says what the forger wanted: a note proves an attempt, not who."""
    with attacking(record.url) as attacker:
        attacker.run(
            "INSERT INTO ledger_changes (at, table_name, op, refused, row_key) "
            "VALUES (0, 'turns', 'update', 1, '{}')"
        )
    assert notes(record)[-1] == ("turns", "update")
