"""τ-bench few-shot JSONL: `{"messages_display": "user: …\\nassistant: …\\ntool: …"}` a line.

The text shows neither the name nor the arguments of a tool that was called, only its answer
after `assistant: None` (or after what the assistant said besides).
"""

import re
from collections.abc import Iterator

from cli.importing.conversation import read_steps
from cli.importing.identity import Reading
from cli.importing.json_values import kind_of
from cli.importing.records import BadRecord, Record
from cli.importing.turns import turn_records

NAME = "τ-bench few-shot examples (messages_display)"
UNNAMED_TOOL = "unknown"

_SPEAKER = re.compile(r"^(system|user|assistant|tool):[ \t]?", re.MULTILINE)


def recognises(value: object) -> bool:
    """Whether the value is one displayed conversation."""
    return isinstance(value, dict) and "messages_display" in value


def read(value: object, line: int, reading: Reading) -> Iterator[Record | BadRecord]:
    """The turns of one displayed conversation; its session is a digest of the text."""
    text = value.get("messages_display") if isinstance(value, dict) else None
    if not isinstance(text, str):
        yield BadRecord(reading.source, line, f"messages_display is {kind_of(text)}, not a text")
        return
    session_id = reading.name_content("tau-few-shot", text)
    yield from turn_records(read_steps(split_display(text)), session_id, reading, line)


def split_display(text: str) -> list[dict[str, object]]:
    """The messages of a displayed conversation, in the form of a chat with tool calls."""
    speakers = list(_SPEAKER.finditer(text))
    ends = [speaker.start() for speaker in speakers[1:]] + [len(text)]
    messages: list[dict[str, object]] = []
    for speaker, end in zip(speakers, ends, strict=True):
        role, content = speaker[1], text[speaker.end() : end].strip()
        if role == "tool":
            _note_call(messages)
        shown = None if role == "assistant" and content == "None" else content
        messages.append({"role": role, "content": shown})
    return messages


def _note_call(messages: list[dict[str, object]]) -> None:
    """Give the assistant's message before a tool's answer the call that the display left out."""
    asking = next((one for one in reversed(messages) if one["role"] != "tool"), None)
    if asking is not None and asking["role"] == "assistant":
        calls = asking.setdefault("tool_calls", [])
        if isinstance(calls, list):
            calls.append({"function": {"name": UNNAMED_TOOL, "arguments": None}})
