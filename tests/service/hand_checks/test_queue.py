"""The queue of hand-checks over the API, on both databases."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import select

from service.db.database import Database
from service.events.schemas import Event
from service.instants import DAY, HOUR, parse_instant
from service.models import HandCheckVerdict, LogHead
from service.settings import Settings
from tests.service.contradictions.queue import Queue, a_queue
from tests.service.factories import AGENT, NOW, a_belief, a_key, an_event, post

# NOW is a Saturday of week 40; its Monday was the 28th of September.
MONDAY = parse_instant("2026-09-28T00:00:00Z")


@pytest.fixture
def queue(settings: Settings) -> Iterator[Queue]:
    with a_queue(settings) as opened:
        yield opened


def resolved(
    name: str, at: int, resolution: object = "kept", state: str = "resolved"
) -> list[Event]:
    """A contradiction that was closed at an instant."""
    beliefs = [f"{name}-a", f"{name}-b"]
    detail = {"resolution": resolution, "evidence": ["e1"]}
    return [
        an_event(
            "contradiction.created",
            contradiction_id=name,
            ts=at - HOUR,
            detail={"beliefs": beliefs},
        ),
        an_event(
            "contradiction.investigated", contradiction_id=name, ts=at - 1, detail={"owner": "day"}
        ),
        an_event(f"contradiction.{state}", contradiction_id=name, ts=at, detail=detail),
    ]


def listed(queue: Queue, **query: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = queue.read("/v1/hand-checks", **query)["items"]
    return items


def answer(queue: Queue, check_id: str, verdict: str, **body: Any) -> Any:
    return queue.client.post(
        f"/v1/hand-checks/{check_id}", json={"verdict": verdict, **body}, headers=queue.headers
    )


def test_a_week_is_drawn_once_it_has_ended_and_only_once(database: Database, queue: Queue) -> None:
    week = [resolved(f"c{n}", MONDAY - HOUR * (n + 1)) for n in range(30)]
    false = [resolved(f"f{n}", MONDAY - HOUR - n, "not_a_contradiction") for n in range(9)]
    this_week = [resolved(f"n{n}", MONDAY + n) for n in range(5)]
    expired = [resolved("x", MONDAY - DAY, state="expired")]
    post(database, [e for group in (*week, *false, *this_week, *expired) for e in group])
    first = listed(queue)
    assert len(first) == 20
    assert {item["iso_week"] for item in first} == {"2026-W39"}
    assert sum(item["subject_id"].startswith("f") for item in first) == 5
    assert listed(queue) == first
    queue.clock.now += 2 * DAY
    queue.upkeep().draw_hand_checks()
    later = listed(queue)
    assert {i["subject_id"] for i in later if i["iso_week"] == "2026-W40"} == {
        f"n{n}" for n in range(5)
    }
    assert len(later) == 25
    assert listed(queue, week="2026-W39") == first
    assert queue.read("/v1/hand-checks")["counts"] == {"pending": 25, "answered": 0}


def test_what_is_reported_late_fills_a_week_up_and_displaces_nothing(
    database: Database, queue: Queue
) -> None:
    post(database, [e for n in range(18) for e in resolved(f"c{n}", MONDAY - HOUR)])
    first = {item["subject_id"] for item in listed(queue)}
    assert len(first) == 18
    post(database, [e for n in range(10) for e in resolved(f"late{n}", MONDAY - HOUR)])
    second = {item["subject_id"] for item in listed(queue)}
    assert len(second) == 20
    assert first < second


def test_the_person_sees_it_as_it_was_when_it_was_drawn(database: Database, queue: Queue) -> None:
    belief = a_belief("c1-a", ts=MONDAY - 2 * DAY, detail={"content": "the disk is full"})
    post(database, [belief, *resolved("c1", MONDAY - HOUR)])
    shown = listed(queue)[0]["snapshot"]
    assert shown["contradiction"]["state"] == "resolved"
    assert shown["contradiction"]["resolution_detail"]["evidence"] == ["e1"]
    assert [member["content"] for member in shown["members"]] == ["the disk is full"]
    overwritten = an_event(
        "belief.overwritten", belief_id="c1-a", ts=NOW, detail={"content": "nothing is full"}
    )
    post(database, [overwritten])
    assert listed(queue)[0]["snapshot"] == shown


def test_all_verdicts_stay_and_the_latest_holds(database: Database, queue: Queue) -> None:
    post(database, resolved("c1", MONDAY - HOUR))
    check_id = listed(queue)[0]["check_id"]
    said = [("confirm", "looks right"), ("unsure", None), ("reject", "b was right")]
    for verdict, note in said:
        given = answer(queue, check_id, verdict, **({"note": note} if note else {}))
        assert given.status_code == 201
        assert given.json()["check"]["verdict"] == verdict
    item = listed(queue)[0]
    assert (item["state"], item["verdict"]) == ("answered", "reject")
    assert [(v["verdict"], v["note"]) for v in item["verdicts"]] == said
    assert listed(queue, state="pending") == []
    assert len(listed(queue, state="answered")) == 1
    with database.read() as session:
        rows = session.execute(
            select(HandCheckVerdict.log, HandCheckVerdict.leaf_hash, HandCheckVerdict.seal)
        ).all()
        size = session.scalar(
            select(LogHead.size).where(LogHead.agent_id == AGENT, LogHead.log == "audit")
        )
    assert [row.log for row in rows] == ["audit"] * 3
    assert all(row.leaf_hash and row.seal for row in rows)
    assert size == 3


def test_a_verdict_may_be_sent_again_by_its_id(database: Database, queue: Queue) -> None:
    post(database, resolved("c1", MONDAY - HOUR))
    check_id = listed(queue)[0]["check_id"]
    sent = {"verdict_id": "v1", "note": "half \x00"}
    assert answer(queue, check_id, "confirm", **sent).status_code == 201
    assert answer(queue, check_id, "confirm", **sent).status_code == 200
    other = answer(queue, check_id, "reject", **sent)
    assert (other.status_code, other.json()["errors"][0]["pointer"]) == (409, "/verdict_id")
    assert len(listed(queue)[0]["verdicts"]) == 1
    queue.headers = {"Idempotency-Key": "k1"}
    keyed = [answer(queue, check_id, "unsure") for _ in range(2)]
    assert [a.status_code for a in keyed] == [201, 201]
    assert keyed[0].json() == keyed[1].json()
    assert len(listed(queue)[0]["verdicts"]) == 2


def test_the_funnel_tells_how_many_were_right(database: Database, queue: Queue) -> None:
    post(database, [e for n in range(4) for e in resolved(f"c{n}", MONDAY - HOUR)])
    checks = {item["subject_id"]: item["check_id"] for item in listed(queue)}
    for name, verdict in (("c0", "confirm"), ("c1", "reject"), ("c2", "unsure"), ("c1", "confirm")):
        answer(queue, checks[name], verdict)
    told = queue.read("/v1/contradictions/funnel")["correctness"]
    assert (told["confirmed"], told["of"], told["share"]) == (2, 2, 1.0)
    assert 0.3 < told["interval"]["low"] < 0.4


def test_only_an_operator_reads_the_queue_and_answers(database: Database, queue: Queue) -> None:
    post(database, resolved("c1", MONDAY - HOUR))
    operate = a_key(queue.client, "operate")
    queue.headers = operate
    check_id = listed(queue)[0]["check_id"]
    for scope, agent in (("write", AGENT), ("read", None), ("audit", None)):
        queue.headers = a_key(queue.client, scope, agent, **operate)
        assert answer(queue, check_id, "confirm").status_code == 403
        asked = queue.client.get("/v1/hand-checks", headers=queue.headers)
        assert asked.status_code == 403
    queue.headers = operate
    given = answer(queue, check_id, "confirm").json()["check"]["verdicts"][0]
    assert given["decided_by"] is not None


def test_an_odd_question_or_verdict_is_refused(database: Database, queue: Queue) -> None:
    post(database, resolved("c1", MONDAY - HOUR))
    check_id = listed(queue)[0]["check_id"]
    assert answer(queue, "none", "confirm").status_code == 404
    for body in ({"verdict": "yes"}, {}, {"verdict": "confirm", "who": "me"}):
        sent = queue.client.post(f"/v1/hand-checks/{check_id}", json=body)
        assert sent.status_code == 422
    for query in ("state=open", "after=x", "agent=%00", "week=%00"):
        assert queue.client.get(f"/v1/hand-checks?{query}").status_code == 422
    assert queue.client.get("/v1/hand-checks?agent=nobody").status_code == 404
    assert listed(queue, week="2026-W01") == []
