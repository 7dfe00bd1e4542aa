"""What is acknowledged is stored once; what is sent again changes nothing."""

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from service.db.database import Database
from service.models import CogEvent, LogHead

EVENT = {"agent_id": "a", "ts": "2026-10-03T12:00:00Z", "event": "x.note", "event_id": "e"}


def events(client: httpx.Client, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    after: str | None = None
    while True:
        params = query | ({"after": after} if after else {})
        page = client.get("/v1/events", params=params).json()
        found += page["items"]
        after = page["next"]
        if after is None:
            return found


def test_the_same_event_again_is_a_duplicate_and_changes_nothing(client: httpx.Client) -> None:
    assert client.post("/v1/events", json=EVENT | {"confidence": 0.9}).json()["accepted"] == 1
    before = events(client)
    again = client.post(
        "/v1/events",
        content=json.dumps(EVENT | {"ts": "2026-10-03T14:00:00+02:00"})[:-1]
        + ', "confidence": 0.90}',
        headers={"Content-Type": "application/json"},
    )
    assert again.json() == {"accepted": 0, "duplicates": 1, "rejected": []}
    assert events(client) == before


def test_the_same_id_with_other_content_is_a_conflict_that_names_it(client: httpx.Client) -> None:
    client.post("/v1/events", json=EVENT)
    answer = client.post("/v1/events", json=[EVENT | {"event_id": "n"}, EVENT | {"worker": "w"}])
    assert answer.status_code == 409
    assert "'e'" in answer.json()["detail"]
    assert answer.json()["errors"][0]["pointer"] == "/1/event_id"
    assert [e["event_id"] for e in events(client)] == ["e"]
    skipped = client.post(
        "/v1/events?on_error=skip", json=[EVENT | {"event_id": "n"}, EVENT | {"worker": "w"}]
    ).json()
    assert (skipped["accepted"], [r["index"] for r in skipped["rejected"]]) == (1, [1])


def test_true_and_one_are_not_the_same_content(client: httpx.Client) -> None:
    client.post("/v1/events", json=EVENT | {"detail": {"a": 1}})
    assert client.post("/v1/events", json=EVENT | {"detail": {"a": 1.0}}).json()["duplicates"] == 1
    assert client.post("/v1/events", json=EVENT | {"detail": {"a": True}}).status_code == 409


def test_an_event_without_id_is_known_by_its_content(client: httpx.Client) -> None:
    bare = {k: v for k, v in EVENT.items() if k != "event_id"}
    assert client.post("/v1/events", json=[bare, bare]).json() == {
        "accepted": 1, "duplicates": 1, "rejected": [],
    }  # fmt: skip
    assert client.post("/v1/events", json=bare).json()["duplicates"] == 1
    undated = {k: v for k, v in bare.items() if k != "ts"}
    assert client.post("/v1/events", json=[undated, undated]).json()["accepted"] == 2


def test_a_conflict_inside_one_batch_is_found(client: httpx.Client) -> None:
    answer = client.post("/v1/events", json=[EVENT, EVENT | {"worker": "w"}])
    assert answer.status_code == 409
    assert events(client) == []


def test_the_order_of_arrival_is_kept_within_one_microsecond(client: httpx.Client) -> None:
    batch = [EVENT | {"event_id": f"{n * 7919 % 1000}"} for n in range(100)]
    client.post("/v1/events", json=batch)
    shown = events(client, limit=7)
    assert [e["event_id"] for e in reversed(shown)] == [e["event_id"] for e in batch]
    assert [e["seq"] for e in reversed(shown)] == list(range(1, 101))


def test_a_page_of_exactly_the_limit_says_whether_there_is_more(client: httpx.Client) -> None:
    client.post("/v1/events", json=[EVENT | {"event_id": str(n)} for n in range(4)])
    assert client.get("/v1/events?limit=4").json()["next"] is None
    assert client.get("/v1/events?limit=3").json()["next"] is not None
    assert len(events(client, limit=2)) == 4


def test_filters_narrow_by_every_field(client: httpx.Client) -> None:
    client.post(
        "/v1/events",
        json=[
            EVENT | {"event_id": "1", "worker": "day", "session_id": "s", "turn_id": "t"},
            EVENT | {"event_id": "2", "event": "belief.challenged", "belief_id": "b"},
            EVENT | {"event_id": "3", "agent_id": "other", "ts": "2026-10-04T00:00:00Z"},
        ],
    )

    def found(**query: str) -> set[str]:
        return {e["event_id"] for e in events(client, **query)}

    assert found(worker="day") == found(session_id="s") == found(turn_id="t") == {"1"}
    assert found(belief_id="b") == found(event="belief.challenged") == {"2"}
    assert found(agent="other") == found(**{"from": "2026-10-04T00:00:00Z"}) == {"3"}
    assert found(until="2026-10-04T00:00:00Z") == {"1", "2"}
    assert client.get("/v1/events?agent=nobody").status_code == 404


def test_sixteen_writers_with_overlapping_batches_store_each_event_once(
    client: httpx.Client, database: Database
) -> None:
    def send(writer: int) -> Counter[str]:
        counts: Counter[str] = Counter()
        for round_ in range(6):
            batch = [
                EVENT
                | {"event": "belief.challenged", "session_id": "s"}
                | {"event_id": str(k), "belief_id": f"b{k % 7}"}
                for k in ((writer * 4 + n + round_) % 60 for n in range(20))
            ]
            if writer % 2:
                batch.reverse()
            with httpx.Client(base_url=client.base_url, trust_env=False, timeout=60) as own:
                answer = own.post("/v1/events", json=batch)
            assert answer.status_code == 200, answer.text
            counts.update({k: answer.json()[k] for k in ("accepted", "duplicates")})
        return counts

    with ThreadPoolExecutor(16) as pool:
        total = sum(pool.map(send, range(16)), Counter())
    stored = {e["event_id"] for e in events(client, limit=1000)}
    assert total["accepted"] == len(stored) == 60
    assert total["duplicates"] == 16 * 6 * 20 - 60
    with database.read() as session:
        sequence = session.scalars(select(CogEvent.seq).order_by(CogEvent.seq)).all()
        size = session.scalar(select(LogHead.size))
    assert sequence == list(range(1, 61))
    assert size == 60


def test_a_reader_that_holds_a_snapshot_does_not_stop_writers(
    client: httpx.Client, database: Database
) -> None:
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(CogEvent)) == 0
        for n in range(20):
            assert client.post("/v1/events", json=EVENT | {"event_id": str(n)}).status_code == 200
        assert session.scalar(select(func.count()).select_from(CogEvent)) == 0
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(CogEvent)) == 20


def test_another_process_that_writes_is_waited_for(
    client: httpx.Client, database: Database
) -> None:
    """As an auditor in a process of its own would write."""
    release = threading.Event()
    holding = threading.Event()

    def hold() -> None:
        with database.write() as session:
            session.add(LogHead(agent_id="z", log="audit", size=1))
            session.flush()
            holding.set()
            release.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    assert holding.wait(10)
    with ThreadPoolExecutor(4) as pool:
        answers = [
            pool.submit(client.post, "/v1/events", json=EVENT | {"event_id": str(n)})
            for n in range(4)
        ]
        release.set()
        assert [a.result().status_code for a in answers] == [200] * 4
    holder.join()


@pytest.mark.parametrize(
    ("event", "detail"),
    [
        ("opportunity.detected", {"source": "auditor"}),
        ("operator.reported", {"text": "wrong"}),
        ("belief.overwrite_refused", {}),
        ("ledger.refused", {"rule": "1"}),
        ("inference.outcome", {"source": "operator_correction", "shadow_id": "s", "outcome": True}),
    ],
)
def test_what_only_an_auditor_or_operator_may_say_is_forbidden(
    client: httpx.Client, event: str, detail: dict[str, Any]
) -> None:
    body = EVENT | {"event": event, "detail": detail, "turn_id": "t", "belief_id": "b"}
    answer = client.post("/v1/events", json=body)
    assert answer.status_code == 403
    assert event in answer.json()["detail"]
    skipped = client.post("/v1/events?on_error=skip", json=[body, EVENT]).json()
    assert (skipped["accepted"], skipped["rejected"][0]["pointer"]) == (1, "/event")
