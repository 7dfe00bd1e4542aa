"""What was done to the SQLite file itself, or by putting an older copy in its place, is named."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from service.db.opening import open_database
from service.settings import Settings
from tests.service.verification.recording import a_checkpointer, faults, verified, write_rows


class Record(NamedTuple):
    """Where a record is, and the option that says where it was signed."""

    settings: Settings
    outside: list[str]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "outside"


@pytest.fixture
def settings(sqlite_template: Path, tmp_path: Path) -> Settings:
    path = tmp_path / "doxa-data" / "doxa.db"
    path.parent.mkdir()
    shutil.copy(sqlite_template, path)
    return Settings(database_url=f"sqlite:///{path}", data_dir=tmp_path / "doxa-data")


@pytest.fixture
def record(settings: Settings, folder: Path) -> Record:
    """Thirty signed rows in a file that nobody holds open."""
    _write(settings, folder)
    return Record(settings, ["--checkpoints", str(folder)])


def _file(settings: Settings) -> Path:
    return Path(settings.resolved_database_url.removeprefix("sqlite:///"))


def _write(settings: Settings, folder: Path, first: int = 0, *, signed: bool = True) -> None:
    database = open_database(settings)
    write_rows(database, first, 10)
    if signed:
        checkpointer = a_checkpointer(database, folder, settings)
        checkpointer.note_now()
        assert checkpointer.alarms() == []
    database.close()


def _broken(record: Record) -> dict[str, dict[str, Any]]:
    code, account = verified(record.settings, *record.outside)
    assert code == 1, account
    return faults(account)


def _replace_bytes(path: Path, old: bytes, new: bytes) -> None:
    assert len(old) == len(new)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = path.read_bytes()
    assert content.count(old) >= 1
    path.write_bytes(content.replace(old, new))


def test_bytes_that_were_changed_in_the_file_are_an_edit(record: Record) -> None:
    _replace_bytes(_file(record.settings), b'"what b3 says"', b'"that b3 says"')
    found = _broken(record)
    assert found["edited"]["key"]["event_id"] == "belief-3"


def test_bytes_that_are_no_text_any_more_are_an_edit(record: Record) -> None:
    _replace_bytes(_file(record.settings), b"note 7", b"note \xff")
    found = _broken(record)
    assert found["edited"]["key"]["event_id"] == "note-7"


def test_a_file_whose_pages_are_damaged_is_named(record: Record) -> None:
    path = _file(record.settings)
    _replace_bytes(path, b"belief-3", b"belief-X")  # in the table, and in one index of two
    content = bytearray(path.read_bytes())
    middle = content.index(b"belief-7") & ~4095
    content[middle : middle + 8] = b"\xff" * 8
    path.write_bytes(content)
    assert "file damaged" in _broken(record)


def test_an_older_copy_in_its_place_is_named(record: Record, folder: Path, tmp_path: Path) -> None:
    path = _file(record.settings)
    older = tmp_path / "older.db"
    _copy(path, older)
    _write(record.settings, folder, 10)
    _put(older, path)
    found = _broken(record)
    assert set(found) == {"restored from an older file"}
    assert found["restored from an older file"]["seq"] == 31
    # Without the checkpoints nobody can tell, and the exit code says that.
    code, account = verified(record.settings)
    assert (code, account["faults"]) == (3, [])


def test_an_older_copy_that_was_written_on_is_named(
    record: Record, folder: Path, tmp_path: Path
) -> None:
    path = _file(record.settings)
    older = tmp_path / "older.db"
    _copy(path, older)
    _write(record.settings, folder, 10)
    _put(older, path)
    for first in (20, 30):
        _write(record.settings, folder, first, signed=False)
    found = _broken(record)
    assert set(found) == {"restored from an older file"}
    span = found["restored from an older file"]
    assert (span["seq"], span["until"]) == (31, 60)


def test_a_running_service_alarms_when_an_older_copy_stands_there(
    record: Record, folder: Path, tmp_path: Path
) -> None:
    path = _file(record.settings)
    older = tmp_path / "older.db"
    _copy(path, older)
    _write(record.settings, folder, 10)
    _put(older, path)
    database = open_database(record.settings)
    checkpointer = a_checkpointer(database, folder, record.settings)
    checkpointer.note_now()
    database.close()
    assert "it held 60 rows and now holds 30" in checkpointer.alarms()[0].reason


def test_a_log_of_writes_that_was_deleted_is_named(
    record: Record, folder: Path, tmp_path: Path
) -> None:
    path = _file(record.settings)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database = open_database(record.settings)
        write_rows(database, 10, 10)
        a_checkpointer(database, folder, record.settings).note_now()
        # As it would be found after the machine has died: the last rows only in the log of writes.
        copy = tmp_path / "doxa-data" / "dead.db"
        shutil.copy(path, copy)
        assert path.with_name("doxa.db-wal").stat().st_size > 0
        database.close()
    path.unlink()
    for name in ("doxa.db-wal", "doxa.db-shm"):
        path.with_name(name).unlink(missing_ok=True)
    copy.rename(path)
    assert set(_broken(record)) == {"restored from an older file"}


def test_verifying_writes_nothing(record: Record) -> None:
    path = _file(record.settings)
    before = path.read_bytes()
    assert verified(record.settings, *record.outside)[0] == 0
    assert path.read_bytes() == before


def _copy(path: Path, older: Path) -> None:
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(older)) as target:
        source.backup(target)


def _put(older: Path, path: Path) -> None:
    for name in ("doxa.db-wal", "doxa.db-shm"):
        path.with_name(name).unlink(missing_ok=True)
    shutil.copy(older, path)
