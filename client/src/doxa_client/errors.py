"""What the client raises, and how it reads a problem document (RFC 9457)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

import httpx


class DoxaError(Exception):
    """Doxa, or something in front of it, refused the client as such; nothing buffered was lost.

    `status` is the HTTP status; `title`, `detail` and `problem_type` are the title, the detail and
    the type of its problem document, or say what came instead of one.
    """

    def __init__(
        self, status: int, title: str, detail: str = "", problem_type: str = "about:blank"
    ) -> None:
        super().__init__(status, title, detail, problem_type)
        self.status = status
        self.title = title
        self.detail = detail
        self.problem_type = problem_type

    def __str__(self) -> str:
        text = f"{self.status} {self.title}"
        return f"{text}: {self.detail}" if self.detail else text


class UndeliveredError(Exception):
    """No answer that settles the matter came within the allowed attempts; raised inside only."""


@dataclass(frozen=True)
class Problem:
    """A problem document as far as it could be read; `errors` are (JSON pointer, reason) pairs."""

    status: int
    type: str
    title: str
    detail: str
    errors: tuple[tuple[str, str], ...]

    def to_error(self) -> DoxaError:
        """Return this problem as the exception to raise."""
        return DoxaError(self.status, self.title, self.detail, self.type)


def read_problem(response: httpx.Response) -> Problem:
    """Read a refusal, also one that is not a problem document (a proxy's page, an empty body)."""
    document = _read_object(response)
    if document is None:
        return Problem(
            status=response.status_code,
            type="about:blank",
            title=response.reason_phrase or "Refused",
            detail="" if response.is_server_error else _doubt_address(response),
            errors=(),
        )
    return Problem(
        status=response.status_code,
        type=_text(document.get("type")) or "about:blank",
        title=_text(document.get("title")) or response.reason_phrase or "Refused",
        detail=_text(document.get("detail")),
        errors=_read_item_errors(document.get("errors")),
    )


def name_address(response: httpx.Response) -> str:
    """Return where an answer came from, without a query or credentials."""
    return str(response.url.copy_with(query=None, userinfo=b""))


def _doubt_address(response: httpx.Response) -> str:
    return (
        f"{name_address(response)} did not answer as Doxa does; "
        "check the URL and what stands in front of it"
    )


def _read_object(response: httpx.Response) -> Optional[dict[str, object]]:
    try:
        document = response.json()
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _read_item_errors(errors: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(errors, list):
        return ()
    return tuple(
        (_text(error.get("pointer")), _text(error.get("reason")) or _text(error.get("detail")))
        for error in errors
        if isinstance(error, dict)
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
