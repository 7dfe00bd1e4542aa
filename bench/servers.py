"""Servers to measure, each a process of its own on a free loopback port."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The same server settings as `doxa serve`, around an endpoint that does nothing.
NOTHING = """
from fastapi import FastAPI
from cli.server import bind, make_server, tune_interpreter
from service.settings import Settings

app = FastAPI()

@app.post("/nothing")
async def nothing():
    return {}

listener = bind("127.0.0.1", 0)
print(f"Doxa serves http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
tune_interpreter()
make_server(app, Settings()).run([listener])
"""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that answers."""

    url: str
    pid: int

    def resident_mib(self) -> float:
        """Memory it occupies now, in MiB."""
        return resident_mib(self.pid)


def resident_mib(pid: int) -> float:
    """Memory that a process occupies now, in MiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else float("nan")


def children_of(pid: int) -> list[int]:
    """The processes that a process has started."""
    listed = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for path in listed for child in path.read_text().split()]


@contextmanager
def doxa_serve(data_dir: Path, **extra: str) -> Iterator[Running]:
    """`doxa serve` over a fresh folder."""
    command = [sys.executable, "-c", "from cli.main import run; run()", "serve", "--port", "0"]
    with _process([*command, "--data-dir", str(data_dir)], extra) as running:
        yield running


@contextmanager
def doing_nothing() -> Iterator[Running]:
    """A FastAPI endpoint that does nothing."""
    with _process([sys.executable, "-c", NOTHING], {}) as running:
        yield running


@contextmanager
def _process(command: list[str], extra: dict[str, str]) -> Iterator[Running]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DOXA_")} | extra
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        url = None
        while url is None:
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"{command[-1]} did not start")
            if found := re.search(r"Doxa serves (http://[^ ]+)", line):
                url = found[1]
        yield Running(url, process.pid)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
