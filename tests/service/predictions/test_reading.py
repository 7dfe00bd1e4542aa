"""Reading predictions over the API, on both databases."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from service.db.database import Database
from service.events.schemas import Event
from service.instants import format_instant
from service.predictions.queries import state_at
from service.settings import Settings
from tests.service.factories import NOW, a_client, a_key, an_event, post


@pytest.fixture
def client(settings: Settings) -> Iterator[httpx.Client]:
    """The service's clock stands at NOW."""
    with a_client(settings, now=NOW) as opened:
        yield opened


def made(prediction_id: str, due_at: int | None = None, **fields: Any) -> Event:
    detail = {"prediction_id": prediction_id, "statement": "it will hold"}
    if due_at is not None:
        detail["due_at"] = format_instant(due_at)
    return an_event("prediction.made", detail=detail, **({"confidence": 0.8} | fields))


def scored(prediction_id: str, **fields: Any) -> Event:
    detail = {"prediction_id": prediction_id, "outcome": False}
    return an_event("prediction.scored", detail=detail, **fields)


def read(client: httpx.Client, **query: Any) -> Any:
    answer = client.get("/v1/predictions", params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(client: httpx.Client, **query: Any) -> list[str]:
    return [item["prediction_id"] for item in read(client, **query)["items"]]


def test_overdue_is_due_before_now_and_unscored_and_all_states_are_counted(
    database: Database, client: httpx.Client
) -> None:
    post(
        database,
        [
            made("past", NOW - 1),
            made("this instant", NOW),
            made("undated"),
            made("settled", NOW - 1),
            scored("settled"),
            scored("never made"),
        ],
    )
    assert ids(client) == ["never made", "settled", "undated", "this instant", "past"]
    assert ids(client, state="overdue") == ["past"]
    assert ids(client, state="open") == ["undated", "this instant"]
    assert ids(client, state="scored") == ["never made", "settled"]
    counts = {"open": 2, "overdue": 1, "scored": 2}
    for state in ("open", "overdue", "scored", None):
        page = read(client, **({"state": state} if state else {}))
        assert page["counts"] == counts
        assert state is None or {item["state"] for item in page["items"]} == {state}


def test_without_a_prediction_the_counts_are_zero(client: httpx.Client) -> None:
    assert read(client) == {
        "items": [],
        "next": None,
        "counts": {"open": 0, "overdue": 0, "scored": 0},
    }


@pytest.mark.parametrize(
    ("due_at", "scored_at", "expected"),
    [
        (None, None, "open"),
        (9, None, "overdue"),
        (10, None, "open"),
        (9, 11, "scored"),
        (None, 1, "scored"),
    ],
)
def test_a_state_is_that_of_the_moment(
    due_at: int | None, scored_at: int | None, expected: str
) -> None:
    assert state_at(due_at, scored_at, 10) == expected


def test_a_prediction_is_shown_as_it_stands(database: Database, client: httpx.Client) -> None:
    post(database, [made("p1", NOW, ts=NOW - 10, belief_id="b1"), scored("p1", ts=NOW + 1)])
    assert read(client, belief_id="b1")["items"] == [
        {
            "agent_id": "piper",
            "prediction_id": "p1",
            "state": "scored",
            "statement": "it will hold",
            "confidence": 0.8,
            "belief_id": "b1",
            "made_at": "2026-10-03T11:59:59.999990Z",
            "due_at": "2026-10-03T12:00:00.000000Z",
            "outcome": False,
            "scored_at": "2026-10-03T12:00:00.000001Z",
            "last_ts": "2026-10-03T12:00:00.000001Z",
        }
    ]
    nothing = read(client, belief_id="b2")
    assert nothing["items"] == []
    assert nothing["counts"]["scored"] == 0


def test_pages_hold_each_prediction_once(database: Database, client: httpx.Client) -> None:
    post(database, [made(f"p{n}", ts=NOW + n // 3) for n in range(9)])
    seen, after = [], None
    while True:
        page = read(client, limit=2, **({"after": after} if after else {}))
        seen += [item["prediction_id"] for item in page["items"]]
        after = page["next"]
        if after is None:
            break
    assert seen == [f"p{n}" for n in reversed(range(9))]


def test_an_odd_question_has_the_same_answer_on_both_databases(client: httpx.Client) -> None:
    for query in ("state=late", "agent=%00", "belief_id=%00", "after=WzEsImEiLCJcdTAwMDAiXQ"):
        answer = client.get(f"/v1/predictions?{query}")
        assert answer.status_code == 422, (query, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_writing_key_reads_its_own_agents_predictions(
    database: Database, client: httpx.Client
) -> None:
    post(database, [made("p1"), made("p2", agent_id="other")])
    operate = a_key(client, "operate")
    writing = a_key(client, "write", "piper", **operate)
    own = client.get("/v1/predictions", headers=writing).json()
    assert [item["prediction_id"] for item in own["items"]] == ["p1"]
    assert own["counts"]["open"] == 1
    assert client.get("/v1/predictions?agent=other", headers=writing).status_code == 403
    assert client.get("/v1/predictions", headers=operate).json()["counts"]["open"] == 2
