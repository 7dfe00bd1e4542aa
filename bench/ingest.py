"""How fast events are made durable, as ratios to a reference that runs in the same minutes."""

import json
import os
import shutil
import sqlite3
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.servers import ROOT, doing_nothing, doxa_serve
from bench.table import Row
from cli.demo import simulate
from cli.server import prepare_database
from service.settings import Settings

BATCH = 1_000
CONNECTIONS = 4
CLIENTS = 64
SLOW_FSYNC_MS = 5
SLOW_FSYNC_SOURCE = f"""
#include <unistd.h>
#include <sys/syscall.h>
static int slowly(long call, int fd) {{
  int result = (int)syscall(call, fd);
  usleep({SLOW_FSYNC_MS} * 1000);
  return result;
}}
int fsync(int fd) {{ return slowly(SYS_fsync, fd); }}
int fdatasync(int fd) {{ return slowly(SYS_fdatasync, fd); }}
"""


def typical_bodies(count: int) -> list[bytes]:
    """Arrays of 1,000 events each from the simulator, as bytes."""
    simulation = simulate(7, until=datetime(2026, 10, 5, tzinfo=UTC), events=count, turns=0)
    events: list[dict[str, Any]] = []
    bodies = []
    for batch in simulation.batches():
        events.extend(batch.events)
        while len(events) >= BATCH:
            bodies.append(json.dumps(events[:BATCH]).encode())
            events = events[BATCH:]
    return bodies


def ingest_over_http(bodies: Sequence[bytes], folder: Path) -> float:
    """Seconds from the first request to the last answer."""
    with doxa_serve(folder) as running:
        result = load(["arrays", running.url, str(CONNECTIONS)], packed(bodies))
    if result["failures"]:
        raise RuntimeError(f"{result['failures']} requests failed")
    return float(result["seconds"])


def plain_executemany(
    rows: Sequence[tuple[Any, ...]], folder: Path, *, with_triggers: bool
) -> float:
    """Seconds for the same rows into the same table, indexes and durability, by `executemany`.

    With the triggers of the table, or without them, as a plain table would be.
    """
    settings = Settings(data_dir=folder)
    prepare_database(settings)
    database = sqlite3.connect(folder / "doxa.db", isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "cache_size = -16384"):
        database.execute(f"PRAGMA {pragma}")
    triggers = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'cog_events'"
    for (name,) in [] if with_triggers else database.execute(triggers).fetchall():
        database.execute(f"DROP TRIGGER {name}")
    statement = f"INSERT INTO cog_events VALUES ({', '.join('?' * len(rows[0]))})"
    began = time.perf_counter()
    for start in range(0, len(rows), BATCH):
        database.execute("BEGIN IMMEDIATE")
        database.executemany(statement, rows[start : start + BATCH])
        database.execute("COMMIT")
    seconds = time.perf_counter() - began
    database.close()
    return seconds


def stored_rows(folder: Path) -> list[tuple[Any, ...]]:
    """The rows of `cog_events` as they were stored."""
    database = sqlite3.connect(folder / "doxa.db")
    rows = database.execute("SELECT * FROM cog_events ORDER BY agent_id, log, seq").fetchall()
    database.close()
    return rows


def measure_arrays(count: int, repeats: int) -> list[Row]:
    """Durable ingest of arrays beside plain `executemany`, repeats interleaved."""
    bodies = typical_bodies(count)
    stored = len(bodies) * BATCH
    mean_bytes = sum(map(len, bodies)) / stored
    ours, plain, guarded = [], [], []
    rows: list[tuple[Any, ...]] = []
    for _ in range(repeats):
        with fresh_folder() as folder:
            ours.append(ingest_over_http(bodies, folder))
            rows = rows or stored_rows(folder)
        if len(rows) != stored:
            raise RuntimeError(f"{len(rows)} of {stored} events are stored")
        with fresh_folder() as folder:
            plain.append(plain_executemany(rows, folder, with_triggers=False))
        with fresh_folder() as folder:
            guarded.append(plain_executemany(rows, folder, with_triggers=True))
    what = (
        f"durable ingest, arrays of {BATCH}, {CONNECTIONS} connections, {stored:,} events of "
        f"{mean_bytes:.0f} bytes"
    )

    def beside(reference: str, seconds: list[float], target: float) -> Row:
        return Row(
            what,
            reference,
            [b / a for a, b in zip(ours, seconds, strict=True)],
            target,
            f"{stored / statistics.median(ours):,.0f} against "
            f"{stored / statistics.median(seconds):,.0f} a second",
        )

    return [
        beside("plain executemany of the same rows into the same table", guarded, 0.6),
        beside("the same without the table's triggers", plain, 0.5),
    ]


def measure_singles(seconds: float, repeats: int) -> Row:
    """Single-event POSTs beside an endpoint that does nothing, repeats interleaved."""
    ours, nothing = [], []
    with fresh_folder() as folder, doxa_serve(folder) as doxa, doing_nothing() as idle:
        for repeat in range(repeats):
            nothing.append(_singles(idle.url, "/nothing", seconds, f"r{repeat}"))
            ours.append(_singles(doxa.url, "/v1/events", seconds, f"r{repeat}"))
    return Row(
        f"single-event POSTs, {CLIENTS} keep-alive clients",
        "a FastAPI endpoint that does nothing",
        [a / b for a, b in zip(ours, nothing, strict=True)],
        0.5,
        f"{statistics.median(ours):,.0f} against {statistics.median(nothing):,.0f} a second",
    )


def measure_slow_disk(seconds: float, repeats: int) -> Row | None:
    """Single-event POSTs on a disk whose fsync takes 5 ms longer, beside one commit a request."""
    with fresh_folder() as folder:
        shim = _slow_fsync(folder)
        if shim is None:
            return None
        slow = {"LD_PRELOAD": str(shim)}
        ours, single = [], []
        with doxa_serve(folder / "doxa", **slow) as doxa:
            for repeat in range(repeats):
                single.append(_one_commit_a_request(folder / f"single{repeat}", seconds, slow))
                ours.append(_singles(doxa.url, "/v1/events", seconds, f"r{repeat}"))
    return Row(
        f"the same with every fsync {SLOW_FSYNC_MS} ms slower",
        "one commit per request",
        [a / b for a, b in zip(ours, single, strict=True)],
        12,
        f"{statistics.median(ours):,.0f} against {statistics.median(single):,.0f} a second",
    )


ONE_COMMIT = """
import sqlite3, sys, time
from pathlib import Path
from cli.server import prepare_database
from service.settings import Settings
folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
prepare_database(Settings(data_dir=folder))
database = sqlite3.connect(folder / "doxa.db", isolation_level=None)
database.execute("PRAGMA journal_mode = WAL")
database.execute("PRAGMA synchronous = FULL")
columns = len(database.execute("PRAGMA table_info(cog_events)").fetchall())
names = "agent_id, log, seq, event_id, ts, received_at, event"
began, count = time.perf_counter(), 0
while time.perf_counter() - began < seconds:
    count += 1
    database.execute("BEGIN IMMEDIATE")
    database.execute(f"INSERT INTO cog_events ({names}) VALUES ('a', 'agent', ?, ?, 0, 0, 'x.n')",
                     (count, f"e{count:012d}"))
    database.execute("COMMIT")
print(count / (time.perf_counter() - began))
"""


def _one_commit_a_request(folder: Path, seconds: float, extra: dict[str, str]) -> float:

    done = subprocess.run(
        [sys.executable, "-c", ONE_COMMIT, str(folder), str(seconds)],
        cwd=ROOT,
        env=os.environ | extra,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def _slow_fsync(folder: Path) -> Path | None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    source, shim = folder / "slow.c", folder / "slow.so"
    source.write_text(SLOW_FSYNC_SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", shim, source], check=True)
    return shim


def _singles(url: str, path: str, seconds: float, run: str) -> float:
    result = load(["singles", url, str(CLIENTS), str(seconds), path, run], b"")
    if result["failures"]:
        raise RuntimeError(f"{result['failures']} requests failed")
    return float(result["requests"]) / float(result["seconds"])


def packed(bodies: Sequence[bytes]) -> bytes:
    """Bodies as the load generator reads them."""
    return b"".join(struct.pack("!I", len(body)) + body for body in bodies)


def load(arguments: list[str], given: bytes) -> dict[str, float]:
    """What the load generator measured, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.load", *arguments],
        cwd=ROOT,
        input=given,
        stdout=subprocess.PIPE,
        check=True,
    )
    result: dict[str, float] = json.loads(done.stdout)
    return result


@contextmanager
def fresh_folder() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="doxa-bench-") as name:
        yield Path(name)
