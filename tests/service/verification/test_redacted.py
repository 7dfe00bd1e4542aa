"""A payload that was removed with its tombstone holds, and is listed; without one it is an edit."""

import pytest
from sqlalchemy import Table, select, update

import triggers
from service.db.database import Database
from service.events.log import LogPositions
from service.events.recording import record_rows
from service.models import CogEvent, Redaction
from service.settings import Settings
from service.trust.leaves import payload_hash
from tests.service.factories import AGENT, NOW
from tests.service.verification.recording import faults, verified, write_rows

_REDACTIONS: Table = Redaction.__table__  # type: ignore[assignment]


def remove(database: Database, event_id: str, *, removed: bytes | None = None) -> int:
    """Takes an event's detail away as a redaction does; the hash is the right one unless given."""
    with database.write() as session:
        seq, detail, salt = session.execute(
            select(CogEvent.seq, CogEvent.detail, CogEvent.detail_salt).where(
                CogEvent.event_id == event_id
            )
        ).one()
        gone = removed or payload_hash(salt or b"", detail or "")
        positions = LogPositions(session)
        positions.lock([(AGENT, "audit")])
        row = (AGENT, "agent", seq, "audit", "cog_events", gone, 9, "a secret", "k1", NOW)
        record_rows(session, positions, _REDACTIONS, [row])
        positions.store()
        session.execute(
            update(CogEvent)
            .where(CogEvent.event_id == event_id)
            .values(detail=None, detail_salt=None)
        )
    return int(seq)


def test_what_was_removed_is_listed_and_the_record_holds(
    database: Database, settings: Settings
) -> None:
    write_rows(database, 0, 4)
    places = [remove(database, "note-1"), remove(database, "note-3")]
    code, account = verified(settings)
    assert (code, account["faults"], account["removed_count"]) == (3, [], 2)
    assert [gone["seq"] for gone in account["removed"]] == places
    assert account["removed"][0] | {"seq": 0} == {
        "agent_id": AGENT, "log": "agent", "seq": 0, "table": "cog_events", "reason": "a secret",
        "removed_by": "k1", "removed_at": "2026-10-03T12:00:00.000000Z",
    }  # fmt: skip


def test_a_tombstone_of_another_payload_hides_no_edit(
    database: Database, settings: Settings
) -> None:
    write_rows(database, 0, 4)
    remove(database, "note-1", removed=b"x" * 32)
    code, account = verified(settings)
    assert code == 1
    assert faults(account)["edited"]["key"]["event_id"] == "note-1"


@pytest.mark.parametrize("column", ["reason = 'none'", "removed_by = NULL", "removed_at = 1"])
def test_an_edited_tombstone_is_named(database: Database, settings: Settings, column: str) -> None:
    write_rows(database, 0, 4)
    remove(database, "note-1")
    with database.writing.begin() as connection:
        triggers.remove(connection, "redactions")
        connection.exec_driver_sql(f"UPDATE redactions SET {column}")
        triggers.reinstall(connection, "redactions")
    code, account = verified(settings)
    assert code == 1
    assert faults(account)["edited"]["table"] == "redactions"


def test_a_forged_tombstone_is_named_unsealed(database: Database, settings: Settings) -> None:
    write_rows(database, 0, 4)
    with database.writing.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO redactions (agent_id, target_log, target_seq, log, seq, target_table, "
            "payload_hash, payload_bytes, reason, removed_at) SELECT agent_id, log, seq, 'audit', "
            "1, 'cog_events', detail_salt, 1, 'forged', 1 FROM cog_events "
            "WHERE event_id = 'note-1'"
        )
    code, account = verified(settings)
    assert code == 1
    assert faults(account)["unsealed"]["table"] == "redactions"
