"""`GET /v1/shadow-inferences/verify`: the chain's state while the service runs."""

from pathlib import Path

import pytest

import triggers
from service.db.database import Database
from service.settings import Settings
from tests.service.factories import a_client, a_key
from tests.service.verification.recording import a_checkpointer, write_rows


def test_the_state_names_lengths_roots_and_the_newest_checkpoint(
    database: Database, settings: Settings
) -> None:
    write_rows(database, 0, 2)
    a_checkpointer(database, settings.resolved_checkpoint_dir, settings).note_now()
    write_rows(database, 2, 1)
    with a_client(settings) as client:
        body = client.get("/v1/shadow-inferences/verify").json()
    assert (body["agent_id"], body["holds"], body["anchored"]) == ("piper", True, False)
    (log,) = body["logs"]
    assert (log["log"], log["size"], log["is_sealed"], log["alarm"]) == ("agent", 9, True, None)
    assert len(log["root"]) == 64
    assert log["checkpoint"]["size"] in (6, 9)  # the service signs what it finds at its start
    assert (body["triggers"], body["checkpoint_problem"]) == ([], None)


def test_checkpoints_elsewhere_anchor(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    outside = settings.model_copy(update={"checkpoint_dir": tmp_path / "outside"})
    write_rows(database, 0, 2)
    a_checkpointer(database, tmp_path / "outside", settings).note_now()
    with a_client(outside) as client:
        assert client.get("/v1/shadow-inferences/verify").json()["anchored"]


@pytest.mark.parametrize("what", ["head", "trigger"])
def test_what_was_changed_shows(database: Database, settings: Settings, what: str) -> None:
    write_rows(database, 0, 2)
    with a_client(settings) as client:
        assert client.get("/v1/shadow-inferences/verify").json()["holds"]
        with database.writing.begin() as connection:
            if what == "head":
                connection.exec_driver_sql("UPDATE log_heads SET size = size + 1")
            else:
                triggers.remove(connection, "turns")
        body = client.get("/v1/shadow-inferences/verify").json()
    assert not body["holds"]
    assert (what == "head") == (not body["logs"][0]["is_sealed"])
    assert (what == "trigger") == any("turns" in wrong for wrong in body["triggers"])


def test_a_writing_key_does_not_see_it(database: Database, settings: Settings) -> None:
    write_rows(database, 0, 1)
    with a_client(settings) as client:
        operator = a_key(client, "operate")
        writing = a_key(client, "write", "piper", **operator)
        reading = a_key(client, "read", **operator)
        refused = client.get("/v1/shadow-inferences/verify", headers=writing)
        assert refused.status_code == 403
        assert client.get("/v1/shadow-inferences/verify", headers=reading).status_code == 200
