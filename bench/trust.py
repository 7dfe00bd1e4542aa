"""What it costs that nobody can rewrite the record."""

import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

from bench.ingest import BATCH, CONNECTIONS, fresh_folder, load, packed, typical_bodies
from bench.servers import ROOT, doxa_serve
from bench.table import Row

HELD_UNANCHORED = 3


def measure_trust(count: int, repeats: int) -> list[Row]:
    """Checkpoints as a share of ingest, and `doxa verify` beside the ingest of the same rows."""
    bodies = typical_bodies(count)
    shares, ratios, absolute = [], [], []
    for _ in range(repeats):
        with fresh_folder() as folder:
            with doxa_serve(folder) as running:
                arguments = ["arrays", running.url, str(CONNECTIONS)]
                ingest = float(load(arguments, packed(bodies))["seconds"])
                shares.append(checkpoint_seconds(running.url) / ingest)
            verify = verify_seconds(folder)
        ratios.append(ingest / verify)
        absolute.append(verify)
    stored = len(bodies) * BATCH
    return [
        Row(
            "CPU of signing checkpoints during that ingest", "the ingest's seconds", shares, 0.02,
            f"{statistics.median(shares):.2%}", is_ceiling=True,
        ),
        Row(
            f"`doxa verify` of {stored:,} events and what they leave", "their ingest", ratios, 1,
            f"{statistics.median(absolute):.1f} s",
        ),
    ]  # fmt: skip


def checkpoint_seconds(url: str) -> float:
    """Seconds of CPU that the checkpointer has spent, by the service's own count."""
    with urlopen(f"{url}/metrics") as answer:
        text = answer.read().decode()
    found = re.search(r"^doxa_checkpoint_cpu_seconds_total (\S+)$", text, re.MULTILINE)
    if found is None:
        raise RuntimeError("the service does not count its checkpoints' time")
    return float(found[1])


def verify_seconds(folder: Path) -> float:
    """Seconds of the whole command; a record that does not hold is an error."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", "from cli.main import run; run()", "verify", "--data-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != HELD_UNANCHORED:
        raise RuntimeError(f"verify ended with {done.returncode}: {done.stdout}{done.stderr}")
    return time.perf_counter() - began
