"""Wire shapes of hand-checks."""

from enum import StrEnum

import msgspec
from pydantic import BaseModel, ConfigDict

from service.contradictions.schemas import LedgerId, Note


class CheckKind(StrEnum):
    """What was drawn for a person to look at."""

    RESOLUTION = "resolution"


class Verdict(StrEnum):
    """What the person says of it."""

    CONFIRM = "confirm"
    REJECT = "reject"
    UNSURE = "unsure"


class CheckState(StrEnum):
    """Whether somebody has answered."""

    PENDING = "pending"
    ANSWERED = "answered"


class VerdictIn(BaseModel):
    """A person's verdict; with a `verdict_id` of one's own it can be sent again."""

    model_config = ConfigDict(extra="forbid")

    verdict: Verdict
    note: Note | None = None
    verdict_id: LedgerId | None = None


class VerdictOut(msgspec.Struct):
    """One verdict."""

    verdict_id: str
    verdict: str
    note: str | None
    decided_by: str | None
    decided_at: str


class HandCheckOut(msgspec.Struct):
    """Something to look at, as it was when it was drawn; the latest verdict holds, all stay."""

    agent_id: str
    check_id: str
    kind: str
    subject_id: str
    iso_week: str
    drawn_at: str
    state: str
    verdict: str | None
    verdicts: list[VerdictOut]
    snapshot: msgspec.Raw


class AnsweredOut(msgspec.Struct):
    """A verdict that was recorded, and the check as it stands."""

    verdict_id: str
    check: HandCheckOut
