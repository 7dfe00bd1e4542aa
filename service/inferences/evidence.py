"""The text of evidence as it stood when something was believed on it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service import json_text

# Evidence items of one claim whose text is looked up; those beyond stay named.
MAX_ITEMS = 50
# Characters kept of one text that was looked up; a longer one is cut and marked `truncated`.
MAX_TEXT_CHARS = 4_000
# Under any of these an item brings its text along, and is kept as it is.
_TEXT_KEYS = ("text", "content", "quote", "result")
Payload = Mapping[str, Any]
# An id of at most 256 characters behind the name of its log.
_MAX_ID_CHARS = 262


def usable_id(value: object) -> str | None:
    """A value of free detail as an id that can be asked for; None for what no row could have."""
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_ID_CHARS or "\x00" in value:
        return None
    return value


@dataclass(frozen=True, slots=True)
class Named:
    """An evidence item that names a text and does not hold it: by id, or by turn and tool call."""

    evidence_id: str | None
    turn_id: str | None = None
    tool_call: int | str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """A text, and the place in the record where it stands."""

    text: str
    place: str


def items_of(evidence: object) -> Sequence[object]:
    """The items of what was sent as evidence: an array's, or the one thing itself."""
    if evidence is None:
        return ()
    return evidence if isinstance(evidence, list) else (evidence,)


def named_items(evidence: object) -> list[tuple[int, Named]]:
    """The items that only name a text, with their places; the first fifty."""
    found = []
    for place, item in enumerate(items_of(evidence)):
        if (named := _named(item)) is not None:
            found.append((place, named))
            if len(found) == MAX_ITEMS:
                break
    return found


def _named(item: object) -> Named | None:
    if isinstance(item, str):
        return Named(item) if usable_id(item) else None
    if not isinstance(item, dict) or any(item.get(key) is not None for key in _TEXT_KEYS):
        return None
    if (call := tool_call_of(item)) is not None:
        return Named(None, *call)
    evidence_id = usable_id(item.get("id"))
    return None if evidence_id is None else Named(evidence_id, usable_id(item.get("turn_id")))


def tool_call_of(item: object) -> tuple[str, int | str] | None:
    """The turn and the tool call, by index or by name, that an item cites."""
    if not isinstance(item, dict):
        return None
    turn_id, call = usable_id(item.get("turn_id")), item.get("tool_call")
    if turn_id is None or isinstance(call, bool) or not isinstance(call, int | str):
        return None
    return turn_id, call


def tool_call_places(payload: Payload, call: int | str) -> list[int]:
    """Where a turn's payload holds a tool call: one index, or all calls of an id or a name."""
    calls = payload.get("tool_calls") or []
    if isinstance(call, int):
        return [call] if 0 <= call < len(calls) else []
    return [at for at, one in enumerate(calls) if call in (one.get("id"), one.get("name"))]


def text_in_turn(named: Named, turn_id: str, payload: Payload) -> Found | None:
    """The text of an item in a turn: what a tool answered, or what was retrieved.

    A name that several tool calls bear tells none of them: a wrong text is worse than none.
    """
    call = named.evidence_id if named.tool_call is None else named.tool_call
    if call is None:
        return None
    places = tool_call_places(payload, call)
    if len(places) == 1:
        result = payload["tool_calls"][places[0]].get("result")
        return _found(result, f"turns/{turn_id}/tool_calls/{places[0]}")
    if named.evidence_id is None:
        return None
    for at, memory in enumerate(payload.get("retrieved") or []):
        if memory.get("id") == named.evidence_id:
            return _found(memory.get("content"), f"turns/{turn_id}/retrieved/{at}")
    return None


def text_of(item: Mapping[str, Any], place: str) -> Found | None:
    """The text that an item brings along, under the first key that has one."""
    return _found(next((item[key] for key in _TEXT_KEYS if item.get(key) is not None), None), place)


def _found(value: object, place: str) -> Found | None:
    if value is None:
        return None
    return Found(value if isinstance(value, str) else json_text.encode(value), place)


def with_texts(evidence: object, texts: Mapping[int, Found]) -> object:
    """The evidence with what was found written beside the ids; the rest exactly as it was sent."""
    if not texts:
        return evidence
    items = [
        _told(item, texts[place]) if place in texts else item
        for place, item in enumerate(items_of(evidence))
    ]
    return items if isinstance(evidence, list) else items[0]


def found_items(evidence: object, texts: Mapping[int, Found]) -> list[object]:
    """Only the items whose text was found, for a companion row."""
    items = items_of(evidence)
    return [_told(items[place], texts[place]) for place in sorted(texts)]


def _told(item: object, found: Found) -> dict[str, object]:
    named: dict[str, object] = dict(item) if isinstance(item, dict) else {"id": item}
    named |= {"text": found.text[:MAX_TEXT_CHARS], "from": found.place}
    if len(found.text) > MAX_TEXT_CHARS:
        named["truncated"] = True
    return named


def texts_in_turn(
    named: Iterable[tuple[int, Named]], turn_id: str, payload: Payload
) -> dict[int, Found]:
    """What of these items one turn holds, by place; an item of another turn is passed over."""
    return {
        place: found
        for place, item in named
        if item.turn_id in (None, turn_id)
        and (found := text_in_turn(item, turn_id, payload)) is not None
    }
