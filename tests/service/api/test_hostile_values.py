"""Values that no honest agent sends, where they reach further than the event that holds them."""

from typing import Any

import pytest

from service.settings import Settings
from tests.service.factories import NOW, a_client, a_key

BELIEF = {
    "agent_id": "piper", "belief_id": "b1", "label": "guess", "confidence": 0.2,
    "content": "the disk is full", "category": "system state", "worker": "day",
}  # fmt: skip


def event(name: str, **fields: Any) -> dict[str, Any]:
    return {"agent_id": "piper", "event": name, "ts": "2026-10-03T11:00:00Z", **fields}


@pytest.mark.parametrize(
    "poison",
    [
        event("belief.relabelled", belief_id="b1", label_to="know",
              detail={"sources": ["a\u0000b", {"turn_id": "t\u0000", "tool_call": 0}]}),
        event("belief.created", belief_id="b2", label_to="infer",
              detail={"content": "x", "justifications": [["a\u0000"], "b\u0000"]}),
    ],
)  # fmt: skip
def test_an_id_that_no_row_can_have_does_not_stop_the_figures(
    settings: Settings, poison: dict[str, Any]
) -> None:
    first = event("belief.created", belief_id="b1", label_to="infer", detail={"content": "y"})
    with a_client(settings, now=NOW) as client:
        assert client.post("/v1/events", json=[first, poison]).status_code == 200
        for path in ("/v1/ratios", "/v1/ratios/laundering/items", "/v1/reports/weekly"):
            answer = client.get(path, params={"agent": "piper"})
            assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("label", [[], {}, 7, "sure"])
def test_a_label_of_another_kind_is_named_and_holds_up_no_other_turn(
    settings: Settings, label: object
) -> None:
    def turn(turn_id: str, **memory: object) -> dict[str, Any]:
        return {"agent_id": "piper", "session_id": "s", "turn_id": turn_id,
                "ts": "2026-10-03T11:00:00Z", "retrieved": [{"id": "m", **memory}]}  # fmt: skip

    with a_client(settings, now=NOW) as client:
        refused = client.post("/v1/turns", json=turn("t1", label=label))
        assert refused.status_code == 422
        assert [one["pointer"] for one in refused.json()["errors"]] == ["/retrieved/0/label"]
        both = [turn("t1", label=label), turn("t2", label="know")]
        answer = client.post("/v1/turns", json=both, params={"on_error": "skip"})
        assert (answer.status_code, answer.json()["accepted"]) == (200, 1)
        assert [one["index"] for one in answer.json()["rejected"]] == [0]


def test_a_source_that_no_turn_can_be_is_no_source(settings: Settings) -> None:
    with a_client(settings, now=NOW) as client:
        assert client.post("/v1/beliefs", json=BELIEF).status_code == 200
        move = {"agent_id": "piper", "label": "know",
                "sources": [{"turn_id": "t\u0000", "tool_call": 0}]}  # fmt: skip
        assert client.post("/v1/beliefs/b1/relabel", json=move).status_code in (409, 422)


def test_an_event_at_the_end_of_the_calendar_freezes_no_belief(settings: Settings) -> None:
    with a_client(settings, now=NOW) as client:
        operate = a_key(client, "operate")
        audit, write = a_key(client, "audit", **operate), a_key(client, "write", "piper", **operate)
        assert client.post("/v1/beliefs", json=BELIEF, headers=write).status_code == 200
        late = event("belief.challenged", belief_id="b1", detail={"by": "scan"})
        late["ts"] = "9999-12-31T23:59:59.999999Z"
        assert client.post("/v1/events", json=late, headers=audit).status_code == 200
        move = {"label": "suspect", "confidence": 0.6}
        answer = client.post("/v1/beliefs/b1/relabel", json=move, headers=write)
        assert answer.status_code == 200, answer.text
        assert answer.json()["beliefs"][0]["label"] == "suspect"


def test_beliefs_challenged_at_the_end_of_the_calendar_are_still_superseded(
    settings: Settings,
) -> None:
    with a_client(settings, now=NOW) as client:
        operate = a_key(client, "operate")
        audit, write = a_key(client, "audit", **operate), a_key(client, "write", "piper", **operate)

        def call(path: str, headers: dict[str, str], body: Any) -> Any:
            answer = client.post(f"/v1/{path}", json=body, headers=headers)
            assert answer.status_code == 200, answer.text
            return answer.json()

        rests = {"justifications": [["b1"]]}
        for name, more in (("b1", {}), ("b2", rests), ("b3", {}), ("b4", {})):
            call("beliefs", write, {**BELIEF, "belief_id": name, "content": name, **more})
        both = {"beliefs": ["b3", "b4"]}
        call("events", write, event("contradiction.created", contradiction_id="c1", detail=both))
        end = {"ts": "9999-12-31T23:59:59.999999Z"}
        for name in ("b1", "b2", "b3"):
            late = event("belief.challenged", belief_id=name, detail={"by": "scan"})
            call("events", audit, late | end)
        call("events", audit, event("contradiction.investigated", contradiction_id="c1") | end)

        answer = call("beliefs/b1/supersede", write, {**BELIEF, "belief_id": "b5", "content": "5"})
        assert [one["belief_id"] for one in answer["weakened"]] == ["b2"]
        settled = {"state": "resolved", "resolution": "resolved", "kept": "b4", "given_up": ["b3"],
                   "evidence": ["e1"]}  # fmt: skip
        assigned = {"state": "investigating", "owner": "me", "next_action": "ask", "priority": 1,
                    "ttl": "P90D"}  # fmt: skip
        for move in (assigned, settled):
            call("contradictions/c1/transitions", write, move)
        for name, successor in (("b1", "b5"), ("b3", "b4")):
            read = client.get(f"/v1/beliefs/{name}", params={"agent": "piper"}, headers=write)
            told = read.json()["belief"]
            assert (told["status"], told["superseded_by"]) == ("superseded", successor)
