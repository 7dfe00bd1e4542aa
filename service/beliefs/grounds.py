"""What a belief rests on, as it stands in `detail`: justifications, evidence, its content."""

import hashlib
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

import msgspec

from service import json_text

# Begins what stands for a content among the supporters; no id can hold its first character.
_CONTENT_MARK = "\x1fcontent:"
# PostgreSQL keeps no index entry beyond 2,704 bytes, and three ids stand in one.
MAX_KEY_BYTES = 2_600


def texts(value: Any) -> Iterator[str]:
    """All texts inside: justifications are kept as they were told, nested or flat."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())


def sets_of(value: Any) -> list[list[str]]:
    """Justifications as sets of ids, each enough by itself; a flat list is one set."""
    if not isinstance(value, list):
        whole = list(texts(value))
        return [whole] if whole else []
    if value and all(isinstance(item, str) for item in value):
        return [value]
    return [names for item in value if (names := _members(item))]


def _members(item: Any) -> list[str]:
    is_plain = isinstance(item, list) and all(isinstance(name, str) for name in item)
    return item if is_plain else list(texts(item))


def stored_sets(text: str | None) -> list[list[str]]:
    """The same of the JSON text in a row."""
    return sets_of(msgspec.json.decode(text)) if text else []


def evidence_ids(value: Any) -> list[str]:
    """The ids in what was told as evidence: texts, or objects with an `id`."""
    items = value if isinstance(value, list) else [value]
    return [name for item in items if isinstance(name := evidence_id(item), str)]


def evidence_id(item: Any) -> Any:
    """What an evidence item is known by; the item itself where it has no id."""
    return item["id"] if isinstance(item, dict) and isinstance(item.get("id"), str) else item


def stored_evidence(text: str | None) -> list[str]:
    """The ids in the JSON text of a row."""
    return evidence_ids(msgspec.json.decode(text)) if text else []


def content_key(content: Any) -> str:
    """What two contents share that say the same in the same words; case and spaces do not count.

    "15th" and "16th", "allowed" and "not allowed" have nothing to do with each other here.
    """
    words = unicodedata.normalize("NFC", json_text.shown(content) or "").casefold().split()
    return _CONTENT_MARK + hashlib.sha256(" ".join(words).encode()).hexdigest()


def supporters(detail: dict[str, Any]) -> set[str]:
    """What a belief can be found by: members of its justifications, its evidence, its content."""
    named = {*texts(detail["justifications"]), *evidence_ids(detail.get("evidence"))}
    found = {name for name in named if name and not _MARKS.intersection(name)}
    if detail.get("content") is not None:
        found.add(content_key(detail["content"]))
    return found


_MARKS = frozenset("\x00\x1f")


def fits_a_key(*ids: str) -> bool:
    """Whether ids can stand together in one index entry."""
    return sum(len(one.encode()) for one in ids) <= MAX_KEY_BYTES


def with_evidence(stored: str | None, told: Any) -> str | None:
    """The stored evidence and what is new in the told one."""
    return _joined(stored, told, lambda item: json_text.encode(evidence_id(item)))[0]


def with_justifications(stored: str | None, told: Any) -> tuple[str | None, bool]:
    """The stored justifications and the told sets that are new; and whether any is."""
    return _joined(stored, told, lambda item: frozenset(texts(item)))


def _joined(
    stored: str | None, told: Any, identity: Callable[[Any], Hashable]
) -> tuple[str | None, bool]:
    items = _listed(msgspec.json.decode(stored)) if stored else []
    known = {identity(item) for item in items}
    fresh = []
    for item in _listed(told):
        if identity(item) not in known:
            known.add(identity(item))
            fresh.append(item)
    if not fresh:
        return stored, False
    return json_text.encode([*items, *fresh]), True


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def all_ids(sets: Iterable[Iterable[str]]) -> set[str]:
    """The members of all sets."""
    return {name for names in sets for name in names}
