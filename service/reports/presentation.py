"""A report in words and lines, the same for Markdown and for the page."""

from collections.abc import Sequence
from dataclasses import dataclass

from scoring.labels import Label
from service.instants import SECOND, to_datetime
from service.ratios.figures import Figure
from service.reports.figures import MixRow, Part, ReportFigure
from service.reports.label_mix import UNLABELLED
from service.reports.weekly import Report
from service.reports.wording import (
    DASH,
    STATUS_WORDS,
    basis,
    number,
    shown,
    sparkline_shown,
    target_shown,
)

SPARK_WIDTH, SPARK_HEIGHT, SPARK_MARGIN = 120, 32, 4


@dataclass(frozen=True, slots=True)
class Sparkline:
    """Four weeks as an SVG drawing: runs of points that are joined, and where the last one lies."""

    runs: tuple[str, ...]
    dots: tuple[tuple[float, float], ...]
    last: tuple[float, float] | None
    words: str


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A number below a figure."""

    title: str
    text: str
    previous: str
    status: str
    word: str


@dataclass(frozen=True, slots=True)
class ShownFigure:
    """One of the eight, ready to be set."""

    name: str
    title: str
    value: str
    basis: str
    previous: str
    target: str
    status: str
    word: str
    reason: str
    notes: tuple[int, ...]
    parts: tuple[ShownPart, ...]
    spark: Sparkline
    mix: tuple[tuple[str, ...], ...]
    mix_head: tuple[str, ...]
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownReport:
    """A report, ready to be set; caveats are notes, numbered from 1, that figures refer to."""

    agent: str
    week: str
    days: str
    top: str
    bench: str | None
    signature: str
    figures: tuple[ShownFigure, ...]
    notes: tuple[str, ...]
    as_of: str
    time_zone: str
    record_ends: str | None


def present(report: Report) -> ShownReport:
    """Everything as a reader sees it."""
    notes: dict[str, int] = {}
    figures = tuple(_figure(figure, notes) for figure in report.figures)
    first, last = _days(report)
    return ShownReport(
        agent=report.view.agent_id,
        week=report.week,
        days=f"{first} {DASH} {last}",
        top=report.top,
        bench=None if report.top == report.bench.line else report.bench.line,
        signature=_signature(report),
        figures=figures,
        notes=tuple(notes),
        as_of=str(report.view.as_of),
        time_zone=report.view.zone.key,
        record_ends=_record_ends(report),
    )


def _days(report: Report) -> tuple[str, str]:
    zone, window = report.view.zone, report.view.window
    first = to_datetime(window.start).astimezone(zone)
    last = to_datetime(window.until - SECOND).astimezone(zone)
    start = f"{first.day} {first:%B}" if first.year == last.year else f"{first.day} {first:%B %Y}"
    return start, f"{last.day} {last:%B %Y}"


def _record_ends(report: Report) -> str | None:
    """Says so when the record stops before the last day of the week does."""
    ends = report.record_ends
    if ends is None or ends < report.view.window.start:
        return None
    moment = to_datetime(ends).astimezone(report.view.zone)
    last = to_datetime(report.view.window.until - SECOND).astimezone(report.view.zone)
    if moment.date() == last.date():
        return None
    return (
        f"The record ends on {moment:%A}, {moment.day} {moment:%B}, {moment:%H:%M}; ages are "
        "counted to the week's end."
    )


def _signature(report: Report) -> str:
    signature = report.signature
    if signature.holds is None:
        return f"Bypass signature: {signature.reason}."
    held = ", ".join(one.name.replace("_", " ") for one in signature.conditions if one.holds)
    if signature.holds:
        return f"Bypass signature: holds ({held})."
    return f"Bypass signature: does not hold{f' (of four, only: {held})' if held else ''}."


def _figure(figure: ReportFigure, notes: dict[str, int]) -> ShownFigure:
    specification, point = figure.specification, figure.point
    unit = specification.unit
    caveats = [*point.caveats]
    caveats += [caveat for part in point.parts for caveat in part.figure.caveats]
    marks = [notes.setdefault(caveat, len(notes) + 1) for caveat in dict.fromkeys(caveats)]
    return ShownFigure(
        name=specification.name,
        title=specification.title,
        value=number(point.value, unit),
        basis=_basis(figure),
        previous="" if figure.previous is None else number(figure.previous, unit),
        target=target_shown(specification.target, unit),
        status=str(figure.status),
        # Without a target of its own the figure is judged by a part, which says so itself.
        word=STATUS_WORDS[figure.status] if specification.target is not None else "",
        reason=(point.reason or "") if point.value is None else "",
        notes=tuple(marks),
        parts=tuple(_part(part) for part in point.parts if not _repeats(part, figure)),
        spark=sparkline(figure.sparkline, unit),
        mix_head=("writer", UNLABELLED, *Label) if point.mix else (),
        mix=tuple(_mix_row(row) for row in point.mix or ()),
        rows=figure.rows,
    )


def _basis(figure: ReportFigure) -> str:
    specification, point = figure.specification, figure.point
    if point.value is None:
        return ""
    behind = basis(point.numerator, point.denominator, point.interval, specification.unit)
    return ", ".join(part for part in (specification.measure, behind) if part)


def _repeats(part: Part, figure: ReportFigure) -> bool:
    """Whether a part says again what the figure itself says."""
    return part.name in (figure.specification.name, "ece")


def _part(part: Part) -> ShownPart:
    figure: Figure = part.figure
    text = shown(figure.value, figure.numerator, figure.denominator, figure.interval, figure.unit)
    if figure.value is None and figure.reason:
        text = figure.reason
    previous = "" if figure.previous is None else number(figure.previous, figure.unit)
    word = STATUS_WORDS[figure.status] if figure.target is not None else ""
    if figure.value is None:
        word = ""
    target = target_shown(figure.target, figure.unit)
    title = f"{part.title} ({target})" if target else part.title
    return ShownPart(title, text, previous, str(figure.status), word)


def _mix_row(row: MixRow) -> tuple[str, ...]:
    return (row.writer, *(f"{count:,}" if count else "" for _, count in row.counts))


def sparkline(values: Sequence[float | None], unit: str) -> Sparkline:
    """A line from 0 to the largest value; weeks without one leave a gap, as a gap is no zero."""
    top = max((value for value in values if value is not None), default=0.0) or 1.0
    step = (SPARK_WIDTH - 2 * SPARK_MARGIN) / max(1, len(values) - 1)
    height = SPARK_HEIGHT - 2 * SPARK_MARGIN
    places = [
        None
        if value is None
        else (
            round(SPARK_MARGIN + step * i, 1),
            round(SPARK_HEIGHT - SPARK_MARGIN - height * value / top, 1),
        )
        for i, value in enumerate(values)
    ]
    runs: list[list[tuple[float, float]]] = [[]]
    for place in places:
        if place is None:
            runs.append([])
        else:
            runs[-1].append(place)
    return Sparkline(
        tuple(" ".join(f"{x},{y}" for x, y in run) for run in runs if len(run) > 1),
        tuple(run[0] for run in runs if len(run) == 1),
        places[-1] if places else None,
        sparkline_shown(values, unit),
    )
