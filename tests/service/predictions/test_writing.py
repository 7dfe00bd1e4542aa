"""Making and scoring predictions over the API, on both databases."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from service.instants import HOUR
from service.settings import Settings
from tests.service.contradictions.queue import Queue, a_queue
from tests.service.factories import AGENT, a_key

CLAIM: dict[str, Any] = {
    "statement": "the disk is full by noon",
    "confidence": 0.8,
    "due_at": "2026-10-03T15:00:00+02:00",
}


@pytest.fixture
def queue(settings: Settings) -> Iterator[Queue]:
    with a_queue(settings) as opened:
        yield opened


def make(queue: Queue, **body: Any) -> Any:
    return queue.post("/v1/predictions", **CLAIM | body)


def score(queue: Queue, prediction_id: str, outcome: object, **body: Any) -> Any:
    return queue.post(f"/v1/predictions/{prediction_id}/score", outcome=outcome, **body)


def test_a_prediction_is_open_then_overdue_then_scored_and_counted_as_such(queue: Queue) -> None:
    made = make(queue, prediction_id="p%2F1".replace("%2F", "/"), belief_id="b1")
    assert made.status_code == 201
    assert made.json() == {
        "agent_id": "piper",
        "prediction_id": "p/1",
        "state": "open",
        "statement": "the disk is full by noon",
        "confidence": 0.8,
        "belief_id": "b1",
        "made_at": "2026-10-03T12:00:00.000000Z",
        "due_at": "2026-10-03T13:00:00.000000Z",
        "outcome": None,
        "scored_at": None,
        "last_ts": "2026-10-03T12:00:00.000000Z",
    }
    make(queue, prediction_id="p2", due_at="2026-10-09T00:00:00Z")
    queue.clock.now += HOUR + 1
    page = queue.read("/v1/predictions", state="overdue")
    assert [item["prediction_id"] for item in page["items"]] == ["p/1"]
    assert page["counts"] == {"open": 1, "overdue": 1, "scored": 0}
    scored = score(queue, "p%2F1", False, evidence=["e1"])
    assert (scored.status_code, scored.json()["state"]) == (200, "scored")
    assert scored.json()["outcome"] is False
    assert queue.read("/v1/predictions")["counts"] == {"open": 1, "overdue": 0, "scored": 1}
    event = queue.events("prediction.scored")[0]
    assert event["detail"] == {"evidence": ["e1"], "outcome": False, "prediction_id": "p/1"}
    assert event["flags"] == []


@pytest.mark.parametrize("first", [True, False])
def test_the_same_outcome_again_changes_nothing_and_another_is_refused(
    queue: Queue,
    first: bool,  # noqa: FBT001 - given by the parametrization
) -> None:
    make(queue, prediction_id="p1")
    answers = [score(queue, "p1", outcome) for outcome in (first, first, not first)]
    assert [a.status_code for a in answers] == [200, 200, 409]
    assert answers[0].json() == answers[1].json()
    problem = answers[2].json()
    assert (problem["rule"], problem["outcome"]) == ("a_prediction_is_scored_once", first)
    assert problem["errors"][0]["pointer"] == "/outcome"
    assert Counter(e["event"] for e in queue.read("/v1/events")["items"]) == {
        "prediction.made": 1, "prediction.scored": 1, "ledger.refused": 1,
    }  # fmt: skip
    assert queue.read("/v1/predictions")["items"][0]["outcome"] is first


def test_it_may_be_sent_again_by_either_id_and_the_id_stands_for_one_claim(queue: Queue) -> None:
    for ids in ({"prediction_id": "p1"}, {"event_id": "e1"}):
        first, again = make(queue, **ids), make(queue, **ids)
        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json() == again.json()
        for change in (
            {"statement": "it is not"},
            {"confidence": 0.81},
            {"due_at": "2026-10-04T00:00:00Z"},
            {"belief_id": "b9"},
        ):
            other = make(queue, **ids, **change)
            assert (other.status_code, other.json()["rule"]) == (409, "id_taken"), change
    queue.clock.now += 9 * HOUR
    assert make(queue, prediction_id="p1").status_code == 200
    assert len(queue.events("prediction.made")) == 2


def test_what_is_due_already_is_no_prediction(queue: Queue) -> None:
    for due_at in ("2026-10-03T12:00:00Z", "2026-10-03T11:59:59Z"):
        answer = make(queue, due_at=due_at)
        assert (answer.status_code, answer.json()["rule"]) == (
            409,
            "a_prediction_is_due_in_the_future",
        )
    assert queue.read("/v1/predictions")["items"] == []
    assert len(queue.events("ledger.refused")) == 2


MALFORMED: list[dict[str, Any]] = [
    {"statement": ""},
    {"statement": None},
    {"confidence": 1.1},
    {"confidence": -0.1},
    {"confidence": "0.8"},
    {"confidence": None},
    {"due_at": "2026-10-04"},
    {"due_at": "2026-10-04T00:00:00"},
    {"due_at": None},
    {"prediction_id": ""},
    {"prediction_id": "p\x00"},
    {"belief_id": "b" * 257},
    {"outcome": True},
]


def test_what_is_malformed_is_refused_by_its_field(queue: Queue) -> None:
    make(queue, prediction_id="p1")
    for body in MALFORMED:
        answer = make(queue, **body)
        assert answer.status_code == 422, (body, answer.text)
        assert answer.json()["errors"][0]["pointer"]
    for outcome in (None, 1, "true"):
        assert score(queue, "p1", outcome).status_code == 422
    nan = queue.client.post(
        "/v1/predictions",
        content=b'{"statement":"s","confidence":NaN,"due_at":"2026-10-04T00:00:00Z"}',
        headers={"Content-Type": "application/json"},
    )
    assert nan.status_code == 422
    assert score(queue, "none", True).status_code == 404
    assert len(queue.events("prediction.made")) == 1


def test_an_agents_key_makes_and_scores_its_own_only(queue: Queue) -> None:
    operate = a_key(queue.client, "operate")
    queue.headers = a_key(queue.client, "write", AGENT, **operate)
    assert make(queue, prediction_id="p1").status_code == 201
    assert score(queue, "p1", True).status_code == 200
    queue.headers = a_key(queue.client, "write", "other", **operate)
    assert make(queue, prediction_id="p1").status_code == 403
    assert score(queue, "p1", True).status_code == 403
    queue.headers = a_key(queue.client, "read", **operate)
    assert make(queue, prediction_id="p2").status_code == 403
