"""`doxa retention`."""

import json
import time
from typing import Annotated

import typer

from cli.options import EXIT_USAGE, AsJson, DatabaseUrl, DataDir, fail, settings_from
from cli.rebuilding import progress_bar
from service.app import projectors
from service.db import schema
from service.db.database import Database
from service.db.erasing import Shrunk, shrink
from service.db.opening import open_database
from service.errors import ConfigurationError, LedgerError
from service.instants import parse_duration
from service.redactions.retention import SMALL_BYTES, Aged, Removed, count_aged, remove_aged


def retention(
    older_than: Annotated[
        str | None, typer.Option(help="Age, like 180d or P180D. [DOXA_RETAIN_PAYLOADS]")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would go.")] = False,
    short_ones: Annotated[
        bool,
        typer.Option(
            "--short-ones", help=f"Details of under {SMALL_BYTES} bytes, too: frees none."
        ),
    ] = False,
    no_vacuum: Annotated[
        bool, typer.Option("--no-vacuum", help="Leave the file as large as it is, for reuse.")
    ] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Remove the payloads of turns and of events that no projection rests on, from an age on.

    Rows, hashes and leaves stay, and a tombstone says what went: `doxa verify` and `doxa rebuild`
    still pass. A running service goes on; only while the SQLite file is made smaller at the end do
    its writes wait.

    Exit code: 0 done, 2 it cannot be done.

    Example: doxa retention --older-than 180d --dry-run
    """
    settings = settings_from(data_dir=data_dir, database_url=database_url)
    age = older_than or settings.retain_payloads
    if age is None:
        fail("Say --older-than, for example 180d, or set DOXA_RETAIN_PAYLOADS.", EXIT_USAGE)
    now = time.time_ns() // 1_000
    try:
        aged = Aged(now - _length(age), age, projectors(), is_thorough=short_ones)
        database = open_database(settings)
        try:
            schema.check(database.writing)
            removed, shrunk = _run(database, aged, now, dry_run=dry_run, no_vacuum=no_vacuum)
        finally:
            database.close()
    except (ConfigurationError, LedgerError) as problem:
        fail(str(problem), EXIT_USAGE)
    if as_json:
        typer.echo(json.dumps(_account(removed, shrunk, dry_run=dry_run)))
    else:
        _say(removed, shrunk, age, dry_run=dry_run)


def _length(age: str) -> int:
    try:
        return parse_duration(age)
    except ValueError as problem:
        raise ConfigurationError(f"{age!r} {problem}.") from None


def _run(
    database: Database, aged: Aged, now: int, *, dry_run: bool, no_vacuum: bool
) -> tuple[Removed, Shrunk | None]:
    found = count_aged(database, aged)
    if dry_run:
        return found, None
    with progress_bar("retention", "payloads", found.turns + found.events) as show:
        removed = remove_aged(database, aged, now, show)
    is_needed = not no_vacuum and removed.bytes > 0
    return removed, shrink(database) if is_needed else None


def _account(removed: Removed, shrunk: Shrunk | None, *, dry_run: bool) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "turns": removed.turns,
        "events": removed.events,
        "payload_bytes": removed.bytes,
        "database_bytes": shrunk and {"before": shrunk.before, "after": shrunk.after},
        "not_smaller": shrunk and shrunk.reason,
    }


def _say(removed: Removed, shrunk: Shrunk | None, age: str, *, dry_run: bool) -> None:
    did = "would lose" if dry_run else "lost"
    typer.echo(
        f"{removed.turns} turns and {removed.events} events older than {age} {did} their payload, "
        f"{removed.bytes} bytes."
    )
    if shrunk is not None:
        typer.echo(f"The database has {shrunk.after} bytes; before, it had {shrunk.before}.")
        if shrunk.reason:
            typer.echo(f"Not smaller: {shrunk.reason}.")
