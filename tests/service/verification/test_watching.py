"""What a checkpointer asks the database before it signs, on both kinds."""

from pathlib import Path

import pytest
from sqlalchemy import select

from service.db.database import Database
from service.models import LogHead
from service.settings import Settings
from service.trust.seals import Sealer
from service.trust.tree import Frontier
from service.verification.queries import RecordWatch
from tests.service.verification.recording import a_checkpointer, write_rows

FORGED = (
    "INSERT INTO turns (agent_id, turn_id, log, seq, ts, received_at, session_id, leaf_hash, seal) "
    "VALUES ('piper', 'forged', 'agent', {seq}, 1, 1, 's', NULL, NULL)"
)


def watch_of(database: Database) -> RecordWatch:
    assert database.sealer is not None
    return RecordWatch(database, database.sealer)


def forge(database: Database, seq: int) -> None:
    with database.writing.begin() as connection:
        connection.exec_driver_sql(FORGED.format(seq=seq))


def test_a_standing_is_what_the_sealed_head_says(database: Database) -> None:
    write_rows(database, 0, 3)
    standing = watch_of(database).look("piper", "agent", 0, [])
    with database.read() as session:
        size, frontier = session.execute(select(LogHead.size, LogHead.frontier)).one()
    assert standing is not None
    assert (standing.size, standing.fault) == (9, None)
    assert standing.root == Frontier(size, frontier or b"").root()
    assert watch_of(database).sizes() == {("piper", "agent"): 9}
    assert watch_of(database).look("piper", "audit", 0, []) is None


@pytest.mark.parametrize("seq", [5, 10, 1_000_000])
def test_a_foreign_row_anywhere_behind_the_last_note_is_a_fault(
    database: Database, seq: int
) -> None:
    write_rows(database, 0, 3)
    forge(database, seq)
    standing = watch_of(database).look("piper", "agent", 3, [range(9)])
    assert standing is not None
    assert standing.fault == "it has 7 rows behind position 3 and its head counts 9"


def test_a_foreign_row_that_the_service_stepped_over_stops_the_notes(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    write_rows(database, 0, 3)
    checkpointer = a_checkpointer(database, tmp_path / "outside", settings)
    checkpointer.note_now()
    with database.writing.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO cog_events (agent_id, log, event_id, ts, received_at, event, seq) "
            "VALUES ('piper', 'agent', 'forged', 1, 1, 'x.forged', 10)"
        )
    write_rows(database, 3, 1)
    checkpointer.note_now()
    (alarm,) = checkpointer.alarms()
    assert alarm.reason == "the row at position 10 was not written by Doxa"
    assert checkpointer.notes == 1
    # Also for the next process: it reads what stands behind the last note.
    again = a_checkpointer(database, tmp_path / "outside", settings)
    again.note_now()
    assert again.alarms() == [alarm]


def test_a_head_under_another_key_is_a_fault(database: Database) -> None:
    write_rows(database, 0, 1)
    standing = RecordWatch(database, Sealer(b"x" * 32)).look("piper", "agent", 0, [range(3)])
    assert standing is not None
    assert standing.fault == "its head was not written by Doxa"


def test_rows_of_this_process_are_not_read_again(database: Database) -> None:
    write_rows(database, 0, 2)
    other = Sealer(b"x" * 32)
    assert database.sealer is not None

    class OnlyHeads(Sealer):
        """Seals heads as the service does, and knows no row."""

        def holds(self, seal: bytes | None, leaf_hash: bytes) -> bool:
            return other.holds(seal, leaf_hash)

        def seal_head(self, *head: object) -> bytes:
            assert database.sealer is not None
            return database.sealer.seal_head(*head)  # type: ignore[arg-type]

    watch = RecordWatch(database, OnlyHeads(b"y" * 32))
    read = watch.look("piper", "agent", 0, [range(4)])
    unread = watch.look("piper", "agent", 0, [range(6)])
    assert read is not None
    assert unread is not None
    assert read.fault == "the row at position 5 was not written by Doxa"
    assert unread.fault is None
