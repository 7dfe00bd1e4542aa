"""Reading contradictions over the API, on both databases."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from service.db.database import Database
from service.events.schemas import Event
from service.events.vocabulary import Log
from service.settings import Settings
from tests.service.factories import a_client, a_key, an_event, post


@pytest.fixture
def client(settings: Settings) -> Iterator[httpx.Client]:
    with a_client(settings) as opened:
        yield opened


def created(contradiction_id: str, **fields: Any) -> Event:
    detail = {"beliefs": ["b1", "b2"]} | fields.pop("detail", {})
    given = {"contradiction_id": contradiction_id, "worker": "scanner", "detail": detail} | fields
    return an_event("contradiction.created", **given)


def moved(name: str, contradiction_id: str, **detail: Any) -> Event:
    return an_event(f"contradiction.{name}", contradiction_id=contradiction_id, detail=detail)


def read(client: httpx.Client, path: str, **query: Any) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(client: httpx.Client, **query: Any) -> list[str]:
    items = read(client, "/v1/contradictions", **query)["items"]
    return [item["contradiction_id"] for item in items]


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["c3", "c2", "c1"]),
    ({"state": "candidate"}, ["c3"]),
    ({"state": "investigating"}, ["c2"]),
    ({"state": "scoped"}, []),
    ({"owner": "day"}, ["c2", "c1"]),
    ({"owner": "day", "state": "resolved"}, ["c1"]),
    ({"priority": 5}, ["c3"]),
    ({"detector": "scanner"}, ["c2", "c1"]),
    ({"resolution": "not_a_contradiction"}, ["c1"]),
]


def test_each_filter_keeps_what_it_names_newest_first(
    database: Database, client: httpx.Client
) -> None:
    events = [
        created("c1"),
        moved("investigated", "c1", owner="day"),
        moved("resolved", "c1", resolution="not_a_contradiction", evidence=["e1"]),
        created("c2"),
        moved("investigated", "c2", owner="day"),
        created("c3", detail={"priority": 5, "detector": "operator"}),
    ]
    post(database, events)
    for query, expected in FILTERS:
        assert ids(client, **query) == expected, query


def test_pages_hold_each_contradiction_once(database: Database, client: httpx.Client) -> None:
    post(database, [created(f"c{n}", ts=1_791_028_800_000_000 + n // 3) for n in range(9)])
    seen, after = [], None
    while True:
        page = read(client, "/v1/contradictions", limit=2, **({"after": after} if after else {}))
        seen += [item["contradiction_id"] for item in page["items"]]
        after = page["next"]
        if after is None:
            break
    assert seen == [f"c{n}" for n in reversed(range(9))]


def test_one_contradiction_is_shown_as_it_stands_with_its_events_in_order(
    database: Database, client: httpx.Client
) -> None:
    resolution = {"kind": "resolved", "kept": "b1", "given_up": ["b2"], "evidence": ["e1"]}
    events = [
        created("c/1", ts=1_791_028_800_000_000, detail={"priority": 4, "ttl": "P2D"}),
        an_event(
            "contradiction.investigated",
            contradiction_id="c/1",
            ts=1_791_028_801_000_000,
            cost_tokens=120,
            detail={"owner": "day", "next_action": "test"},
        ),
        an_event(
            "contradiction.resolved",
            contradiction_id="c/1",
            ts=1_791_028_802_000_000,
            detail={"resolution": resolution},
        ),
    ]
    post(database, events[::-1])
    body = read(client, "/v1/contradictions/c%2F1")
    assert body["contradiction"] == {
        "agent_id": "piper",
        "contradiction_id": "c/1",
        "beliefs": ["b1", "b2"],
        "detector": "scanner",
        "detected_at": "2026-10-03T12:00:00.000000Z",
        "state": "resolved",
        "priority": 4,
        "owner": "day",
        "next_action": "test",
        "ttl_seconds": 172_800,
        "expires_at": None,
        "investigated_at": "2026-10-03T12:00:01.000000Z",
        "closed_at": "2026-10-03T12:00:02.000000Z",
        "resolution": "resolved",
        "resolution_detail": {"resolution": resolution},
        "cost_tokens": 120,
        "salience": None,
        "version": "agent.1",
        "last_ts": "2026-10-03T12:00:02.000000Z",
    }
    assert [event["event_id"] for event in body["events"]] == [e.event_id for e in events]
    assert body["events_complete"] is True


QUESTIONS = [
    ("/v1/contradictions/none", 404),
    ("/v1/contradictions?state=open", 422),
    ("/v1/contradictions?priority=0", 422),
    ("/v1/contradictions?priority=9223372036854775808", 422),
    ("/v1/contradictions?owner=%00", 422),
    ("/v1/contradictions?resolution=%00", 422),
    ("/v1/contradictions/%00", 422),
    ("/v1/contradictions?after=WzEsImEiLCJcdTAwMDAiXQ", 422),
]


def test_an_odd_question_has_the_same_answer_on_both_databases(
    database: Database, client: httpx.Client
) -> None:
    post(database, [created("c1")])
    for path, status in QUESTIONS:
        answer = client.get(path)
        assert answer.status_code == status, (path, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_writing_key_reads_its_own_agents_contradictions_without_the_audit_log(
    database: Database, client: httpx.Client
) -> None:
    expired = an_event("contradiction.expired", contradiction_id="c1", log=Log.AUDIT)
    post(database, [created("c1"), expired, created("c2", agent_id="other")])
    operate = a_key(client, "operate")
    writing = a_key(client, "write", "piper", **operate)
    items = client.get("/v1/contradictions", headers=writing).json()["items"]
    assert [(item["contradiction_id"], item["state"]) for item in items] == [("c1", "expired")]
    mine = client.get("/v1/contradictions/c1", headers=writing).json()
    assert [event["event"] for event in mine["events"]] == ["contradiction.created"]
    assert client.get("/v1/contradictions?agent=other", headers=writing).status_code == 403
    whole = client.get("/v1/contradictions/c1?agent=piper", headers=operate).json()
    assert len(whole["events"]) == 2
