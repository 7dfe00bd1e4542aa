"""`doxa serve`."""

from typing import Annotated

import typer

from cli.composition import compose
from cli.options import EXIT_USAGE, DatabaseUrl, DataDir, fail, settings_from
from cli.server import bind, make_server, prepare_database
from service.agents.authentication import is_loopback
from service.agents.queries import active_keys
from service.db.database import Database
from service.errors import ConfigurationError, LedgerError
from service.settings import Settings


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [DOXA_HOST]")] = None,
    port: Annotated[int | None, typer.Option(help="Port; 0 takes a free one. [DOXA_PORT]")] = None,
    data_dir: DataDir = None,
    database_url: DatabaseUrl = None,
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
                f"Without keys Doxa serves this machine only, not {settings.host}: make one with "
                "`doxa keys create operate` (and `doxa keys create write --agent ID` for the "
                "agent), then start it again.",
                EXIT_USAGE,
            )
        listener = bind(settings.host, settings.port)
        app = compose(settings)
    except (ConfigurationError, LedgerError) as problem:
        fail(str(problem), EXIT_USAGE)
    _greet(settings, listener.getsockname()[1], has_keys=has_keys)
    server = make_server(app, settings)
    server.run([listener])


def _has_keys(settings: Settings) -> bool:
    database = Database(settings.resolved_database_url)
    try:
        with database.read() as session:
            return bool(active_keys(session))
    finally:
        database.close()


def _greet(settings: Settings, port: int, *, has_keys: bool) -> None:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    where = "PostgreSQL" if settings.database_url else settings.data_dir / "doxa.db"
    typer.echo(f"Doxa serves http://{host}:{port}{settings.root_path} from {where}.")
    if not has_keys:
        typer.echo("No keys yet, so it answers this machine only and asks nobody who they are.")
    typer.echo("Stop it with Ctrl+C; what was accepted is stored.")
