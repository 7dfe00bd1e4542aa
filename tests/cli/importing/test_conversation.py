from typing import Any

import pytest

from cli.importing.conversation import BadMessage, Step, content_text, read_steps


def call(name: str, arguments: object = "{}", call_id: str | None = None) -> dict[str, object]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def steps_of(*messages: object) -> list[Step]:
    found = read_steps(messages)
    assert not [one for one in found if isinstance(one, BadMessage)]
    return [one for one in found if isinstance(one, Step)]


def test_inputs_are_the_messages_new_since_the_step_before() -> None:
    first, second = steps_of(
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": "hi"},
        {"role": "user", "content": "bye"},
        {"role": "assistant", "content": "bye"},
        {"role": "user", "content": "too late for any step"},
    )
    assert [one["content"] for one in first.inputs] == ["be brief", "hello"]
    assert second.inputs == [{"role": "user", "content": "bye"}]


def test_a_tool_result_belongs_to_the_step_that_called_the_tool() -> None:
    asked, answered = steps_of(
        {"role": "assistant", "content": None, "tool_calls": [call("look", '{"at": "x"}', "c1")]},
        {"role": "tool", "tool_call_id": "c1", "content": "x is 3"},
        {"role": "assistant", "content": "It is 3."},
    )
    assert asked.output == ""
    assert asked.tool_calls == [{"name": "look", "arguments": {"at": "x"}, "result": "x is 3"}]
    assert answered.inputs == []
    assert answered.tool_calls == []


def test_parallel_results_find_their_calls_by_id_in_any_order() -> None:
    (step,) = steps_of(
        {"role": "assistant", "tool_calls": [call("a", call_id="1"), call("b", call_id="2")]},
        {"role": "tool", "tool_call_id": "2", "content": "of b"},
        {"role": "tool", "tool_call_id": "1", "content": "of a"},
    )
    assert [one["result"] for one in step.tool_calls] == ["of a", "of b"]


def test_an_id_used_again_means_the_latest_open_call() -> None:
    first, second = steps_of(
        {"role": "assistant", "tool_calls": [call("a", call_id="call_0")]},
        {"role": "tool", "tool_call_id": "call_0", "content": "one"},
        {"role": "assistant", "tool_calls": [call("a", call_id="call_0")]},
        {"role": "tool", "tool_call_id": "call_0", "content": "two"},
    )
    assert (first.tool_calls[0]["result"], second.tool_calls[0]["result"]) == ("one", "two")


def test_a_result_passes_over_a_call_of_the_same_id_that_was_never_answered() -> None:
    first, second = steps_of(
        {"role": "assistant", "tool_calls": [call("a", call_id="call_0")]},
        {"role": "assistant", "tool_calls": [call("a", call_id="call_0")]},
        {"role": "tool", "tool_call_id": "call_0", "content": "two"},
    )
    assert "result" not in first.tool_calls[0]
    assert second.tool_calls[0]["result"] == "two"


def test_a_function_of_the_older_style_is_answered_by_name() -> None:
    (step,) = steps_of(
        {"role": "assistant", "function_call": {"name": "now", "arguments": "{}"}},
        {"role": "function", "name": "now", "content": "noon"},
    )
    assert step.tool_calls == [{"name": "now", "arguments": {}, "result": "noon"}]


def test_a_result_that_nobody_asked_for_stays_as_an_input_of_the_next_step() -> None:
    (step,) = steps_of(
        {"role": "tool", "tool_call_id": "lost", "content": "42"},
        {"role": "assistant", "content": "so it is 42"},
    )
    assert step.inputs == [{"role": "tool", "content": "42"}]


@pytest.mark.parametrize("arguments", ["not json", '{"broken": ', "", "NaN"])
def test_arguments_that_are_no_json_stay_the_text_the_model_wrote(arguments: str) -> None:
    (step,) = steps_of({"role": "assistant", "tool_calls": [call("f", arguments)]})
    assert step.tool_calls[0]["arguments"] == arguments


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, ""),
        ("as it is", "as it is"),
        ([{"type": "text", "text": "a"}, {"type": "output_text", "text": "b"}], "a\nb"),
        ([{"type": "image_url", "image_url": {"url": "x"}}], "[image_url]"),
        ([{"type": "refusal", "refusal": "no"}], "no"),
        (["plain"], "plain"),
    ],
)
def test_content_becomes_text(content: object, text: str) -> None:
    assert content_text(content) == text


def test_a_refusal_is_what_the_assistant_said() -> None:
    (step,) = steps_of({"role": "assistant", "content": None, "refusal": "I cannot."})
    assert step.output == "I cannot."


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (7, "is a number, not an object with role and content"),
        ({"content": "x"}, "has no role"),
        ({"role": 3, "content": "x"}, "has a role that is no text"),
        ({"role": "assistant", "content": 7}, "has content that is a number"),
        ({"role": "user", "content": [True]}, "has a content part that is a boolean"),
        ({"role": "assistant", "tool_calls": "x"}, "has tool_calls that are a text"),
        ({"role": "assistant", "tool_calls": [{}]}, "has a tool call 0 without a name"),
        ({"role": "assistant", "tool_calls": [None]}, "has a tool call 0 that is null"),
    ],
)
def test_a_bad_message_is_named_and_the_others_are_read(message: Any, reason: str) -> None:
    found = read_steps([{"role": "user", "content": "q"}, message, _said("still here")])
    assert found[0] == BadMessage(1, reason)
    assert isinstance(found[1], Step)
    assert found[1].output == "still here"
    assert found[1].inputs == [{"role": "user", "content": "q"}]


def _said(text: str) -> dict[str, object]:
    return {"role": "assistant", "content": text}
