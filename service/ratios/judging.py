"""From counted rows to a judged figure: value, interval, previous, status."""

from collections.abc import Iterable
from dataclasses import dataclass

from scoring.figures import Reading as Measured
from scoring.figures import (
    Status,
    judge_census,
    judge_sampled,
    judge_trend,
)
from scoring.intervals import PROCESS_VARIATION, Interval, median_interval, wilson
from service.ratios.contradictions import median_age_days
from service.ratios.definitions import Definition
from service.ratios.figures import Counted, Figure, Json, Kind, Reading, interval_json
from service.ratios.sampled import Sample


@dataclass(frozen=True, slots=True)
class Counts:
    """One window's counts and estimate, before any judgement."""

    numerator: int | None
    denominator: int
    value: float | None
    interval: Interval | None
    beside: Json

    @property
    def measured(self) -> Measured:
        """As the judges take it."""
        return Measured(self.value, self.interval, self.denominator)


def count(definition: Definition, rows: Iterable[Counted], sample: Sample | None) -> Counts:
    """Value and interval of a ratio from its rows; sampled ones are weighted, ages are medians."""
    members = list(rows)
    denominator = len(members)
    if definition.unit == "days":
        ages = [row.age_days for row in members if row.age_days is not None]
        interval = median_interval(ages, meaning=PROCESS_VARIATION)
        return Counts(None, denominator, median_age_days(members), interval, {})
    numerator = sum(row.counts for row in members)
    if definition.kind is Kind.CENSUS or sample is None:
        interval = wilson(numerator, denominator, meaning=PROCESS_VARIATION)
        value = numerator / denominator if denominator else None
        return Counts(numerator, denominator, value, interval, {})
    estimate = sample.ratio_of(members)
    weighted = {
        "numerator": estimate.weighted_numerator,
        "denominator": estimate.weighted_denominator,
        "effective_n": estimate.effective_n,
    }
    return Counts(numerator, denominator, estimate.value, estimate.interval, {"weighted": weighted})


def judge(definition: Definition, now: Counts, before: Counts | None, reading: Reading) -> Figure:
    """The figure of a window beside that of the window before."""
    target, kind = definition.target, definition.kind
    if reading.unavailable is not None:
        return Figure(
            None, None, now.denominator, None, Status.UNAVAILABLE, kind, target,
            None, (), reading.unavailable, definition.unit,
        )  # fmt: skip
    beside = {**reading.beside, **now.beside}
    if target is not None and target.is_trend:
        trend = judge_trend(
            now.measured,
            None if before is None else before.measured,
            target,
            census=kind is Kind.CENSUS,
        )
        status = trend.status
        beside["change"] = {"value": trend.change, "interval": interval_json(trend.interval)}
    elif kind is Kind.CENSUS:
        status = judge_census(now.value, now.denominator, target)
    else:
        status = judge_sampled(now.value, now.interval, target)
    return Figure(
        value=now.value,
        numerator=now.numerator,
        denominator=now.denominator,
        interval=now.interval,
        status=status,
        kind=kind,
        target=target,
        previous=None if before is None else before.value,
        caveats=reading.caveats,
        reason=None if now.value is not None else reading.empty,
        unit=definition.unit,
        beside=beside,
    )
