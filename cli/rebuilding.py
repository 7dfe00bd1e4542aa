"""`doxa rebuild`."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sqlalchemy.exc import ProgrammingError

from cli.options import (
    EXIT_PROBLEM,
    EXIT_USAGE,
    AsJson,
    DatabaseUrl,
    DataDir,
    fail,
    require_database,
    settings_from,
)
from service.db import schema
from service.db.engines import open_engine
from service.db.opening import open_database
from service.db.scanning import Unreadable
from service.errors import ConfigurationError, LedgerError
from service.settings import Settings
from service.verification.rebuild import (
    NOT_COMPARED,
    Comparison,
    compare_projections,
    count_events,
    repair_projections,
)

# Lines for a person; --json has more.
_LINES = 50


def rebuild(
    agent: Annotated[str | None, typer.Option(help="Only this agent.")] = None,
    write: Annotated[
        bool, typer.Option("--write", help="Also put right what may be written anew.")
    ] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Fold all events anew into scratch tables, and compare every projection row by row.

    Nothing stored is changed, unless with --write: then beliefs, belief_supports, contradictions
    and predictions are made what their events say, in one transaction. The other tables are
    write-once.

    Exit code: 0 all the same (with --write: now), 1 something differs, 2 it cannot be done.

    Example: doxa rebuild --agent piper --json
    """
    settings = settings_from(data_dir=data_dir, database_url=database_url)
    require_database(settings)
    try:
        found = _run(settings, agent, is_writing=write)
    except (ConfigurationError, LedgerError) as problem:
        fail(str(problem), EXIT_USAGE)
    except Unreadable as problem:
        fail(f"The database is damaged ({problem}): `doxa verify` says where.", EXIT_PROBLEM)
    except ProgrammingError as problem:
        fail(f"The database did not allow it ({problem.orig}): use another role.", EXIT_USAGE)
    if as_json:
        typer.echo(json.dumps(_account(found), ensure_ascii=True, default=repr))
    else:
        _say(found, is_writing=write)
    raise typer.Exit(EXIT_PROBLEM if found.remaining else 0)


def _run(settings: Settings, agent: str | None, *, is_writing: bool) -> Comparison:
    if is_writing:
        database = open_database(settings)
        try:
            schema.check(database.writing)
            total = count_events(database.reading, agent)
            with progress_bar("rebuild", "events", total) as show:
                return repair_projections(database, show, agent_id=agent)
        finally:
            database.close()
    engine = open_engine(settings.resolved_database_url, read_only=True)
    try:
        # Not its triggers, which `doxa verify` compares: a tampered database can be looked at.
        installed, expected = schema.installed_revision(engine), schema.expected_revision()
        if installed != expected:
            raise ConfigurationError(
                f"The database is at revision {installed or 'none'}, this code folds {expected}: "
                "run `doxa migrate`."
            )
        with progress_bar("rebuild", "events", count_events(engine, agent)) as show:
            return compare_projections(engine, show, agent_id=agent)
    finally:
        engine.dispose()


@contextmanager
def progress_bar(name: str, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while a person watches, nothing otherwise; told of each step."""
    if not sys.stderr.isatty():
        yield lambda _steps: None
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(what),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task(name, total=total)
        yield lambda steps: bar.advance(task, steps)


def _account(found: Comparison) -> dict[str, Any]:
    return {
        "same": found.remaining == 0,
        "events": found.events,
        "rows": found.rows,
        "differences": found.difference_count,
        "repaired": found.repaired,
        "first": [
            {
                "kind": one.kind,
                "table": one.table,
                "agent_id": one.agent_id,
                "key": one.key,
                "columns": {
                    name: {"stored": stored, "rebuilt": rebuilt}
                    for name, (stored, rebuilt) in one.columns.items()
                },
                "reason": one.reason,
            }
            for one in found.differences
        ],
        "payloads_removed": found.removed,
        "evidence_not_comparable": found.lost_evidence,
        "not_compared": list(NOT_COMPARED),
    }


def _say(found: Comparison, *, is_writing: bool) -> None:
    for one in found.differences[:_LINES]:
        typer.echo(str(one))
    if found.difference_count > _LINES:
        typer.echo(f"… and {found.difference_count - _LINES} more; --json lists up to 1,000.")
    rows = sum(found.rows.values())
    if found.difference_count == 0:
        typer.echo(f"{found.events} events give exactly the {rows} rows that are stored.")
    elif is_writing:
        typer.echo(f"{found.repaired} rows were put right, {found.remaining} differ still.")
    else:
        typer.echo(f"{found.difference_count} rows differ from what {found.events} events give.")
    if found.removed:
        gone = ", ".join(f"{number} of {table}" for table, number in sorted(found.removed.items()))
        typer.echo(f"Payloads that were removed: {gone}.")
    if found.lost_evidence:
        typer.echo(
            f"{found.lost_evidence} shadow inferences hold evidence from turns that were redacted: "
            "its text could not be compared."
        )
