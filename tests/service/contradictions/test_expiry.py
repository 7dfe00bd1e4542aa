"""Contradictions expire at the instant at which their time ran out, also while nothing ran."""

import asyncio
import time
from pathlib import Path

import httpx
import pytest

from service.contradictions.expiry import ExpireDue
from service.db.database import Database
from service.events.schemas import Event
from service.instants import DAY, MINUTE, format_instant
from service.models import Contradiction
from service.settings import Settings
from tests.processes import serving
from tests.service.contradictions.queue import OWNED, Clock, a_queue
from tests.service.factories import AGENT, NOW, an_event, post, row_of


def created(contradiction_id: str, at: int, ttl: str | None) -> Event:
    detail = {"beliefs": [f"{contradiction_id}-a", f"{contradiction_id}-b"], "ttl": ttl}
    return an_event(
        "contradiction.created", contradiction_id=contradiction_id, ts=at, detail=detail
    )


def test_each_expires_at_its_own_instant_however_late_that_is_noticed(
    database: Database, settings: Settings
) -> None:
    post(
        database,
        [
            created("reported", NOW - 5 * DAY, "P2D"),
            created("without", NOW - 5 * DAY, None),
            created("later", NOW - DAY, "30d"),
        ],
    )
    clock = Clock()
    with a_queue(settings, clock) as queue:
        queue.open(contradiction_id="owned", ttl="PT90M")
        queue.move("owned", "investigating", **OWNED)
    clock.now += 400 * MINUTE
    with a_queue(settings, clock) as queue:
        assert queue.upkeep().expire_due() == 2
        ends = {"reported": NOW - 3 * DAY, "owned": NOW + 90 * MINUTE}
        for name, end in ends.items():
            row = row_of(database, Contradiction, AGENT, name)
            assert (row["state"], row["closed_at"]) == ("expired", end)
        told = {e["contradiction_id"]: e for e in queue.events("contradiction.expired")}
        assert {name: event["ts"] for name, event in told.items()} == {
            name: format_instant(end) for name, end in ends.items()
        }
        noticed = format_instant(clock.now)
        assert {event["detail"]["noticed_at"] for event in told.values()} == {noticed}
        assert told["owned"]["flags"] == []
        assert queue.upkeep().expire_due() == 0
        for name in ("without", "later"):
            assert queue.contradiction(name)["state"] == "candidate"


@pytest.mark.parametrize(("early", "expected"), [(1, "candidate"), (0, "expired"), (-1, "expired")])
def test_it_expires_at_the_very_microsecond(settings: Settings, early: int, expected: str) -> None:
    with a_queue(settings) as queue:
        queue.open(contradiction_id="c1", ttl="1h")
        queue.clock.now = NOW + 60 * MINUTE - early
        queue.upkeep().expire_due()
        assert queue.contradiction("c1")["state"] == expected


def test_a_move_after_its_time_is_refused_though_nobody_had_noticed(settings: Settings) -> None:
    with a_queue(settings) as queue:
        queue.open(contradiction_id="c1", ttl="1h")
        queue.clock.now += 61 * MINUTE
        answer = queue.move("c1", "investigating", **OWNED)
        assert (answer.status_code, answer.json()["state"]) == (409, "expired")
        assert queue.contradiction("c1")["closed_at"] == format_instant(NOW + 60 * MINUTE)
        assert len(queue.events("ledger.refused")) == 1
        assert queue.upkeep().expire_due() == 0


def test_a_move_of_before_that_is_reported_late_takes_the_expirys_place(
    database: Database, settings: Settings
) -> None:
    post(database, [created("c1", NOW - 2 * DAY, "P1D")])
    with a_queue(settings) as queue:
        assert queue.upkeep().expire_due() == 1
        moves = [
            an_event(
                f"contradiction.{name}",
                contradiction_id="c1",
                ts=NOW - 2 * DAY + at,
                detail={"owner": "day", "resolution": "kept c1-a", "evidence": ["e1"]},
            )
            for at, name in ((MINUTE, "investigated"), (2 * MINUTE, "resolved"))
        ]
        post(database, moves)
        assert queue.contradiction("c1")["state"] == "resolved"
        assert queue.upkeep().expire_due() == 0
        late = an_event(
            "contradiction.investigated",
            contradiction_id="c1",
            ts=NOW - MINUTE,
            detail={"owner": "x"},
        )
        post(database, [late])
        assert queue.contradiction("c1")["owner"] == "day"


def test_an_id_that_was_taken_for_something_else_keeps_nothing_open(
    database: Database, settings: Settings
) -> None:
    with a_queue(settings) as queue:
        queue.open(contradiction_id="c1", ttl="1h")
        queue.clock.now += DAY
        queue.upkeep().expire_due()
        derived = queue.events("contradiction.expired")[0]["event_id"]
    post(database, [an_event("x.squat", agent_id="other", event_id=derived)])
    with a_queue(settings) as queue:
        queue.open(agent_id="other", contradiction_id="c1", ttl="1h")
        queue.clock.now += DAY
        assert queue.upkeep().expire_due() == 1
        found = queue.events("contradiction.expired", agent="other")
        assert found[0]["event_id"].startswith(derived + ":")


def test_more_than_a_commits_worth_is_closed_over_several(
    database: Database, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.upkeep.BATCH", 3)
    post(database, [created(f"c{n}", NOW - 2 * DAY, "P1D") for n in range(7)])
    with a_queue(settings) as queue:
        upkeep = queue.upkeep()
        upkeep.start()
        deadline = time.monotonic() + 30
        while len(queue.events("contradiction.expired")) < 7 and time.monotonic() < deadline:
            time.sleep(0.02)
        upkeep.stop()
        assert len(queue.events("contradiction.expired")) == 7
        assert queue.app.state.writer.counts.commits >= 3


def test_two_services_that_noticed_the_same_close_it_once(
    database: Database, settings: Settings
) -> None:
    names = [f"c{n}" for n in range(5)]
    post(database, [created(name, NOW - 2 * DAY, "P1D") for name in names])
    with a_queue(settings) as first, a_queue(settings) as second:
        # Both have looked; now both act.
        closed = []
        for queue in (first, second):
            writer = queue.app.state.writer
            job = ExpireDue(AGENT, names, NOW, writer.projectors)
            closed.append(asyncio.run(writer.submit(job)))
        assert closed == [5, 0]
        assert len(first.events("contradiction.expired")) == 5


def test_a_service_that_was_killed_closes_at_its_start_what_ran_out_meanwhile(
    tmp_path: Path,
) -> None:
    data_dir = str(tmp_path / "doxa-data")
    body = {"agent_id": AGENT, "beliefs": ["b1", "b2"], "contradiction_id": "c1", "ttl": "PT2S"}
    with serving("--no-auditor", data_dir=data_dir) as service:
        opened = httpx.post(f"{service.url}/v1/contradictions", json=body)
        service.kill()
    assert opened.status_code == 201
    end = opened.json()["expires_at"]
    # The time that passes while nothing runs is real: the process reads the machine's clock.
    time.sleep(2.2)
    with serving("--no-auditor", data_dir=data_dir) as service:
        deadline = time.monotonic() + 30
        found: dict[str, str] = {}
        while found.get("state") != "expired" and time.monotonic() < deadline:
            time.sleep(0.05)
            answer = httpx.get(f"{service.url}/v1/contradictions/c1").json()
            found = answer["contradiction"]
        assert (found["state"], found["closed_at"]) == ("expired", end)
        assert answer["events"][-1]["detail"]["noticed_at"] > end
