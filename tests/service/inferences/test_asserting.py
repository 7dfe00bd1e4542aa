"""Outbound assertions over the API: an event and its shadow inference, both or neither, once."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from service.db.database import Database
from service.models import CogEvent, ShadowInference
from service.settings import Settings
from tests.service.factories import AGENT, NOW, a_belief, a_client, a_key, post, row_of

CLAIM: dict[str, Any] = {
    "agent_id": AGENT,
    "turn_id": "t1",
    "statement": "the disk is full",
    "category": "system state",
    "label": "infer",
    "confidence": 0.9,
    "evidence": ["b0"],
    "alternatives": ["a quota"],
    "gate_decision": "INFER",
    "commit_sha": "0a1b2c3",
    "event_id": "a-1",
    "ts": "2026-10-03T12:00:00Z",
}


@pytest.fixture
def client(settings: Settings) -> Iterator[httpx.Client]:
    with a_client(settings) as opened:
        yield opened


def send(client: httpx.Client, headers: dict[str, str] | None = None, **told: Any) -> Any:
    return client.post("/v1/shadow-inferences", json=CLAIM | told, headers=headers)


def count(database: Database) -> list[int]:
    with database.read() as session:
        models = (CogEvent, ShadowInference)
        return [session.scalar(select(func.count()).select_from(one)) or 0 for one in models]


def test_an_assertion_is_recorded_with_the_evidence_as_it_stands(
    database: Database, client: httpx.Client
) -> None:
    post(database, [a_belief("b0", "know", ts=NOW)])
    answer = send(client)
    assert answer.status_code == 201, answer.text
    body = answer.json()
    assert (body["shadow_id"], body["event_id"]) == ("agent:a-1", "a-1")
    row = row_of(database, ShadowInference, AGENT, "agent:a-1")
    assert body["receipt"] == {
        "log": "agent",
        "index": row["seq"] - 1,
        "leaf_hash": row["leaf_hash"].hex(),
        "shadow_id": "agent:a-1",
    }
    shown = client.get("/v1/shadow-inferences/agent:a-1").json()["shadow_inference"]
    for name in CLAIM.keys() - {"evidence", "ts"}:
        assert shown[name] == CLAIM[name], name
    assert shown["evidence"] == [{"id": "b0", "text": "what b0 says", "from": "beliefs/b0"}]
    (event,) = client.get("/v1/events?event=assertion.made").json()["items"]
    assert (event["label_to"], event["detail"]["statement"]) == ("infer", "the disk is full")


@pytest.mark.parametrize("told", [{}, {"ts": None}, {"confidence": 0.90}])
def test_the_same_again_is_a_duplicate_and_other_content_a_conflict(
    database: Database, client: httpx.Client, told: dict[str, Any]
) -> None:
    first = send(client, **told)
    again = send(client, **told)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    other = send(client, **told | {"statement": "it is not"})
    assert other.status_code == 409
    assert other.json()["errors"][0]["pointer"] == "/event_id"
    assert count(database) == [1, 1]


def test_an_idempotency_key_stands_for_an_id(database: Database, client: httpx.Client) -> None:
    key = {"Idempotency-Key": "k1"}
    told = {"event_id": None, "ts": None}
    first, again = send(client, key, **told), send(client, key, **told)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert send(client, key, **told, statement="another").status_code == 409
    assert send(client, **told).status_code == 201
    assert count(database) == [2, 2]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"turn_id": None}, "/turn_id"),
    ({"statement": None}, "/statement"),
    ({"label": "certain"}, "/label"),
    ({"confidence": 1.5}, "/confidence"),
    ({"confidence": "high"}, "/confidence"),
    ({"ts": "2026-10-03T12:00:00"}, "/ts"),
    ({"turn_id": "\x00"}, "/turn_id"),
    ({"evidense": []}, "/evidense"),
    ({"event_id": "x" * 300}, "/event_id"),
    ({"category": 7}, "/category"),
]


def test_what_is_malformed_is_named_by_the_callers_own_words(
    database: Database, client: httpx.Client
) -> None:
    for told, pointer in BAD:
        answer = send(client, **told)
        assert answer.status_code == 422, (told, answer.text)
        assert [e["pointer"] for e in answer.json()["errors"]] == [pointer]
    for body in ("[]", "7", "nonsense", '{"a": NaN}', "", '[{"turn_id": "t"}]'):
        headers = {"Content-Type": "application/json"}
        answer = client.post("/v1/shadow-inferences", content=body, headers=headers)
        assert answer.status_code == 422, (body, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
    assert count(database) == [0, 0]


def test_an_assertion_needs_a_key_that_speaks_as_the_agent(client: httpx.Client) -> None:
    operate = a_key(client, "operate")
    for scope in ("read", "audit"):
        assert send(client, a_key(client, scope, **operate)).status_code == 403
    assert send(client, operate).status_code == 403
    assert send(client, a_key(client, "write", "other", **operate)).status_code == 403
    assert send(client, a_key(client, "write", AGENT, **operate)).status_code == 201
    assert send(client, {}).status_code == 401
