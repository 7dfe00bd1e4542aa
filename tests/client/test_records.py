from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from doxa_client import Doxa

from tests.client.recording_server import RecordingServer


def sent(server: RecordingServer, **fields: Any) -> dict[str, Any]:
    with Doxa(server.url, agent="piper") as doxa:
        doxa.emit("belief.created", **fields)
    return server.requests[-1].items[-1]


@pytest.mark.parametrize(
    ("ts", "expected"),
    [
        (datetime(2026, 10, 3, 12, tzinfo=UTC), "2026-10-03T12:00:00.000000Z"),
        (
            datetime(2026, 10, 3, 12, 0, 0, 5, tzinfo=timezone(timedelta(hours=14))),
            "2026-10-02T22:00:00.000005Z",
        ),
        # 02:30 comes twice in this night; `fold` says which.
        (
            datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin")),
            "2026-10-25T00:30:00.000000Z",
        ),
        (
            datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Berlin")),
            "2026-10-25T01:30:00.000000Z",
        ),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
    ],
)
def test_an_instant_is_sent_in_utc_with_microseconds(
    server: RecordingServer, ts: datetime, expected: str
) -> None:
    assert sent(server, ts=ts)["ts"] == expected


def test_an_event_without_ts_bears_the_present(server: RecordingServer) -> None:
    before = datetime.now(UTC)
    ts = datetime.fromisoformat(sent(server)["ts"])
    assert before <= ts <= datetime.now(UTC)


def test_a_naive_ts_is_refused_with_the_field_and_the_remedy(server: RecordingServer) -> None:
    with Doxa(server.url) as doxa:
        with pytest.raises(
            ValueError, match=r"ts has no time zone.*datetime\.now\(timezone\.utc\)"
        ):
            doxa.emit("belief.created", ts=datetime(2026, 10, 3, 12))  # noqa: DTZ001
        with pytest.raises(ValueError, match="ts has no time zone"):
            doxa.turn("done", session_id="s1", ts=datetime(2026, 10, 3, 12))  # noqa: DTZ001
    assert server.requests == []


def test_an_instant_before_the_year_1_in_utc_is_refused(server: RecordingServer) -> None:
    with Doxa(server.url) as doxa, pytest.raises(ValueError, match="years 1 to 9999"):
        doxa.emit("belief.created", ts=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))))


def test_a_ts_given_as_text_is_refused_at_once(server: RecordingServer) -> None:
    with Doxa(server.url) as doxa, pytest.raises(TypeError, match=r"ts must be a datetime.*str"):
        doxa.emit("belief.created", ts="2026-10-03T12:00:00Z")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("field", ["confidence", "cost_usd", "latency_ms"])
def test_nan_and_infinity_are_refused_by_name(
    server: RecordingServer, field: str, value: float
) -> None:
    fields: dict[str, Any] = {field: value}
    with Doxa(server.url) as doxa, pytest.raises(ValueError, match=field):
        doxa.emit("belief.created", **fields)
    assert server.requests == []


@pytest.mark.parametrize(
    ("detail", "error"),
    [
        ({"when": datetime(2026, 1, 1, tzinfo=UTC)}, TypeError),
        ({"items": {1, 2}}, TypeError),
        ({("a", "b"): 1}, TypeError),
        (["content"], TypeError),
        ({"p": float("nan")}, ValueError),
    ],
)
def test_a_detail_that_is_not_json_is_refused_at_emit(
    server: RecordingServer, detail: Any, error: type[Exception]
) -> None:
    with Doxa(server.url) as doxa:
        with pytest.raises(error, match="detail"):
            doxa.emit("belief.created", detail=detail)
        assert doxa.flush().unsent == 0
    assert server.requests == []


def test_a_detail_that_holds_itself_or_has_no_bottom_is_refused(server: RecordingServer) -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    deep: list[Any] = []
    for _ in range(200_000):
        deep = [deep]
    with Doxa(server.url) as doxa:
        for detail in (loop, {"deep": deep}):
            with pytest.raises(ValueError, match="detail"):
                doxa.emit("belief.created", detail=detail)


def test_changing_a_detail_after_emit_does_not_change_the_event(server: RecordingServer) -> None:
    detail = {"content": "the disk is full"}
    with Doxa(server.url) as doxa:
        doxa.emit("belief.created", detail=detail)
        detail["content"] = "the disk is empty"
    assert server.requests[0].items[0]["detail"] == {"content": "the disk is full"}


def test_any_text_survives_the_way(server: RecordingServer) -> None:
    text = "NUL \x00, \u2028, emoji \U0001f9ed, lone \ud83e surrogate, 漢字"
    assert sent(server, detail={text: text})["detail"] == {text: text}


def test_every_event_field_goes_out_under_its_own_name(server: RecordingServer) -> None:
    fields: dict[str, Any] = {
        "session_id": "s1",
        "turn_id": "t1",
        "worker": "day",
        "belief_id": "b1",
        "contradiction_id": "c1",
        "label_from": "guess",
        "label_to": "infer",
        "confidence": 0.9,
        "detail": {"content": "the disk is full", "category": "system state"},
        "event_id": "e1",
        "cost_tokens": 12,
        "cost_usd": 0.001,
        "latency_ms": 35.5,
    }
    ts = datetime(2026, 10, 3, 12, tzinfo=UTC)
    assert sent(server, ts=ts, **fields) == {
        "agent_id": "piper",
        "event": "belief.created",
        "ts": "2026-10-03T12:00:00.000000Z",
        **fields,
    }


def test_fields_that_are_not_given_are_not_sent(server: RecordingServer) -> None:
    assert set(sent(server)) == {"agent_id", "event", "event_id", "ts"}
    with Doxa(server.url) as doxa:
        doxa.emit("belief.created")
    assert "agent_id" not in server.requests[-1].items[0]


def test_every_turn_field_goes_out_under_its_own_name(server: RecordingServer) -> None:
    fields: dict[str, Any] = {
        "session_id": "s1",
        "turn_id": "t1",
        "worker": "day",
        "model": "some-model-1",
        "commit_sha": "0a1b2c",
        "inputs": [{"role": "user", "content": "is the disk full?"}],
        "retrieved": [{"id": "m1", "content": "it was full in May", "label": "remember"}],
        "tool_calls": [{"name": "df", "arguments": {"path": "/"}, "result": "97%"}],
        "input_tokens": 100,
        "output_tokens": 7,
        "cost_usd": 0.01,
        "latency_ms": 900,
    }
    with Doxa(server.url, agent="piper") as doxa:
        assert doxa.turn("97 % full", ts=datetime(2026, 10, 3, tzinfo=UTC), **fields) == "t1"
    assert server.requests[0].path == "/v1/turns"
    assert server.requests[0].items == [
        {
            "agent_id": "piper",
            "output": "97 % full",
            "ts": "2026-10-03T00:00:00.000000Z",
            **fields,
        }
    ]


@pytest.mark.parametrize(
    ("field", "value"),
    [("inputs", "hello"), ("retrieved", {"id": "m1"}), ("tool_calls", ["df"]), ("inputs", b"x")],
)
def test_a_turn_part_that_is_no_list_of_mappings_is_refused(
    server: RecordingServer, field: str, value: Any
) -> None:
    fields: dict[str, Any] = {field: value}
    with Doxa(server.url) as doxa, pytest.raises(TypeError, match=field):
        doxa.turn("done", session_id="s1", **fields)
    assert server.requests == []


def test_the_body_is_one_json_array_in_ascii(server: RecordingServer) -> None:
    with Doxa(server.url) as doxa:
        ids = [doxa.emit("x.note", detail={"text": "é"}) for _ in range(3)]
    request = server.requests[0]
    assert request.headers["content-type"] == "application/json"
    assert [item["event_id"] for item in request.items] == ids == sorted(ids)
    assert int(request.headers["content-length"]) == len(
        json.dumps(request.items, separators=(",", ":"))
    )
