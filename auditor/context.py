"""What an agent could read when it wrote an output, and what it only said itself.

Evidence are the messages of users, operators and the system, the memory that was retrieved, and
the results of tools. The agent's own outputs, the arguments that it gave to tools, and messages
with a role of its own in `inputs` are its own words and never evidence.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from auditor.text.overlap import ContextPiece
from service import json_text

OWN_VOICES = frozenset({"assistant", "ai", "agent", "bot", "model"})
"""Roles under which an agent's own words stand among its inputs."""

ASKING_VOICES = frozenset({"user", "human", "operator"})
"""Roles whose message opens an exchange: what was read for the one before was not for this."""

_TEXT_KEYS = ("text", "content", "refusal")


@dataclass(frozen=True, slots=True)
class TurnText:
    """A turn's texts. `has_tool_call` and `opens_exchange` serve the order of look and claim."""

    output: str
    evidence: tuple[ContextPiece, ...]
    has_tool_call: bool
    opens_exchange: bool


def read_payload(turn_id: str, payload: str) -> TurnText:
    """The texts of a stored payload; a part that has another shape than it should is left out."""
    parts = json.loads(payload)
    output = parts.get("output")
    inputs, calls = _objects(parts.get("inputs")), _objects(parts.get("tool_calls"))
    evidence = (
        *_messages(turn_id, inputs),
        *_memories(turn_id, _objects(parts.get("retrieved"))),
        *_results(turn_id, calls),
    )
    return TurnText(
        output=output if isinstance(output, str) else "",
        evidence=evidence,
        has_tool_call=bool(calls),
        opens_exchange=any(_role(message) in ASKING_VOICES for _, message in inputs),
    )


def _objects(part: object) -> list[tuple[int, dict[str, Any]]]:
    if not isinstance(part, list):
        return []
    return [(place, item) for place, item in enumerate(part) if isinstance(item, dict)]


def _role(message: dict[str, Any]) -> str:
    return str(message.get("role")).strip().casefold()


def _messages(turn_id: str, inputs: list[tuple[int, dict[str, Any]]]) -> Iterator[ContextPiece]:
    for place, message in inputs:
        role = _role(message)
        if role not in OWN_VOICES and (text := text_of(message.get("content"))):
            yield ContextPiece(role, f"{turn_id}#/inputs/{place}", text)


def _memories(turn_id: str, items: list[tuple[int, dict[str, Any]]]) -> Iterator[ContextPiece]:
    for place, item in items:
        if text := text_of(item.get("content")):
            name = item.get("id")
            if not isinstance(name, str) or not name:
                name = f"{turn_id}#/retrieved/{place}"
            yield ContextPiece("memory", name, text)


def _results(turn_id: str, calls: list[tuple[int, dict[str, Any]]]) -> Iterator[ContextPiece]:
    for place, call in calls:
        if text := text_of(call.get("result")):
            yield ContextPiece("tool", f"{turn_id}#/tool_calls/{place}/result", text)


def text_of(content: object) -> str:
    """A content as text: itself, its text parts by line, or its JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and content and all(_is_text_part(part) for part in content):
        return "\n".join(_part(part) for part in content)
    return json_text.encode(content)


def _is_text_part(part: object) -> bool:
    return isinstance(part, str) or (
        isinstance(part, dict)
        and isinstance(part.get("type"), str)
        and any(isinstance(part.get(key), str) for key in _TEXT_KEYS)
    )


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    return next(str(part[key]) for key in _TEXT_KEYS if isinstance(part.get(key), str))
