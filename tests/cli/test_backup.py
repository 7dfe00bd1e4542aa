"""A backup is one state of the record, whole or not there; a restore loses nothing."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from cli.main import app as cli
from service.db.backup import back_up
from service.db.database import Database
from service.errors import ConfigurationError
from service.settings import Settings
from tests.processes import ROOT, doxa, environment, serving
from tests.service.factories import AGENT, a_belief, a_client, post

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def run(*arguments: str, settings: Settings) -> Any:
    """A command over the test's database."""
    given = {
        "DOXA_DATABASE_URL": settings.database_url or "",
        "DOXA_DATA_DIR": str(settings.data_dir),
    }
    return CliRunner().invoke(cli, list(arguments), env=given)


def rows_in(path: Path, table: str = "cog_events") -> int:
    with closing(sqlite3.connect(path)) as connection:
        found: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return found


def path_of(settings: Settings) -> Path:
    return Path((settings.database_url or "").removeprefix("sqlite:///"))


@SQLITE
def test_a_backup_of_a_service_under_load_is_one_state_and_verifies(
    settings: Settings, tmp_path: Path
) -> None:
    target = tmp_path / "copy.db"
    stop = threading.Event()
    began = threading.Barrier(4)
    acknowledged = [0, 0, 0]

    def write(number: int, url: str) -> None:
        with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            while not stop.is_set():
                batch = [
                    {"agent_id": AGENT, "event": "x.load", "detail": {"text": "y" * 500}}
                    for _ in range(50)
                ]
                client.post("/v1/events", json=batch).raise_for_status()
                acknowledged[number] += len(batch)
                if acknowledged[number] == len(batch):
                    began.wait(60)

    with serving(database_url=settings.database_url or "", data_dir=str(settings.data_dir)) as live:
        threads = [threading.Thread(target=write, args=(n, live.url)) for n in range(3)]
        for thread in threads:
            thread.start()
        began.wait(60)
        before = sum(acknowledged)
        during: list[int] = []
        back_up(path_of(settings), target, lambda _done, _all: during.append(sum(acknowledged)))
        stop.set()
        for thread in threads:
            thread.join(60)
        # Readers of the copy see one state: as many rows as its own heads count.
        with closing(sqlite3.connect(target)) as copy:
            size = copy.execute("SELECT sum(size) FROM log_heads").fetchone()[0]
        assert rows_in(target) == size
        assert before <= size <= sum(acknowledged)
        assert during, "no step was seen"
        verified = run("verify", "--database-url", f"sqlite:///{target}", settings=settings)
        assert verified.exit_code in (0, 3), verified.output
    assert target.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.glob("*copy*")] == ["copy.db"]


@SQLITE
def test_others_write_between_the_steps_and_the_copy_is_of_before(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    post(database, [a_belief(f"b{n}", detail={"content": "z" * 4_000}) for n in range(3_000)])
    steps: list[int] = []

    def write_meanwhile(done: int, _all: int) -> None:
        steps.append(done)
        if len(steps) == 1:
            post(database, [a_belief("late")])

    back_up(path_of(settings), tmp_path / "copy.db", write_meanwhile)
    assert len(steps) > 1
    assert rows_in(tmp_path / "copy.db") == 3_000
    assert rows_in(path_of(settings)) == 3_001


@SQLITE
def test_a_backup_overwrites_nothing_and_says_what_is_not_in_it(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    post(database, [a_belief("b1")])
    target = tmp_path / "copy.db"
    done = run("backup", str(target), settings=settings)
    assert done.exit_code == 0, done.output
    assert "seal.key" in done.output
    assert "checkpoints" in done.output
    before = target.read_bytes()
    again = run("backup", str(target), settings=settings)
    assert again.exit_code == 2
    assert "overwrites nothing" in again.output
    assert target.read_bytes() == before


KILLED = """
import sys
from pathlib import Path
from service.db.backup import back_up

def stay(done, total):
    if done < total:
        print("half", flush=True)
        sys.stdin.read()

back_up(Path(sys.argv[1]), Path(sys.argv[2]), stay)
"""


@SQLITE
def test_killed_in_the_middle_nothing_stands_under_the_name(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    post(database, [a_belief(f"b{n}", detail={"content": "z" * 4_000}) for n in range(3_000)])
    target = tmp_path / "copy.db"
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path_of(settings)), str(target)],
        cwd=ROOT, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdin is not None
    assert child.stdout.readline() == "half\n"
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait(30) == -signal.SIGKILL
    child.stdout.close()
    child.stdin.close()
    assert list(tmp_path.glob(".copy.db.partial-*")), "it was not killed in the middle"
    assert not target.exists()
    back_up(path_of(settings), target, lambda _done, _all: None)
    assert rows_in(target) == 3_000


@SQLITE
def test_a_damaged_copy_is_never_given_the_name(settings: Settings, tmp_path: Path) -> None:
    path = path_of(settings)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2 // 4096 * 4096
    content[middle : middle + 8192] = b"\xff" * 8192
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"damaged|cannot be copied|no database"):
        back_up(path, tmp_path / "copy.db", lambda _done, _all: None)
    assert list(tmp_path.glob("*copy*")) == []


@SQLITE
def test_a_restore_brings_back_the_state_and_keeps_what_stood_there(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    post(database, [a_belief("b1")])
    assert run("backup", str(tmp_path / "copy.db"), settings=settings).exit_code == 0
    post(database, [a_belief("b2")])
    database.close()
    refused = run("restore", str(tmp_path / "copy.db"), settings=settings)
    assert refused.exit_code == 2
    assert "--force" in refused.output
    done = run("restore", str(tmp_path / "copy.db"), "--force", settings=settings)
    assert done.exit_code == 0, done.output
    assert "doxa verify" in done.output
    assert rows_in(path_of(settings)) == 1
    (kept,) = path_of(settings).parent.glob("doxa.db.before-restore-*")
    assert rows_in(kept) == 2
    post(database, [a_belief("b3")])
    assert run("rebuild", settings=settings).exit_code == 0
    assert run("verify", settings=settings).exit_code in (0, 3)


@SQLITE
def test_a_restore_is_refused_while_a_service_runs(settings: Settings, tmp_path: Path) -> None:
    assert run("backup", str(tmp_path / "copy.db"), settings=settings).exit_code == 0
    with serving(database_url=settings.database_url or "", data_dir=str(settings.data_dir)) as live:
        refused = run("restore", str(tmp_path / "copy.db"), "--force", settings=settings)
        assert refused.exit_code == 2, refused.output
        assert "in use" in refused.output
        event = {"agent_id": AGENT, "event": "x.test"}
        answer = httpx.post(f"{live.url}/v1/events", json=event, trust_env=False)
        assert answer.status_code == 200
        assert live.terminate()[0] == 0
    assert list(path_of(settings).parent.glob("*restore*")) == []
    done = run("restore", str(tmp_path / "copy.db"), "--force", settings=settings)
    assert done.exit_code == 0, done.output
    assert rows_in(path_of(settings)) == 0


@SQLITE
def test_what_is_no_backup_of_these_keys_and_this_code_is_refused(
    database: Database, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(database, [a_belief("b1")])
    copy = tmp_path / "copy.db"
    assert run("backup", str(copy), settings=settings).exit_code == 0
    database.close()
    before = path_of(settings).read_bytes()
    junk, newer = tmp_path / "junk.db", tmp_path / "newer.db"
    junk.write_bytes(b"not a database at all" * 1000)
    newer.write_bytes(copy.read_bytes())
    with closing(sqlite3.connect(newer)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
        connection.commit()
    for path, said in (
        (junk, "not a database"),
        (newer, "9999"),
        (tmp_path / "none", "There is no file"),
    ):
        refused = run("restore", str(path), "--force", settings=settings)
        assert refused.exit_code == 2
        assert said in refused.output
    monkeypatch.setenv("DOXA_KEY_DIR", str(tmp_path / "other-keys"))
    refused = run("restore", str(copy), "--force", settings=settings)
    assert refused.exit_code == 2
    assert "seal.key" in refused.output
    assert not (tmp_path / "other-keys").exists()
    assert path_of(settings).read_bytes() == before
    left = {path.name for path in path_of(settings).parent.iterdir()}
    assert not [name for name in left if "partial" in name or "restore" in name]


@SQLITE
def test_checkpoints_younger_than_the_backup_show_that_it_was_restored(
    settings: Settings, tmp_path: Path
) -> None:
    copy = tmp_path / "copy.db"
    for number in range(2):
        with a_client(settings) as client:  # its end signs what it holds
            event = {"agent_id": AGENT, "event": "x.test", "event_id": f"e{number}"}
            client.post("/v1/events", json=event).raise_for_status()
        if number == 0:
            assert run("verify", settings=settings).exit_code in (0, 3)
            assert run("backup", str(copy), settings=settings).exit_code == 0
    assert run("restore", str(copy), "--force", settings=settings).exit_code == 0
    verified = run("verify", settings=settings)
    assert verified.exit_code == 1, verified.output
    assert "restored from an older file" in verified.output.lower()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_postgresql_is_told_its_own_commands_without_a_password(
    settings: Settings, tmp_path: Path
) -> None:
    url = (settings.database_url or "").replace("postgres:", "postgres:hidden-word")
    for command, tool in (("backup", "pg_dump"), ("restore", "pg_restore")):
        done = run(command, str(tmp_path / "x"), "--database-url", url, settings=settings)
        assert done.exit_code == 2
        assert tool in done.output
        assert "hidden-word" not in done.output


def test_the_commands_are_listed() -> None:
    shown = subprocess.run(
        doxa("--help"), cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    ).stdout
    for name in ("backup", "restore", "rebuild", "retention"):
        assert name in shown
