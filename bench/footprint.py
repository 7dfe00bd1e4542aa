"""What the service costs when nothing happens, and how long it takes to start."""

import subprocess
import sys
import time

from bench.ingest import BATCH, fresh_folder, load, packed, typical_bodies
from bench.servers import ROOT, children_of, doxa_serve, resident_mib
from bench.table import Row


def measure_memory() -> Row:
    """Resident memory of an idle service, after its first requests."""
    with fresh_folder() as folder, doxa_serve(folder) as running:
        subprocess.run(
            [sys.executable, "-m", "bench.load", "singles", running.url, "4", "0.5",
             "/v1/events", "m"],
            cwd=ROOT, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        time.sleep(1)
        mib = running.resident_mib()
    return Row("resident memory, idle", "1 MiB", [mib], 150, f"{mib:.0f} MiB", is_ceiling=True)


def measure_memory_with_reader() -> Row:
    """Resident memory of service and reading process together, idle after large batches."""
    with fresh_folder() as folder, doxa_serve(folder) as running:
        for _ in range(6):
            load(["arrays", running.url, "1"], packed(typical_bodies(2 * BATCH)))
        time.sleep(1)
        mib = running.resident_mib() + sum(resident_mib(pid) for pid in children_of(running.pid))
    return Row(
        "resident memory, idle, with the process that reads large batches", "1 MiB", [mib], 220,
        f"{mib:.0f} MiB", is_ceiling=True,
    )  # fmt: skip


def measure_start(repeats: int) -> Row:
    """From the command to the first answer that can be had, a new database each time."""
    seconds = []
    for _ in range(repeats):
        with fresh_folder() as folder:
            began = time.perf_counter()
            with doxa_serve(folder):
                seconds.append(time.perf_counter() - began)
    return Row(
        "start with a new database", "1 s", seconds, 3, f"{min(seconds):.2f} s", is_ceiling=True
    )


def measure_help(repeats: int) -> Row:
    """`doxa --help`."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", "from cli.main import run; run()", "--help"],
            cwd=ROOT, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        seconds.append(time.perf_counter() - began)
    return Row("doxa --help", "1 s", seconds, 1, f"{min(seconds):.2f} s", is_ceiling=True)
