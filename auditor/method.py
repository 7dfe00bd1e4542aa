"""What a method of judging must offer, and the built-in one.

The built-in method compares words, needs no network and no key, and is named as what it is
wherever its figures stand.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from auditor.text.judge import JudgedClaim, SessionJudge
from auditor.text.overlap import ContextPiece

BUILTIN = "builtin"
BUILTIN_VERSION = "1"


class JudgementFailedError(Exception):
    """A turn that the method could not judge; the text goes into the run's summary."""


class SessionReader(Protocol):
    """Reads the turns of one session in their order."""

    def add_context(self, pieces: Iterable[ContextPiece]) -> None:
        """What the agent could read from now on."""

    def add_earlier(self, output: str) -> None:
        """An output that is not judged: its claims are repeated when they come again."""

    def judge(self, output: str) -> Sequence[JudgedClaim]:
        """The claims of the next output; JudgementFailedError leaves the turn without."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way of judging, by the name and version under which its figures stand."""

    name: str
    version: str
    open_session: Callable[[], SessionReader]


def builtin_method() -> Method:
    """The deterministic comparison of words."""
    return Method(BUILTIN, BUILTIN_VERSION, SessionJudge)
