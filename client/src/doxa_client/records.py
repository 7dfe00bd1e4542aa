"""Events and turns as the bytes that are sent; whatever cannot be sent is refused here, at once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from typing import Any, Optional


def encode_record(fields: Mapping[str, Any]) -> bytes:
    """Return the fields that are not None as one compact JSON object in ASCII.

    Encoding when the record is made, not when it is sent, fixes its content (the caller may go on
    changing a dict it passed in) and puts the exception where the mistake is.
    """
    present = {name: value for name, value in fields.items() if value is not None}
    try:
        return _dump(present)
    except (TypeError, ValueError, RecursionError):
        for name, value in present.items():
            _refuse_unencodable(name, value)
        raise


def format_instant(field: str, instant: Optional[datetime]) -> str:
    """Return an instant (now, if None) as RFC 3339 text in UTC with microseconds."""
    if instant is None:
        instant = datetime.now(timezone.utc)
    if not isinstance(instant, datetime):
        raise TypeError(
            f"{field} must be a datetime with a time zone, not {type(instant).__name__}; "
            "text can be read with datetime.fromisoformat"
        )
    if instant.utcoffset() is None:
        raise ValueError(
            f"{field} has no time zone, so it names no instant; "
            f"pass datetime.now(timezone.utc), or {field}.replace(tzinfo=...) with its zone"
        )
    try:
        in_utc = instant.astimezone(timezone.utc)
    except OverflowError:
        raise ValueError(f"{field} lies outside the years 1 to 9999 in UTC") from None
    return in_utc.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def check_object(field: str, value: Optional[Mapping[str, Any]]) -> Optional[dict[str, Any]]:
    """Return a mapping as a dict."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise TypeError(f"{field} must be a mapping, not {type(value).__name__}")
    return dict(value)


def check_objects(field: str, values: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a sequence of mappings as a list of dicts."""
    if isinstance(values, (str, bytes, Mapping)):
        raise TypeError(f"{field} must be a list of mappings, not one {type(values).__name__}")
    checked: list[dict[str, Any]] = []
    for index, value in enumerate(values):
        if not isinstance(value, Mapping):
            raise TypeError(f"{field}[{index}] must be a mapping, not {type(value).__name__}")
        checked.append(dict(value))
    return checked


def _dump(value: Any) -> bytes:
    # ASCII escapes carry even a lone surrogate as well-formed UTF-8, and the service decides on it.
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


def _refuse_unencodable(field: str, value: Any) -> None:
    """Raise an error that names the field, if it is this one that cannot be encoded."""
    try:
        _dump(value)
    except TypeError as error:
        raise TypeError(f"{field} cannot be sent as JSON: {error}") from None
    except ValueError as error:
        raise ValueError(
            f"{field} cannot be sent as JSON (NaN, an infinity, or a loop): {error}"
        ) from None
    except RecursionError:
        raise ValueError(f"{field} is nested too deeply to be sent as JSON") from None
