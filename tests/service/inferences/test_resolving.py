"""Ground truth over the API: who may give which source, and what stands against it."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from service.db.database import Database
from service.events.vocabulary import Log
from service.instants import DAY, SECOND
from service.models import CogEvent
from service.settings import Settings
from tests.service.factories import AGENT, NOW, a_belief, a_client, a_key, an_event, post
from tests.service.inferences.acting import a_turn, an_outcome, resolutions, store
from tests.service.inferences.test_citations import CASES, a_record

CITED = {
    "tool_result": {"turn_id": "t1", "tool_call": "df"},
    "prediction": {"prediction_id": "p-true"},
    "know_belief": {"belief_id": "k-call"},
}
OF_B1 = "/v1/shadow-inferences/agent:b-1?agent=piper"
PATH = "/v1/shadow-inferences/agent:b-1/resolutions"


@pytest.fixture
def client(database: Database, settings: Settings) -> Iterator[httpx.Client]:
    """A service whose record holds what the citations name."""
    a_record(database)
    with a_client(settings, now=NOW + DAY) as opened:
        yield opened


def send(
    client: httpx.Client,
    source: str,
    headers: dict[str, str] | None = None,
    path: str = PATH,
    **told: Any,
) -> httpx.Response:
    body = {"source": source, "outcome": True, "agent_id": AGENT} | told
    if source in CITED:
        body = {"evidence": CITED[source]} | body
    return client.post(path, json=body, headers=headers)


def refusals(database: Database) -> list[dict[str, Any]]:
    """The recorded refusals, all in the audit log."""
    with database.read() as session:
        rows = session.execute(
            select(CogEvent.log, CogEvent.detail)
            .where(CogEvent.event == "ledger.refused")
            .order_by(CogEvent.seq)
        ).all()
    assert {log for log, _ in rows} <= {"audit"}
    return [json.loads(detail or "") for _, detail in rows]


# Which source a key of which scope may give; the answer of each.
MATRIX = {
    #                       write read audit operate
    "operator_correction": (403, 403, 403, 201),
    "tool_result": (201, 403, 403, 201),
    "prediction": (201, 403, 403, 201),
    "know_belief": (201, 403, 403, 201),
    "self_belief": (201, 403, 403, 403),
}


def test_every_source_is_for_the_scopes_that_may_give_it(
    database: Database, client: httpx.Client
) -> None:
    operate = a_key(client, "operate")
    keys = [
        a_key(client, "write", AGENT, **operate),
        a_key(client, "read", **operate),
        a_key(client, "audit", **operate),
        operate,
    ]
    expected = []
    for source, answers in MATRIX.items():
        for headers, status in zip(keys, answers, strict=True):
            answer = send(client, source, headers)
            assert answer.status_code == status, (source, answer.text)
            if status == 201:
                expected.append(source)
            else:
                assert "scope" in answer.text
    assert sorted(source for source, _ in resolutions(database)) == sorted(expected)
    assert send(client, "tool_result", a_key(client, "write", "x", **operate)).status_code == 403
    assert send(client, "tool_result").status_code == 401


def test_without_keys_nobody_speaks_as_the_operator(
    database: Database, client: httpx.Client
) -> None:
    refused = send(client, "operator_correction")
    assert refused.status_code == 403
    assert "operate" in refused.json()["detail"]
    assert send(client, "self_belief").status_code == 201
    assert resolutions(database) == [("self_belief", True)]


def test_an_operators_word_stands_in_the_log_that_the_agent_does_not_read(
    database: Database, client: httpx.Client
) -> None:
    operate = a_key(client, "operate")
    answer = send(client, "operator_correction", operate, outcome=False, event_id="o-1")
    assert answer.json()["resolution_id"] == "audit:o-1"
    body = client.get(OF_B1, headers=operate).json()
    assert [one["log"] for one in body["resolutions"]] == ["audit"]
    assert body["shadow_inference"]["effective"]["source"] == "operator_correction"


def test_what_nothing_stored_bears_out_is_refused_by_name_and_the_refusal_stays(
    database: Database, client: httpx.Client
) -> None:
    forged = [(source, evidence) for source, evidence, proves in CASES if not proves]
    for source, evidence in forged:
        answer = send(client, source, evidence=evidence)
        assert answer.status_code in (409, 422), (source, evidence, answer.text)
        body = answer.json()
        assert body["rule"] in body["detail"]
        assert body["errors"][0]["pointer"] == "/evidence"
    assert resolutions(database) == []
    told = refusals(database)
    assert len(told) == len(forged)
    assert [(one["asked"]["source"], one["asked"].get("evidence")) for one in told] == forged
    assert all(one["rule"] and one["reason"] for one in told)


def test_a_citation_that_cannot_be_read_is_malformed_and_one_of_nothing_a_conflict(
    client: httpx.Client,
) -> None:
    assert send(client, "tool_result", evidence="df says so").status_code == 422
    assert send(client, "tool_result", evidence=None).status_code == 422
    nowhere = {"turn_id": "t9", "tool_call": 0}
    assert send(client, "tool_result", evidence=nowhere).status_code == 409


def test_what_is_proven_is_taken(database: Database, client: httpx.Client) -> None:
    proven = [(source, evidence) for source, evidence, proves in CASES if proves]
    for source, evidence in proven:
        answer = send(client, source, evidence=evidence)
        assert answer.status_code == 201, (source, evidence, answer.text)
        assert answer.json()["source"] == source
    assert [source for source, _ in resolutions(database)] == [source for source, _ in proven]
    assert refusals(database) == []


def test_ranks_decide_equals_dispute_and_all_of_it_stays_visible(
    database: Database, client: httpx.Client
) -> None:
    def state() -> tuple[str, bool, str]:
        shown = client.get(OF_B1).json()["shadow_inference"]
        effective = shown["effective"]
        return shown["state"], effective["outcome"], effective["source"]

    def at(seconds: int) -> str:
        return f"2026-10-03T12:00:{seconds:02}Z"

    send(client, "self_belief", resolved_at=at(50), outcome=False)
    assert state() == ("resolved", False, "self_belief")
    send(client, "know_belief", resolved_at=at(1))
    assert state() == ("resolved", True, "know_belief")
    send(client, "prediction", resolved_at=at(2))
    assert state() == ("resolved", True, "prediction")
    send(client, "tool_result", resolved_at=at(9), outcome=False)
    assert state() == ("resolved", False, "tool_result")
    send(client, "tool_result", resolved_at=at(5))
    assert state() == ("disputed", False, "tool_result")
    post(database, [an_outcome("operator_correction", ts=NOW, log=Log.AUDIT)])
    assert state() == ("resolved", True, "operator_correction")
    assert len(client.get(OF_B1).json()["resolutions"]) == 6


def test_the_list_is_asked_for_by_state_and_category(
    database: Database, client: httpx.Client
) -> None:
    old = NOW - 30 * DAY
    made = {
        "open": a_belief("x1", event_id="open", ts=NOW, detail={"category": "intent"}),
        "unverifiable": a_belief("x2", event_id="unverifiable", ts=old),
        "resolved": a_belief("x3", event_id="resolved", ts=old),
        "disputed": a_belief("x4", event_id="disputed", ts=NOW),
    }
    told = [
        an_outcome("self_belief", of="agent:resolved"),
        an_outcome("tool_result", CITED["tool_result"], of="agent:resolved", outcome=False),
        an_outcome("self_belief", of="agent:disputed"),
        an_outcome("self_belief", of="agent:disputed", outcome=False),
    ]
    post(database, [*made.values(), *told])
    for state in made:
        answer = client.get("/v1/shadow-inferences", params={"state": state, "agent": AGENT}).json()
        found = [item["event_id"] for item in answer["items"] if item["event_id"] != "b-1"]
        assert found == [state]
        assert {item["state"] for item in answer["items"]} == {state}
    by_category = client.get("/v1/shadow-inferences?category=intent").json()["items"]
    assert [item["event_id"] for item in by_category] == ["open"]
    assert client.get("/v1/shadow-inferences?state=lost").status_code == 422


def test_a_repeated_resolution_is_one(database: Database, client: httpx.Client) -> None:
    told: list[dict[str, Any]] = [
        {"event_id": "r-1"},
        {"event_id": "r-2", "resolved_at": "2026-10-03T12:00:09Z"},
        {"resolved_at": "2026-10-03T12:00:10Z"},
    ]
    for one in told:
        first, again = (send(client, "tool_result", **one) for _ in range(2))
        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json() == first.json()
    assert len(resolutions(database)) == 3
    other = send(client, "tool_result", event_id="r-1", outcome=False)
    assert other.status_code == 409


def test_a_repetition_is_answered_as_then_though_the_rule_would_refuse_it_now(
    database: Database, client: httpx.Client
) -> None:
    assert send(client, "know_belief", event_id="r-1").status_code == 201
    post(database, [an_event("belief.superseded", belief_id="k-call")])
    assert send(client, "know_belief", event_id="r-1").status_code == 200
    assert send(client, "know_belief", event_id="r-2").status_code == 409


def test_a_refusal_under_an_idempotency_key_is_recorded_and_answered_once(
    database: Database, client: httpx.Client
) -> None:
    key = {"Idempotency-Key": "k1"}
    answers = [send(client, "tool_result", key, evidence=["x"]) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [422, 422]
    assert answers[0].content == answers[1].content
    assert answers[1].headers["content-type"] == "application/problem+json"
    assert len(refusals(database)) == 1


def test_sixteen_at_once_leave_one_row_for_one_id(database: Database, client: httpx.Client) -> None:
    with ThreadPoolExecutor(16) as pool:
        same = list(pool.map(lambda _: send(client, "tool_result", event_id="r"), range(16)))
        apart = list(pool.map(lambda n: send(client, "self_belief", event_id=f"{n}"), range(16)))
    assert sorted(answer.status_code for answer in same) == [200] * 15 + [201]
    assert [answer.status_code for answer in apart] == [201] * 16
    assert len(resolutions(database)) == 17


def test_what_is_not_there_or_not_the_agents_to_know_is_not_found(
    database: Database, client: httpx.Client
) -> None:
    post(database, [a_belief("b7", event_id="b-7", log=Log.AUDIT)])
    operate = a_key(client, "operate")
    writing = a_key(client, "write", AGENT, **operate)
    answers = {
        name: send(client, "self_belief", writing, f"/v1/shadow-inferences/{name}/resolutions")
        for name in ("agent:none", "audit:b-7", "audit:none")
    }
    for name, answer in answers.items():
        assert answer.status_code == 404
        assert answer.json()["detail"] == f"Agent 'piper' has no shadow inference {name!r}."
    path = "/v1/shadow-inferences/audit:b-7/resolutions"
    assert send(client, "operator_correction", operate, path).status_code == 201
    unknown = send(client, "tool_result", operate, agent_id="nobody")
    assert unknown.status_code == 404
    agents = client.get("/v1/agents", headers=operate).json()
    assert "nobody" not in json.dumps(agents)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"source": "oracle"}, "/source"),
    ({"outcome": "yes"}, "/outcome"),
    ({"outcome": None}, "/outcome"),
    ({"resolved_at": "2026-10-03T12:00:00"}, "/resolved_at"),
    ({"evidense": 1}, "/evidense"),
]


def test_what_is_malformed_is_named(database: Database, client: httpx.Client) -> None:
    for told, pointer in BAD:
        answer = client.post(
            PATH, json={"source": "self_belief", "outcome": True, "agent_id": AGENT} | told
        )
        assert answer.status_code == 422, (told, answer.text)
        assert [e["pointer"] for e in answer.json()["errors"]] == [pointer]
    assert client.post(PATH, json=[]).status_code == 422
    assert resolutions(database) == []


def test_an_inference_is_shown_with_what_became_known_later_and_its_claims_others(
    database: Database, client: httpx.Client
) -> None:
    said = an_event(
        "assertion.made", turn_id="t3", ts=NOW + SECOND, event_id="a-1", belief_id="b1",
        detail={"statement": "b1"},
    )  # fmt: skip
    post(database, [said])
    store(database, a_turn("t3", commit_sha="fff"))
    body = client.get("/v1/shadow-inferences/agent:a-1?agent=piper").json()
    assert [(one["kind"], one["commit_sha"]) for one in body["contexts"]] == [("turn", "fff")]
    assert body["same_claim"] == ["agent:b-1"]
