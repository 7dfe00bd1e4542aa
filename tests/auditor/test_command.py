"""`doxa audit` as a person types it: real processes on both databases."""

import json
import subprocess
from pathlib import Path

from sqlalchemy import text

from service.db.database import Database
from service.instants import DAY
from tests.auditor.recording import AGENT, NOON, a_turn, audited, record_turns, runs
from tests.processes import ROOT, doxa, environment


def run(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        doxa("audit", *arguments),
        cwd=ROOT,
        env=environment(database_url=url),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_imported_history_is_named_and_then_audited_day_by_day(
    database: Database, database_url: str
) -> None:
    record_turns(database, [a_turn(ts=NOON - 400 * DAY), a_turn(ts=NOON - 398 * DAY)])
    nothing = run(database_url)
    assert nothing.returncode == 2, nothing.stderr
    assert "Days that have turns: 2025-08-31, 2025-09-02" in nothing.stderr
    assert runs(database) == []
    done = run(database_url, "--all", "--json")
    assert done.returncode == 0, done.stderr
    account = json.loads(done.stdout)
    assert [one["day"] for one in account["audits"]] == ["2025-08-31", "2025-09-02"]
    assert [one["turns"]["done"] for one in account["audits"]] == [1, 1]
    again = run(database_url, "--all")
    assert again.returncode == 0
    assert "nothing left to audit" in again.stdout


def test_a_day_is_audited_and_shown_with_the_methods_caveat(
    database: Database, database_url: str
) -> None:
    record_turns(database, [a_turn(ts=NOON - 400 * DAY) for _ in range(4)])
    done = run(database_url, "--agent", AGENT, "--day", "2025-08-31", "--sample", "3")
    assert done.returncode == 0, done.stderr
    assert "2025-08-31: done: 3 of 3 drawn turns read, 4 in all" in done.stdout
    assert "Method: builtin" in done.stdout
    assert len(audited(database)) == 3


def test_a_spent_budget_exits_1_and_a_live_run_exits_3(
    database: Database, database_url: str
) -> None:
    record_turns(database, [a_turn(ts=NOON - n * DAY) for n in (400, 400, 399)])
    period = ("--from", "2025-08-01", "--until", "2025-10-01")
    partial = run(database_url, *period, "--minutes", "0")
    assert partial.returncode == 1, partial.stderr
    assert "1 days were not begun" in partial.stderr
    assert [one.state for one in runs(database)] == ["partial"]
    whole = run(database_url, "--all")
    assert whole.returncode == 0, whole.stderr
    assert [one.state for one in runs(database)] == ["done", "done"]
    with database.write() as session:
        session.execute(
            text("UPDATE audit_runs SET state = 'running', heartbeat_at = :far"),
            {"far": NOON + 36_500 * DAY},
        )
    busy = run(database_url, "--day", "2025-08-31")
    assert busy.returncode == 3, busy.stderr
    assert "Another process is at run" in busy.stderr


def test_what_makes_no_sense_exits_2_and_says_so(database: Database, database_url: str) -> None:
    record_turns(database, [a_turn(ts=NOON - 400 * DAY), a_turn(agent_id="other")])
    for arguments, said in (
        (["--agent", "nobody"], "Known are: other, piper"),
        (["--day", "2025-08-31"], "several agents"),
        (["--agent", AGENT, "--day", "2025-09-31"], "no day"),
        (["--agent", AGENT, "--day", "2025-08-31", "--all"], "name one of"),
        (["--agent", AGENT, "--from", "2025-08-31"], "go together"),
        (["--agent", AGENT, "--day", "2024-01-01"], "has no turns on 2024-01-01"),
    ):
        answer = run(database_url, *arguments)
        assert answer.returncode == 2, (arguments, answer.stderr)
        assert said in " ".join(answer.stderr.split()), (arguments, answer.stderr)
    assert runs(database) == []


def test_a_missing_or_unmigrated_database_is_refused_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "none.db"
    missing = run(f"sqlite:///{path}")
    assert missing.returncode == 2
    assert "There is no database to audit" in missing.stderr
    assert not path.exists()
    path.touch()
    empty = run(f"sqlite:///{path}")
    assert empty.returncode == 2
    assert "doxa migrate" in empty.stderr
