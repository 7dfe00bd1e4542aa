"""`doxa verify`."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from sqlalchemy import Engine

from cli.options import (
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
from service.db.scanning import Unreadable, snapshot
from service.errors import ConfigurationError, LedgerError
from service.instants import format_instant
from service.settings import Settings
from service.trust.keys import seal_key_in
from service.trust.notes import VerifierKey
from service.trust.seals import Sealer
from service.trust.signing import PUBLIC_KEY_FILE, public_keys
from service.verification.anchoring import is_outside
from service.verification.faults import Fault, Kind
from service.verification.operations import Means, Verdict, count_rows, verify_record
from service.verification.rebuild import compare_projections, count_events
from service.verification.receipts import check_receipts, read_receipts
from service.verification.references import Notes

EXIT_BROKEN, EXIT_UNANCHORED = 1, 3

Checkpoints = Annotated[
    Path | None,
    typer.Option(
        "--checkpoints",
        metavar="DIR",
        help="Folder of the signed checkpoints, from where the agent cannot write. Default: the "
        "one beside the data, which anchors nothing.",
    ),
]
PublicKey = Annotated[
    Path | None,
    typer.Option(
        "--public-key",
        metavar="FILE",
        help="Whose checkpoints are trusted, one key a line. Default: checkpoint.pub among the "
        "keys.",
    ),
]
KeyDir = Annotated[
    Path | None,
    typer.Option("--key-dir", help="Folder of the key of the seals. [DOXA_KEY_DIR]"),
]
Receipts = Annotated[
    Path | None,
    typer.Option("--receipts", metavar="FILE", help="Receipts to hold the log to, one a line."),
]
Projections = Annotated[
    bool,
    typer.Option("--projections", help="Also fold all events anew and compare the projections."),
]


def verify(
    checkpoints: Checkpoints = None,
    public_key: PublicKey = None,
    key_dir: KeyDir = None,
    receipts: Receipts = None,
    projections: Projections = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
) -> None:
    """Recompute every leaf, tree and seal, and name the first row of each kind that does not hold.

    Works offline and on a copy, and writes nothing to the record. Without checkpoints from
    outside, an older copy in the place of the record cannot be seen, and the exit code says so.

    Exit code: 0 everything held, anchored outside, 3 everything held but unanchored, 1 broken,
    2 it could not be verified as asked.

    Example: doxa verify --database-url sqlite:///copy.db --checkpoints /var/lib/doxa-checkpoints
    """
    settings = settings_from(
        data_dir=data_dir, database_url=database_url, key_dir=key_dir, checkpoint_dir=checkpoints
    )
    require_database(settings)
    try:
        engine = _opened(settings)
        try:
            means = _means(settings, public_key, is_asked=settings.checkpoint_dir is not None)
            verdict = _verify(engine, means, projections=projections)
            checked = _check_receipts(engine, receipts, verdict)
        finally:
            engine.dispose()
    except (ConfigurationError, LedgerError) as problem:
        fail(str(problem), EXIT_USAGE)
    account = _account(verdict, means, checked, is_outside=is_outside(settings))
    _show(account, verdict, as_json=as_json)
    raise typer.Exit(account["exit_code"])


def _opened(settings: Settings) -> Engine:
    engine = open_engine(settings.resolved_database_url, read_only=True)
    installed, expected = schema.installed_revision(engine), schema.expected_revision()
    if installed != expected:
        raise ConfigurationError(
            f"The database is at revision {installed or 'none'}, this code verifies {expected}: "
            "run `doxa migrate` on a copy and verify that."
        )
    return engine


def _means(settings: Settings, public_key: Path | None, *, is_asked: bool) -> Means:
    seal_key = seal_key_in(settings.resolved_key_dir)
    keys: list[VerifierKey] = []
    path = public_key or settings.resolved_key_dir / PUBLIC_KEY_FILE
    if public_key is not None or path.exists():
        keys = public_keys(path)
    folder: Path | None = settings.resolved_checkpoint_dir
    if folder is not None and not folder.is_dir():
        if is_asked:
            raise ConfigurationError(f"There is no folder of checkpoints {folder}.")
        folder = None
    return Means(None if seal_key is None else Sealer(seal_key), Notes(folder, keys))


def _verify(engine: Engine, means: Means, *, projections: bool) -> Verdict:
    with _progress_bar(lambda: count_rows(engine)) as show:
        verdict = verify_record(engine, means, show)
    if projections:
        with _progress_bar(lambda: count_events(engine)) as show:
            _compare(engine, verdict, show)
    return verdict


def _compare(engine: Engine, verdict: Verdict, show: Callable[[int], None]) -> None:
    try:
        comparison = compare_projections(engine, show)
    except Unreadable as problem:
        verdict.findings.add(Fault(Kind.DAMAGED, str(problem)))
        return
    untold = comparison.difference_count - len(comparison.differences)
    for wrong in comparison.differences:
        fault = Fault(
            Kind.PROJECTION, wrong.reason, wrong.agent_id, table=wrong.table, key=wrong.key
        )
        verdict.findings.add(fault, 1 + untold)
        untold = 0


def _check_receipts(engine: Engine, path: Path | None, verdict: Verdict) -> int | None:
    if path is None:
        return None
    agents = sorted({walked.agent_id for walked in verdict.logs})
    try:
        with path.open("rb") as file, snapshot(engine) as connection:
            return check_receipts(connection, read_receipts(file), agents, verdict.findings)
    except OSError as problem:
        raise ConfigurationError(f"{path} cannot be read ({problem.strerror}).") from None


@contextmanager
def _progress_bar(total: Callable[[], int]) -> Iterator[Callable[[int], None]]:
    """A bar on standard error while a person watches, nothing otherwise."""
    if not sys.stderr.isatty():
        yield lambda _rows: None
        return
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        task = bar.add_task("verify", total=total())
        yield lambda rows: bar.advance(task, rows)


def _account(
    verdict: Verdict, means: Means, receipts: int | None, *, is_outside: bool
) -> dict[str, Any]:
    """What there is to say, as JSON."""
    is_anchored = is_outside and bool(means.notes.keys) and verdict.is_anchored
    code = EXIT_BROKEN if verdict.findings else 0 if is_anchored else EXIT_UNANCHORED
    return {
        "exit_code": code,
        "held": not verdict.findings,
        "anchored": is_anchored,
        "rows": verdict.rows,
        "seals_checked": verdict.seals_checked,
        "signatures_checked": bool(means.notes.keys),
        "faults": [asdict(fault) for fault in verdict.findings.first],
        "counts": verdict.findings.counts,
        "logs": [
            {
                "agent_id": walked.agent_id,
                "log": walked.log,
                "rows": walked.rows,
                "root": walked.root.hex(),
                "checkpoints": walked.notes,
                "anchored_rows": walked.anchored,
            }
            for walked in verdict.logs
        ],
        "removed": [
            {
                "agent_id": gone.agent_id,
                "log": gone.log,
                "seq": gone.seq,
                "table": gone.table,
                "reason": gone.reason,
                "removed_by": gone.removed_by,
                "removed_at": format_instant(gone.removed_at),
            }
            for gone in verdict.removed
        ],
        "removed_count": verdict.removed_count,
        "receipts": receipts,
        "remarks": _remarks(verdict, means, is_outside=is_outside),
    }


def _remarks(verdict: Verdict, means: Means, *, is_outside: bool) -> list[str]:
    """What was not checked, or could not be."""
    said = []
    if not verdict.seals_checked:
        said.append(
            "Seals were not checked: there is no seal.key (--key-dir). Rows that somebody else "
            "added, and a head that was rewritten, would not show."
        )
    elif verdict.heads and not verdict.heads_held:
        said.append("No head has a seal of this key: it may be that of another database.")
    if means.notes.folder is None:
        said.append(
            "There are no checkpoints: an older copy of the database in its place would not show."
        )
    elif not is_outside:
        said.append(
            f"The checkpoints in {means.notes.folder} stand beside the data: who can change one "
            "can change both. Name a folder elsewhere with --checkpoints."
        )
    elif not means.notes.keys:
        said.append("Signatures were not checked: name the public key with --public-key.")
    for walked in verdict.logs if means.notes.folder is not None else ():
        if (behind := walked.rows - walked.anchored) and not verdict.findings:
            place = f"log {walked.log} of agent {walked.agent_id!r}"
            said.append(f"The last {behind} rows of {place} have no checkpoint yet.")
    if verdict.torn_notes:
        said.append(f"{verdict.torn_notes} checkpoints were not written to their end.")
    return said


def _show(account: dict[str, Any], verdict: Verdict, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(account))
        return
    for fault in verdict.findings.first:
        typer.echo(str(fault))
    for kind, count in verdict.findings.counts.items():
        if count > 1:
            typer.echo(f"{kind}: {count} in all")
    for gone in account["removed"]:
        typer.echo(
            f"removed: {gone['table']} at position {gone['seq']} of log {gone['log']} of agent "
            f"{gone['agent_id']!r}, by {gone['removed_by'] or 'the local operator'} at "
            f"{gone['removed_at']}: {gone['reason']}"
        )
    if (more := account["removed_count"] - len(account["removed"])) > 0:
        typer.echo(f"removed: {more} more")
    for remark in account["remarks"]:
        typer.echo(remark, err=True)
    outcome = {
        0: "Everything held, anchored outside.",
        EXIT_UNANCHORED: "Everything held, but it is not anchored outside.",
        EXIT_BROKEN: "BROKEN: the record is not what was written.",
    }[account["exit_code"]]
    typer.echo(f"{account['rows']} rows in {len(account['logs'])} logs. {outcome}")
