"""`doxa backup` and `doxa restore`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import make_url

from cli.options import EXIT_USAGE, DatabaseUrl, DataDir, fail, settings_from
from cli.rebuilding import progress_bar
from service.db import backup as files
from service.db import schema
from service.db.database import Database
from service.errors import ConfigurationError
from service.events.fitting import check_key
from service.settings import Settings
from service.trust.keys import SEAL_KEY_FILE, seal_key_in


def backup(
    file: Annotated[Path, typer.Argument(help="Where the copy goes; nothing may stand there.")],
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Copy the SQLite database while it is in use: one state of it, checked, one file.

    The keys and the checkpoints are not in it; the last lines say where they are.

    Exit code: 0 the copy stands, 2 it does not.

    Example: doxa backup /backups/doxa-2026-10-03.db
    """
    settings = settings_from(data_dir=data_dir, database_url=database_url)
    try:
        source = _file(settings, _POSTGRESQL_BACKUP)
        with progress_bar("backup", "pages", None) as show:
            files.back_up(source, file, _steps(show))
    except (ConfigurationError, OSError) as problem:
        fail(str(problem), EXIT_USAGE)
    typer.echo(f"{file} holds the database as it was, {file.stat().st_size} bytes, checked.")
    typer.echo(f"Not in it, and to be kept apart from it: the keys in {settings.resolved_key_dir}")
    typer.echo(f"  (without {SEAL_KEY_FILE} a restored database cannot be written to), and the")
    typer.echo(f"  checkpoints in {settings.resolved_checkpoint_dir} (they prove what it held).")


def restore(
    file: Annotated[Path, typer.Argument(help="A copy that `doxa backup` made.")],
    force: Annotated[
        bool, typer.Option("--force", help="Put the database that stands there aside.")
    ] = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Put a backup in the place of the SQLite database; nothing may have that open.

    With --force the database that stands there is kept under another name, never overwritten.

    Exit code: 0 it stands, 2 nothing was changed.

    Example: doxa restore /backups/doxa-2026-10-03.db --force
    """
    settings = settings_from(data_dir=data_dir, database_url=database_url)
    try:
        kept = _restore(settings, file, is_forced=force)
    except (ConfigurationError, OSError) as problem:
        fail(str(problem), EXIT_USAGE)
    typer.echo(f"{_file(settings, '')} is what {file} holds.")
    if kept is not None:
        typer.echo(f"The database of before is {kept}.")
    typer.echo(
        f"Checkpoints in {settings.resolved_checkpoint_dir} that are younger than the backup do "
        "not agree with it: `doxa verify` says that an older file was restored. That is right; "
        "keep them, and note when and why you did it."
    )


def _restore(settings: Settings, file: Path, *, is_forced: bool) -> Path | None:
    target = _file(settings, _POSTGRESQL_RESTORE)
    if not file.is_file():
        raise ConfigurationError(f"There is no file {file}.")
    if target.exists() and not is_forced:
        raise ConfigurationError(
            f"{target} stands there: with --force it is put aside, not overwritten."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    copy = files.copy_aside(file, target)
    try:
        _check_fit(settings, copy)
        with files.taken(target):
            return files.put_in_place(copy, target)
    finally:
        copy.unlink(missing_ok=True)


def _check_fit(settings: Settings, copy: Path) -> None:
    """Refuses what this code or these keys could not go on with."""
    revision = files.check_whole(copy)
    if not schema.knows(revision):
        raise ConfigurationError(
            f"The backup is at revision {revision or 'none'}, which this code does not know: "
            "install the version that made it."
        )
    if revision != schema.expected_revision():
        return  # of before: `doxa serve` migrates it, and compares the key then
    key = seal_key_in(settings.resolved_key_dir)
    if key is None:
        raise ConfigurationError(
            f"{settings.resolved_key_dir} holds no {SEAL_KEY_FILE}: put back the keys that were "
            "used with this database first, or name their folder with DOXA_KEY_DIR."
        )
    database = Database(f"sqlite:///{copy}", key)
    try:
        check_key(database)
    finally:
        database.close()


def _file(settings: Settings, otherwise: str) -> Path:
    found = files.file_of(settings.resolved_database_url)
    if found is None:
        url = make_url(settings.resolved_database_url)
        shown = url.set(drivername="postgresql", password=None).render_as_string()
        raise ConfigurationError(otherwise.format(url=shown))
    return found


def _steps(show: Callable[[int], None]) -> files.OnProgress:
    told = 0

    def step(done: int, _total: int) -> None:
        nonlocal told
        show(done - told)
        told = done

    return step


_POSTGRESQL_BACKUP = """PostgreSQL makes its own backups, while it is in use:
  pg_dump --format=custom --file=doxa.dump '{url}'
or, for all of a server and to any instant, pg_basebackup and an archive of its WAL.
The keys and the checkpoints are to be kept beside it: docs/operations.md."""
_POSTGRESQL_RESTORE = """PostgreSQL restores with its own tools, into an empty database:
  pg_restore --exit-on-error --dbname='{url}' doxa.dump
Then `doxa migrate --check`, with the keys put back: docs/operations.md."""
