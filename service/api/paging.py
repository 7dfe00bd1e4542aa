"""Cursors: opaque texts that name the last row of a page."""

import base64
import binascii
from typing import Annotated, Any

import msgspec
from fastapi import Query

from service.errors import Fault, Malformed

Limit = Annotated[int, Query(ge=1, le=1000, description="rows on a page")]
After = Annotated[str | None, Query(description="the `next` of the page before")]


def encode_cursor(place: tuple[Any, ...] | None) -> str | None:
    """An opaque cursor for a place, None at the end."""
    if place is None:
        return None
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def decode_cursor(cursor: str | None, kind: Any) -> Any:
    """The place in a cursor, of the tuple type `kind`; Malformed for any other text."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        place = msgspec.json.decode(base64.b64decode(padded, b"-_", validate=True), type=kind)
    except (msgspec.MsgspecError, binascii.Error, ValueError):
        place = None
    if place is None or not all(map(_can_be_asked, place)):
        fault = Fault("/query/after", "is no cursor: use the `next` of the page before, unchanged")
        raise Malformed("The cursor was not made here.", errors=(fault,))
    return place


def _can_be_asked(value: object) -> bool:
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return not isinstance(value, str) or "\x00" not in value
