"""Contradictions as their events tell of them."""

from typing import Any

import pytest

from service.db.database import Database
from service.events.schemas import Event
from service.instants import DAY
from service.models import Contradiction
from tests.service.factories import AGENT, NOW, an_event, flags_of, post, row_of

LAST = ("last_ts", "last_log", "last_seq")
RESOLUTION = {"kind": "resolved", "kept": "b1", "given_up": ["b2"], "evidence": ["e1"]}


def move(name: str, at: int, **fields: Any) -> Event:
    return an_event(f"contradiction.{name}", contradiction_id="c1", ts=NOW + at, **fields)


def created(at: int = 0, **detail: Any) -> Event:
    return move("created", at, worker="scanner", detail={"beliefs": ["b1", "b2"]} | detail)


def investigated(at: int = 1, **detail: Any) -> Event:
    return move("investigated", at, detail={"owner": "day", "next_action": "test"} | detail)


def resolved(at: int = 2, **detail: Any) -> Event:
    return move("resolved", at, detail={"resolution": RESOLUTION} | detail)


def contradiction(database: Database) -> dict[str, Any]:
    return row_of(database, Contradiction, AGENT, "c1")


def test_a_contradiction_goes_its_way_without_a_flag(database: Database) -> None:
    events = [created(priority=4, ttl="P2D"), investigated(), resolved()]
    post(database, events)
    row = contradiction(database)
    assert [flags_of(database, event) for event in events] == [[], [], []]
    assert row["beliefs"] == '["b1","b2"]'
    assert (row["detector"], row["detected_at"]) == ("scanner", NOW)
    assert (row["priority"], row["ttl_us"]) == (4, 2 * DAY)
    assert (row["owner"], row["next_action"]) == ("day", "test")
    assert (row["investigated_at"], row["closed_at"]) == (NOW + 1, NOW + 2)
    assert (row["state"], row["resolution"]) == ("resolved", "resolved")


@pytest.mark.parametrize("name", ["resolved", "scoped"])
def test_a_candidate_that_skips_investigation_is_taken_as_told_and_flagged(
    database: Database, name: str
) -> None:
    skipping = move(name, 1, detail={"resolution": RESOLUTION})
    post(database, [created(), skipping])
    assert flags_of(database, skipping) == ["unexpected_move"]
    assert contradiction(database)["state"] == name


@pytest.mark.parametrize("states", [["expired"], ["investigated", "expired"]])
def test_expiry_is_expected_before_and_during_investigation(
    database: Database, states: list[str]
) -> None:
    moves = [move(name, 1 + i, detail={"owner": "day"}) for i, name in enumerate(states)]
    post(database, [created(), *moves])
    assert flags_of(database, moves[-1]) == []
    assert contradiction(database)["state"] == "expired"
    assert contradiction(database)["closed_at"] == NOW + len(states)


def test_a_second_investigation_by_another_owner_hands_over(database: Database) -> None:
    handed = investigated(2, owner="night")
    post(database, [created(), investigated(), handed])
    assert flags_of(database, handed) == []
    assert contradiction(database)["owner"] == "night"
    assert contradiction(database)["investigated_at"] == NOW + 1


@pytest.mark.parametrize("owner", ["day", None])
def test_a_second_investigation_by_the_same_owner_is_flagged(
    database: Database, owner: str | None
) -> None:
    again = investigated(2, owner=owner)
    post(database, [created(), investigated(), again])
    assert "unexpected_move" in flags_of(database, again)
    assert contradiction(database)["owner"] == "day"


@pytest.mark.parametrize("name", ["investigated", "resolved", "scoped", "expired"])
@pytest.mark.parametrize("closing", ["resolved", "scoped", "expired"])
def test_a_move_out_of_a_closed_state_is_flagged_and_changes_nothing(
    database: Database, closing: str, name: str
) -> None:
    closed = move(closing, 2, detail={"resolution": RESOLUTION}, cost_tokens=5)
    post(database, [created(), investigated(), closed])
    before = contradiction(database)
    late = move(
        name, 3, detail={"owner": "night", "resolution": "b9", "priority": 5}, cost_tokens=7
    )
    post(database, [late])
    after = contradiction(database)
    assert flags_of(database, late) == ["subject_closed"]
    assert {n: v for n, v in after.items() if n not in LAST} == {
        n: v for n, v in before.items() if n not in LAST
    }


def test_a_move_before_its_creation_is_flagged_and_counts_once_both_are_there(
    database: Database,
) -> None:
    early = investigated()
    post(database, [early])
    assert flags_of(database, early) == ["unknown_subject"]
    post(database, [created(priority=2)])
    row = contradiction(database)
    assert (row["state"], row["owner"], row["priority"]) == ("investigating", "day", 2)


def test_a_creation_after_the_close_says_what_it_was_about_and_is_flagged(
    database: Database,
) -> None:
    post(database, [resolved(2)])
    late = created(3)
    post(database, [late])
    row = contradiction(database)
    assert flags_of(database, late) == ["subject_closed"]
    assert (row["state"], row["beliefs"]) == ("resolved", '["b1","b2"]')


def test_a_second_creation_is_flagged_and_changes_nothing(database: Database) -> None:
    post(database, [created(priority=2)])
    second = created(1, beliefs=["b8", "b9"], priority=5)
    post(database, [second])
    assert flags_of(database, second) == ["already_created"]
    assert contradiction(database)["beliefs"] == '["b1","b2"]'
    assert contradiction(database)["priority"] == 2


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ({"resolution": RESOLUTION}, []),
        ({"resolution": "kept b1", "evidence": ["e1"]}, []),
        ({"resolution": "kept b1"}, ["unevidenced"]),
        ({"resolution": {**RESOLUTION, "evidence": []}}, ["unevidenced"]),
        ({"resolution": {"kind": "resolved", "kept": "b1"}, "evidence": []}, ["unevidenced"]),
        ({}, ["incomplete", "unevidenced"]),
    ],
)
def test_a_resolution_without_evidence_is_allowed_and_flagged(
    database: Database, detail: dict[str, Any], expected: list[str]
) -> None:
    closing = move("resolved", 2, detail=detail)
    post(database, [created(), investigated(), closing])
    assert flags_of(database, closing) == expected
    assert contradiction(database)["state"] == "resolved"


@pytest.mark.parametrize(
    "resolution", ["not_a_contradiction", {"kind": "not_a_contradiction", "note": "both hold"}]
)
def test_not_a_contradiction_is_a_kind_of_its_own(database: Database, resolution: object) -> None:
    post(database, [created(), investigated(), resolved(resolution=resolution, evidence=["e1"])])
    assert contradiction(database)["state"] == "resolved"
    assert contradiction(database)["resolution"] == "not_a_contradiction"


@pytest.mark.parametrize("priority", [0, 6, "4", True, 2.5, None])
def test_a_priority_that_is_none_leaves_the_one_that_was(
    database: Database, priority: object
) -> None:
    post(database, [created(priority=3), investigated(priority=priority, ttl="soon")])
    assert contradiction(database)["priority"] == 3


def test_a_time_to_live_that_is_none_leaves_the_one_that_was(database: Database) -> None:
    post(database, [created(ttl="36h"), investigated(ttl="soon")])
    assert contradiction(database)["ttl_us"] == 36 * DAY // 24


def test_tokens_add_up_from_investigation_to_close_and_never_overflow(database: Database) -> None:
    most = 2**63 - 1
    post(
        database,
        [
            move("created", 0, detail={"beliefs": ["b1", "b2"]}, cost_tokens=1),
            move("investigated", 1, detail={"owner": "day"}, cost_tokens=100),
        ],
    )
    assert contradiction(database)["cost_tokens"] == 100
    post(database, [move("expired", 2, cost_tokens=most)])
    assert contradiction(database)["cost_tokens"] == most


def test_a_nul_in_what_is_shown_is_replaced(database: Database) -> None:
    post(database, [created(beliefs=["b\x001"], detector="sc\x00an", owner="d\x00", ttl="\x00")])
    row = contradiction(database)
    assert (row["detector"], row["owner"]) == ("sc\ufffdan", "d\ufffd")
    assert row["beliefs"] == '["b\\u00001"]'


def test_the_same_batch_twice_adds_nothing(database: Database) -> None:
    batch = [created(), move("investigated", 1, detail={"owner": "day"}, cost_tokens=9)]
    post(database, batch)
    before = contradiction(database)
    assert post(database, batch).duplicates == 2
    assert contradiction(database) == before
