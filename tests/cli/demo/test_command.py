"""`doxa demo` as a process of its own."""

import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from sqlalchemy import func, select

from service.db.database import Database
from service.models import AuditRun, CogEvent, Turn
from tests.processes import ROOT, doxa, environment

SMALL = ("--weeks", "1", "--events", "1000")
STOP_WITHIN_SECONDS = 20


def command(data_dir: Path, *options: str) -> list[str]:
    return [*doxa("demo"), *SMALL, "--data-dir", str(data_dir), *options]


def run(data_dir: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(data_dir, *options),
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@contextmanager
def started(data_dir: Path) -> Iterator[subprocess.Popen[str]]:
    """A demo on a free port; killed at the end if it still runs."""
    process = subprocess.Popen(
        command(data_dir, "--port", "0"),
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def read_until(process: subprocess.Popen[str], last: str) -> str:
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith(last):
            return said
    raise AssertionError(f"it ended without saying {last!r}: {said}")


def stored(data_dir: Path) -> dict[str, int]:
    """Rows of the demo's database, of three tables."""
    database = Database(f"sqlite:///{data_dir / 'demo' / 'doxa.db'}")
    try:
        with database.read() as session:
            return {
                model.__tablename__: session.scalar(select(func.count()).select_from(model)) or 0
                for model in (CogEvent, Turn, AuditRun)
            }
    finally:
        database.close()


def test_loading_twice_adds_nothing(tmp_path: Path) -> None:
    first = run(tmp_path, "--load-only")
    assert (first.returncode, first.stderr) == (0, "")
    counts = stored(tmp_path)
    assert counts["cog_events"] >= 1000
    assert f"Audited {counts['audit_runs']} days" in first.stdout
    second = run(tmp_path, "--load-only")
    assert (second.returncode, second.stderr) == (0, "")
    already = 1000 + counts["turns"]
    assert f"Sent {already} events and turns; 0 were there already." in first.stdout
    assert f"Sent 0 events and turns; {already} were there already." in second.stdout
    assert stored(tmp_path) == counts
    assert first.stdout.splitlines()[1:] == second.stdout.splitlines()[1:]


def test_loading_says_how_to_reach_the_report_and_names_no_port_that_closed(
    tmp_path: Path,
) -> None:
    said = run(tmp_path, "--load-only").stdout
    assert "`doxa demo`" in said
    assert f"doxa serve --data-dir {tmp_path / 'demo'}" in said
    assert "/v1/reports/weekly?agent=demo" in said
    assert "http://" not in said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl+C"])
def test_the_report_is_where_it_says_and_a_signal_ends_it_cleanly(
    tmp_path: Path, number: signal.Signals
) -> None:
    with started(tmp_path) as process:
        said = read_until(process, "Stop it with Ctrl+C")
        found = re.search(r"The weekly report: (http://\S+)", said)
        assert found is not None
        page = httpx.get(found[1], headers={"accept": "text/html"}, trust_env=False, timeout=30)
        assert page.status_code == httpx.codes.OK
        assert "<svg" in page.text
        process.send_signal(number)
        _, errors = process.communicate(timeout=STOP_WITHIN_SECONDS)
    assert process.returncode == 0
    assert errors == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "Ctrl+C"])
def test_a_signal_while_it_audits_says_that_it_is_unfinished_and_the_next_run_ends_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    with started(tmp_path) as process:
        read_until(process, "Sent ")
        process.send_signal(number)
        _, errors = process.communicate(timeout=STOP_WITHIN_SECONDS)
    assert process.returncode == 1
    assert errors == "Stopped before all was sent and audited; run it again to go on.\n"
    again = run(tmp_path, "--load-only")
    assert (again.returncode, again.stderr) == (0, "")
    fresh = run(tmp_path / "fresh", "--load-only")
    audited = re.search(r"^Audited [1-7] days: \d+ .*$", fresh.stdout, re.MULTILINE)
    assert audited is not None
    assert audited[0] in again.stdout


def test_a_taken_port_is_named_with_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused = run(tmp_path, "--port", str(port))
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"Cannot listen on 127.0.0.1:{port} (")
    assert "choose another with --port" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_help_names_every_option_and_an_example(tmp_path: Path) -> None:
    shown = run(tmp_path, "--help")
    assert shown.returncode == 0
    for option in ("--seed", "--weeks", "--events", "--port", "--load-only", "--open"):
        assert option in shown.stdout
    assert "Example: doxa demo" in shown.stdout
    assert not (tmp_path / "demo").exists()
