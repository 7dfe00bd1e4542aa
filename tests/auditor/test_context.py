import json
from typing import Any

from auditor.context import read_payload, text_of


def read(**parts: Any) -> list[tuple[str, str, str]]:
    payload = {"inputs": [], "retrieved": [], "tool_calls": [], "output": ""} | parts
    return [(p.kind, p.id, p.text) for p in read_payload("t1", json.dumps(payload)).evidence]


def test_messages_memory_and_tool_results_are_evidence() -> None:
    assert read(
        inputs=[{"role": "User", "content": "hello"}, {"role": "system", "content": "be brief"}],
        retrieved=[{"id": "m1", "content": "the disk is old"}],
        tool_calls=[{"name": "df", "arguments": {"path": "/"}, "result": {"used": 0.93}}],
    ) == [
        ("user", "t1#/inputs/0", "hello"),
        ("system", "t1#/inputs/1", "be brief"),
        ("memory", "m1", "the disk is old"),
        ("tool", "t1#/tool_calls/0/result", '{"used":0.93}'),
    ]


def test_the_agents_own_words_and_tool_arguments_are_no_evidence() -> None:
    assert (
        read(
            inputs=[
                {"role": role, "content": "I said so"} for role in ("assistant", "Assistant ", "AI")
            ],
            tool_calls=[{"name": "search", "arguments": "the disk is full"}],
            output="the disk is full",
        )
        == []
    )


def test_content_in_parts_is_read_as_text() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "output_text", "text": "two"}, "three"]
    assert text_of(parts) == "one\ntwo\nthree"
    assert text_of([{"rows": 3}]) == '[{"rows":3}]'
    assert text_of(None) == text_of("") == ""


def test_parts_of_an_odd_shape_are_left_out_and_break_nothing() -> None:
    assert read(inputs="none", retrieved=[3, {"id": "", "content": "x"}], tool_calls={}) == [
        ("memory", "t1#/retrieved/1", "x")
    ]
    assert read_payload("t1", "{}").output == ""


def test_a_user_opens_an_exchange_and_a_tool_does_not() -> None:
    def opens(role: str) -> bool:
        return read_payload(
            "t", json.dumps({"inputs": [{"role": role, "content": "x"}]})
        ).opens_exchange

    assert [opens(role) for role in ("user", "operator", "tool", "system")] == [
        True,
        True,
        False,
        False,
    ]
