"""Reading and writing JSON strictly, and naming a value by its content."""

import hashlib
import json

DIGEST_DIGITS = 16  # 64 bits: among a million sessions a clash has a chance of 3 in 10^8

_DECODER = json.JSONDecoder()


class NotJSONError(ValueError):
    """Text that a strict reader of JSON refuses; `line` counts from 1 within that text."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.line = line


def parse_json(text: str) -> object:
    """The value of a whole JSON text; NotJSONError says what a reader of JSON dislikes in it.

    NaN and infinities pass: many writers put them where no turn is made of them (a reward), and
    `encode_json` refuses the record that would carry one on.
    """
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as problem:
        raise _explain(problem) from None
    except RecursionError:
        raise NotJSONError("is nested too deeply") from None
    except ValueError as problem:  # an integer of more digits than Python converts
        raise NotJSONError(str(problem)) from None
    return value


def parse_json_at(text: str, position: int) -> tuple[object, int]:
    """The JSON value that starts at `position`, and the position after it."""
    try:
        value, end = _DECODER.raw_decode(text, position)
    except json.JSONDecodeError as problem:
        raise _explain(problem) from None
    except RecursionError:
        raise NotJSONError("is nested too deeply", text.count("\n", 0, position) + 1) from None
    except ValueError as problem:
        raise NotJSONError(str(problem), text.count("\n", 0, position) + 1) from None
    return value, end


def encode_json(value: object) -> bytes:
    """Compact ASCII JSON; NotJSONError for what JSON cannot say (1e999 was read as infinity)."""
    try:
        text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        raise NotJSONError("holds a number that JSON cannot express") from None
    except RecursionError:
        raise NotJSONError("is nested too deeply") from None
    return text.encode("ascii")


def content_digest(value: object) -> str:
    """The first 16 hexadecimal digits of SHA-256 over the value's JSON with sorted keys."""
    try:
        text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    except RecursionError:
        raise NotJSONError("is nested too deeply") from None
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:DIGEST_DIGITS]


def kind_of(value: object) -> str:
    """How to call a JSON value's type in a message to a person."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "an object"


def _explain(problem: json.JSONDecodeError) -> NotJSONError:
    return NotJSONError(f"is not JSON: {problem.msg} at column {problem.colno}", problem.lineno)
