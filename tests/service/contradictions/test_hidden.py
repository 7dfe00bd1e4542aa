"""What the auditor or the operator opened or predicted is not there for the agent's key."""

from typing import Any

from service.settings import Settings
from tests.service.factories import AGENT, a_client, a_key

SOON = "2027-01-01T00:00:00Z"


def test_what_another_log_opened_or_predicted_is_hidden_from_the_agents_key(
    settings: Settings,
) -> None:
    with a_client(settings) as client:
        operate = a_key(client, "operate")
        write = a_key(client, "write", AGENT, **operate)
        audit = a_key(client, "audit", **operate)

        def send(path: str, by: dict[str, str], status: int, **body: Any) -> Any:
            answer = client.post(path, json={"agent_id": AGENT} | body, headers=by)
            assert answer.status_code == status, answer.text
            return answer.json()

        def read(path: str, by: dict[str, str], status: int = 200) -> Any:
            answer = client.get(path, params={"agent": AGENT}, headers=by)
            assert answer.status_code == status, answer.text
            return answer.json()

        claim = {"statement": "it holds", "confidence": 0.5, "due_at": SOON}
        own = {"beliefs": ["b1", "b2"], "contradiction_id": "own"}
        send("/v1/contradictions", write, 201, **own)
        send("/v1/predictions", write, 201, prediction_id="own", **(claim | {"confidence": 0.6}))
        secret = {"beliefs": ["b3", "b4"], "contradiction_id": "c"}
        send("/v1/contradictions", operate, 201, **secret)
        send("/v1/predictions", operate, 201, prediction_id="p", **claim)
        event = {"event": "contradiction.created", "contradiction_id": "audits"}
        send("/v1/events", audit, 200, **event, detail={"beliefs": ["b5", "b6"]})

        found = read("/v1/contradictions", write)["items"]
        assert [one["contradiction_id"] for one in found] == ["own"]
        assert len(read("/v1/contradictions", operate)["items"]) == 3
        assert read("/v1/contradictions/salience", write)["open"] == 1
        page = read("/v1/predictions", write)
        assert [one["prediction_id"] for one in page["items"]] == ["own"]
        assert sum(page["counts"].values()) == 1
        assert sum(read("/v1/predictions", operate)["counts"].values()) == 2
        for name in ("c", "audits"):
            read(f"/v1/contradictions/{name}", write, 404)
            move = {"state": "investigating", "owner": "x", "next_action": "test"}
            send(f"/v1/contradictions/{name}/transitions", write, 404, **move)
        send("/v1/predictions/p/score", write, 404, outcome=True)
        # Neither is told by what the agent opens or predicts itself.
        send("/v1/predictions", write, 409, prediction_id="p", **claim)
        send("/v1/contradictions", write, 409, **secret)
        send("/v1/contradictions", write, 201, beliefs=["b4", "b3"], contradiction_id="twin")
        reported = {"event": "contradiction.created", "contradiction_id": "c"}
        send("/v1/events", write, 200, **reported, detail={"beliefs": ["x", "y"]})
        # Of one instant the agent's log comes first: what then shows is its own word.
        shown = read("/v1/contradictions/c", write)["contradiction"]
        assert shown["beliefs"] == ["x", "y"]
        late = reported | {"contradiction_id": "audits", "ts": "2026-10-03T12:00:01Z"}
        send("/v1/events", write, 200, **late, detail={"beliefs": ["x", "y"]})
        read("/v1/contradictions/audits", write, 404)
        send("/v1/predictions/p/score", operate, 200, outcome=True)
