"""Every error as application/problem+json (RFC 9457)."""

import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from service.errors import ConfigurationError, Fault, LedgerError, Malformed, Unavailable
from service.json_text import REPLACEMENT, escape

MEDIA_TYPE = "application/problem+json"
MAX_LISTED = 1_000
_log = logging.getLogger("doxa")


def problem(
    status: int,
    title: str,
    detail: str,
    *,
    type_: str = "about:blank",
    errors: tuple[Fault, ...] = (),
    headers: dict[str, str] | None = None,
    members: Mapping[str, object] | None = None,
) -> Response:
    """One problem document; of very many faults the first thousand are listed, the rest counted."""
    body: dict[str, Any] = {"type": type_, "title": title, "status": status, "detail": detail}
    body |= members or {}
    if errors:
        body["errors"] = [{"pointer": e.pointer, "reason": e.reason} for e in errors[:MAX_LISTED]]
    if len(errors) > MAX_LISTED:
        body["errors_omitted"] = len(errors) - MAX_LISTED
    return Response(_encode(body), status, headers, MEDIA_TYPE)


def _encode(body: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        # Some library quoted half a character of the request back at us.
        return msgspec.json.encode(_whole(body))


def _whole(value: Any) -> Any:
    if isinstance(value, str):
        return "".join(REPLACEMENT if "\ud800" <= c <= "\udfff" else c for c in value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(item) for key, item in value.items()}
    return value


def of_error(error: LedgerError) -> Response:
    """The problem of one of our own errors."""
    headers = {}
    if error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    if error.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return problem(
        error.status,
        error.title,
        error.detail,
        type_=f"urn:doxa:problem:{error.type}",
        errors=error.errors,
        headers=headers,
        members=error.members,
    )


def _of_ledger_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, LedgerError)  # noqa: S101
    return of_error(error)


def _of_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    detail = str(error.detail)
    if error.status_code == 404:
        detail = f"There is nothing at {request.url.path}: the API is described at /docs."
    if error.status_code == 413:
        detail = "The body is larger than DOXA_MAX_BODY_BYTES allows."
    return problem(
        error.status_code,
        str(error.detail),
        detail,
        headers=dict(error.headers) if error.headers else None,
    )


def _of_validation(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    faults = []
    for item in error.errors():
        place, *path = item["loc"]
        where = "" if place == "body" else f"/{place}"
        pointer = where + "".join(f"/{escape(step)}" for step in path)
        faults.append(Fault(pointer, item["msg"]))
    return of_error(
        Malformed("; ".join(f"{f.pointer}: {f.reason}" for f in faults[:5]), errors=tuple(faults))
    )


def of_surprise(_request: Request, error: Exception) -> Response:
    """The problem of an error that nobody foresaw; logged, and told without its particulars."""
    _log.error("unexpected error", exc_info=error)
    return problem(500, LedgerError.title, "It was logged. The request may be sent again.")


def of_broken_store(_request: Request, error: Exception) -> Response:
    """The problem of a database file that cannot be read: SQLite says so of a failing disk, too."""
    _log.error("the database cannot be read: %s", error)
    return of_error(Unavailable(str(error)))


def install(app: FastAPI) -> None:
    """Registers the handlers."""
    app.add_exception_handler(LedgerError, _of_ledger_error)
    app.add_exception_handler(HTTPException, _of_http_exception)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(ConfigurationError, of_broken_store)
    app.add_exception_handler(Exception, of_surprise)


RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {MEDIA_TYPE: {"schema": {"type": "object"}}}}
    for status, text in {
        400: "The body could not be read at all",
        401: "A valid key is needed",
        403: "The key does not allow that",
        404: "There is no such thing",
        409: "It conflicts with what is recorded",
        413: "A limit was passed; the limit is named",
        415: "The content type is not taken",
        422: "It is not well-formed; every fault is listed",
        503: "Nothing was stored; send it again",
    }.items()
}
