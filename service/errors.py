"""What can go wrong, with the status and the title a caller sees.

Domain code raises these; one handler in `service.api.problems` renders them as RFC 9457 problems.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a request: a JSON pointer into it, and the reason with the remedy."""

    pointer: str
    reason: str


class LedgerError(Exception):
    """A request that Doxa refuses; the message is the problem's detail.

    `members` are further members of the problem document, for programs: a rule, a current version.
    """

    status: ClassVar[int] = 500
    type: ClassVar[str] = "internal"
    title: ClassVar[str] = "Something went wrong inside Doxa"

    def __init__(
        self,
        detail: str,
        *,
        errors: tuple[Fault, ...] = (),
        retry_after_seconds: int | None = None,
        members: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = errors
        self.members = dict(members or {})
        self.retry_after_seconds = retry_after_seconds


class Malformed(LedgerError):
    """The payload itself is wrong."""

    status, type, title = 422, "malformed", "The request is not well-formed"


class Unreadable(LedgerError):
    """The body could not be decoded at all (bad gzip, no UTF-8, broken JSON)."""

    status, type, title = 400, "unreadable", "The body could not be read"


class Unauthenticated(LedgerError):
    """No key, or one that is not known."""

    status, type, title = 401, "unauthenticated", "A valid key is needed"


class Forbidden(LedgerError):
    """The key does not allow this."""

    status, type, title = 403, "forbidden", "This key does not allow that"


class NotFound(LedgerError):
    """No such thing, or not for this key."""

    status, type, title = 404, "not-found", "There is no such thing"


class NotAcceptable(LedgerError):
    """None of the media types asked for can be made."""

    status, type, title = 406, "not-acceptable", "That media type is not made here"


class Conflict(LedgerError):
    """An id that is taken by other content, or a rule that the write would break."""

    status, type, title = 409, "conflict", "That conflicts with what is recorded"


class TooLarge(LedgerError):
    """A body or batch over a limit."""

    status, type, title = 413, "too-large", "The request is too large"


class UnsupportedMedia(LedgerError):
    """A content type or encoding that is not taken."""

    status, type, title = 415, "unsupported-media", "That content type is not taken"


class Unavailable(LedgerError):
    """Nothing was stored; the same request may be sent again."""

    status, type, title = 503, "unavailable", "Doxa cannot take this just now"

    def __init__(self, detail: str, *, retry_after_seconds: int = 1) -> None:
        super().__init__(detail, retry_after_seconds=retry_after_seconds)


class ConfigurationError(Exception):
    """A reason not to start; the message says what to do."""
