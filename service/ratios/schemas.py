"""What the answers look like; for the description at /docs, the figures write themselves."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from scoring.figures import Status
from service.ratios.figures import Kind


class IntervalOut(BaseModel):
    """Bounds in the unit of the figure; a census has no sampling error, its `meaning` says so."""

    low: float
    high: float
    method: str
    level: float
    meaning: str | None


class TargetOut(BaseModel):
    """The level that must strictly hold, or the direction; a direction's `value` is forbidden."""

    op: Literal["<", ">", "rising", "falling"]
    value: float | None


class FigureOut(BaseModel):
    """A figure (spec 2.1). Further keys stand beside it: `raw`, `derived`, `weighted`, …"""

    model_config = ConfigDict(extra="allow")

    value: float | None
    numerator: float | None
    denominator: float
    interval: IntervalOut | None
    previous: float | None
    target: TargetOut | None
    status: Status
    caveats: list[str]
    kind: Kind
    unit: str
    reason: str | None = None


class WindowOut(BaseModel):
    """Half-open: `from` belongs to it, `until` does not."""

    start: str = Field(alias="from")
    until: str


class RatiosOut(BaseModel):
    """Figures by name; `as_of`, given back with the window, yields the same answer for ever."""

    agent: str
    window: WindowOut
    as_of: str
    ratios: dict[str, FigureOut]
    bypass_signature: dict[str, object] | None = None


class RatioOut(FigureOut):
    """One figure with what it was read from."""

    agent: str
    name: str
    window: WindowOut
    as_of: str


class ItemsOut(BaseModel):
    """A page of the rows behind a figure."""

    agent: str
    name: str
    window: WindowOut
    as_of: str
    items: list[dict[str, object]]
    next: str | None
