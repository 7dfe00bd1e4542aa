"""A batch that another process reads is stored as if the service had read it."""

import json
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy import Table, select

from cli.server import serving_in_background
from service.app import create_app
from service.db.database import Database
from service.events.adopting import committed_tables
from service.events.reading import READ_APART_BYTES, RESTART_SECONDS, ApartReader
from service.models import Belief, BeliefVersion
from service.settings import Settings
from tests.service.factories import NOW

# Differ from one service to the next: the salt is random, and with it the hashes.
_RANDOM = {"detail_salt", "leaf_hash", "seal"}
PADDING = "the nightly backup was skipped on the second host " * 10


def batch(run: str, size: int = 200) -> list[dict[str, Any]]:
    """Events of several kinds, large enough to be read apart."""
    kinds: list[dict[str, Any]] = [
        {"event": "belief.created", "belief_id": "b{}", "label_to": "infer", "confidence": 0.9,
         "worker": "day", "detail": {"content": "claim \u0000 {}", "category": "x"}},
        {"event": "evidence.retrieved", "detail": {"tool": "sql", "query": PADDING}},
        {"event": "belief.challenged", "belief_id": "unknown{}", "detail": {"by": "scan"}},
        {"event": "x.own", "cost_usd": 0.25, "detail": {"deep": [[{"n": 2**70}]]}},
    ]  # fmt: skip
    made = []
    for number in range(size):
        text = json.dumps(kinds[number % len(kinds)]).replace("{}", str(number))
        given = {"agent_id": "piper", "event_id": f"{run}-{number}", "turn_id": f"t{number}",
                 "ts": f"2026-10-03T11:{number // 60:02}:{number % 60:02}Z"}  # fmt: skip
        made.append(json.loads(text) | given)
    return made


class Running:
    """A real server, and what reads apart in it."""

    def __init__(self, url: str, reader: ApartReader) -> None:
        self.client = httpx.Client(base_url=url, trust_env=False, timeout=30)
        self.reader = reader

    def post(self, events: list[dict[str, Any]], **query: str) -> httpx.Response:
        """Sends an array."""
        return self.client.post("/v1/events", json=events, params=query)

    def until_it_reads(self) -> int:
        """Posts large batches until the process is there, and returns its id."""
        deadline = time.monotonic() + 20
        while (pid := self.reader.pid) is None and time.monotonic() < deadline:
            assert self.post(batch("start")).status_code == 200
        assert pid is not None
        return pid


@pytest.fixture
def running(settings: Settings) -> Iterator[Running]:
    app = create_app(settings, clock=lambda: NOW)
    with serving_in_background(app, settings) as url:
        found = Running(url, app.state.apart_reader)
        yield found
        found.client.close()


def rows(database: Database, table: Table) -> list[dict[str, Any]]:
    with database.read() as session:
        found = [dict(row._mapping) for row in session.execute(select(*table.columns))]
    return sorted(({k: v for k, v in r.items() if k not in _RANDOM} for r in found), key=repr)


def test_both_ways_leave_the_same_rows(running: Running, database: Database) -> None:
    sent = batch("same")
    running.until_it_reads()
    assert len(json.dumps(sent)) > READ_APART_BYTES
    answer = running.post(sent)
    receipts = answer.json().pop("receipts")
    assert [one["shadow_id"] for one in receipts] == [f"agent:same-{n}" for n in range(0, 200, 4)]
    assert (answer.json()["accepted"], answer.json()["duplicates"]) == (200, 0)
    apart = {t.name: rows(database, t) for t in _tables()}
    # The same events of another agent, each on its own: too small to be read apart.
    for event in (*batch("start"), *sent):
        one = event | {"agent_id": "other"}
        assert running.client.post("/v1/events", json=one).status_code == 200
    for name, of_both in {t.name: rows(database, t) for t in _tables()}.items():
        here = [row for row in of_both if row["agent_id"] == "other"]
        assert len(here) == len(apart[name]) > 0 or not apart[name]
        assert _unplaced(here) == _unplaced(apart[name]), name


def _tables() -> list[Table]:
    projections = [Belief.__table__, BeliefVersion.__table__]
    return [*committed_tables(), *(t for t in projections if isinstance(t, Table))]


def _unplaced(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    places = {"agent_id", "seq", "last_seq", "content_seq"}
    return sorted(({k: v for k, v in r.items() if k not in places} for r in found), key=repr)


def test_what_is_wrong_is_explained_as_ever(running: Running) -> None:
    running.until_it_reads()
    wrong = batch("wrong")
    wrong[7]["confidence"] = 7
    refused = running.post(wrong)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/7/confidence"
    skipped = running.post(wrong, on_error="skip").json()
    assert (skipped["accepted"], [r["index"] for r in skipped["rejected"]]) == (199, [7])
    nameless = [{k: v for k, v in e.items() if k != "agent_id"} for e in batch("nameless")]
    assert running.post(nameless).json()["accepted"] == 200
    other = batch("wrong")
    other[3]["detail"] = {"deep": []}
    assert running.post(other).status_code == 409
    assert running.post(batch("nameless")).json()["duplicates"] == 200


def test_a_killed_process_loses_nothing_and_comes_back(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = running.until_it_reads()
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while running.reader.pid is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert running.reader.pid is None, "the fault fired"
    assert running.post(batch("after")).json()["accepted"] == 200
    monkeypatch.setattr("service.events.reading.RESTART_SECONDS", 0.0)
    assert RESTART_SECONDS > 0
    assert running.until_it_reads() != pid


def test_it_ends_with_the_service(settings: Settings) -> None:
    app = create_app(settings, clock=lambda: NOW)
    with serving_in_background(app, settings) as url:
        running = Running(url, app.state.apart_reader)
        pid = running.until_it_reads()
        running.client.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
