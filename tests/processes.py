"""Real `doxa` processes on loopback; only what was started here is ever signalled, by its id."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60


def environment(**settings: str) -> dict[str, str]:
    """The environment of a child: nothing of ours but what is given."""
    inherited = {
        k: v for k, v in os.environ.items() if k == "DOXA_KEY_DIR" or not k.startswith("DOXA_")
    }
    return inherited | {f"DOXA_{name.upper()}": value for name, value in settings.items()}


def doxa(*arguments: str) -> list[str]:
    """The command line of a `doxa` subcommand under this interpreter."""
    return [sys.executable, "-c", "from cli.main import run; run()", *arguments]


@dataclass(slots=True)
class Service:
    """A running `doxa serve`."""

    process: subprocess.Popen[str]
    url: str

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.process.kill()
        self.process.wait(30)

    def terminate(self) -> tuple[int, float]:
        """SIGTERM; the exit code, and how many seconds it took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60), time.monotonic() - began


@contextmanager
def serving(*arguments: str, **settings: str) -> Iterator[Service]:
    """Starts `doxa serve` on a free port and kills it at the end if it still runs."""
    process = subprocess.Popen(
        doxa("serve", "--port", "0", *arguments),
        cwd=ROOT,
        env=environment(**settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    reader = None
    try:
        url = _url(process)
        # A child that logs much would wait for somebody to read it.
        reader = threading.Thread(target=_drain, args=(process,), daemon=True)
        reader.start()
        yield Service(process, url)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(30)
        if reader is not None:
            reader.join(30)
        if process.stdout is not None:
            process.stdout.close()


def _drain(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for _ in process.stdout:
        pass


def _url(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    said = []
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        line = process.stdout.readline()
        said.append(line)
        if found := re.search(r"Doxa serves (http://[^ ]+)", line):
            return found[1]
        if not line and process.poll() is not None:
            break
    raise AssertionError(f"doxa serve did not start: {''.join(said)}")
