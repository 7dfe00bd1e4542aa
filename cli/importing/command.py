"""The command `doxa import`: reads files, sends turns and events, accounts for each record."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Annotated

import httpx
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from cli.connection import connect
from cli.importing.formats import Recognised, read_records, recognise
from cli.importing.identity import Reading
from cli.importing.records import BadRecord, Record, RecordKind, UnusableFileError
from cli.importing.sending import Outbox, ServiceUnavailableError, Tally
from cli.importing.source import find_source
from service.instants import parse_instant

DEFAULT_AGENT = "imported"
SHOWN_PROBLEMS = 20
EXIT_INCOMPLETE, EXIT_USAGE, EXIT_UNAVAILABLE = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Position:
    """How far an import is: file, bytes read of it, its size if known, records read in all."""

    source: str
    position: int
    size: int | None
    records: int


@dataclass(frozen=True, slots=True)
class FileSummary:
    """What was read from one file; `format` is None where none was recognised."""

    name: str
    format: str | None
    turns: int
    events: int


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """The account of an import; the counts are those of `Tally`, `agents` those written to."""

    files: tuple[FileSummary, ...]
    agents: tuple[str, ...]
    accepted: int
    duplicates: int
    kept: int
    rejected: int
    bad: int
    problems: tuple[BadRecord, ...]

    @property
    def exit_code(self) -> int:
        """0 all in; 1 something was bad or rejected; 2 nothing could be recognised."""
        if all(file.format is None for file in self.files):
            return EXIT_USAGE
        return EXIT_INCOMPLETE if self.bad or self.rejected else 0


class _Import:
    """One run over several files, with the state that outlives a file."""

    def __init__(self, client: httpx.Client, on_progress: Callable[[Position], None]) -> None:
        self.tally = Tally()
        self.outboxes = {kind: Outbox(client, kind, self.tally) for kind in RecordKind}
        self.on_progress = on_progress
        self.agents: dict[str, None] = {}
        self.records = 0

    def take_file(
        self, name: str, *, agent: str | None, at: int | None, model: str | None
    ) -> FileSummary:
        """Read one file to its end, or to where it breaks, and send what it holds."""
        counts = dict.fromkeys(RecordKind, 0)
        format_name = None
        try:
            recognised = recognise(find_source(name))
            format_name = recognised.format.name
            reading = Reading(
                source=recognised.source.name,
                at=recognised.source.modified_at if at is None else at,
                agent=agent or DEFAULT_AGENT,
                agent_is_given=agent is not None,
                model=model,
            )
            self._take_records(recognised, reading, counts)
        except UnusableFileError as problem:
            self.tally.note_bad(BadRecord(name, None, str(problem)))
        return FileSummary(name, format_name, counts[RecordKind.TURN], counts[RecordKind.EVENT])

    def _take_records(
        self, recognised: Recognised, reading: Reading, counts: dict[RecordKind, int]
    ) -> None:
        for position, records in read_records(recognised, reading):
            for record in records:
                if isinstance(record, Record):
                    counts[record.kind] += 1
                    self.records += 1
                    self.agents[str(record.body["agent_id"])] = None
                    self.outboxes[record.kind].add(record)
                else:
                    self.tally.note_bad(record)
            source = recognised.source
            self.on_progress(Position(source.name, position, source.size, self.records))


def import_files(
    files: Sequence[str],
    *,
    agent: str | None,
    at: int | None,
    model: str | None,
    client: httpx.Client,
    on_progress: Callable[[Position], None],
) -> ImportSummary:
    """Read the files in order and send their turns and events.

    `at` (microseconds UTC; default: each file's modification time) is when the first step of
    each file happened, for steps without a time of their own; every further one is a second
    later. `agent` overrides the agent that Doxa's own JSONL names; without either it is
    `imported`. `model` fills in where a file does not tell.
    """
    run = _Import(client, on_progress)
    summaries = [run.take_file(name, agent=agent, at=at, model=model) for name in files]
    for outbox in run.outboxes.values():
        outbox.flush()
    tally = run.tally
    return ImportSummary(
        files=tuple(summaries),
        agents=tuple(run.agents),
        accepted=tally.accepted,
        duplicates=tally.duplicates,
        kept=tally.kept,
        rejected=tally.rejected,
        bad=tally.bad,
        problems=tuple(tally.problems),
    )


Files = Annotated[
    list[str],
    typer.Argument(metavar="FILE…", help="Files to import, also gzipped; - is standard input."),
]
Agent = Annotated[
    str | None,
    typer.Option(
        "--agent",
        metavar="ID",
        help=f"Agent that did this. Default: the one that Doxa JSONL names, else {DEFAULT_AGENT}.",
    ),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="INSTANT",
        help="When the first step of each file happened, where the file tells no times "
        "(one second a step). Default: the file's modification time.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="ID", help="Model that answered, where the file is silent."),
]
AsJSON = Annotated[bool, typer.Option("--json", help="Print the account as JSON.")]


def import_command(
    files: Files, agent: Agent = None, at: At = None, model: Model = None, as_json: AsJSON = False
) -> None:
    """Import what an agent did: τ-bench, SWE-agent, OpenAI-style chats, Doxa's own JSONL.

    Each message of the assistant becomes a turn. Importing a file again changes nothing, also
    from another path. Bad records are listed with file and line; the others go in.

    Example: doxa import --agent airline --model gpt-4o gpt-4o-airline.json

    Exit code: 0 all in, 1 some records bad or rejected, 2 nothing to import (no such file,
    unknown format), 3 service not reachable or not willing.
    """
    try:
        start = None if at is None else parse_instant(at)
    except ValueError as problem:
        raise typer.BadParameter(str(problem), param_hint="--at") from None
    try:
        with connect() as client, _progress_bar() as show:
            summary = import_files(
                files, agent=agent, at=start, model=model, client=client, on_progress=show
            )
    except ServiceUnavailableError as problem:
        typer.echo(f"doxa import: {problem}", err=True)
        typer.echo("What was accepted so far stays; importing again adds the rest.", err=True)
        raise typer.Exit(EXIT_UNAVAILABLE) from None
    _show(summary, as_json=as_json)
    raise typer.Exit(summary.exit_code)


@contextmanager
def _progress_bar() -> Iterator[Callable[[Position], None]]:
    """A bar on standard error while a person watches, nothing otherwise."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[records]} records"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
        transient=True,
    )
    with bar:
        task = bar.add_task("import", total=None, records=0)

        def show(now: Position) -> None:
            bar.update(
                task,
                description=now.source[-50:],
                completed=now.position,
                total=now.size,
                records=now.records,
            )

        yield show


def _show(summary: ImportSummary, *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(asdict(summary)))
        return
    for problem in summary.problems[:SHOWN_PROBLEMS]:
        typer.echo(str(problem), err=True)
    if (hidden := summary.bad + summary.rejected - SHOWN_PROBLEMS) > 0:
        typer.echo(f"… and {hidden} more (--json lists them)", err=True)
    for file in summary.files:
        if file.format is not None:
            typer.echo(f"{file.name}: {file.format}: {file.turns} turns, {file.events} events")
    if summary.agents:
        typer.echo(f"Agent {', '.join(summary.agents)}: {_counts(summary)}.")


def _counts(summary: ImportSummary) -> str:
    parts = [f"{summary.accepted} accepted"]
    for count, text in (
        (summary.duplicates, "were there already"),
        (summary.kept, "were there already with another time or model and stay as they are"),
        (summary.rejected, "rejected"),
        (summary.bad, "could not be read"),
    ):
        if count:
            parts.append(f"{count} {text}")
    return ", ".join(parts)
