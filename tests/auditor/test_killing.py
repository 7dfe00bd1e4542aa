"""Real processes: killed in mid-run and resumed, and two at once."""

import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

from sqlalchemy import text

import triggers
from auditor.method import builtin_method
from auditor.run import Auditor, RunOptions
from service.db.database import Database
from service.instants import SECOND
from service.turns.schemas import TurnRow
from tests.auditor.recording import (
    AGENT,
    NOON,
    a_turn,
    audited,
    findings,
    record_turns,
    runs,
    samples,
)
from tests.processes import environment

ROOT = Path(__file__).resolve().parents[2]
DAY = "2026-10-05"
DRAWN, KILLS = 40, 4
MINUTES_5 = 300


def many_turns() -> list[TurnRow]:
    """80 turns in 20 sessions, each with a claim of its own and one that its session repeats."""
    return [
        a_turn(
            f"t{number:03}",
            session_id=f"s{number % 20}",
            worker="day" if number % 3 else "night",
            ts=NOON + number * SECOND,
            output=f"Shard number {number} has lost its replica overnight. "
            "The failing disk is probably the cause of every outage.",
            inputs=[{"role": "user", "content": "Why is the search slow?"}],
        )
        for number in range(80)
    ]


@contextmanager
def driver(url: str, *, ahead: int = 0, pause: float = 0.01) -> Iterator[subprocess.Popen[str]]:
    """A driver that is ready to begin; killed at the end if it still runs."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "tests.auditor.driver",
            url,
            DAY,
            str(ahead),
            str(pause),
            str(DRAWN),
        ],
        cwd=ROOT,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        process.stdin.close()
        process.stdout.close()


def begin(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def test_a_run_killed_again_and_again_audits_each_turn_once(
    database: Database, database_url: str
) -> None:
    record_turns(database, many_turns())
    chance = random.Random(7)
    for attempt in range(KILLS):
        with driver(database_url, ahead=attempt * MINUTES_5) as process:
            begin(process)
            assert process.stdout is not None
            for _ in range(chance.randint(1, 6)):
                assert process.stdout.readline() == "judging\n"
            process.send_signal(signal.SIGKILL)
            assert process.wait(30) == -signal.SIGKILL
        (run,) = runs(database)
        assert run.state == "running"
        assert len(audited(database)) < DRAWN == len(samples(database))
    before = [row.turn_id for row in audited(database)]
    assert before, "no kill came after a commit: nothing was resumed"
    with driver(database_url, ahead=KILLS * MINUTES_5, pause=0) as process:
        begin(process)
        assert process.wait(60) == 0

    (run,) = runs(database)
    assert run.state == "done"
    turns = [row.turn_id for row in audited(database)]
    assert turns[: len(before)] == before
    assert sorted(turns) == sorted(row.turn_id for row in samples(database))
    assert len(set(turns)) == DRAWN
    assert found_by(database) == uninterrupted(database)


Found = list[tuple[str, str, int, int, str]]


def found_by(database: Database) -> Found:
    return sorted(
        (f.turn_id, f.finding_id, f.quote_start, f.quote_end, f.quote) for f in findings(database)
    )


def uninterrupted(database: Database) -> Found:
    """What one whole run over the same sample finds: the record of it is removed, and made anew."""
    with database.write() as session:
        for table in triggers.tables():
            triggers.remove(session.connection(), table)
        for table in ("audited_turns", "findings", "shadow_inferences"):
            session.execute(text(f"DELETE FROM {table}"))
        session.execute(text("DELETE FROM cog_events WHERE log = 'audit'"))
        session.execute(text("UPDATE audit_runs SET state = 'running', heartbeat_at = 0"))
    auditor = Auditor(database, builtin_method(), lambda: NOON, 50)
    auditor.audit_day(AGENT, date.fromisoformat(DAY), RunOptions(DRAWN))
    return found_by(database)


def test_of_two_processes_that_begin_at_once_one_audits(
    database: Database, database_url: str
) -> None:
    record_turns(database, many_turns())
    with driver(database_url, pause=0.02) as first, driver(database_url, pause=0.02) as second:
        begin(first)
        begin(second)
        assert sorted([first.wait(60), second.wait(60)]) == [0, 3]
    (run,) = runs(database)
    assert run.state == "done"
    assert len(samples(database)) == len(audited(database)) == DRAWN


def test_a_process_that_lost_its_run_stores_nothing_more(
    database: Database, database_url: str
) -> None:
    record_turns(database, many_turns())
    with driver(database_url, pause=0.3) as frozen:
        begin(frozen)
        assert frozen.stdout is not None
        for _ in range(3):
            frozen.stdout.readline()
        frozen.send_signal(signal.SIGSTOP)
        with driver(database_url, ahead=MINUTES_5, pause=0) as other:
            begin(other)
            assert other.wait(60) == 0
        frozen.send_signal(signal.SIGCONT)
        assert frozen.wait(60) == 3
    turns = [row.turn_id for row in audited(database)]
    assert len(turns) == len(set(turns)) == DRAWN
