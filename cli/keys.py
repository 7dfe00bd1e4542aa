"""`doxa keys`: straight on the database, since the first key must come from somewhere."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from pydantic import ValidationError

from cli.options import EXIT_USAGE, AsJson, fail, settings_from
from cli.server import prepare_database
from service.agents import operations, queries
from service.agents.endpoints import key_out
from service.agents.schemas import KeyIn
from service.db.database import Database
from service.db.opening import open_database
from service.errors import ConfigurationError, LedgerError
from service.models import Agent
from service.principals import Scope

keys = typer.Typer(
    help="Make, list and revoke keys.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@keys.command()
def create(
    scope: Annotated[Scope, typer.Argument(help="What it may do.")],
    agent: Annotated[str | None, typer.Option(help="The agent, for a writing key.")] = None,
    name: Annotated[str, typer.Option(help="A name to remember it by.")] = "unnamed",
    as_json: AsJson = False,
) -> None:
    """Make a key. It is shown once and stored hashed.

    Example: doxa keys create write --agent piper
    """
    if (scope is Scope.WRITE) != (agent is not None):
        missing = "A writing key belongs to one agent: add --agent ID."
        fail(missing if agent is None else "Only a writing key takes --agent.", EXIT_USAGE)
    with _open() as database, database.write() as session:
        is_new = agent is not None and session.get(Agent, agent) is None
        try:
            wanted = KeyIn(scope=scope, agent_id=agent, name=name)
        except ValidationError as problem:
            fail("; ".join(str(error["msg"]) for error in problem.errors()), EXIT_USAGE)
        row, secret = operations.create_key(session, wanted, time.time_ns() // 1_000)
        shown = key_out(row).model_dump(mode="json") | {"key": secret}
    if as_json:
        typer.echo(json.dumps(shown))
        return
    typer.echo(secret)
    if is_new:
        typer.echo(f"There was no agent {agent!r} yet: it is registered now.", err=True)
    typer.echo("Keep it: it is not shown again. Send it as `Authorization: Bearer …`.", err=True)


@keys.command("list")
def list_keys(as_json: AsJson = False) -> None:
    """List all keys, without their secrets.

    Example: doxa keys list --json
    """
    with _open() as database, database.read() as session:
        rows = [key_out(key).model_dump(mode="json") for key in queries.all_keys(session)]
    if as_json:
        typer.echo(json.dumps(rows))
        return
    if not rows:
        typer.echo("There are no keys: Doxa answers this machine only.")
    for row in rows:
        state = f"revoked {row['revoked_at']}" if row["revoked_at"] else "active"
        about = f" agent {row['agent_id']}" if row["agent_id"] else ""
        typer.echo(f"{row['key_id']}  {row['scope']}{about}  {row['name']}  {state}")


@keys.command()
def revoke(
    key_id: Annotated[str, typer.Argument(help="The id, as `doxa keys list` shows it.")],
) -> None:
    """End a key: a running service refuses it within a second.

    Example: doxa keys revoke 3f9c0a1be2d47788
    """
    with _open() as database, database.write() as session:
        operations.revoke_key(session, key_id, time.time_ns() // 1_000)
    typer.echo(f"Key {key_id} is revoked.")


@contextmanager
def _open() -> Iterator[Database]:
    settings = settings_from()
    try:
        prepare_database(settings)
        database = open_database(settings)
        try:
            yield database
        finally:
            database.close()
    except (ConfigurationError, LedgerError) as problem:
        fail(str(problem), EXIT_USAGE)
