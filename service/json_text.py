"""Strict JSON in and out: what the fast decoder refuses is read again here to say where and why."""

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

import msgspec

from service.errors import Fault

_ENCODER = msgspec.json.Encoder(order="sorted")
_SURROGATE = re.compile("[\ud800-\udfff]")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
REPLACEMENT = "\ufffd"


class TooDeep(ValueError):
    """Nested deeper than any limit that can be set."""


@dataclass(frozen=True, slots=True)
class NotANumber:
    """Stands where a number stood that JSON or a double cannot hold."""

    text: str


@dataclass(slots=True)
class Inspection:
    """What was found inside a value: faults with their pointers, and whether text was repaired."""

    max_nesting: int
    max_string_chars: int
    faults: list[Fault] = field(default_factory=list)
    repaired: bool = False


def encode(value: Any) -> str:
    """Canonical text of a JSON value: keys sorted by code point, no spaces, shortest floats."""
    return _ENCODER.encode(value).decode()


def read_leniently(text: str) -> Any:
    """Parses JSON, a NotANumber where a number is impossible; ValueError for broken syntax."""
    try:
        return json.loads(text, parse_constant=NotANumber, parse_float=_float, parse_int=_int)
    except RecursionError:
        raise TooDeep from None


def _float(text: str) -> float | NotANumber:
    number = float(text)
    return number if math.isfinite(number) else NotANumber(text[:40])


def _int(text: str) -> int | NotANumber:
    # Python refuses to convert more digits than this, to bound the time it takes.
    return int(text) if len(text) < 4300 else NotANumber(f"{text[:20]}…")


def nesting(body: bytes) -> int:
    """How deep arrays and objects nest in a JSON text; cheap upper bound first, then exact."""
    if body.count(b"{") + body.count(b"[") <= 4:
        return body.count(b"{") + body.count(b"[")
    depth = deepest = 0
    for byte in re.findall(rb"[\[\]{}]", _STRING.sub(b"", body)):
        depth += 1 if byte in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def inspect(value: Any, pointer: str, findings: Inspection, depth: int = 1) -> Any:
    """Returns the value with lone surrogates replaced by U+FFFD; faults go into `findings`."""
    if isinstance(value, str):
        return _inspect_string(value, pointer, findings)
    if isinstance(value, NotANumber):
        findings.faults.append(
            Fault(pointer, f"{value.text} is no number that JSON can hold: send null or a text")
        )
        return None
    if not isinstance(value, dict | list):
        return value
    if depth > findings.max_nesting:
        findings.faults.append(
            Fault(
                pointer,
                f"is nested deeper than {findings.max_nesting} levels (DOXA_MAX_NESTING)",
            )
        )
        return None
    if isinstance(value, list):
        return [inspect(v, f"{pointer}/{i}", findings, depth + 1) for i, v in enumerate(value)]
    return {
        _inspect_string(key, pointer, findings): inspect(
            item, f"{pointer}/{escape(key)}", findings, depth + 1
        )
        for key, item in value.items()
    }


def _inspect_string(text: str, pointer: str, findings: Inspection) -> str:
    if len(text) > findings.max_string_chars:
        findings.faults.append(
            Fault(
                pointer,
                f"has {len(text)} characters, more than {findings.max_string_chars} "
                "(DOXA_MAX_STRING_CHARS)",
            )
        )
    if _SURROGATE.search(text):
        findings.repaired = True
        return _SURROGATE.sub(REPLACEMENT, text)
    return text


def escape(key: object) -> str:
    """One token of a JSON pointer (RFC 6901); unpaired surrogates are replaced."""
    text = str(key).replace("~", "~0").replace("/", "~1")
    return _SURROGATE.sub(REPLACEMENT, text)


def same(left: Any, right: Any) -> bool:
    """Whether two JSON values are equal, numbers by value (0.9 = 0.90, 1 = 1.0), true never 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


_PLACE = re.compile(r"^(?P<what>.*?)(?: - at `(?P<path>\$.*)`)?$", re.DOTALL)
_FIELD = re.compile(r"(?:unknown|required) field `(?P<name>.*?)`", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


def fault_of(problem: msgspec.ValidationError) -> Fault:
    """A msgspec message as a pointer and a reason."""
    found = _PLACE.match(str(problem))
    what, path = (found["what"], found["path"] or "$") if found else (str(problem), "$")
    steps = [escape(name or index) for name, index in _STEP.findall(path)]
    if named := _FIELD.search(what):
        steps.append(escape(named["name"]))
        what = "is not a field here" if "unknown field" in what else "is missing"
    return Fault("".join(f"/{step}" for step in steps), what)


def encode_or_none(value: Any) -> str | None:
    """Canonical text, None for nothing."""
    return None if value is None else encode(value)


def shown(value: Any) -> str | None:
    """A value as a text column of a projection: U+0000, which PostgreSQL cannot hold, is replaced.

    The event keeps the exact text; this is what is searched and shown.
    """
    if value is None:
        return None
    text = value if isinstance(value, str) else encode(value)
    return text.replace("\x00", REPLACEMENT) if "\x00" in text else text
