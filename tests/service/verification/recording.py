"""A record with checkpoints, verified as a person would do it."""

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from cli.main import app
from service.db.database import Database
from service.settings import Settings
from service.trust.checkpoints import Checkpointer
from service.trust.signing import signer_of
from service.verification.queries import RecordWatch
from tests.service.factories import a_belief, an_event, post

AGENT_LOG = "agent"


def a_checkpointer(database: Database, folder: Path, settings: Settings) -> Checkpointer:
    """One whose rounds a test calls itself."""
    assert database.sealer is not None
    signer = signer_of(settings.resolved_key_dir)
    return Checkpointer(folder, signer, RecordWatch(database, database.sealer))


def write_rows(database: Database, first: int = 0, count: int = 10) -> None:
    """For each a belief and an event of the agent's own, then the shadow inferences of all."""
    post(
        database,
        [
            event
            for number in range(first, first + count)
            for event in (
                a_belief(f"b{number}", event_id=f"belief-{number}"),
                an_event("x.note", event_id=f"note-{number}", detail={"text": f"note {number}"}),
            )
        ],
    )


def verified(settings: Settings, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the account of `doxa verify --json`."""
    url = settings.resolved_database_url
    command = ["verify", "--json", "--database-url", url, *arguments]
    environment = {"DOXA_DATA_DIR": str(settings.data_dir)}
    done = CliRunner().invoke(app, command, env=environment)
    if not done.stdout:
        raise AssertionError(done.output) from done.exception
    account: dict[str, Any] = json.loads(done.stdout)
    assert account["exit_code"] == done.exit_code
    return done.exit_code, account


def faults(account: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The first fault of each kind."""
    return {fault["kind"]: fault for fault in reversed(account["faults"])}
