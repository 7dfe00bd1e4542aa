"""Numbers for people: percentages with what they rest on, in few digits."""

from collections.abc import Sequence

from scoring.figures import Status, Target
from scoring.intervals import Interval
from service.reports.figures import ReportFigure

SPACE = "\u00a0"
DASH = "\u2013"
NONE = "\u2014"
STATUS_WORDS = {
    Status.HEALTHY: "on target",
    Status.UNHEALTHY: "off target",
    Status.INCONCLUSIVE: "inconclusive",
    Status.FLAT: "flat",
    Status.NO_TARGET: "",
    Status.UNAVAILABLE: "not available",
}
_SHARES = "ratio"


def number(value: float | None, unit: str) -> str:
    """A value in its unit: 15 %, 4.5 days, 0.083, 1,204."""
    if value is None:
        return NONE
    if unit == _SHARES:
        return f"{_percent(value)}{SPACE}%"
    if unit == "score":
        return f"{value:.3f}"
    if unit == "days":
        return f"{_short(f'{value:.1f}')}{SPACE}days"
    return f"{value:,.0f}"


def _percent(value: float) -> str:
    share = 100 * value
    # Rounded, some would read as none, or most as all.
    if 0 < share < 0.05:
        return "<0.1"
    if 99.95 <= share < 100:
        return ">99.9"
    # One digit more where a whole per cent would hide it.
    digits = 1 if 0 < share < 9.95 or 99 < share < 100 else 0
    return _short(f"{share:.{digits}f}")


def _short(text: str) -> str:
    return text.removesuffix(".0")


def between(interval: Interval, unit: str) -> str:
    """An interval, its bounds joined by a dash and the unit said once."""
    low, _, _ = number(interval.low, unit).partition(SPACE)
    return f"{low}{DASH}{number(interval.high, unit)}"


def basis(numerator: float | None, denominator: float, interval: Interval | None, unit: str) -> str:
    """What a value rests on: its counts and its interval."""
    parts = []
    if unit == _SHARES and numerator is not None:
        parts.append(f"{numerator:,.0f} of {denominator:,.0f}")
    elif unit in ("score", "days") and denominator:
        parts.append(f"n = {denominator:,.0f}")
    if interval is not None and interval.low != interval.high:
        # Behind its counts an interval explains itself.
        prefix = "" if parts else f"95{SPACE}% interval "
        parts.append(f"{prefix}{between(interval, unit)}")
    return ", ".join(parts)


def shown(
    value: float | None,
    numerator: float | None,
    denominator: float,
    interval: Interval | None,
    unit: str,
) -> str:
    """A value with what it rests on in brackets: 15 % (3 of 20, and the interval)."""
    text = number(value, unit)
    behind = "" if value is None else basis(numerator, denominator, interval, unit)
    return f"{text} ({behind})" if behind else text


def figure_shown(figure: ReportFigure) -> str:
    """One of the eight in a line."""
    point, unit = figure.point, figure.specification.unit
    return shown(point.value, point.numerator, point.denominator, point.interval, unit)


def target_shown(target: Target | None, unit: str) -> str:
    """A target in words."""
    if target is None:
        return ""
    if target.is_trend:
        return f"should be {target.op}"
    level = f"{target.value:g}" if unit == "score" else number(target.value, unit)
    return f"target {target.op}{SPACE}{level}"


def sparkline_shown(values: Sequence[float | None], unit: str) -> str:
    """Four weeks in words, for those who do not see the line."""
    return ", ".join("no value" if value is None else number(value, unit) for value in values)
