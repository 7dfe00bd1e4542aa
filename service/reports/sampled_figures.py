"""The report's figures that rest on the auditor's sample: opportunities, engagement, support."""

from scoring.figures import Status
from service.ratios.definitions import DEFINITIONS
from service.ratios.figures import Counted, Figure, Kind, RatioName
from service.ratios.judging import count
from service.ratios.reading import Reader
from service.ratios.sampled import NO_AUDIT, Assertion, Sample, counting
from service.reports.figures import Part, Point

NO_DECISIVE_SOURCE = "in no audited turn with a finding was a decisive source at hand"
CANNOT_SEE_SOURCES = "the built-in auditor cannot tell whether a decisive source was at hand"


def _plain(value: float, unit: str) -> Figure:
    return Figure(value, None, value, None, Status.NO_TARGET, Kind.CENSUS, unit=unit)


def _empty(sample: Sample) -> str:
    if not sample.in_window:
        return NO_AUDIT
    return f"no inferential assertion was found in {len(sample.in_window)} audited turns"


def inference_opportunities(week: Reader, _before: Reader) -> Point:
    """Findings extrapolated from the audited turns to all turns that were open to the draw."""
    sample = week.sample
    total = sample.total() if sample.in_window else None
    if total is None:
        return Point(None, reason=NO_AUDIT)
    value, interval = total
    seen = len(sample.assertions)
    return Point(
        value,
        len(sample.in_window),
        seen,
        interval,
        caveats=sample.caveats,
        parts=(
            Part("findings", "Findings in the sample", _plain(seen, "findings")),
            Part("audited_turns", "Turns audited", _plain(len(sample.in_window), "turns")),
            Part("turns", "Turns of the week", _plain(sample.turns_of_window, "turns")),
        ),
    )


def _share(sample: Sample, rows: list[Counted], parts: tuple[Part, ...] = ()) -> Point:
    estimate = sample.ratio_of(rows)
    return Point(
        estimate.value,
        len(rows),
        sum(row.counts for row in rows),
        estimate.interval,
        reason=_empty(sample),
        caveats=sample.caveats,
        parts=parts if estimate.value is not None else (),
    )


def _part_of(sample: Sample, name: str, title: str, rows: list[Counted]) -> Part:
    estimate = sample.ratio_of(rows)
    status = Status.UNAVAILABLE if estimate.value is None else Status.NO_TARGET
    figure = Figure(
        estimate.value,
        sum(row.counts for row in rows),
        len(rows),
        estimate.interval,
        status,
        Kind.SAMPLED,
        reason=_empty(sample),
    )
    return Part(name, title, figure)


def machinery_engagement(week: Reader, _before: Reader) -> Point:
    """Opportunities whose turn was gated or abducted."""
    sample = week.sample
    if not sample.in_window:
        return Point(None, reason=NO_AUDIT)

    def rows(*, gated: bool, abducted: bool) -> list[Counted]:
        def counts(one: Assertion) -> bool:
            return (gated and one.gated) or (abducted and one.abducted)

        return counting(sample.assertions, counts)

    parts = (
        _part_of(sample, "gated", "Gated", rows(gated=True, abducted=False)),
        _part_of(sample, "abducted", "Abducted", rows(gated=False, abducted=True)),
    )
    return _share(sample, rows(gated=True, abducted=True), parts)


def unsupported_assertions(week: Reader, _before: Reader) -> Point:
    """The ratio of that name (spec 2.2)."""
    definition = DEFINITIONS[RatioName.UNSUPPORTED_ASSERTIONS]
    reading = week.reading(definition)
    if reading.unavailable is not None:
        return Point(None, reason=reading.unavailable)
    counts = count(definition, reading.rows, week.sample_for(definition))
    return Point(
        counts.value,
        counts.denominator,
        counts.numerator,
        counts.interval,
        reason=reading.empty,
        caveats=reading.caveats,
    )


def look_before_infer(week: Reader, _before: Reader) -> Point:
    """Of findings where a decisive source was at hand, those before which a tool was called."""
    whole = week.sample
    if not whole.in_window:
        return Point(None, reason=NO_AUDIT)
    judged = {one.row.turn_id for one in whole.assertions if one.decisive_source is not None}
    if whole.assertions and not judged:
        return Point(None, reason=CANNOT_SEE_SOURCES)
    methods = {turn.method for turn in whole.in_window if turn.turn_id in judged}
    sample = whole.judged_by(lambda turn: turn.method in methods) if methods else whole
    rows = counting(
        (one for one in sample.assertions if one.decisive_source), lambda one: one.tool_before
    )
    if not rows:
        reason = NO_DECISIVE_SOURCE if sample.assertions else _empty(sample)
        return Point(None, reason=reason, caveats=sample.caveats)
    return _share(sample, rows)
