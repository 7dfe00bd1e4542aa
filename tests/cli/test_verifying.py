"""`doxa verify` as a person calls it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from service.db.database import Database
from service.settings import Settings
from service.trust.keys import seal_key
from tests.service.verification.recording import a_checkpointer, faults, verified, write_rows


def test_a_projection_that_does_not_follow_from_its_events_is_named_when_asked(
    database: Database, settings: Settings
) -> None:
    write_rows(database, 0, 3)
    assert verified(settings, "--projections")[0] == 3
    with database.writing.begin() as connection:
        connection.exec_driver_sql("UPDATE beliefs SET label = 'know' WHERE belief_id = 'b1'")
    assert verified(settings)[0] == 3
    code, account = verified(settings, "--projections")
    assert code == 1
    found = faults(account)["projection differs from its events"]
    assert (found["table"], found["key"]["belief_id"]) == ("beliefs", "b1")


def test_it_says_in_words_what_it_found_and_what_it_did_not_check(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    write_rows(database, 0, 2)
    with database.writing.begin() as connection:
        connection.exec_driver_sql("UPDATE log_heads SET size = 7")
    url = settings.resolved_database_url
    command = ["verify", "--database-url", url, "--key-dir", str(tmp_path / "none")]
    without = CliRunner().invoke(app, command)
    assert "Seals were not checked" in without.stderr
    assert not (tmp_path / "none").exists()
    done = CliRunner().invoke(app, command[:3])
    assert done.exit_code == 1
    assert "HEAD TAMPERED: agent 'piper', log agent: its seal is not Doxa's" in done.stdout
    assert "BROKEN" in done.stdout


def test_checkpoints_beside_the_data_anchor_nothing(database: Database, settings: Settings) -> None:
    write_rows(database, 0, 2)
    inside = settings.data_dir / "checkpoints"
    a_checkpointer(database, inside, settings).note_now()
    code, account = verified(settings, "--checkpoints", str(inside))
    assert (code, account["anchored"]) == (3, False)
    assert any("stand beside the data" in remark for remark in account["remarks"])


def test_a_log_without_a_checkpoint_is_not_anchored(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    write_rows(database, 0, 2)
    (tmp_path / "outside").mkdir()
    assert verified(settings, "--checkpoints", str(tmp_path / "outside"))[0] == 3


def test_rows_behind_the_last_checkpoint_are_said(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    write_rows(database, 0, 2)
    a_checkpointer(database, outside, settings).note_now()
    write_rows(database, 2, 1)
    code, account = verified(settings, "--checkpoints", str(outside))
    assert code == 0
    assert any("last 3 rows" in remark for remark in account["remarks"])


def test_a_forged_checkpoint_is_named(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    write_rows(database, 0, 2)
    a_checkpointer(database, outside, settings).note_now()
    (path,) = outside.iterdir()
    text = path.read_text()
    path.write_text(text.replace("\n6\n", "\n5\n"))
    code, account = verified(settings, "--checkpoints", str(outside))
    assert code == 1
    assert set(faults(account)) == {"checkpoint does not hold"}
    path.write_text(text + text[:60])
    code, account = verified(settings, "--checkpoints", str(outside))
    assert code == 0
    assert any("not written to their end" in remark for remark in account["remarks"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--checkpoints", "/nowhere/at/all"], "no folder of checkpoints"),
        (["--public-key", "/nowhere/at/all"], "cannot be read"),
        (["--receipts", "/nowhere/at/all"], "cannot be read"),
    ],
)
def test_what_cannot_be_done_as_asked_is_a_usage_error(
    settings: Settings, options: list[str], said: str
) -> None:
    command = ["verify", "--database-url", settings.resolved_database_url, *options]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert said in done.stderr


def test_an_empty_record_holds_unanchored(settings: Settings) -> None:
    code, account = verified(settings)
    assert (code, account["rows"], account["logs"]) == (3, 0, [])
    assert json.dumps(account)


def test_the_key_of_another_database_is_suspected(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    write_rows(database, 0, 1)
    seal_key(tmp_path / "others")
    code, account = verified(settings, "--key-dir", str(tmp_path / "others"))
    assert code == 1
    assert any("another database" in remark for remark in account["remarks"])
