"""`doxa rebuild` says what differs, in words and as JSON, and its exit code means it."""

import json
from typing import Any

from sqlalchemy import update
from typer.testing import CliRunner

from cli.main import app as cli
from service.db.database import Database
from service.models import Belief
from service.settings import Settings
from tests.service.factories import AGENT, a_belief, post, row_of


def rebuild(settings: Settings, *arguments: str) -> Any:
    given = {
        "DOXA_DATABASE_URL": settings.database_url or "",
        "DOXA_DATA_DIR": str(settings.data_dir),
    }
    return CliRunner().invoke(cli, ["rebuild", *arguments], env=given)


def tamper(database: Database) -> None:
    with database.write() as session:
        session.execute(update(Belief).where(Belief.belief_id == "b1").values(label="know"))


def test_all_the_same_is_zero_and_a_difference_is_one(
    database: Database, settings: Settings
) -> None:
    post(database, [a_belief("b1"), a_belief("b2")])
    same = rebuild(settings)
    assert same.exit_code == 0, same.output
    assert "2 events give exactly the" in same.output
    tamper(database)
    differs = rebuild(settings)
    assert differs.exit_code == 1
    assert "belief_id 'b1'" in differs.output
    assert "label is 'know', and its events say 'infer'" in differs.output
    assert rebuild(settings, "--agent", "nobody").exit_code == 0
    account = json.loads(rebuild(settings, "--json").output)
    assert account["same"] is False
    (one,) = account["first"]
    assert (one["table"], one["agent_id"], one["key"]) == ("beliefs", AGENT, {"belief_id": "b1"})
    assert one["columns"] == {"label": {"stored": "know", "rebuilt": "infer"}}
    assert account["not_compared"]


def test_writing_puts_it_right_once(database: Database, settings: Settings) -> None:
    post(database, [a_belief("b1")])
    before = row_of(database, Belief, AGENT, "b1")
    tamper(database)
    written = rebuild(settings, "--write")
    assert written.exit_code == 0, written.output
    assert "1 rows were put right, 0 differ still" in written.output
    assert row_of(database, Belief, AGENT, "b1") == before
    again = json.loads(rebuild(settings, "--write", "--json").output)
    assert (again["differences"], again["repaired"]) == (0, 0)


def test_another_schema_is_refused(database: Database, settings: Settings) -> None:
    with database.writing.begin() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0001'")
    refused = rebuild(settings)
    assert refused.exit_code == 2
    assert "doxa migrate" in refused.output
