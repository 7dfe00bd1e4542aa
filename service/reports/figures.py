"""A figure of the weekly report: its value beside last week's, four weeks of it, and its parts."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

from scoring.figures import Reading as Measured
from scoring.figures import Status, Target, judge_sampled, judge_trend
from scoring.intervals import Interval
from service.ratios.figures import Figure, Json, interval_json, target_json
from service.ratios.reading import Reader

WEEKS = 4


@dataclass(frozen=True, slots=True)
class Part:
    """A number that stands below the figure, with all that a figure has."""

    name: str
    title: str
    figure: Figure

    def as_json(self) -> Json:
        """As it stands in the report."""
        return {"name": self.name, "title": self.title, **self.figure.as_json()}


@dataclass(frozen=True, slots=True)
class MixRow:
    """The labels of one writer's new beliefs; what bears none is counted as unlabelled."""

    writer: str
    counts: tuple[tuple[str, int], ...]

    def as_json(self) -> Json:
        """As it stands in the report."""
        total = sum(count for _, count in self.counts)
        return {"writer": self.writer, "total": total, "labels": dict(self.counts)}


@dataclass(frozen=True, slots=True)
class Point:
    """What one week says; `status` where the figure has a judge of its own."""

    value: float | None
    denominator: float = 0
    numerator: float | None = None
    interval: Interval | None = None
    reason: str | None = None
    caveats: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    status: Status | None = None
    mix: tuple[MixRow, ...] | None = None

    @property
    def measured(self) -> Measured:
        """As the judges take it."""
        return Measured(self.value, self.interval, self.denominator)


@dataclass(frozen=True, slots=True)
class Specification:
    """How one of the eight is made: `read` takes a week and the week before it.

    `rows` are the paths of the API that list what stands behind it; `measure` says what the value
    is where the title does not.
    """

    name: str
    title: str
    unit: str
    target: Target | None
    read: Callable[[Reader, Reader], Point]
    rows: tuple[str, ...]
    measure: str = ""


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """One of the eight, as published."""

    specification: Specification
    point: Point
    status: Status
    previous: float | None
    sparkline: tuple[float | None, ...]
    rows: tuple[str, ...]

    def as_json(self) -> Json:
        """As it stands in the report."""
        specification, point = self.specification, self.point
        body: Json = {
            "name": specification.name,
            "title": specification.title,
            "value": point.value,
            "unit": specification.unit,
            "numerator": point.numerator,
            "denominator": point.denominator,
            "interval": interval_json(point.interval),
            "previous": self.previous,
            "sparkline": list(self.sparkline),
            "target": target_json(specification.target),
            "status": self.status,
            "caveats": list(point.caveats),
            "reason": point.reason if point.value is None else None,
            "parts": [part.as_json() for part in point.parts],
            "rows": list(self.rows),
        }
        if point.mix is not None:
            body["mix"] = [row.as_json() for row in point.mix]
        return body


def report_figure(
    specification: Specification, weeks: list[Reader], rows: tuple[str, ...]
) -> ReportFigure:
    """The figure of the last of the weeks; the first is only there to come before the others."""
    points = [specification.read(week, before) for before, week in itertools.pairwise(weeks)]
    now, before = points[-1], points[-2]
    return ReportFigure(
        specification,
        now,
        _status(specification.target, now, before),
        before.value,
        tuple(point.value for point in points),
        rows,
    )


def _status(target: Target | None, now: Point, before: Point) -> Status:
    if now.value is None:
        return Status.UNAVAILABLE
    if now.status is not None:
        return now.status
    if target is None:
        return Status.NO_TARGET
    if target.is_trend:
        return judge_trend(now.measured, before.measured, target).status
    return judge_sampled(now.value, now.interval, target)
