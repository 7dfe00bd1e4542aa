"""Salience and the funnel, counted by hand, on both databases."""

from collections.abc import Iterator
from typing import Any

import pytest

from service.contradictions.salience import salience, weigh
from service.db.database import Database
from service.events.schemas import Event
from service.instants import DAY, HOUR
from service.models import Contradiction
from service.settings import Settings
from tests.service.contradictions.queue import Queue, a_queue
from tests.service.factories import AGENT, NOW, a_key, an_event, post


@pytest.fixture
def queue(settings: Settings) -> Iterator[Queue]:
    with a_queue(settings) as opened:
        yield opened


@pytest.mark.parametrize(
    ("priority", "age_days", "expected"),
    [(5, 0, 5.0), (1, 7, 2.0), (3, 14, 9.0), (2, 3.5, 3.0), (None, 7, 2.0), (4, -30, 4.0)],
)
def test_salience_grows_with_priority_and_age(
    priority: int | None, age_days: float, expected: float
) -> None:
    assert salience(priority, NOW - int(age_days * DAY), NOW) == expected


def test_salience_is_capped_at_a_hundred_however_many_are_open() -> None:
    rows = [Contradiction(priority=5, detected_at=NOW - 7 * DAY) for _ in range(9)]
    assert weigh(rows, NOW).value == 90
    assert weigh([*rows, rows[0]], NOW).value == 100
    assert weigh([*rows, *rows], NOW).value == 100
    assert weigh([*rows, *rows], NOW).uncapped == 180
    assert weigh([], NOW).value == 0


def life(
    name: str, at: int, *moves: tuple[str, int, dict[str, Any]], **created: Any
) -> list[Event]:
    """A contradiction detected at an instant, and its moves so many hours later."""
    detail = {"beliefs": [f"{name}-a", f"{name}-b"]} | created
    events = [an_event("contradiction.created", contradiction_id=name, ts=at, detail=detail)]
    return events + [
        an_event(
            f"contradiction.{move}",
            contradiction_id=name,
            ts=at + hours * HOUR,
            cost_tokens=10,
            detail=told,
        )
        for move, hours, told in moves
    ]


def test_only_what_is_open_weighs_and_only_the_last_days_tokens_count(
    database: Database, queue: Queue
) -> None:
    post(
        database,
        [
            *life("c1", NOW - 7 * DAY, ("investigated", 160, {"owner": "day"}), priority=4),
            *life("c2", NOW - 14 * DAY),
            *life("c3", NOW - 9 * DAY, ("expired", 1, {}), priority=5),
        ],
    )
    told = queue.read("/v1/contradictions/salience")
    assert (told["salience"], told["open"], told["without_priority"]) == (8 + 3, 2, 1)
    assert told["is_capped"] is False
    assert told["budget"] == {
        "daily_token_budget": None, "tokens": 10, "share": None, "gate": 0.05, "within_gate": None,
    }  # fmt: skip
    for budget, share, within in ((100, 0.1, False), (200, 0.05, True), (0, None, None)):
        changed = queue.client.patch(f"/v1/agents/{AGENT}", json={"daily_token_budget": budget})
        assert changed.status_code == 200
        told = queue.read("/v1/contradictions/salience")["budget"]
        assert (told["share"], told["within_gate"]) == (share, within)


def test_tokens_beyond_any_integer_are_told_without_an_error(
    database: Database, queue: Queue
) -> None:
    events = life("c1", NOW - HOUR)
    most = [
        an_event(
            "contradiction.investigated",
            contradiction_id="c1",
            ts=NOW - ago,
            cost_tokens=2**63 - 1,
        )
        for ago in (1, 2)
    ]
    post(database, [*events, *most])
    assert queue.read("/v1/contradictions/salience")["budget"]["tokens"] == 2**63 - 1


TAKEN = ("investigated", 2, {"owner": "day"})


def test_the_funnel_counts_each_contradiction_of_the_window_by_how_far_it_got(
    database: Database, queue: Queue
) -> None:
    start = NOW - 10 * DAY
    post(
        database,
        [
            *life("kept", start, TAKEN, ("resolved", 6, {"evidence": ["e"], "resolution": "b"}),
                  priority=1),
            *life("cheat", start, TAKEN, ("resolved", 8, {"resolution": {"kind": "resolved"}}),
                  priority=1),
            *life("none", start, TAKEN, ("resolved", 3, {"resolution": "not_a_contradiction"})),
            *life("scoped", start, TAKEN, ("scoped", 12, {"resolution": {"kind": "scoped"}})),
            *life("expired", start, ("expired", 24, {})),
            *life("open", start),
            *life("later", start, ("investigated", 24 * 30, {"owner": "x"})),
            *life("before", start - 1, TAKEN),
            *life("after", NOW, TAKEN),
        ],
    )  # fmt: skip
    window = {"from": "2026-09-23T12:00:00Z", "until": "2026-10-03T12:00:00Z"}
    told = queue.read("/v1/contradictions/funnel", **window)
    assert {name: stage["count"] for name, stage in told["stages"].items()} == {
        "detected": 7, "owned": 5, "investigated": 4, "resolved": 2, "scoped": 1, "expired": 1,
        "not_a_contradiction": 1, "open": 2,
    }  # fmt: skip
    assert told["stages"]["resolved"]["share"] == 2 / 7
    assert told["hours"]["detected_to_investigated"] == {"n": 4, "median": 2.0, "p90": 2.0}
    assert told["hours"]["investigated_to_closed"] == {"n": 4, "median": 5.0, "p90": 10.0}
    assert told["hours"]["detected_to_settled"] == {"n": 3, "median": 8.0, "p90": 12.0}
    assert told["unevidenced"] == {"count": 2, "of": 3, "share": 2 / 3}
    assert [group["group"] for group in told["by_owner"]] == [None, "day", "x"]
    of_first = told["by_priority"][1]
    assert (of_first["group"], of_first["stages"]["resolved"]["count"]) == ("1", 2)
    assert told["budget"]["tokens"] == 10 * (2 * 4 + 2)


def test_an_empty_funnel_has_no_shares(database: Database, queue: Queue) -> None:
    post(database, [an_event("x.first")])
    told = queue.read("/v1/contradictions/funnel")
    assert {stage["share"] for stage in told["stages"].values()} == {None}
    assert told["unevidenced"] == {"count": 0, "of": 0, "share": None}
    assert {time["median"] for time in told["hours"].values()} == {None}
    assert told["correctness"]["share"] is None
    assert told["correctness"]["interval"] is None


def test_a_window_that_is_none_is_refused(database: Database, queue: Queue) -> None:
    post(database, [an_event("x.first")])
    bad: list[dict[str, str]] = [
        {"window": "week"},
        {"window": "7d", "from": "2026-01-01T00:00:00Z"},
        {"from": "2026-01-01"},
        {"from": "2027-01-01T00:00:00Z"},
        {"until": "0001-01-01T00:00:00Z"},
    ]
    for query in bad:
        answer = queue.client.get("/v1/contradictions/funnel", params=query)
        assert answer.status_code == 422, (query, answer.text)


def test_an_agents_own_key_reads_what_weighs_and_not_what_was_judged(queue: Queue) -> None:
    queue.open()
    operate = a_key(queue.client, "operate")
    queue.headers = a_key(queue.client, "write", AGENT, **operate)
    assert queue.read("/v1/contradictions/salience")["open"] == 1
    refused = queue.client.get("/v1/contradictions/funnel", headers=queue.headers)
    assert refused.status_code == 403
