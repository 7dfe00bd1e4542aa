"""Reading beliefs over the API, on both databases."""

import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from service.beliefs import endpoints, queries
from service.db.database import Database
from service.events.vocabulary import Log
from service.settings import Settings
from tests.service.factories import a_belief, a_client, a_key, an_event, flags_of, post


@pytest.fixture
def client(settings: Settings) -> Iterator[httpx.Client]:
    with a_client(settings) as opened:
        yield opened


def read(client: httpx.Client, path: str, **query: Any) -> Any:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(client: httpx.Client, **query: Any) -> list[str]:
    return [item["belief_id"] for item in read(client, "/v1/beliefs", **query)["items"]]


def test_the_belief_that_moved_last_comes_first(database: Database, client: httpx.Client) -> None:
    post(database, [a_belief("b1"), a_belief("b2"), a_belief("b3")])
    assert ids(client) == ["b3", "b2", "b1"]
    post(database, [an_event("belief.challenged", belief_id="b1", detail={"by": "scan"})])
    assert ids(client) == ["b1", "b3", "b2"]


def test_a_belief_is_shown_as_it_stands(database: Database, client: httpx.Client) -> None:
    created = a_belief(
        "b1",
        ts=1_791_028_800_000_001,
        confidence=0.9,
        session_id="s1",
        turn_id="t1",
        detail={"evidence": ["e1", {"n": 2**70}], "justifications": [["b0"]]},
    )
    post(database, [created])
    (item,) = read(client, "/v1/beliefs")["items"]
    assert re.fullmatch(r"[0-9a-f]{16}", item.pop("version"))
    assert item == {
        "agent_id": "piper",
        "belief_id": "b1",
        "content": "what b1 says",
        "label": "infer",
        "confidence": 0.9,
        "category": "system state",
        "writer": "day",
        "session_id": "s1",
        "turn_id": "t1",
        "evidence": ["e1", {"n": 2**70}],
        "justifications": [["b0"]],
        "status": "active",
        "superseded_by": None,
        "superseded_at": None,
        "needs_rederivation": False,
        "challenges": 0,
        "challenged_at": None,
        "overwrites": 0,
        "created_label": "infer",
        "created_at": "2026-10-03T12:00:00.000001Z",
        "valid_from": None,
        "valid_until": None,
        "last_ts": "2026-10-03T12:00:00.000001Z",
    }


FILTERS: list[tuple[dict[str, str], list[str]]] = [
    ({"agent": "piper"}, ["b3", "b2", "b1"]),
    ({"label": "guess"}, ["b2"]),
    ({"status": "superseded"}, ["b1"]),
    ({"worker": "night"}, ["b3"]),
    ({"session_id": "s1"}, ["b2"]),
    ({"turn_id": "t1"}, ["b2"]),
    ({"label": "infer", "status": "active"}, ["b3"]),
    ({"session_id": "none such"}, []),
]


def test_each_filter_keeps_what_it_names(database: Database, client: httpx.Client) -> None:
    first = a_belief("b1")
    closing = an_event("belief.superseded", belief_id="b1", detail={"superseded_by": "b2"})
    second = a_belief("b2", "guess", session_id="s1", turn_id="t1")
    post(database, [first, closing, second, a_belief("b3", worker="night")])
    for query, expected in FILTERS:
        assert ids(client, **query) == expected, query


SEARCHES = [
    ("full", ["b1"]),
    ("Full", []),
    ("%", ["b2"]),
    ("_", []),
    ("'", ["b3"]),
    ("\\", ["b3"]),
    ("é😀", ["b3"]),
    ("\ufffd", ["b4"]),
    ("empty", []),
    ("", ["b4", "b3", "b2", "b1"]),
]


def test_a_search_finds_what_stands_in_the_content_letter_for_letter(
    database: Database, client: httpx.Client
) -> None:
    contents = {
        "b1": "the disk is empty",
        "b2": "97% used",
        "b3": "it's a \\ café😀",
        "b4": "a\x00b",
    }
    post(database, [a_belief(name, detail={"content": c}) for name, c in contents.items()])
    change = {"content": "the disk is full"}
    post(database, [an_event("belief.overwritten", belief_id="b1", detail=change, ts=a_time())])
    for q, expected in SEARCHES:
        assert sorted(ids(client, q=q), reverse=True) == expected, q


def a_time() -> int:
    """Later than every event so far."""
    return an_event().ts


def test_pages_hold_each_belief_once_also_where_instants_are_equal(
    database: Database, client: httpx.Client
) -> None:
    post(database, [a_belief(f"b{n:02}", ts=1_791_028_800_000_000 + n // 4) for n in range(20)])
    seen: list[str] = []
    page = read(client, "/v1/beliefs", limit=7)
    seen += [item["belief_id"] for item in page["items"]]
    while page["next"] is not None:
        page = read(client, "/v1/beliefs", limit=7, after=page["next"])
        seen += [item["belief_id"] for item in page["items"]]
    assert seen == [f"b{n:02}" for n in reversed(range(20))]


def test_a_page_of_exactly_the_limit_says_whether_there_is_more(
    database: Database, client: httpx.Client
) -> None:
    post(database, [a_belief("b1"), a_belief("b2")])
    assert read(client, "/v1/beliefs", limit=2)["next"] is None
    assert read(client, "/v1/beliefs", limit=1)["next"] is not None


def test_one_belief_comes_with_its_versions_and_its_events_in_order(
    database: Database, client: httpx.Client
) -> None:
    created = a_belief("b1", detail={"content": "old"})
    looked = an_event("evidence.retrieved", belief_id="b1", detail={"tool": "df"})
    changed = an_event("belief.overwritten", belief_id="b1", detail={"content": "new"})
    challenged = an_event(
        "belief.challenged", belief_id="b1", detail={"by": "operator"}, log=Log.AUDIT
    )
    post(database, [challenged, changed])
    post(database, [created, looked, a_belief("b2")])
    body = read(client, "/v1/beliefs/b1")
    assert body["belief"]["content"] == "new"
    assert [(v["kind"], v["content"], v["is_current"]) for v in body["versions"]] == [
        ("created", "old", False),
        ("overwritten", "new", True),
    ]
    assert [event["event_id"] for event in body["events"]] == [
        created.event_id,
        looked.event_id,
        changed.event_id,
        challenged.event_id,
    ]
    assert body["events_complete"] is body["versions_complete"] is True


def test_a_history_that_was_cut_keeps_its_newest_part_and_says_so(
    database: Database, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoints, "MAX_EVENTS", 3)
    monkeypatch.setattr(queries, "MAX_VERSIONS", 3)
    changes = [
        an_event("belief.overwritten", belief_id="b1", detail={"content": str(n)}) for n in range(3)
    ]
    post(database, changes)
    whole = read(client, "/v1/beliefs/b1")
    assert (whole["events_complete"], whole["versions_complete"]) == (True, True)
    newest = an_event("belief.overwritten", belief_id="b1", detail={"content": "3"})
    post(database, [newest])
    cut = read(client, "/v1/beliefs/b1")
    assert (cut["events_complete"], cut["versions_complete"]) == (False, False)
    assert [event["detail"]["content"] for event in cut["events"]] == ["1", "2", "3"]
    assert [version["content"] for version in cut["versions"]] == ["1", "2", "3"]


def test_what_a_belief_rests_on_and_what_rests_on_it_are_named(
    database: Database, client: httpx.Client
) -> None:
    post(
        database,
        [
            a_belief("b1"),
            a_belief("b2", "know", detail={"justifications": [["b1", "e1"], ["b3"]]}),
            a_belief("b3", "guess", detail={"justifications": {"because": ["b1"]}}),
            a_belief("b11", detail={"justifications": [["xb1", "b1 "]]}),
            a_belief("b4", detail={"justifications": "b2"}),
            a_belief("b1", agent_id="other", detail={"justifications": [["b1"]]}),
        ],
    )
    first = read(client, "/v1/beliefs/b1", agent="piper")
    assert first["rests_on"] == []
    assert first["supports"] == [
        {"belief_id": "b3", "label": "guess", "status": "active"},
        {"belief_id": "b2", "label": "know", "status": "active"},
    ]
    second = read(client, "/v1/beliefs/b2", agent="piper")
    assert [b["belief_id"] for b in second["rests_on"]] == ["b1", "b3"]
    assert [b["belief_id"] for b in second["supports"]] == ["b4"]
    assert second["supports_complete"] is True


def test_where_not_every_dependent_is_listed_the_answer_says_so(
    database: Database, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "MAX_NEIGHBOURS", 2)
    rests = {"justifications": [["b1"]]}
    post(database, [a_belief("b1"), *(a_belief(f"d{n}", detail=rests) for n in range(2))])
    body = read(client, "/v1/beliefs/b1")
    assert [b["belief_id"] for b in body["supports"]] == ["d1", "d0"]
    assert body["supports_complete"] is True
    post(database, [a_belief("d2", detail=rests)])
    body = read(client, "/v1/beliefs/b1")
    assert [b["belief_id"] for b in body["supports"]] == ["d2", "d1"]
    assert body["supports_complete"] is False


IDS = ["a/b", "é 😀", "100%", "a?b#c", "ns:b1", '"', "a\\b", "relabel"]


def test_an_id_of_any_printable_characters_can_be_read(
    database: Database, client: httpx.Client
) -> None:
    post(database, [a_belief(belief_id) for belief_id in IDS])
    for belief_id in IDS:
        path = "/v1/beliefs/" + "".join(f"%{byte:02x}" for byte in belief_id.encode())
        assert read(client, path)["belief"]["belief_id"] == belief_id


def test_a_belief_of_which_only_a_later_event_is_known_is_shown_without_a_creation(
    database: Database, client: httpx.Client
) -> None:
    post(database, [an_event("belief.challenged", belief_id="b1", detail={"by": "scan"})])
    belief = read(client, "/v1/beliefs/b1")["belief"]
    assert (belief["created_at"], belief["content"], belief["challenges"]) == (None, None, 1)


QUESTIONS = [
    ("/v1/beliefs/none", 404),
    ("/v1/beliefs/none?agent=nobody", 404),
    ("/v1/beliefs?agent=nobody", 404),
    ("/v1/beliefs?label=certain", 422),
    ("/v1/beliefs?status=gone", 422),
    ("/v1/beliefs?limit=0", 422),
    ("/v1/beliefs?limit=1001", 422),
    ("/v1/beliefs?after=nonsense", 422),
    ("/v1/beliefs?agent=%00", 422),
    ("/v1/beliefs?worker=a%00", 422),
    ("/v1/beliefs/b%00", 422),
    ("/v1/beliefs/b1?agent=%00", 422),
    # Cursors made by hand: [2**63,"a","b"], [1,"a","\u0000"], [1,"a"].
    ("/v1/beliefs?after=WzkyMjMzNzIwMzY4NTQ3NzU4MDgsImEiLCJiIl0", 422),
    ("/v1/beliefs?after=WzEsImEiLCJcdTAwMDAiXQ", 422),
    ("/v1/beliefs?after=WzEsImEiXQ", 422),
    ("/v1/beliefs?q=%ff%fe", 200),
    ("/v1/beliefs?worker=%ed%a0%80", 200),
]


def test_an_odd_question_has_the_same_answer_on_both_databases(
    database: Database, client: httpx.Client
) -> None:
    post(database, [a_belief("b1")])
    for path, status in QUESTIONS:
        answer = client.get(path)
        assert answer.status_code == status, (path, answer.text)
        if status != 200:
            assert answer.headers["content-type"] == "application/problem+json"


def test_half_a_character_in_content_is_repaired_and_flagged_and_in_an_id_refused(
    database: Database, client: httpx.Client
) -> None:
    sent = (
        '{"event":"belief.created","agent_id":"piper","event_id":"e","belief_id":"b1",'
        '"label_to":"know","worker":"day","ts":"2026-10-03T12:00:00Z",'
        '"detail":{"content":"cut \\ud83d","category":"c","n\\udc00":1}}'
    )
    headers = {"Content-Type": "application/json"}
    answer = client.post("/v1/events", content=sent, headers=headers)
    assert answer.status_code == 200, answer.text
    assert flags_of(database, a_belief("b1", event_id="e")) == ["text_repaired"]
    body = read(client, "/v1/beliefs/b1")
    assert body["belief"]["content"] == "cut \ufffd"
    assert body["events"][0]["detail"]["n\ufffd"] == 1
    refused = client.post("/v1/events", content=sent.replace("b1", "\\ud83d"), headers=headers)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/belief_id"


def test_a_nul_in_content_is_exact_in_the_event_and_shown_as_replaced(
    database: Database, client: httpx.Client
) -> None:
    post(database, [a_belief("b1", detail={"content": "a\x00b"})])
    answer = client.get("/v1/beliefs/b1")
    assert b'"content":"a\\u0000b"' in answer.content
    body = json.loads(answer.content)
    assert body["events"][0]["detail"]["content"] == "a\x00b"
    assert body["belief"]["content"] == body["versions"][0]["content"] == "a\ufffdb"


def test_a_writing_key_reads_its_own_agents_beliefs_but_nothing_of_the_audit_log(
    database: Database, client: httpx.Client
) -> None:
    audit = an_event("belief.challenged", belief_id="b1", detail={"by": "audit"}, log=Log.AUDIT)
    changed = an_event(
        "belief.overwritten", belief_id="b1", detail={"content": "seen"}, log=Log.AUDIT
    )
    post(database, [a_belief("b1"), audit, changed, a_belief("b2", agent_id="other")])
    operate = a_key(client, "operate")
    writing = a_key(client, "write", "piper", **operate)
    reading = a_key(client, "read", **operate)

    own = client.get("/v1/beliefs", headers=writing).json()["items"]
    assert [item["belief_id"] for item in own] == ["b1"]
    everything = client.get("/v1/beliefs", headers=reading).json()["items"]
    assert {item["belief_id"] for item in everything} == {"b1", "b2"}

    mine = client.get("/v1/beliefs/b1", headers=writing).json()
    assert [event["log"] for event in mine["events"]] == ["agent"]
    assert [version["log"] for version in mine["versions"]] == ["agent"]
    whole = client.get("/v1/beliefs/b1?agent=piper", headers=reading).json()
    assert sorted(event["log"] for event in whole["events"]) == ["agent", "audit", "audit"]
    assert len(whole["versions"]) == 2

    for path in ("/v1/beliefs?agent=other", "/v1/beliefs/b2?agent=other"):
        assert client.get(path, headers=writing).status_code == 403
    assert client.get("/v1/beliefs/b2", headers=writing).status_code == 404
    assert client.get("/v1/beliefs").status_code == 401
