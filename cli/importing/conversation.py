"""From a list of chat messages to steps: one for each message of the assistant."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from cli.importing.json_values import NotJSONError, kind_of, parse_json

_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}


@dataclass(slots=True)
class Step:
    """One message of the assistant, with what was new before it and the tools that it called.

    `inputs` hold `role` and `content`; `tool_calls` hold `name`, `arguments` and, once the
    tool's message came (often after the assistant's), `result`. `position` is the message's.
    """

    position: int
    output: str
    inputs: list[dict[str, object]]
    tool_calls: list[dict[str, object]]
    message: dict[str, object]


@dataclass(frozen=True, slots=True)
class BadMessage:
    """A message that could not be read, by its position in the list from 0."""

    position: int
    reason: str


class MalformedMessageError(ValueError):
    """Why a message is none."""


@dataclass(slots=True)
class _Conversation:
    pending: list[dict[str, object]] = field(default_factory=list)
    # Calls in the order made, each with its id in the file, as long as no result came for it.
    unanswered: list[tuple[object, dict[str, object]]] = field(default_factory=list)

    def answer(self, message: dict[str, object]) -> None:
        """Put a tool's message to its call: by id, else by name, else the oldest open one."""
        content = content_text(message.get("content"))
        call_id, name = message.get("tool_call_id"), message.get("name")
        index = None
        if call_id is not None:
            matches = [i for i, (known, _) in enumerate(self.unanswered) if known == call_id]
            index = matches[-1] if matches else None  # some writers use ids again
        else:
            matches = [i for i, (_, call) in enumerate(self.unanswered) if call["name"] == name]
            index = matches[0] if matches else (0 if self.unanswered and name is None else None)
        if index is None:
            self.pending.append({"role": "tool", "content": content})
        else:
            _, call = self.unanswered.pop(index)
            call["result"] = content

    def take_step(self, position: int, message: dict[str, object]) -> Step:
        """Close what is pending into the step of this message of the assistant."""
        output = content_text(message.get("content"))
        refusal = message.get("refusal")
        calls = list(read_tool_calls(message))
        if not output and isinstance(refusal, str):
            output = refusal
        self.unanswered.extend(calls)
        step = Step(position, output, self.pending, [call for _, call in calls], message)
        self.pending = []
        return step


def read_steps(messages: Sequence[object]) -> list[Step | BadMessage]:
    """The steps of a conversation in order; messages after the last step belong to none."""
    conversation = _Conversation()
    found: list[Step | BadMessage] = []
    for position, message in enumerate(messages):
        try:
            step = _read_message(conversation, position, message)
        except MalformedMessageError as problem:
            found.append(BadMessage(position, str(problem)))
        else:
            if step is not None:
                found.append(step)
    return found


def _read_message(conversation: _Conversation, position: int, message: object) -> Step | None:
    if not isinstance(message, dict):
        raise MalformedMessageError(f"is {kind_of(message)}, not an object with role and content")
    role = message.get("role")
    if not isinstance(role, str) or not role:
        raise MalformedMessageError("has no role" if role is None else "has a role that is no text")
    if role == "assistant":
        return conversation.take_step(position, message)
    if role in ("tool", "function"):
        conversation.answer(message)
    else:
        content = content_text(message.get("content"))
        conversation.pending.append({"role": role, "content": content})
    return None


def content_text(content: object) -> str:
    """The text of a message: itself, or its text parts by line; other parts as `[image_url]`."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_part_text(part) for part in content)
    raise MalformedMessageError(f"has content that is {kind_of(content)}")


def _part_text(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise MalformedMessageError(f"has a content part that is {kind_of(part)}")
    kind = part.get("type")
    text = part.get(_TEXT_PARTS.get(str(kind), "text"))
    return text if isinstance(text, str) else f"[{kind}]"


def read_tool_calls(message: dict[str, object]) -> Iterator[tuple[object, dict[str, object]]]:
    """The calls of a message as pairs of the file's call id and `{"name", "arguments"}`."""
    calls = message.get("tool_calls")
    if calls is None and message.get("function_call") is not None:
        calls = [{"function": message["function_call"]}]
    if calls is None:
        return
    if not isinstance(calls, list):
        raise MalformedMessageError(f"has tool_calls that are {kind_of(calls)}")
    for number, call in enumerate(calls):
        if not isinstance(call, dict):
            raise MalformedMessageError(f"has a tool call {number} that is {kind_of(call)}")
        function = call.get("function") or call.get("custom") or call
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str):
            raise MalformedMessageError(f"has a tool call {number} without a name")
        arguments = function.get("arguments", function.get("input"))
        yield call.get("id"), {"name": name, "arguments": _read_arguments(arguments)}


def _read_arguments(arguments: object) -> object:
    """The arguments as JSON where the model wrote JSON, else the text that it wrote."""
    if not isinstance(arguments, str):
        return arguments
    try:
        value = parse_json(arguments)
    except NotJSONError:
        return arguments
    return value if isinstance(value, (dict, list)) else arguments
