"""Copies of a SQLite file that is in use, and putting one back; PostgreSQL has tools of its own."""

import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import make_url

from service.errors import ConfigurationError

# Pages a step: between two of them whoever watches is told, and the disk is left to others.
_PAGES = 2_000
# Told of the pages that are copied, and of all.
OnProgress = Callable[[int, int], None]
SIDES = ("-wal", "-shm")


def file_of(url: str) -> Path | None:
    """The file of a SQLite URL; None for a database that is no file."""
    parsed = make_url(url)
    is_file = parsed.get_backend_name() == "sqlite" and parsed.database
    return Path(parsed.database) if is_file and parsed.database else None


def back_up(source: Path, target: Path, on_progress: OnProgress) -> None:
    """Copies a file as it is at this moment, while others write; the copy appears whole or not.

    It is checked before it gets its name, and stands alone: no log belongs to it.
    """
    if target.exists():
        raise ConfigurationError(f"{target} is there already: a backup overwrites nothing.")
    if not source.is_file():
        raise ConfigurationError(f"There is no database {source}.")
    with _partial(target) as partial:
        _copy(source, partial, on_progress)
        check_whole(partial)
        _place(partial, target)


def check_whole(path: Path) -> str | None:
    """Raises ConfigurationError unless a file is a sound database of Doxa's; its revision."""
    try:
        with closing(_open(path, "ro")) as connection:
            faults = [row[0] for row in connection.execute("PRAGMA integrity_check(5)")]
            if faults != ["ok"]:
                raise ConfigurationError(f"{path} is damaged: {'; '.join(map(str, faults))}.")
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.DatabaseError as problem:
        raise ConfigurationError(f"{path} is no database of Doxa's ({problem}).") from None
    return None if row is None else str(row[0])


@contextmanager
def taken(path: Path) -> Iterator[None]:
    """Holds a database that nobody has open; ConfigurationError when somebody has."""
    if not path.exists():
        yield
        return
    with closing(_open(path, "rw")) as connection:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            # Takes the log into the file and removes it, which only one who is alone can do.
            connection.execute("PRAGMA journal_mode = DELETE").fetchone()
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as problem:
            raise ConfigurationError(
                f"{path} is in use ({problem}): stop the service, the auditor and whatever else "
                "has it open."
            ) from None
        except sqlite3.DatabaseError:
            pass  # too damaged to be opened by anybody: what stands there is put aside as it is
        yield


def copy_aside(source: Path, target: Path) -> Path:
    """A checked copy of a backup in the folder of the database, under a name of its own."""
    for side in SIDES:
        log = source.with_name(source.name + side)
        if log.exists() and log.stat().st_size:
            raise ConfigurationError(
                f"{log} lies beside {source}: that is a database in use or a raw copy of one. Make "
                "a backup of it with `doxa backup`."
            )
    partial = _partial_name(target)
    try:
        _copy(source, partial, lambda _done, _all: None)
        check_whole(partial)
    except BaseException:
        _remove(partial)
        raise
    return partial


def put_in_place(copy: Path, target: Path) -> Path | None:
    """Gives a copy the name of the database; where the one that stood there is now."""
    kept = None
    if target.exists():
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        kept = target.with_name(f"{target.name}.before-restore-{stamp}-{secrets.token_hex(2)}")
        target.rename(kept)
    for side in SIDES:
        log = target.with_name(target.name + side)
        if log.exists():  # of the old file: it must not be taken for the new one's
            beside = kept or target.with_name(f"{target.name}.before-restore")
            log.rename(beside.with_name(beside.name + side))
    _place(copy, target)
    return kept


def _open(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, timeout=1.0)


def _copy(source: Path, target: Path, on_progress: OnProgress) -> None:
    # Made first, so that the transcripts in it are readable by nobody else at any time.
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(_open(source, "ro")) as reading, closing(_open(target, "rw")) as writing:
            # One snapshot for all steps: what others commit meanwhile does not start it over.
            reading.execute("BEGIN")
            reading.execute("SELECT count(*) FROM sqlite_master").fetchone()
            reading.backup(
                writing,
                pages=_PAGES,
                progress=lambda _status, left, total: on_progress(total - left, total),
                sleep=0.001,
            )
            reading.execute("COMMIT")
            writing.execute("PRAGMA journal_mode = DELETE").fetchone()
    except sqlite3.DatabaseError as problem:
        raise ConfigurationError(f"{source} cannot be copied: {problem}.") from None


@contextmanager
def _partial(target: Path) -> Iterator[Path]:
    partial = _partial_name(target)
    try:
        yield partial
    finally:
        _remove(partial)


def _partial_name(target: Path) -> Path:
    return target.with_name(f".{target.name}.partial-{secrets.token_hex(4)}")


def _remove(partial: Path) -> None:
    for name in (partial.name, *(f"{partial.name}{side}" for side in (*SIDES, "-journal"))):
        partial.with_name(name).unlink(missing_ok=True)


def _place(partial: Path, target: Path) -> None:
    descriptor = os.open(partial, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    try:
        os.link(partial, target)  # unlike a rename, refused when the name was taken meanwhile
    except FileExistsError:
        raise ConfigurationError(f"{target} was made by another meanwhile.") from None
    partial.unlink()
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
