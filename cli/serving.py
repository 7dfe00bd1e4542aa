"""`doxa serve` and `doxa auditor`."""

import signal
import threading
from contextlib import nullcontext
from typing import Annotated

import typer
from sqlalchemy import make_url

from cli.composition import auditing, compose, keeping
from cli.options import EXIT_USAGE, DatabaseUrl, DataDir, fail, settings_from
from cli.server import bind, make_server, prepare_database, tune_interpreter
from service.agents.authentication import is_loopback
from service.agents.queries import active_keys
from service.db import schema
from service.db.opening import open_database
from service.errors import ConfigurationError, LedgerError
from service.settings import Settings


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [DOXA_HOST]")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one. [DOXA_PORT]")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
    no_auditor: Annotated[
        bool, typer.Option("--no-auditor", help="Leave the audits to a `doxa auditor`.")
    ] = False,
) -> None:
    """Migrate the database, then serve the API, the pages and the nightly auditor.

    Example: doxa serve --port 8080
    """
    settings = settings_from(host=host, port=port, data_dir=data_dir, database_url=database_url)
    try:
        prepare_database(settings)
        has_keys = _has_keys(settings)
        if not has_keys and not is_loopback(settings.host):
            fail(
                f"Without a valid key Doxa serves this machine only, not {settings.host}: make one "
                "with `doxa keys create operate` (and `doxa keys create write --agent ID` for the "
                "agent), then start it again.",
                EXIT_USAGE,
            )
        listener = bind(settings.host, settings.port)
        app = compose(settings)
    except (ConfigurationError, LedgerError) as problem:
        fail(str(problem), EXIT_USAGE)
    tune_interpreter()
    server = make_server(app, settings)
    with nullcontext() if no_auditor else auditing(settings), keeping(app):
        _greet(settings, listener.getsockname()[1], has_keys=has_keys)
        server.run([listener])


def auditor(data_dir: DataDir = None, database_url: DatabaseUrl = None) -> None:
    """Run only the auditor: nightly, after missed nights, and when asked over the API.

    Example: doxa auditor --database-url postgresql://localhost/doxa
    """
    settings = settings_from(data_dir=data_dir, database_url=database_url)
    try:
        _check_schema(settings)
    except (ConfigurationError, LedgerError) as problem:
        fail(str(problem), EXIT_USAGE)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with auditing(settings):
        typer.echo(f"The auditor reads {_whereabouts(settings)}. Stop it with Ctrl+C.")
        stop.wait()


def _check_schema(settings: Settings) -> None:
    database = open_database(settings)
    try:
        schema.check(database.writing)
    finally:
        database.close()


def _whereabouts(settings: Settings) -> str:
    url = make_url(settings.resolved_database_url)
    return str(url.database) if url.get_backend_name() == "sqlite" else "PostgreSQL"


def _has_keys(settings: Settings) -> bool:
    database = open_database(settings)
    try:
        with database.read() as session:
            return bool(active_keys(session))
    finally:
        database.close()


def _greet(settings: Settings, port: int, *, has_keys: bool) -> None:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    where = _whereabouts(settings)
    typer.echo(f"Doxa serves http://{host}:{port}{settings.root_path} from {where}.")
    if not has_keys:
        typer.echo("No keys yet, so it answers this machine only and asks nobody who they are.")
    typer.echo("Stop it with Ctrl+C; what was accepted is stored.")
