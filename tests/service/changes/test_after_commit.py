"""What a trigger caught is an event after the next commit, also when nobody was there."""

import sqlite3
from contextlib import suppress
from typing import Any

import httpx
from sqlalchemy import text

from service.db.database import Database
from service.settings import Settings
from tests.service.factories import a_client

BELIEF = {
    "agent_id": "piper", "event": "belief.created", "belief_id": "b1", "label_to": "know",
    "worker": "day", "detail": {"content": "the disk is full", "category": "system state"},
}  # fmt: skip


def attack(database: Database) -> None:
    """Somebody else's connection tries to change what was said, and keeps the note of it."""
    connection = database.writing.raw_connection()
    try:
        cursor = connection.cursor()
        # SQLite says no and PostgreSQL does nothing; both keep the note.
        with suppress(sqlite3.IntegrityError):
            cursor.execute("UPDATE belief_versions SET content = 'the disk is fine'")
        connection.commit()
    finally:
        connection.close()
    with database.read() as session:
        assert session.scalar(text("SELECT count(*) FROM ledger_changes")) == 1, "it was tried"


def refused(client: httpx.Client) -> list[dict[str, Any]]:
    answer = client.get("/v1/events", params={"event": "belief.overwrite_refused"})
    found: list[dict[str, Any]] = answer.json()["items"]
    return found


def test_an_attempt_is_told_with_the_next_commit(settings: Settings, database: Database) -> None:
    with a_client(settings) as client:
        assert client.post("/v1/events", json=BELIEF).status_code == 200
        attack(database)
        assert refused(client) == []
        assert client.post("/v1/events", json=BELIEF | {"belief_id": "b2"}).status_code == 200
        (told,) = refused(client)
        assert (told["agent_id"], told["log"], told["belief_id"]) == ("piper", "audit", "b1")
        assert told["detail"]["new"]["content"] == "the disk is fine"
        assert client.get("/v1/beliefs/b1").json()["belief"]["content"] == "the disk is full"


def test_an_attempt_while_the_service_was_down_is_told_at_its_start(
    settings: Settings, database: Database
) -> None:
    with a_client(settings) as client:
        assert client.post("/v1/events", json=BELIEF).status_code == 200
    attack(database)
    with a_client(settings) as client:
        assert client.post("/v1/events", json=BELIEF).status_code == 200
        assert [event["belief_id"] for event in refused(client)] == ["b1"]
