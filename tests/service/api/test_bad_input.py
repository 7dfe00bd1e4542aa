"""Every odd body has one documented answer, the same on both databases, and never a 500."""

import gzip
import json
from typing import Any

import httpx
import pytest

JSON = {"Content-Type": "application/json"}
EVENT = {"agent_id": "a", "ts": "2026-10-03T12:00:00Z", "event": "x.note", "event_id": "e"}


def post(client: httpx.Client, body: bytes | str, **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else body.encode()
    return client.post("/v1/events", content=content, headers=JSON | headers)


def with_field(name: str, literal: str) -> str:
    rest = {key: value for key, value in EVENT.items() if key != name}
    return json.dumps(rest)[:-1] + f', "{name}": {literal}}}'


def pointers(answer: httpx.Response) -> list[str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return [error["pointer"] for error in strict(answer)["errors"]]


def strict(answer: httpx.Response) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    text = answer.content.decode("utf-8")
    text.encode("utf-8")
    return json.loads(text, parse_constant=refuse)


@pytest.mark.parametrize(
    ("name", "literal", "pointer"),
    [
        ("confidence", "NaN", "/confidence"),
        ("confidence", "Infinity", "/confidence"),
        ("confidence", "-Infinity", "/confidence"),
        ("confidence", "1e400", "/confidence"),
        ("confidence", "1.0001", "/confidence"),
        ("confidence", "-0.1", "/confidence"),
        ("confidence", '"0.5"', "/confidence"),
        ("confidence", "true", "/confidence"),
        ("detail", '{"a": [1, {"b": NaN}]}', "/detail/a/1/b"),
        ("detail", '{"a/b": -Infinity}', "/detail/a~1b"),
        ("detail", "[]", "/detail"),
        ("detail", '"text"', "/detail"),
        ("cost_tokens", "9223372036854775808", "/cost_tokens"),
        ("cost_tokens", "-1", "/cost_tokens"),
        ("cost_tokens", "1.5", "/cost_tokens"),
        ("cost_usd", "-0.01", "/cost_usd"),
        ("latency_ms", "1e300", "/latency_ms"),
        ("label_to", '"certain"', "/label_to"),
        ("event", '"belief.destroyed"', "/event"),
        ("event", '"x."', "/event"),
        ("event", "7", "/event"),
        ("agent_id", '""', "/agent_id"),
        ("agent_id", '"a\\u0000b"', "/agent_id"),
        ("worker", '"day\\nnight"', "/worker"),
        ("event_id", '"\\ud83d"', "/event_id"),
        ("event_id", f'"{"x" * 257}"', "/event_id"),
        ("session_id", '"a\\u007fb"', "/session_id"),
        ("surprise", "1", "/surprise"),
        ("ts", '"2026-09-31T00:00:00Z"', "/ts"),
        ("ts", '"2026-02-29T00:00:00Z"', "/ts"),
        ("ts", '"2026-10-03T12:00:00"', "/ts"),
        ("ts", '"2026-10-03"', "/ts"),
        ("ts", '"yesterday"', "/ts"),
        ("ts", "1759492800", "/ts"),
        ("ts", '"0001-01-01T00:00:00Z"', "/ts"),
        ("ts", '"0001-01-01T00:00:00+14:00"', "/ts"),
        ("ts", '"9999-12-31T23:59:59-14:00"', "/ts"),
    ],
)
def test_a_bad_field_is_refused_by_its_pointer(
    client: httpx.Client, name: str, literal: str, pointer: str
) -> None:
    answer = post(client, with_field(name, literal))
    assert answer.status_code == 422, answer.text
    assert pointers(answer) == [pointer]
    assert client.get("/v1/events").json()["items"] == []


@pytest.mark.parametrize(
    ("name", "literal", "expected"),
    [
        ("ts", '"2026-10-03T12:00:00+14:00"', "2026-10-02T22:00:00.000000Z"),
        ("ts", '"2026-10-03T12:00:00-11:30"', "2026-10-03T23:30:00.000000Z"),
        ("ts", '"2026-03-29T02:30:00+01:00"', "2026-03-29T01:30:00.000000Z"),
        ("ts", '"2026-10-25T02:30:00+02:00"', "2026-10-25T00:30:00.000000Z"),
        ("ts", '"2026-10-25T02:30:00+01:00"', "2026-10-25T01:30:00.000000Z"),
        ("ts", '"9999-12-31T23:59:59.999999Z"', "9999-12-31T23:59:59.999999Z"),
        ("ts", '"1970-01-01T00:00:00Z"', "1970-01-01T00:00:00.000000Z"),
        ("confidence", "1", 1.0),
        ("confidence", "0", 0.0),
        ("cost_tokens", "9223372036854775807", 9223372036854775807),
        ("detail", '{"n": 123456789012345678901}', {"n": 123456789012345678901}),
        ("detail", '{"k\\u0000": "v\\u0000"}', {"k\x00": "v\x00"}),
        ("detail", '{"t": "caf\\u00e9 \\ud83d\\ude00"}', {"t": "café 😀"}),
        ("detail", '{"t": "cut \\ud83d"}', {"t": "cut \ufffd"}),
        ("detail", '{"t": "\\u2028\\u202e\\u200b\\u001b["}', {"t": "\u2028\u202e\u200b\x1b["}),
        ("detail", '{"a": 5e-324, "b": 1.7e308}', {"a": 5e-324, "b": 1.7e308}),
        ("worker", '"日本語 worker \\u202e"', "日本語 worker \u202e"),
    ],
)  # fmt: skip
def test_what_is_odd_but_right_comes_back_exactly(
    client: httpx.Client, name: str, literal: str, expected: object
) -> None:
    answer = post(client, with_field(name, literal))
    assert answer.status_code == 200, answer.text
    (stored,) = strict(client.get("/v1/events"))["items"]
    assert stored[name] == expected


def test_half_an_emoji_is_repaired_and_flagged(client: httpx.Client) -> None:
    assert post(client, with_field("detail", '{"t": "\\ud83d"}')).status_code == 200
    assert strict(client.get("/v1/events"))["items"][0]["flags"] == ["text_repaired"]


def test_the_year_9999_is_flagged_as_lying_in_the_future(client: httpx.Client) -> None:
    assert post(client, with_field("ts", '"9999-01-01T00:00:00Z"')).status_code == 200
    assert strict(client.get("/v1/events"))["items"][0]["flags"] == ["future_time"]


@pytest.mark.parametrize(
    "body", ["", "   ", "{", "[", '[{"a":1}', "nul", "[1]", "7", '"text"', "{}x"]
)
def test_a_body_that_is_no_event_is_malformed(client: httpx.Client, body: str) -> None:
    answer = post(client, body)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_an_empty_array_is_nothing_to_do(client: httpx.Client) -> None:
    assert post(client, "[]").json() == {"accepted": 0, "duplicates": 0, "rejected": []}


def test_bytes_that_are_no_utf8_are_refused_by_their_place(client: httpx.Client) -> None:
    answer = post(client, json.dumps(EVENT).encode().replace(b"x.note", b"x.\xff"))
    assert answer.status_code == 422
    assert "byte" in strict(answer)["detail"]


@pytest.mark.parametrize("depth", [65, 500, 50_000])
def test_nesting_beyond_the_limit_is_refused_by_name(client: httpx.Client, depth: int) -> None:
    answer = post(client, with_field("detail", '{"a":' + "[" * depth + "]" * depth + "}"))
    assert answer.status_code == 422
    assert "DOXA_MAX_NESTING" in answer.text


def test_nesting_up_to_the_limit_is_taken(client: httpx.Client) -> None:
    assert (
        post(client, with_field("detail", '{"a":' + "[" * 61 + "]" * 61 + "}")).status_code == 200
    )


def test_a_string_beyond_the_limit_is_refused_by_name(client: httpx.Client) -> None:
    answer = post(client, with_field("detail", '{"a": "' + "x" * (2**20 + 1) + '"}'))
    assert answer.status_code == 422
    assert pointers(answer) == ["/detail/a"]
    assert "DOXA_MAX_STRING_CHARS" in answer.text


def test_a_batch_beyond_the_limit_is_refused_by_name(client: httpx.Client) -> None:
    answer = post(client, json.dumps([EVENT | {"event_id": str(n)} for n in range(10_001)]))
    assert answer.status_code == 413
    assert "DOXA_MAX_BATCH" in answer.text


def test_twenty_megabytes_are_refused_by_name(client: httpx.Client) -> None:
    answer = post(client, b" " * 20_000_000)
    assert answer.status_code == 413
    assert "DOXA_MAX_BODY_BYTES" in answer.text


def test_a_gzip_bomb_is_refused_before_it_unfolds(client: httpx.Client) -> None:
    bomb = gzip.compress(b"0" * 50_000_000)
    answer = post(client, bomb, **{"Content-Encoding": "gzip"})
    assert answer.status_code == 413
    assert "DOXA_MAX_BODY_BYTES" in answer.text


def test_gzip_is_taken_and_a_damaged_one_is_explained(client: httpx.Client) -> None:
    packed = gzip.compress(json.dumps(EVENT).encode())
    gzipped = {"Content-Encoding": "gzip"}
    assert post(client, packed, **gzipped).json()["accepted"] == 1
    two_members = gzip.compress(b"[") + gzip.compress(b"]")
    assert post(client, two_members, **gzipped).status_code == 200
    for broken in (packed[:-9], packed[:12], b"plain text", packed[:20] + b"\0" * 8 + packed[28:]):
        answer = post(client, broken, **gzipped)
        assert answer.status_code == 400, answer.text
        assert "gzip" in strict(answer)["detail"]


@pytest.mark.parametrize(
    "content_type",
    ["application/json; charset=utf-8", 'application/json;charset="UTF-8"', "APPLICATION/JSON"],
)
def test_a_parameterised_content_type_is_taken(client: httpx.Client, content_type: str) -> None:
    assert post(client, json.dumps(EVENT), **{"Content-Type": content_type}).status_code == 200


@pytest.mark.parametrize(
    "content_type",
    ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1", ""],
)
def test_another_content_type_is_refused_with_what_to_send(
    client: httpx.Client, content_type: str
) -> None:
    answer = post(client, json.dumps(EVENT), **{"Content-Type": content_type})
    assert answer.status_code == 415
    assert "send" in strict(answer)["detail"]


def test_an_unknown_encoding_is_refused(client: httpx.Client) -> None:
    assert post(client, b"x", **{"Content-Encoding": "br"}).status_code == 415


def test_a_batch_is_all_or_nothing_and_names_every_bad_item(client: httpx.Client) -> None:
    items = [EVENT | {"event_id": str(n)} for n in range(5)]
    items[1]["event"] = "belief.created"
    items[3]["confidence"] = "high"
    answer = post(client, json.dumps(items))
    assert answer.status_code == 422
    assert pointers(answer) == ["/1/belief_id", "/3/confidence"]
    assert client.get("/v1/events").json()["items"] == []


def test_skip_stores_the_good_ones_and_lists_the_bad_ones(client: httpx.Client) -> None:
    items = [EVENT | {"event_id": str(n)} for n in range(5)]
    items[1]["event"] = "belief.created"
    items[3]["confidence"] = "high"
    answer = client.post("/v1/events?on_error=skip", json=items)
    assert answer.status_code == 200
    body = strict(answer)
    assert body["accepted"] == 3
    assert [(r["index"], r["pointer"]) for r in body["rejected"]] == [
        (1, "/belief_id"),
        (3, "/confidence"),
    ]


def test_lines_are_taken_and_a_cut_off_one_is_named(client: httpx.Client) -> None:
    lines = [json.dumps(EVENT | {"event_id": str(n)}) for n in range(3)]
    headers = {"Content-Type": "application/x-ndjson"}
    whole = post(client, "\n".join(lines) + "\n\n", **headers)
    assert whole.json()["accepted"] == 3
    cut = "\r\n".join(lines) + '\n{"agent_id": "a", "ev'
    assert pointers(post(client, cut, **headers)) == ["/3"]
    skipped = client.post("/v1/events?on_error=skip", content=cut.encode(), headers=headers).json()
    assert (skipped["accepted"], skipped["duplicates"]) == (0, 3)
    assert [r["index"] for r in skipped["rejected"]] == [3]


def test_malformed_items_outrank_conflicts_and_both_are_listed(client: httpx.Client) -> None:
    assert post(client, json.dumps(EVENT)).status_code == 200
    mixed = [EVENT | {"worker": "other"}, EVENT | {"event_id": "n", "event": "nonsense"}]
    answer = post(client, json.dumps(mixed))
    assert answer.status_code == 422
    assert "/1/event" in pointers(answer)


def test_a_wrong_path_is_a_problem_and_no_web_page(client: httpx.Client) -> None:
    for path in ("/doxa/v1/events", "/v1/nothing", "/v2/events"):
        answer = client.get(path)
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"
    assert client.delete("/v1/events").status_code == 405


@pytest.mark.parametrize("after", ["x", "!!!", "bnVsbA", "W10", "WzEsMl0", "é"])
def test_a_cursor_that_was_not_made_here_is_refused(client: httpx.Client, after: str) -> None:
    answer = client.get("/v1/events", params={"after": after})
    assert answer.status_code == 422
    assert pointers(answer) == ["/query/after"]


@pytest.mark.parametrize(
    "query", [{"limit": "0"}, {"limit": "1001"}, {"limit": "x"}, {"from": "now"}, {"until": "1"}]
)
def test_a_bad_query_is_refused_by_name(client: httpx.Client, query: dict[str, str]) -> None:
    answer = client.get("/v1/events", params=query)
    assert answer.status_code == 422
    assert pointers(answer) == [f"/query/{next(iter(query))}"]


@pytest.mark.parametrize(
    "path",
    [
        "/v1/events?worker=%00",
        "/v1/events?agent=a%00",
        "/v1/turns?session_id=%00",
        "/v1/turns/%00",
        "/v1/beliefs?q=%00",
        "/v1/contradictions/%00",
        "/v1/ratios?agent=%00",
    ],
)
def test_a_nul_in_an_address_is_refused(client: httpx.Client, path: str) -> None:
    post(client, json.dumps(EVENT))
    answer = client.get(path)
    assert answer.status_code == 422
    assert pointers(answer) == ["/query"]


def test_a_long_id_of_wide_characters_is_stored_and_found(client: httpx.Client) -> None:
    """The longest ids must fit the index rows of PostgreSQL, four bytes a character."""
    wide = "".join(chr(0x20000 + n * 7) for n in range(256))
    longest: dict[str, Any] = EVENT | {
        "agent_id": wide,
        "session_id": wide,
        "turn_id": wide,
        "worker": wide,
    }
    batch: list[dict[str, Any]] = [
        longest | {"event": "belief.created", "belief_id": wide, "event_id": wide},
        longest | {"event": "prediction.made", "event_id": "p", "detail": {"prediction_id": wide}},
        longest
        | {
            "event": "inference.outcome",
            "event_id": "o",
            "detail": {"shadow_id": f"agent:{wide}", "outcome": True, "source": "self_belief"},
        },
    ]
    batch[0]["label_to"] = "guess"
    answer = client.post("/v1/events", json=batch)
    assert answer.status_code == 200, answer.text
    assert client.post("/v1/events", json=EVENT).status_code == 200
    too_long = batch[1] | {"detail": {"prediction_id": wide + "x"}, "event_id": "q"}
    refused = client.post("/v1/events", json=too_long)
    assert pointers(refused) == ["/detail/prediction_id"]


def test_the_type_of_an_event_has_a_limit_like_every_name(client: httpx.Client) -> None:
    odd = "".join(chr(97 + n * n % 26) for n in range(30_000))
    answer = post(client, json.dumps(EVENT | {"event": f"x.{odd}"}))
    assert answer.status_code == 422
    assert pointers(answer) == ["/event"]


@pytest.mark.parametrize("path", ["/v1/agents", "/v1/keys", "/v1/audits", "/v1/bench-runs"])
def test_limits_and_types_of_bodies_hold_for_every_call(client: httpx.Client, path: str) -> None:
    headers = {"Content-Type": "application/json"}
    large = client.post(path, content=b" " * 20_000_000, headers=headers)
    assert large.status_code == 413
    assert "DOXA_MAX_BODY_BYTES" in strict(large)["detail"]
    plain = client.post(path, content=b"x", headers={"Content-Type": "text/plain"})
    assert plain.status_code == 415
    for answer in (large, plain):
        assert answer.headers["content-type"] == "application/problem+json"


def test_a_packed_body_is_taken_by_every_call(client: httpx.Client) -> None:
    packed = gzip.compress(b'{"agent_id": "packed"}')
    headers = JSON | {"Content-Encoding": "gzip"}
    assert client.post("/v1/agents", content=packed, headers=headers).status_code == 201


@pytest.mark.parametrize(
    ("query", "name"),
    [("agnet=a", "agnet"), ("limit=1&limit=2", "limit"), ("worker=a&worker=b", "worker")],
)
def test_a_mistyped_or_repeated_parameter_is_refused(
    client: httpx.Client, query: str, name: str
) -> None:
    answer = client.get(f"/v1/events?{query}")
    assert answer.status_code == 422
    assert pointers(answer) == [f"/query/{name}"]


def test_a_parameter_that_may_stand_twice_may(client: httpx.Client) -> None:
    assert client.get("/v1/events?event=x.a&event=x.b").status_code == 200


def test_a_byte_order_mark_is_passed_over(client: httpx.Client) -> None:
    assert post(client, b"\xef\xbb\xbf" + json.dumps(EVENT).encode()).json()["accepted"] == 1
