"""Opening contradictions over the API, on both databases."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from service.db.database import Database
from service.instants import DAY
from service.settings import Settings
from tests.service.contradictions.queue import OWNED, Queue, a_queue
from tests.service.factories import a_key, an_event, post


@pytest.fixture
def queue(settings: Settings) -> Iterator[Queue]:
    with a_queue(settings) as opened:
        yield opened


def test_it_is_opened_with_all_it_was_told(queue: Queue) -> None:
    answer = queue.open(
        "b1", "e7", contradiction_id="c/1", detector="scanner", priority=4, ttl="P2D", **OWNED
    )
    assert answer.status_code == 201
    assert answer.json() == {
        "agent_id": "piper",
        "contradiction_id": "c/1",
        "beliefs": ["b1", "e7"],
        "detector": "scanner",
        "detected_at": "2026-10-03T12:00:00.000000Z",
        "state": "candidate",
        "priority": 4,
        "owner": "day",
        "next_action": "test",
        "ttl_seconds": 172_800,
        "expires_at": "2026-10-05T12:00:00.000000Z",
        "investigated_at": None,
        "closed_at": None,
        "resolution": None,
        "resolution_detail": None,
        "cost_tokens": 0,
        "salience": 4.0,
        "version": "agent.1",
        "last_ts": "2026-10-03T12:00:00.000000Z",
    }
    assert queue.contradiction("c/1") == answer.json()


def test_the_same_members_in_any_order_are_one_contradiction(queue: Queue) -> None:
    first = queue.open("b1", "b2", "e3").json()["contradiction_id"]
    for members in itertools.permutations(("b1", "b2", "e3")):
        answer = queue.open(*members, contradiction_id=f"another {members}")
        assert (answer.status_code, answer.json()["contradiction_id"]) == (200, first)
    for members in (("b1", "b2"), ("b1", "e3"), ("b1", "b2", "e4"), ("b1", "b2", "e3", "e4")):
        assert queue.open(*members).status_code == 201
    assert len(queue.events("contradiction.created")) == 5


def test_a_reported_pair_is_the_same_contradiction_whichever_side_came_first(
    database: Database, queue: Queue
) -> None:
    told: list[Any] = [["b2", "b1"], [{"id": "b3"}, {"id": "b4"}]]
    for number, beliefs in enumerate(told):
        detail = {"beliefs": beliefs}
        post(
            database,
            [an_event("contradiction.created", contradiction_id=f"c{number}", detail=detail)],
        )
    assert queue.open("b1", "b2").json()["contradiction_id"] == "c0"
    assert queue.open("b4", "b3").json()["contradiction_id"] == "c1"


def test_a_pair_that_was_settled_can_contradict_itself_anew(queue: Queue) -> None:
    queue.open(contradiction_id="c1")
    queue.move("c1", "expired")
    again = queue.open(contradiction_id="c2")
    assert (again.status_code, again.json()["contradiction_id"]) == (201, "c2")


def test_a_pair_whose_time_ran_out_unnoticed_is_closed_before_it_is_opened_anew(
    queue: Queue,
) -> None:
    queue.open(contradiction_id="c1", ttl="1d")
    queue.clock.now += 3 * DAY
    assert queue.open(contradiction_id="c2").status_code == 201
    assert queue.contradiction("c1")["closed_at"] == "2026-10-04T12:00:00.000000Z"


def test_it_may_be_sent_again_by_either_id(queue: Queue) -> None:
    for ids in ({"contradiction_id": "c1"}, {"event_id": "e1"}):
        sides = [f"{name}-{ids}" for name in ("left", "right")]
        first = queue.open(*sides, **ids)
        queue.move(first.json()["contradiction_id"], "expired")
        again = queue.open(*sides, **ids)
        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json()["contradiction_id"] == first.json()["contradiction_id"]
        assert again.json()["state"] == "expired"
    other = queue.open("x", "y", contradiction_id="c1")
    assert (other.status_code, other.json()["rule"]) == (409, "id_taken")
    other = queue.open("x", "y", contradiction_id="c9", event_id="e1")
    assert (other.status_code, other.json()["rule"]) == (409, "id_taken")
    assert len(queue.events("ledger.refused")) == 2


MALFORMED: list[dict[str, Any]] = [
    {},
    {"beliefs": []},
    {"beliefs": ["b1"]},
    {"beliefs": ["b1", "b1"]},
    {"beliefs": ["b1", ""]},
    {"beliefs": ["b1", "b\x002"]},
    {"beliefs": ["b1", 2]},
    {"beliefs": [f"b{n}" for n in range(101)]},
    {"beliefs": ["b1", "b2"], "priority": 0},
    {"beliefs": ["b1", "b2"], "priority": 2.5},
    {"beliefs": ["b1", "b2"], "ttl": "30"},
    {"beliefs": ["b1", "b2"], "ttl": "0d"},
    {"beliefs": ["b1", "b2"], "next_action": "think"},
    {"beliefs": ["b1", "b2"], "state": "resolved"},
    {"beliefs": ["b1", "b2"], "contradiction_id": "c" * 257},
    {"beliefs": ["b1", "b2"], "agent_id": "a\x00"},
]


def test_what_is_malformed_is_refused_by_its_field(queue: Queue) -> None:
    queue.open("x", "y")
    for body in MALFORMED:
        answer = queue.post("/v1/contradictions", **body)
        assert answer.status_code == 422, (body, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["errors"][0]["pointer"]
    half = queue.client.post(
        "/v1/contradictions",
        content=rb'{"agent_id":"piper","beliefs":["b1","\ud800"]}',
        headers={"Content-Type": "application/json"},
    )
    assert half.status_code == 422
    assert len(queue.events("contradiction.created")) == 1


def test_a_key_opens_for_its_own_agent_only(queue: Queue) -> None:
    operate = a_key(queue.client, "operate")
    queue.headers = a_key(queue.client, "write", "other", **operate)
    assert queue.open().status_code == 403
    queue.headers = a_key(queue.client, "write", "piper", **operate)
    assert queue.open().status_code == 201
