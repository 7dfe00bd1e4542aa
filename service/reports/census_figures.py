"""The report's figures that count the week's events: calibration, contradictions, revision."""

from dataclasses import replace

from scoring.figures import Status
from service.instants import DAY
from service.ratios.calibration import read_calibration
from service.ratios.contradictions import read_closed
from service.ratios.definitions import DEFINITIONS
from service.ratios.figures import Figure, Kind, RatioName
from service.ratios.reading import Reader, Readers
from service.ratios.window import Window
from service.reports.figures import Part, Point

CALIBRATION_LENGTH = 30 * DAY


def live_calibration(week: Reader, before: Reader) -> Point:
    """Calibration error and Brier score of the 30 days that end with the week."""

    def month(reader: Reader) -> Window:
        until = reader.view.window.until
        return Window(until - CALIBRATION_LENGTH, until)

    found = read_calibration(
        week.session, week.view.over(month(week)), before.view.over(month(before))
    )
    parts = [Part("ece", "Calibration error", found.ece), Part("brier", "Brier score", found.brier)]
    if found.if_calibrated is not None:
        expected = Figure(
            found.if_calibrated["mean"],
            None,
            len(found.pairs),
            None,
            Status.NO_TARGET,
            Kind.CENSUS,
            unit="score",
        )
        parts.append(Part("ece_if_calibrated", "Error if perfectly calibrated", expected))
    return Point(
        found.ece.value,
        len(found.pairs),
        reason=found.ece.reason,
        caveats=found.ece.caveats,
        parts=tuple(parts) if found.pairs else (),
        status=found.ece.status,
    )


def _count(name: str, title: str, value: float, previous: float) -> Part:
    figure = Figure(
        value, None, value, None, Status.NO_TARGET, Kind.CENSUS, previous=previous, unit="count"
    )
    return Part(name, title, figure)


def contradictions(week: Reader, before: Reader) -> Point:
    """Contradictions open at the week's end, those closed in it, and the age of the open ones."""
    definition = DEFINITIONS[RatioName.CONTRADICTION_AGE]
    age = Readers(week, before).figure(definition)
    now, earlier = read_closed(week.session, week.view), read_closed(before.session, before.view)
    is_empty = age.denominator == 0 and now.total == 0
    return Point(
        None if is_empty else age.denominator,
        age.denominator,
        reason="no contradiction was open or closed in the week",
        caveats=age.caveats,
        parts=()
        if is_empty
        else (
            Part("median_age_days", "Median age of the open ones", age),
            _count(
                "resolved",
                "Resolved or scoped",
                now.resolved + now.scoped,
                earlier.resolved + earlier.scoped,
            ),
            _count("expired", "Expired", now.expired, earlier.expired),
            _count(
                "not_a_contradiction",
                "False detections",
                now.not_a_contradiction,
                earlier.not_a_contradiction,
            ),
        ),
        # How many are open says nothing by itself: they are judged by their age.
        status=Status.NO_TARGET if age.value is None else age.status,
    )


def revision(week: Reader, before: Reader) -> Point:
    """Beliefs superseded after a challenge, and contents changed without a trace."""
    readers = Readers(week, before)
    figure = readers.figure(DEFINITIONS[RatioName.REVISION])
    overwrites = readers.figure(DEFINITIONS[RatioName.SILENT_OVERWRITES])
    return Point(
        figure.value,
        figure.denominator,
        figure.numerator,
        figure.interval,
        figure.reason,
        figure.caveats,
        parts=(
            Part("revision", "Revised after a challenge", replace(figure, beside={})),
            Part("silent_overwrites", "Silent overwrites", replace(overwrites, beside={})),
        ),
        status=figure.status,
    )
