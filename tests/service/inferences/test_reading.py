"""Reading shadow inferences over the API, on both databases."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from service.db.database import Database
from service.events.schemas import Event
from service.events.vocabulary import Log
from service.instants import DAY
from service.settings import Settings
from tests.service.factories import NOW, a_belief, a_client, a_key, an_event, post
from tests.service.inferences.acting import a_turn, store

LATER = NOW + 40 * DAY


@pytest.fixture
def client(settings: Settings) -> Iterator[httpx.Client]:
    """The service's clock stands forty days after NOW."""
    with a_client(settings, now=LATER) as opened:
        yield opened


def outcome(of: str, source: str, at: int, *, is_true: bool = True, **fields: Any) -> Event:
    """An outcome that cites what is recorded, where the source asks for it."""
    cited: dict[str, Any] = {
        "tool_result": {"turn_id": "t1", "tool_call": 0},
        "know_belief": {"belief_id": "k-call"},
    }
    detail = {"shadow_id": f"agent:{of}", "outcome": is_true, "source": source}
    detail["evidence"] = cited.get(source)
    return an_event("inference.outcome", ts=NOW + at, detail=detail, **fields)


def read(client: httpx.Client, path: str = "", **query: Any) -> Any:
    answer = client.get(f"/v1/shadow-inferences{path}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(client: httpx.Client, **query: Any) -> list[str]:
    return [item["event_id"] for item in read(client, **query)["items"]]


FILTERS: list[tuple[dict[str, str], list[str]]] = [
    ({}, ["i3", "i2", "i1"]),
    ({"label": "guess"}, ["i2"]),
    ({"worker": "night"}, ["i2"]),
    ({"turn_id": "t3"}, ["i3"]),
    ({"session_id": "s3"}, ["i3"]),
    ({"belief_id": "b1"}, ["i1"]),
    ({"source": "audit"}, []),
    ({"from": "2026-10-03T12:00:01Z"}, ["i3", "i2"]),
    ({"until": "2026-10-03T12:00:01Z"}, ["i1"]),
]


def test_each_filter_keeps_what_it_names_newest_first(
    database: Database, client: httpx.Client
) -> None:
    asserted = an_event(
        "assertion.made",
        ts=NOW + 2_000_000,
        event_id="i3",
        turn_id="t3",
        session_id="s3",
        detail={"statement": "so it is"},
    )
    second = a_belief("b2", "guess", ts=NOW + 1_000_000, event_id="i2", worker="night")
    post(database, [a_belief("b1", ts=NOW, event_id="i1"), second, asserted])
    for query, expected in FILTERS:
        assert ids(client, **query) == expected, query


def test_the_effective_outcome_is_that_of_the_best_source_and_all_others_stay_visible(
    database: Database, client: httpx.Client
) -> None:
    resolutions = [
        outcome("i1", "self_belief", 9, is_true=False),
        outcome("i1", "tool_result", 1),
        outcome("i1", "know_belief", 5, is_true=False),
        outcome("i1", "tool_result", 3),
    ]
    store(database, a_turn())
    know = a_belief("k-call", "know", detail={"evidence": [{"turn_id": "t1", "tool_call": 0}]})
    post(database, [a_belief("b1", ts=NOW, event_id="i1"), know, *resolutions])
    (item,) = read(client)["items"]
    assert item["state"] == "resolved"
    assert item["effective"] == {
        "outcome": True,
        "source": "tool_result",
        "resolved_at": "2026-10-03T12:00:00.000003Z",
        "disputed": False,
    }
    assert [(t["source"], t["outcome"], t["count"]) for t in item["outcomes"]] == [
        ("tool_result", True, 2),
        ("know_belief", False, 1),
        ("self_belief", False, 1),
    ]
    body = read(client, "/agent:i1")
    assert body["shadow_inference"] == item
    assert [r["resolution_id"] for r in body["resolutions"]] == [
        f"agent:{resolutions[n].event_id}" for n in (1, 3, 2, 0)
    ]
    assert body["resolutions"][0]["evidence"] == {"turn_id": "t1", "tool_call": 0}
    assert body["resolutions_complete"] is True


def test_equals_that_disagree_are_shown_as_disputed_with_the_latest_in_effect(
    database: Database, client: httpx.Client
) -> None:
    first = outcome("i1", "self_belief", 5, is_true=False)
    post(database, [a_belief("b1", ts=NOW, event_id="i1"), first])
    post(database, [outcome("i1", "self_belief", 2)])
    (item,) = read(client)["items"]
    assert item["state"] == "disputed"
    assert (item["effective"]["outcome"], item["effective"]["disputed"]) == (False, True)


def test_without_a_resolution_it_is_open_for_thirty_days_and_then_unverifiable(
    database: Database, client: httpx.Client
) -> None:
    old, young = LATER - 30 * DAY - 1, LATER - 30 * DAY
    post(database, [a_belief("b1", ts=old), a_belief("b2", ts=young)])
    items = read(client)["items"]
    assert [(item["belief_id"], item["state"]) for item in items] == [
        ("b2", "open"),
        ("b1", "unverifiable"),
    ]
    assert [item["effective"] for item in items] == [None, None]


def test_an_outcome_of_another_agent_does_not_count(
    database: Database, client: httpx.Client
) -> None:
    post(database, [a_belief("b1", ts=NOW, event_id="i1")])
    post(database, [outcome("i1", "self_belief", 1, agent_id="other")])
    assert read(client, agent="piper")["items"][0]["outcomes"] == []


def test_pages_hold_each_shadow_inference_once(database: Database, client: httpx.Client) -> None:
    post(database, [a_belief("b", ts=NOW + n // 3, event_id=f"i{n}") for n in range(9)])
    seen, after = [], None
    while True:
        page = read(client, limit=2, **({"after": after} if after else {}))
        seen += [item["event_id"] for item in page["items"]]
        after = page["next"]
        if after is None:
            break
    assert seen == [f"i{n}" for n in reversed(range(9))]


QUESTIONS = [
    ("/agent:none", 404),
    ("?label=certain", 422),
    ("?source=operator", 422),
    ("?from=2026-10-03T12:00:00", 422),
    ("?turn_id=%00", 422),
    ("/%00", 422),
    ("?after=WzEsImEiLCJcdTAwMDAiXQ", 422),
]


def test_an_odd_question_has_the_same_answer_on_both_databases(
    database: Database, client: httpx.Client
) -> None:
    post(database, [a_belief("b1")])
    for path, status in QUESTIONS:
        answer = client.get(f"/v1/shadow-inferences{path}")
        assert answer.status_code == status, (path, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_writing_key_reads_no_shadow_inferences_and_the_other_scopes_those_of_both_logs(
    database: Database, client: httpx.Client
) -> None:
    post(database, [a_belief("b1"), a_belief("b2", log=Log.AUDIT)])
    operate = a_key(client, "operate")
    writing = a_key(client, "write", "piper", **operate)
    shadows = client.get("/v1/shadow-inferences", headers=operate).json()["items"]
    assert sorted(item["log"] for item in shadows) == ["agent", "audit"]
    for scope in ("read", "audit"):
        headers = a_key(client, scope, **operate)
        seen = client.get("/v1/shadow-inferences", headers=headers).json()["items"]
        assert seen == shadows
    for path in ("", f"/{shadows[0]['shadow_id']}"):
        refused = client.get(f"/v1/shadow-inferences{path}", headers=writing)
        assert refused.status_code == 403
