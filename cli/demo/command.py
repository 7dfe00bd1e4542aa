"""`doxa demo`."""

import shlex
import signal
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import Annotated, Any, NoReturn

import httpx
import typer
from rich.console import Console
from rich.progress import Progress

from auditor.days import days_with_turns
from auditor.method import builtin_method
from auditor.run import Auditor, RunBusyError
from cli.composition import compose
from cli.demo.simulation import Simulation, simulate
from cli.options import EXIT_BUSY, EXIT_PROBLEM, EXIT_USAGE, DataDir, fail, settings_from
from cli.server import bind, prepare_database, serving_in_background, tune_interpreter
from service.agents.queries import agent_called, zone_of
from service.app import system_clock
from service.db.opening import open_database
from service.errors import ConfigurationError, LedgerError
from service.settings import Settings

AGENT = "demo"
Events = Annotated[
    int | None, typer.Option(min=1000, help="How many events in all; thousands a week if left out.")
]


def demo(
    seed: Annotated[int, typer.Option(help="Another seed, another story.")] = 7,
    weeks: Annotated[int, typer.Option(min=1, max=52, help="How many weeks, up to now.")] = 5,
    events: Events = None,
    port: Annotated[int | None, typer.Option(help="Port to serve on. [DOXA_PORT]")] = None,
    data_dir: DataDir = None,
    load_only: Annotated[
        bool, typer.Option("--load-only", help="Fill the database and end.")
    ] = False,
    open_browser: Annotated[
        bool, typer.Option("--open", help="Open the report in a browser.")
    ] = False,
) -> None:
    """Simulate weeks of an agent, send them through the API, audit them, and serve the report.

    The data stands apart from yours, in the folder `demo` of the data folder. The same seed in the
    same week is the same data: running it again adds nothing.

    Example: doxa demo --seed 11
    """
    settings = settings_from(port=port, data_dir=data_dir)
    settings = settings.model_copy(
        update={"data_dir": settings.data_dir / "demo", "database_url": None}
    )
    simulation = simulate(
        seed, agent=AGENT, until=_last_monday(datetime.now(UTC)), weeks=weeks, events=events
    )
    try:
        prepare_database(settings)
        listener = bind(settings.host, 0 if load_only else settings.port)
        app = compose(settings)
    except (ConfigurationError, LedgerError) as problem:
        fail(str(problem), EXIT_USAGE)
    tune_interpreter()
    with _interrupted_by_sigterm(), serving_in_background(app, settings, listener) as url:
        try:
            _load(url, simulation, settings)
        except KeyboardInterrupt:
            fail("Stopped before all was sent and audited; run it again to go on.", EXIT_PROBLEM)
        if load_only:
            typer.echo(_how_to_serve(settings))
        else:
            _serve(url, open_browser=open_browser)


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Lets SIGTERM do what Ctrl+C does: only so is the server stopped before the process ends."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _load(url: str, simulation: Simulation, settings: Settings) -> None:
    with httpx.Client(base_url=url, timeout=120, trust_env=False) as client:
        _send(client, simulation)
    _audit(settings)


def _how_to_serve(settings: Settings) -> str:
    """What to type next: the port of this process is about to close."""
    return (
        "See the weekly report with `doxa demo` and the same options, "
        f"or with `doxa serve --data-dir {shlex.quote(str(settings.data_dir))}` and "
        f"{_report_path()} there."
    )


def _report_path() -> str:
    return f"/v1/reports/weekly?agent={AGENT}"


def _serve(url: str, *, open_browser: bool) -> None:
    """Says where the report is, and lets the server serve until the process is told to stop."""
    try:
        typer.echo(f"The weekly report: {url}{_report_path()}")
        typer.echo(f"All agents:        {url}/")
        if open_browser:
            webbrowser.open(f"{url}{_report_path()}")
        typer.echo("Stop it with Ctrl+C; the data stays.")
        threading.Event().wait()
    except KeyboardInterrupt:
        typer.echo("")


def _last_monday(now: datetime) -> datetime:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - timedelta(days=midnight.weekday())


def _send(client: httpx.Client, simulation: Simulation) -> None:
    accepted = duplicates = 0
    with _progress() as progress:
        task = progress.add_task("sending", total=simulation.settings.events)
        for batch in simulation.batches():
            for path, items in (("/v1/turns", batch.turns), ("/v1/events", batch.events)):
                if items:
                    answer = _post(client, path, items)
                    accepted += answer["accepted"]
                    duplicates += answer["duplicates"]
            progress.advance(task, len(batch.events))
    typer.echo(f"Sent {accepted} events and turns; {duplicates} were there already.")


def _post(client: httpx.Client, path: str, items: list[dict[str, Any]]) -> dict[str, Any]:
    answer = client.post(path, json=items)
    if answer.status_code != httpx.codes.OK:
        fail(f"{path} answered {answer.status_code}: {answer.text[:500]}", EXIT_PROBLEM)
    body: dict[str, Any] = answer.json()
    return body


def _audit(settings: Settings) -> None:
    database = open_database(settings)
    try:
        with database.read() as session:
            zone = zone_of(agent_called(session, AGENT))
            days = list(days_with_turns(session, AGENT, zone, 0, system_clock()))
        auditor = Auditor(database, builtin_method(), system_clock, settings.audit_sample)
        findings = 0
        with _progress() as progress:
            task = progress.add_task("auditing", total=len(days))
            for day in days:
                try:
                    findings += auditor.audit_day(AGENT, day).audit.findings
                except RunBusyError as busy:
                    fail(f"{busy} Run it again then.", EXIT_BUSY)
                progress.advance(task)
        typer.echo(f"Audited {len(days)} days: {findings} inferential assertions found.")
    finally:
        database.close()


def _progress() -> Progress:
    return Progress(console=Console(stderr=True), disable=not sys.stderr.isatty(), transient=True)
