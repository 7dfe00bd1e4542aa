"""Every move of the state machine over the API, on both databases."""

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from service.db.database import Database
from service.instants import DAY, SECOND
from service.models import Belief, Contradiction
from service.settings import Settings
from tests.service.contradictions.queue import OWNED, Queue, a_queue, brought_to, content_of
from tests.service.factories import AGENT, NOW, a_belief, a_key, an_event, post, row_of

STATES = ("candidate", "investigating", "resolved", "scoped", "expired")
# Written out by hand from the definition, not taken from the code.
ALLOWED = {
    "candidate": {"investigating", "expired"},
    "investigating": {"investigating", "resolved", "scoped", "expired"},
    "resolved": set(),
    "scoped": set(),
    "expired": set(),
}


@pytest.fixture
def queue(settings: Settings) -> Iterator[Queue]:
    with a_queue(settings) as opened:
        yield opened


def test_the_whole_matrix_of_moves_is_as_written(queue: Queue) -> None:
    refused = 0
    for before in STATES:
        for after in STATES:
            name = f"{before}/{after}"
            brought_to(queue, before, name)
            stood = queue.contradiction(name)
            answer = queue.move(name, after, **content_of(after, stood["beliefs"]))
            if after in ALLOWED[before]:
                assert answer.status_code == 200, (name, answer.text)
                assert answer.json()["state"] == after
                assert queue.contradiction(name) == answer.json()
                continue
            refused += 1
            assert answer.status_code == 409, (name, answer.text)
            problem = answer.json()
            assert problem["rule"] == "allowed_moves"
            assert problem["state"] == before
            assert set(problem["allowed"]) == ALLOWED[before]
            assert all(move in problem["detail"] for move in ALLOWED[before])
            assert problem["errors"][0]["pointer"] == "/state"
            assert queue.contradiction(name) == stood
    assert refused == 19
    kept = queue.events("ledger.refused")
    assert len(kept) == refused
    assert {event["log"] for event in kept} == {"audit"}
    assert {event["detail"]["rule"] for event in kept} == {"allowed_moves"}
    assert {(e["contradiction_id"], e["detail"]["asked"]["state"]) for e in kept} == {
        (f"{before}/{after}", after)
        for before in STATES
        for after in STATES
        if after not in ALLOWED[before]
    }


LACKING: list[tuple[str, str, dict[str, Any], int, str, str]] = [
    ("candidate", "investigating", {}, 422, "investigating_needs_owner_and_next_action", "/owner"),
    (
        "candidate",
        "investigating",
        {"owner": "day"},
        422,
        "investigating_needs_owner_and_next_action",
        "/next_action",
    ),
    ("investigating", "investigating", OWNED, 409, "hand_off_needs_a_new_owner", "/owner"),
    ("investigating", "investigating", {}, 409, "hand_off_needs_a_new_owner", "/owner"),
    ("investigating", "resolved", {}, 422, "resolved_names_kept_and_given_up", "/kept"),
    ("investigating", "resolved", {"kept": "L"}, 422, "resolved_names_kept_and_given_up",
     "/given_up"),
    ("investigating", "resolved", {"kept": "x", "given_up": ["R"]}, 409,
     "a_resolution_names_members_only", "/kept"),
    ("investigating", "resolved", {"kept": "L", "given_up": ["R", "x"]}, 409,
     "a_resolution_names_members_only", "/given_up/1"),
    ("investigating", "resolved", {"kept": "L", "given_up": ["R", "L"]}, 409,
     "a_resolution_names_members_only", "/kept"),
    ("investigating", "resolved", {"resolution": "not_a_contradiction", "kept": "L"}, 422,
     "a_move_says_only_what_is_its_own", "/kept"),
    ("investigating", "resolved", {"kept": "L", "given_up": ["R"], "owner": "x"}, 422,
     "a_move_says_only_what_is_its_own", "/owner"),
    ("investigating", "scoped", {}, 422, "scoped_names_the_scope_of_each_side", "/scopes"),
    ("investigating", "scoped", {"scopes": {"L": "here"}}, 422,
     "scoped_names_the_scope_of_each_side", "/scopes"),
    ("investigating", "scoped", {"scopes": {"L": "here", "R": "there", "x": "y"}}, 409,
     "a_resolution_names_members_only", "/scopes"),
    ("candidate", "investigating", {**OWNED, "expected_state": "investigating"}, 409,
     "expected_state", "/expected_state"),
    ("candidate", "investigating", {**OWNED, "expected_version": "agent.0"}, 409,
     "expected_state", "/expected_version"),
    ("candidate", "investigating", {**OWNED, "ttl": "1h"}, 409, "ttl_must_lie_ahead", "/ttl"),
]  # fmt: skip


def test_each_thing_a_move_lacks_or_breaks_is_named_and_kept(queue: Queue) -> None:
    for number, (before, after, body, status, rule, pointer) in enumerate(LACKING):
        name = f"c{number}"
        brought_to(queue, before, name)
        if "ttl" in body:
            queue.clock.now += DAY
        answer = queue.move(name, after, **_sides(body, name))
        assert answer.status_code == status, (body, answer.text)
        assert answer.json()["rule"] == rule, body
        assert pointer in [error["pointer"] for error in answer.json()["errors"]]
        assert queue.contradiction(name)["state"] == before
        assert queue.events("ledger.refused", contradiction_id=name)[0]["detail"]["rule"] == rule


def _sides(value: Any, name: str) -> Any:
    """`L` and `R` stand for the two sides of a contradiction."""
    if isinstance(value, dict):
        return {_sides(key, name): _sides(item, name) for key, item in value.items()}
    if isinstance(value, list):
        return [_sides(item, name) for item in value]
    return {"L": f"{name}-left", "R": f"{name}-right"}.get(value, value)


MALFORMED: list[dict[str, Any]] = [
    {"state": "open"},
    {"state": "investigating", "owner": "d\x00", "next_action": "ask"},
    {"state": "investigating", "owner": "day", "next_action": "guess"},
    {"state": "investigating", **OWNED, "priority": 6},
    {"state": "investigating", **OWNED, "priority": "3"},
    {"state": "investigating", **OWNED, "priority": True},
    {"state": "investigating", **OWNED, "ttl": "soon"},
    {"state": "investigating", **OWNED, "cost_tokens": -1},
    {"state": "investigating", **OWNED, "cost_tokens": 2**63},
    {"state": "investigating", **OWNED, "who": "me"},
    {"state": "expired", "event_id": ""},
    {"state": "expired", "note": "x" * 5000},
    {},
]


def test_what_is_malformed_is_refused_by_its_field_and_changes_nothing(queue: Queue) -> None:
    brought_to(queue, "candidate", "c1")
    for body in MALFORMED:
        answer = queue.post("/v1/contradictions/c1/transitions", **body)
        assert answer.status_code == 422, (body, answer.text)
        assert answer.json()["errors"][0]["pointer"], body
    assert queue.move("none", "expired").status_code == 404
    assert queue.contradiction("c1")["state"] == "candidate"
    assert queue.events("ledger.refused") == []


def test_a_hand_off_keeps_the_previous_owner_in_the_history(queue: Queue) -> None:
    brought_to(queue, "investigating", "c1")
    queue.clock.now += SECOND
    handed = queue.move("c1", "investigating", owner="night", cost_tokens=5).json()
    assert (handed["owner"], handed["next_action"]) == ("night", "test")
    assert handed["investigated_at"] == "2026-10-03T12:00:00.000000Z"
    history = queue.read("/v1/contradictions/c1")["events"]
    assert [event["detail"].get("previous_owner") for event in history] == [None, None, "day"]
    assert [event["flags"] for event in history] == [[], [], []]


def test_the_owner_named_at_the_opening_need_not_be_named_again(queue: Queue) -> None:
    queue.open(contradiction_id="c1", **OWNED)
    moved = queue.move("c1", "investigating")
    assert moved.status_code == 200
    assert queue.events("contradiction.investigated")[0]["flags"] == []
    assert moved.json()["owner"] == "day"


def test_tokens_of_all_moves_add_up(queue: Queue) -> None:
    queue.open(contradiction_id="c1")
    queue.move("c1", "investigating", **OWNED, cost_tokens=100)
    queue.move("c1", "investigating", owner="night", cost_tokens=20)
    closed = queue.move("c1", "resolved", kept="b1", given_up=["b2"], cost_tokens=3)
    assert closed.json()["cost_tokens"] == 123


def test_a_resolution_without_evidence_is_allowed_and_flagged(queue: Queue) -> None:
    for name, evidence, expected in (("c1", [], ["unevidenced"]), ("c2", ["e1"], [])):
        brought_to(queue, "investigating", name)
        moved = queue.move(
            name, "resolved", kept=f"{name}-left", given_up=[f"{name}-right"], evidence=evidence
        )
        assert moved.status_code == 200
        event = queue.events("contradiction.resolved", contradiction_id=name)[0]
        assert event["flags"] == expected
        assert event["detail"]["resolution"]["kept"] == f"{name}-left"


def test_what_is_kept_makes_no_fact_of_the_same_words_given_up(
    database: Database, queue: Queue
) -> None:
    words = {"content": "The disk is full"}
    guess = a_belief("c1-right", "guess", ts=NOW - 2, detail=words)
    post(database, [guess, a_belief("c1-left", "know", ts=NOW - 1, detail=words)])
    brought_to(queue, "investigating", "c1")
    moved = queue.move("c1", "resolved", kept="c1-left", given_up=["c1-right"], evidence=["e1"])
    assert (moved.status_code, moved.json()["rule"]) == (409, "laundering")
    assert queue.contradiction("c1")["state"] == "investigating"


def test_not_a_contradiction_is_a_resolution_of_its_own_that_gives_nothing_up(
    database: Database, queue: Queue
) -> None:
    post(database, [a_belief("c1-left", ts=NOW - 2), a_belief("c1-right", ts=NOW - 1)])
    brought_to(queue, "investigating", "c1")
    moved = queue.move("c1", "resolved", resolution="not_a_contradiction", evidence=["e1"])
    assert (moved.json()["state"], moved.json()["resolution"]) == (
        "resolved",
        "not_a_contradiction",
    )
    assert row_of(database, Belief, AGENT, "c1-right")["status"] == "active"


def test_a_resolution_supersedes_what_it_gives_up_and_nothing_else(
    database: Database, queue: Queue
) -> None:
    post(
        database,
        [a_belief(name, ts=NOW - 9) for name in ("b1", "b2", "b3", "other")]
        + [a_belief("d", "infer", ts=NOW - 8, detail={"justifications": [["b2"]]})],
    )
    queue.open("b1", "b2", "b3", contradiction_id="c1")
    queue.move("c1", "investigating", **OWNED)
    assert queue.move("c1", "resolved", kept="b1", given_up=["b2"]).status_code == 200
    stands = {name: row_of(database, Belief, AGENT, name) for name in ("b1", "b2", "b3", "other")}
    assert {name: row["status"] for name, row in stands.items()} == {
        "b1": "active", "b2": "superseded", "b3": "active", "other": "active",
    }  # fmt: skip
    assert stands["b2"]["superseded_by"] == "b1"
    rested = row_of(database, Belief, AGENT, "d")
    assert (rested["label"], rested["needs_rederivation"]) == ("suspect", 1)
    assert [e["event"] for e in queue.read("/v1/contradictions/c1")["events"]] == [
        "contradiction.created",
        "contradiction.investigated",
        "contradiction.resolved",
        "belief.superseded",
        "belief.invalidated",
    ]


def test_a_resolution_of_which_one_half_fails_leaves_neither(
    database: Database, queue: Queue
) -> None:
    post(database, [a_belief("b1", ts=NOW - 9), a_belief("b2", ts=NOW - 8)])
    # The id under which the second half will be recorded, taken for something else.
    derived = f"sha256:{hashlib.sha256(b'm1|b2').hexdigest()[:40]}"
    post(database, [an_event("x.squat", event_id=derived, ts=NOW - 7)])
    queue.open(contradiction_id="c1")
    queue.move("c1", "investigating", **OWNED)
    body = {"kept": "b1", "given_up": ["b2"]}
    answer = queue.move("c1", "resolved", event_id="m1", **body)
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (409, "/event_id")
    assert queue.contradiction("c1")["state"] == "investigating"
    assert row_of(database, Belief, AGENT, "b2")["status"] == "active"
    assert queue.events("contradiction.resolved") == queue.events("belief.superseded") == []
    assert queue.move("c1", "resolved", event_id="m2", **body).status_code == 200
    assert row_of(database, Belief, AGENT, "b2")["status"] == "superseded"


def test_a_resolution_that_keeps_what_was_superseded_is_refused_as_a_whole(
    database: Database, queue: Queue
) -> None:
    replaced = an_event(
        "belief.superseded", belief_id="b1", ts=NOW - 1, detail={"superseded_by": "b9"}
    )
    post(database, [a_belief("b1", ts=NOW - 9), a_belief("b2", ts=NOW - 8), replaced])
    queue.open(contradiction_id="c1")
    queue.move("c1", "investigating", **OWNED)
    answer = queue.move("c1", "resolved", kept="b1", given_up=["b2"])
    assert answer.status_code == 409
    assert "b9" in answer.json()["detail"]
    assert row_of(database, Belief, AGENT, "b2")["status"] == "active"
    assert row_of(database, Contradiction, AGENT, "c1")["state"] == "investigating"


def test_a_move_may_be_sent_again_by_its_id(queue: Queue) -> None:
    brought_to(queue, "candidate", "c1")
    body = {**OWNED, "event_id": "m1", "cost_tokens": 9}
    first = queue.move("c1", "investigating", **body)
    queue.clock.now += SECOND
    again = queue.move("c1", "investigating", **body)
    assert (again.status_code, again.json()["version"]) == (200, first.json()["version"])
    other = queue.move("c1", "investigating", **{**body, "owner": "night"})
    assert (other.status_code, other.json()["rule"]) == (409, "id_taken")
    assert len(queue.events("contradiction.investigated")) == 1


def test_an_idempotency_key_answers_again_also_with_a_refusal(queue: Queue) -> None:
    brought_to(queue, "candidate", "c1")
    for key, state, status in (("k1", "resolved", 409), ("k2", "expired", 200)):
        queue.headers = {"Idempotency-Key": key}
        first, again = queue.move("c1", state), queue.move("c1", state)
        assert (first.status_code, again.status_code) == (status, status), again.text
        assert first.json() == again.json()
    assert len(queue.events("ledger.refused")) == 1


def test_a_move_is_folded_after_what_a_faster_clock_reported(
    database: Database, queue: Queue
) -> None:
    ahead = an_event(
        "contradiction.created",
        contradiction_id="c1",
        ts=NOW + DAY // 2,
        detail={"beliefs": ["b1", "b2"]},
    )
    post(database, [ahead])
    moved = queue.move("c1", "investigating", **OWNED).json()
    assert moved["state"] == "investigating"
    assert queue.events("contradiction.investigated")[0]["flags"] == []


def test_only_a_key_of_the_agent_itself_or_an_operators_moves_it(queue: Queue) -> None:
    brought_to(queue, "candidate", "c1")
    operate = a_key(queue.client, "operate")
    keys = {
        403: [
            a_key(queue.client, "write", "other", **operate),
            a_key(queue.client, "read", **operate),
            a_key(queue.client, "audit", **operate),
        ],
        200: [a_key(queue.client, "write", AGENT, **operate)],
    }
    for status, headers in keys.items():
        for queue.headers in headers:
            assert queue.move("c1", "investigating", **OWNED).status_code == status
    queue.headers = {}
    assert queue.move("c1", "expired").status_code == 401
    queue.headers = operate
    assert queue.move("c1", "expired").status_code == 200
    assert queue.events("contradiction.expired")[0]["log"] == "audit"
