"""What a figure is: its value with all that is needed to judge it, and its JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import msgspec

from scoring.figures import Status, Target
from scoring.intervals import Interval

Json = dict[str, Any]


class RatioName(StrEnum):
    """The ten bypass ratios (spec 2.2)."""

    ABDUCTION_ENGAGEMENT = "abduction_engagement"
    UNRECORDED_ASSERTIONS = "unrecorded_assertions"
    INFER_WITHOUT_ABDUCTION = "infer_without_abduction"
    LAUNDERING = "laundering"
    CONTRADICTION_RESOLUTION = "contradiction_resolution"
    CONTRADICTION_AGE = "contradiction_age"
    REVISION = "revision"
    SILENT_OVERWRITES = "silent_overwrites"
    UNSUPPORTED_ASSERTIONS = "unsupported_assertions"
    DISCRIMINATOR_FOLLOW_THROUGH = "discriminator_follow_through"


class Kind(StrEnum):
    """Whether a figure counts all events of the window or rests on the auditor's sample."""

    CENSUS = "census"
    SAMPLED = "sampled"


class Counted(msgspec.Struct, frozen=True, gc=False):
    """One member of a figure's denominator; `counts` says whether it is in the numerator.

    `log` and `seq` name the row of the record it comes from; `subject` is the id of the belief,
    contradiction or discriminator it is about. `age_days` only where the figure is an age.
    """

    ts: int
    log: str
    seq: int
    id: str
    kind: str
    counts: bool
    session_id: str | None = None
    turn_id: str | None = None
    worker: str | None = None
    subject: str | None = None
    category: str | None = None
    model: str | None = None
    commit_sha: str | None = None
    age_days: float | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What was counted for one ratio in one window, and what stands beside it.

    `empty` is the reason shown when there is nothing to divide by; `unavailable`, where set, says
    why the figure cannot be made although there are rows.
    """

    rows: list[Counted]
    empty: str
    beside: Json = field(default_factory=dict)
    caveats: tuple[str, ...] = ()
    unavailable: str | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its counts as observed, interval, previous value, target, status and caveats."""

    value: float | None
    numerator: float | None
    denominator: float
    interval: Interval | None
    status: Status
    kind: Kind
    target: Target | None = None
    previous: float | None = None
    caveats: tuple[str, ...] = ()
    reason: str | None = None
    unit: str = "ratio"
    beside: Mapping[str, Any] = field(default_factory=dict)
    groups: tuple[tuple[str, "Figure"], ...] | None = None

    def with_beside(self, **more: Any) -> "Figure":
        """The same figure with more standing beside it."""
        return replace(self, beside={**self.beside, **more})

    def as_json(self) -> Json:
        """Every field of spec 2.1; `reason` only where the value is missing."""
        body: Json = {
            "value": self.value,
            "numerator": self.numerator,
            "denominator": self.denominator,
            "interval": interval_json(self.interval),
            "previous": self.previous,
            "target": target_json(self.target),
            "status": self.status,
            "caveats": list(self.caveats),
            "kind": self.kind,
            "unit": self.unit,
        }
        if self.value is None:
            body["reason"] = self.reason
        body.update(self.beside)
        if self.groups is not None:
            body["groups"] = [{"group": key, **one.as_json()} for key, one in self.groups]
        return body


def interval_json(interval: Interval | None) -> Json | None:
    """An interval as it stands in answers."""
    if interval is None:
        return None
    return {
        "low": interval.low,
        "high": interval.high,
        "method": interval.method,
        "level": interval.level,
        "meaning": interval.meaning,
    }


def target_json(target: Target | None) -> Json | None:
    """A target as it stands in answers."""
    return None if target is None else {"op": target.op, "value": target.value}


def share_json(numerator: int, denominator: int) -> Json:
    """A share that stands beside a figure; null, not 0, when there is nothing to divide by."""
    value = numerator / denominator if denominator else None
    return {"value": value, "numerator": numerator, "denominator": denominator}
