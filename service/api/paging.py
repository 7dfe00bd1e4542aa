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
    """The place in a cursor, checked to be of the tuple type `kind`; Malformed for any other text."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        return msgspec.json.decode(base64.b64decode(padded, b"-_", validate=True), type=kind)
    except (msgspec.MsgspecError, binascii.Error, ValueError):
        fault = Fault("/query/after", "is no cursor: use the `next` of the page before, unchanged")
        raise Malformed("The cursor was not made here.", errors=(fault,)) from None
