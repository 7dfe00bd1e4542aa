"""Keys bind a writer to its agent; without any, only this machine is served."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

EVENT: dict[str, Any] = {"agent_id": "a", "ts": "2026-10-03T12:00:00Z", "event": "x.note"}


def make_key(client: httpx.Client, scope: str, agent: str | None = None, **auth: str) -> str:
    answer = client.post("/v1/keys", json={"scope": scope, "agent_id": agent}, headers=auth)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["key"])


@pytest.fixture
def keys(client: httpx.Client) -> dict[str, dict[str, str]]:
    operate = {"Authorization": f"Bearer {make_key(client, 'operate')}"}
    others = {
        scope: {"Authorization": f"Bearer {make_key(client, scope, agent, **operate)}"}
        for scope, agent in (("write", "a"), ("read", None), ("audit", None))
    }
    return {"operate": operate} | others


def test_without_keys_a_foreign_host_name_is_refused(client: httpx.Client) -> None:
    assert client.get("/v1/events", headers={"Host": "evil.example"}).status_code == 403
    assert client.get("/v1/events", headers={"Host": "localhost:8000"}).status_code == 200
    assert client.get("/v1/events", headers={"Host": "[::1]:8000"}).status_code == 200


def test_once_there_is_a_key_nobody_comes_in_without(
    client: httpx.Client, keys: dict[str, dict[str, str]]
) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic eA=="}):
        answer = client.post("/v1/events", json=EVENT, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.headers["content-type"] == "application/problem+json"
    assert client.post("/v1/events", json=EVENT, headers=keys["write"]).status_code == 200


def test_a_writing_key_speaks_of_its_agent_only(
    client: httpx.Client, keys: dict[str, dict[str, str]]
) -> None:
    other = client.post("/v1/events", json=EVENT | {"agent_id": "b"}, headers=keys["write"])
    assert other.status_code == 403
    unnamed = {k: v for k, v in EVENT.items() if k != "agent_id"}
    assert client.post("/v1/events", json=unnamed, headers=keys["write"]).json()["accepted"] == 1
    assert client.get("/v1/events", headers=keys["read"]).json()["items"][0]["agent_id"] == "a"


@pytest.mark.parametrize(
    "path", ["/v1/events", "/v1/turns", "/v1/sessions", "/v1/keys", "/metrics"]
)
def test_a_writing_key_reads_neither_events_nor_keys(
    client: httpx.Client, keys: dict[str, dict[str, str]], path: str
) -> None:
    assert client.get(path, headers=keys["write"]).status_code == 403


def test_a_reading_key_writes_nothing(
    client: httpx.Client, keys: dict[str, dict[str, str]]
) -> None:
    assert client.post("/v1/events", json=EVENT, headers=keys["read"]).status_code == 403
    assert (
        client.post("/v1/agents", json={"agent_id": "b"}, headers=keys["read"]).status_code == 403
    )
    assert client.get("/v1/agents", headers=keys["read"]).status_code == 200


def test_an_operator_reports_and_an_auditor_counts(
    client: httpx.Client, keys: dict[str, dict[str, str]]
) -> None:
    report = EVENT | {"event": "operator.reported", "detail": {"text": "it lied"}}
    assert client.post("/v1/events", json=report, headers=keys["operate"]).status_code == 200
    assert client.post("/v1/events", json=report, headers=keys["write"]).status_code == 403
    seen = EVENT | {
        "event": "opportunity.detected",
        "turn_id": "t",
        "detail": {"source": "auditor"},
    }
    assert client.post("/v1/events", json=seen, headers=keys["audit"]).status_code == 200
    stored = client.get("/v1/events", headers=keys["read"]).json()["items"]
    assert {e["log"] for e in stored} == {"audit"}


def test_a_revoked_key_stops_at_once_and_secrets_are_not_kept(
    client: httpx.Client, keys: dict[str, dict[str, str]]
) -> None:
    listed = client.get("/v1/keys", headers=keys["operate"]).json()["items"]
    secret = keys["write"]["Authorization"].removeprefix("Bearer ")
    assert secret not in str(listed)
    (writing,) = [key for key in listed if key["scope"] == "write"]
    gone = client.delete(f"/v1/keys/{writing['key_id']}", headers=keys["operate"])
    assert gone.status_code == 204
    assert client.post("/v1/events", json=EVENT, headers=keys["write"]).status_code == 401
    assert client.delete("/v1/keys/none", headers=keys["operate"]).status_code == 404


def test_an_agent_is_registered_changed_and_checked(client: httpx.Client) -> None:
    made = client.post("/v1/agents", json={"agent_id": "piper", "time_zone": "Europe/Vienna"})
    assert made.status_code == 201
    assert client.post("/v1/agents", json={"agent_id": "piper"}).status_code == 409
    changed = client.patch("/v1/agents/piper", json={"sample_size": 20}).json()
    assert (changed["sample_size"], changed["time_zone"]) == (20, "Europe/Vienna")
    for bad in ({"time_zone": "Mars/Olympus"}, {"sample_size": 0}, {"colour": "red"}):
        answer = client.patch("/v1/agents/piper", json=bad)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"] == f"/{next(iter(bad))}"
    assert client.patch("/v1/agents/nobody", json={}).status_code == 404


def test_an_agent_is_created_by_its_first_write(client: httpx.Client) -> None:
    client.post("/v1/events", json=EVENT)
    assert [a["agent_id"] for a in client.get("/v1/agents").json()["items"]] == ["a"]


def test_revoking_the_last_key_does_not_open_the_door(client: httpx.Client) -> None:
    operate = {"Authorization": f"Bearer {make_key(client, 'operate')}"}
    (key,) = client.get("/v1/keys", headers=operate).json()["items"]
    assert client.delete(f"/v1/keys/{key['key_id']}", headers=operate).status_code == 204
    for headers in ({}, operate):
        assert client.get("/v1/keys", headers=headers).status_code == 401


def test_a_key_works_from_its_first_use_and_not_after_its_last(client: httpx.Client) -> None:
    operate = {"Authorization": f"Bearer {make_key(client, 'operate')}"}

    def live_and_die(_: int) -> list[int]:
        made = client.post("/v1/keys", json={"scope": "read"}, headers=operate).json()
        reading = {"Authorization": f"Bearer {made['key']}"}
        first = client.get("/v1/events", headers=reading).status_code
        client.delete(f"/v1/keys/{made['key_id']}", headers=operate)
        return [first, client.get("/v1/events", headers=reading).status_code]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(live_and_die, range(24))) == [[200, 401]] * 24


def test_a_writing_key_does_not_read_what_the_audit_log_says_of_beliefs(
    client: httpx.Client, keys: dict[str, dict[str, str]]
) -> None:
    told = EVENT | {"event": "belief.created", "belief_id": "b", "label_to": "infer"}
    told |= {"detail": {"content": "the auditor's own words"}}
    assert client.post("/v1/events", json=told, headers=keys["audit"]).status_code == 200
    assert client.get("/v1/beliefs/b", headers=keys["write"]).status_code == 404
    assert client.get("/v1/beliefs", headers=keys["write"]).json()["items"] == []
    assert client.get("/v1/beliefs/b", headers=keys["read"]).status_code == 200
