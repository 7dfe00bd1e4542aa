"""What was acknowledged survives whatever ends the process."""

import itertools
import json
import random
import threading
import time
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select

from service.db.database import Database
from service.models import CogEvent
from tests.acknowledged import check_record, check_verified, numbered_belief
from tests.processes import serving

CLIENTS = 16


class Load:
    """Clients that write until they are told to stop, remembering what was acknowledged."""

    def __init__(self) -> None:
        self.acknowledged: set[str] = set()
        self.broken = 0
        self.refused: list[str] = []
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def run(self, url: str, stop: threading.Event) -> list[threading.Thread]:
        threads = [
            threading.Thread(target=self._write, args=(url, stop, client))
            for client in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        return threads

    def _write(self, url: str, stop: threading.Event, client: int) -> None:
        with httpx.Client(base_url=url, trust_env=False, timeout=20) as http:
            while not stop.is_set():
                batch = [numbered_belief(next(self._numbers), client) for _ in range(3)]
                try:
                    answer = http.post("/v1/events", json=batch)
                except httpx.HTTPError:
                    with self._lock:
                        self.broken += 1
                    return
                with self._lock:
                    if answer.status_code == 200:
                        assert answer.json()["accepted"] == 3
                        self.acknowledged.update(event["event_id"] for event in batch)
                    else:
                        self.refused.append(answer.text)


@pytest.mark.parametrize(
    "kills", [20, pytest.param(100, marks=[pytest.mark.long, pytest.mark.timeout(1800)])]
)
def test_kill_9_under_load_loses_and_doubles_nothing(
    database_url: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, kills: int
) -> None:
    load = Load()
    elsewhere = tmp_path_factory.mktemp("checkpoints")
    chance = random.Random(20261003)
    hits = 0
    for _ in range(kills):
        with serving(
            database_url=database_url, data_dir=str(tmp_path), checkpoint_dir=str(elsewhere)
        ) as service:
            stop = threading.Event()
            before, broken = len(load.acknowledged), load.broken
            threads = load.run(service.url, stop)
            deadline = time.monotonic() + 30
            while len(load.acknowledged) == before and time.monotonic() < deadline:
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.25))
            service.kill()
            for thread in threads:
                thread.join()
            hits += load.broken > broken
    assert hits == kills, "each kill must break a request that was under way"
    assert load.refused == []
    check_record(database_url, load.acknowledged)
    check_verified(database_url, tmp_path, elsewhere)


def test_sigterm_commits_what_was_accepted_and_ends_streams(
    database_url: str, tmp_path: Path
) -> None:
    load = Load()
    ended = threading.Event()
    with serving(database_url=database_url, data_dir=str(tmp_path)) as service:
        assert httpx.post(
            f"{service.url}/v1/events", json={"agent_id": "a", "event": "x.first"}, trust_env=False
        ).is_success  # fmt: skip
        following = threading.Event()

        def follow() -> None:
            with httpx.stream(
                "GET", f"{service.url}/v1/events/stream", trust_env=False, timeout=30
            ) as stream:
                for _line in stream.iter_lines():
                    following.set()
            ended.set()

        follower = threading.Thread(target=follow)
        follower.start()
        assert following.wait(10)
        stop = threading.Event()
        threads = load.run(service.url, stop)
        time.sleep(0.5)
        code, seconds = service.terminate()
        stop.set()
        for thread in threads:
            thread.join()
        follower.join(10)
    assert code == 0
    assert seconds < 20
    assert ended.is_set(), "the stream was closed by the service, not cut off"
    assert len(load.acknowledged) > 0
    database = Database(database_url)
    with database.read() as session:
        stored = set(session.scalars(select(CogEvent.event_id)))
    database.close()
    assert load.acknowledged <= stored


def test_a_stream_resumes_where_it_was_left(database_url: str, tmp_path: Path) -> None:
    def post(url: str, first: int, count: int) -> None:
        batch = [
            {"agent_id": "a", "event": "x.n", "event_id": str(n), "ts": "2026-10-03T12:00:00Z"}
            for n in range(first, first + count)
        ]
        assert httpx.post(f"{url}/v1/events", json=batch, trust_env=False).is_success

    def read(url: str, last: str, count: int) -> list[tuple[str, str]]:
        seen: list[tuple[str, str]] = []
        identity = ""
        with httpx.stream(
            "GET", f"{url}/v1/events/stream", headers={"Last-Event-ID": last},
            trust_env=False, timeout=20,
        ) as stream:  # fmt: skip
            for line in stream.iter_lines():
                if line.startswith("id: "):
                    identity = line.removeprefix("id: ")
                if line.startswith("data: "):
                    seen.append((identity, json.loads(line.removeprefix("data: "))["event_id"]))
                    if len(seen) == count:
                        return seen
        return seen

    with serving(database_url=database_url, data_dir=str(tmp_path)) as service:
        post(service.url, 0, 5)
        first = read(service.url, "0.0", 3)
        assert [event for _, event in first] == ["0", "1", "2"]
        service.kill()
    with serving(database_url=database_url, data_dir=str(tmp_path)) as service:
        post(service.url, 5, 600)
        rest = read(service.url, first[-1][0], 602)
        assert [event for _, event in rest] == [str(n) for n in range(3, 605)]
        bad = httpx.get(
            f"{service.url}/v1/events/stream", headers={"Last-Event-ID": "x"}, trust_env=False
        )
        assert bad.status_code == 422
