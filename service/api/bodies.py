"""Request bodies: read to a limit, unpacked to a limit, of a content type that is taken."""

import zlib
from enum import Enum
from typing import Any

from starlette.requests import ClientDisconnect, Request

from service.errors import Fault, Malformed, TooLarge, Unreadable, UnsupportedMedia
from service.settings import Settings


class BodyKind(Enum):
    """How the items of a body are separated."""

    JSON = "json"
    LINES = "lines"


_KINDS = {
    "application/json": BodyKind.JSON,
    "application/x-ndjson": BodyKind.LINES,
    "application/ndjson": BodyKind.LINES,
    "application/jsonl": BodyKind.LINES,
    "application/x-jsonlines": BodyKind.LINES,
}
BATCH_BODY: dict[str, Any] = {
    "parameters": [
        {
            "name": "on_error",
            "in": "query",
            "schema": {"type": "string", "enum": ["skip"]},
            "description": "store the good items of a batch and list the bad ones",
        }
    ],
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]
                }
            },
            "application/x-ndjson": {"schema": {"type": "string"}},
        },
    },
}


def body_kind(content_type: str | None) -> BodyKind:
    """The kind named by a Content-Type header; raises UnsupportedMedia, saying what to send."""
    media, _, parameters = (content_type or "").partition(";")
    kind = _KINDS.get(media.strip().lower())
    charset = "utf-8"
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            charset = value.strip().strip('"').lower()
    if kind is None:
        raise UnsupportedMedia(
            f"Content-Type {media.strip() or '(none)'!r} is not taken: send application/json, or "
            "application/x-ndjson with one object a line."
        )
    if charset.replace("_", "-") not in ("utf-8", "utf8", "us-ascii"):
        raise UnsupportedMedia(f"charset={charset} is not taken: send UTF-8.")
    return kind


def skips_bad_items(request: Request) -> bool:
    """Whether the query says `on_error=skip`; Malformed for any other value or name."""
    if not request.scope["query_string"]:
        return False
    unknown = sorted(set(request.query_params) - {"on_error"})
    value = request.query_params.get("on_error")
    if unknown or value != "skip":
        fault = (
            Fault(f"/query/{unknown[0]}", "is not a parameter here: only on_error=skip is")
            if unknown
            else Fault("/query/on_error", "must be skip, or left out")
        )
        raise Malformed(f"{fault.pointer} {fault.reason}.", errors=(fault,))
    return True


async def read_body(request: Request, settings: Settings) -> bytes:
    """The whole body, unpacked; raises TooLarge past the limit without reading on."""
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", ""):
        raise UnsupportedMedia(f"Content-Encoding {encoding!r} is not taken: send gzip or nothing.")
    limit = settings.max_body_bytes
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limit:
        raise _too_large(limit)
    received = bytearray()
    try:
        async for chunk in request.stream():
            received += chunk
            if len(received) > limit:
                raise _too_large(limit)
    except ClientDisconnect:
        raise Unreadable("The connection closed before the body was whole.") from None
    if encoding in ("gzip", "x-gzip"):
        return _unpack(bytes(received), limit)
    return bytes(received)


def _unpack(packed: bytes, limit: int) -> bytes:
    unpacked = bytearray()
    while packed:
        unpacker = zlib.decompressobj(wbits=31)
        try:
            unpacked += unpacker.decompress(packed, limit + 1 - len(unpacked))
        except zlib.error as problem:
            raise Unreadable(f"The gzip body is damaged ({problem}): send it again.") from None
        if len(unpacked) > limit:
            raise _too_large(limit)
        if not unpacker.eof:
            raise Unreadable("The gzip body is cut off: send it again.")
        packed = unpacker.unused_data
    return bytes(unpacked)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The body is larger than {limit} bytes, as sent or unpacked (DOXA_MAX_BODY_BYTES). "
        "Nothing was stored: split the batch."
    )
