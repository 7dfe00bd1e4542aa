"""Clients that send each batch until it is acknowledged, whatever happens in between."""

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx

from tests.acknowledged import numbered_belief

CLIENTS = 8
BATCH = 3
GIVE_UP_SECONDS = 30


def wait_until(holds: Callable[[], bool]) -> None:
    """Until something holds; never is a failure."""
    deadline = time.monotonic() + GIVE_UP_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.02)


class Resending:
    """Counts what was acknowledged, what was refused, and what got no answer."""

    def __init__(self) -> None:
        self.url = ""
        self.acknowledged: set[str] = set()
        self.refused = 0
        self.unanswered = 0
        self.surprises: list[str] = []
        self._numbers = itertools.count(1)
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._told = threading.Condition()

    @contextmanager
    def writing(self, url: str) -> Iterator[None]:
        """Writes while the block runs; what was begun is sent until it is acknowledged."""
        self.url = url
        self._threads = [threading.Thread(target=self._write, args=(n,)) for n in range(CLIENTS)]
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self.finish()
        assert self.surprises == []

    def finish(self) -> None:
        """Begins nothing new, and waits for the answers to what was begun."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, *, acknowledged: int = 0, trouble: int = 0) -> None:
        """Until so many more batches were acknowledged, and so many more were not."""
        wanted = len(self.acknowledged) + acknowledged * BATCH, self._troubles() + trouble
        with self._told:
            assert self._told.wait_for(
                lambda: len(self.acknowledged) >= wanted[0] and self._troubles() >= wanted[1],
                GIVE_UP_SECONDS,
            ), f"{len(self.acknowledged)} acknowledged, {self._troubles()} not; {self.surprises}"

    def _troubles(self) -> int:
        return self.refused + self.unanswered

    def _write(self, client: int) -> None:
        while not self._stop.is_set():
            batch = [numbered_belief(next(self._numbers), client) for _ in range(BATCH)]
            deadline = time.monotonic() + GIVE_UP_SECONDS
            while not self._send(batch):
                if time.monotonic() > deadline:
                    self._tell(surprise="a batch was never taken")
                    return
                time.sleep(0.02)

    def _send(self, batch: list[dict[str, Any]]) -> bool:
        """Whether it need not be sent again."""
        try:
            answer = httpx.post(f"{self.url}/v1/events", json=batch, trust_env=False, timeout=30)
        except httpx.HTTPError:
            self._tell(unanswered=1)
            return False
        if answer.status_code == 503 and "retry-after" in answer.headers:
            self._tell(refused=1)
            return False
        if answer.status_code != 200:
            self._tell(surprise=f"{answer.status_code} {answer.text[:300]}")
            return True
        told = answer.json()
        if told["accepted"] + told["duplicates"] != BATCH:
            self._tell(surprise=answer.text[:300])
        self._tell(acknowledged=[event["event_id"] for event in batch])
        return True

    def _tell(
        self,
        *,
        acknowledged: list[str] | None = None,
        refused: int = 0,
        unanswered: int = 0,
        surprise: str | None = None,
    ) -> None:
        with self._told:
            self.acknowledged.update(acknowledged or ())
            self.refused += refused
            self.unanswered += unanswered
            if surprise is not None:
                self.surprises.append(surprise)
            self._told.notify_all()
