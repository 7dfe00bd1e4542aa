"""Turns are write-once, listed without their texts, and read back exactly."""

from typing import Any

import httpx

TURN: dict[str, Any] = {
    "agent_id": "a",
    "session_id": "s",
    "turn_id": "t",
    "ts": "2026-10-03T12:00:00Z",
    "worker": "day",
    "model": "gpt-4o",
    "inputs": [{"role": "user", "content": "is the disk\x00 full?"}],
    "retrieved": [{"id": "m1", "content": "the disk was full", "label": "remember"}],
    "tool_calls": [
        {"name": "df", "arguments": {"path": "/"}, "result": {"used": 0.97, "n": 2**70}}
    ],
    "output": "The disk is 97 % full.\nIt probably filled up overnight.",
    "input_tokens": 812,
}


def test_a_turn_is_read_back_as_it_was_sent(client: httpx.Client) -> None:
    assert client.post("/v1/turns", json=TURN).json()["accepted"] == 1
    stored = client.get("/v1/turns/t").json()
    for name in ("inputs", "retrieved", "tool_calls", "output", "model", "worker"):
        assert stored[name] == TURN[name]
    (listed,) = client.get("/v1/turns").json()["items"]
    assert "output" not in listed
    assert listed["turn_id"] == "t"


def test_a_turn_is_write_once(client: httpx.Client) -> None:
    client.post("/v1/turns", json=TURN)
    assert client.post("/v1/turns", json=[TURN, TURN]).json()["duplicates"] == 2
    changed = client.post("/v1/turns", json=TURN | {"output": "Nothing happened."})
    assert changed.status_code == 409
    assert "'t'" in changed.json()["detail"]
    assert client.get("/v1/turns/t").json()["output"] == TURN["output"]


def test_events_of_a_turn_stand_beside_it_in_their_order(client: httpx.Client) -> None:
    client.post("/v1/turns", json=TURN)
    base = {"agent_id": "a", "turn_id": "t", "session_id": "s"}
    client.post(
        "/v1/events",
        json=[
            base | {"event": "x.second", "ts": "2026-10-03T12:00:02Z"},
            base | {"event": "x.first", "ts": "2026-10-03T12:00:01Z"},
        ],
    )
    assert [e["event"] for e in client.get("/v1/turns/t").json()["events"]] == [
        "x.first",
        "x.second",
    ]


def test_bad_parts_are_named(client: httpx.Client) -> None:
    bad = TURN | {
        "inputs": [{"content": "x"}],
        "retrieved": [{"id": "m", "label": "sure"}, {}],
        "tool_calls": [{"arguments": 1}],
        "input_tokens": -1,
    }
    answer = client.post("/v1/turns", json=bad)
    assert answer.status_code == 422
    assert {e["pointer"] for e in answer.json()["errors"]} == {
        "/inputs/0/role", "/retrieved/0/label", "/retrieved/1/id", "/tool_calls/0/name",
        "/input_tokens",
    }  # fmt: skip
    missing = client.post("/v1/turns", json={"agent_id": "a", "turn_id": "t"})
    assert missing.json()["errors"] == [{"pointer": "/session_id", "reason": "is missing"}]


def test_a_later_turn_does_not_hide_behind_a_bad_one(client: httpx.Client) -> None:
    batch = [TURN, TURN | {"turn_id": ""}, TURN | {"turn_id": "u"}]
    assert client.post("/v1/turns", json=batch).status_code == 422
    skipped = client.post("/v1/turns?on_error=skip", json=batch).json()
    assert skipped["accepted"] == 2
    assert [(r["index"], r["pointer"]) for r in skipped["rejected"]] == [(1, "/turn_id")]


def test_sessions_are_listed_with_their_turns(client: httpx.Client) -> None:
    batch = [
        TURN | {"turn_id": f"t{n}", "session_id": f"s{n % 3}", "ts": f"2026-10-03T12:00:{n:02d}Z"}
        for n in range(9)
    ]
    client.post("/v1/turns", json=batch)
    first = client.get("/v1/sessions?limit=2").json()
    rest = client.get("/v1/sessions", params={"limit": 2, "after": first["next"]}).json()
    shown = [(s["session_id"], s["turns"]) for s in first["items"] + rest["items"]]
    assert shown == [("s2", 3), ("s1", 3), ("s0", 3)]
    assert rest["next"] is None


def test_an_unknown_turn_is_not_found(client: httpx.Client) -> None:
    client.post("/v1/turns", json=TURN)
    assert client.get("/v1/turns/u").status_code == 404
