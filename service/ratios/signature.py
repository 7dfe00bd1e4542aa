"""The bypass signature: conclusions are drawn, and no reasoning stands behind them."""

from collections.abc import Mapping
from dataclasses import dataclass

from scoring.figures import Target
from scoring.intervals import Interval
from service.ratios.figures import Json, RatioName, interval_json, target_json
from service.ratios.judging import Counts
from service.ratios.sampled import NO_AUDIT, Sample

FINDINGS_PER_TURN = "findings_per_audited_turn"
BOUNDS: Mapping[str, Target] = {
    FINDINGS_PER_TURN: Target(">", 0.2),
    RatioName.ABDUCTION_ENGAGEMENT: Target("<", 0.05),
    RatioName.INFER_WITHOUT_ABDUCTION: Target(">", 0.9),
    RatioName.REVISION: Target("<", 0.2),
}


@dataclass(frozen=True, slots=True)
class Condition:
    """One of the four; `holds` only when the whole interval lies beyond the bound, None unknown."""

    name: str
    value: float | None
    interval: Interval | None
    bound: Target
    holds: bool | None

    def as_json(self) -> Json:
        """As it stands in answers."""
        return {
            "name": self.name,
            "value": self.value,
            "interval": interval_json(self.interval),
            "bound": target_json(self.bound),
            "holds": self.holds,
        }


@dataclass(frozen=True, slots=True)
class BypassSignature:
    """All four conditions; the signature holds when each does."""

    conditions: tuple[Condition, ...]
    caveats: tuple[str, ...]

    @property
    def holds(self) -> bool | None:
        """True when all four hold, False when one surely does not, None when that is unknown."""
        answers = {condition.holds for condition in self.conditions}
        if False in answers:
            return False
        return None if None in answers else True

    @property
    def reason(self) -> str | None:
        """Why it is unknown."""
        if self.holds is not None:
            return None
        missing = [one.name for one in self.conditions if one.holds is None]
        return f"unavailable: {', '.join(missing)}"

    def as_json(self) -> Json:
        """Says which of the four did."""
        return {
            "holds": self.holds,
            "reason": self.reason,
            "held": [one.name for one in self.conditions if one.holds],
            "conditions": [one.as_json() for one in self.conditions],
            "caveats": list(self.caveats),
        }


def bypass_signature(sample: Sample, counts: Mapping[RatioName, Counts]) -> BypassSignature:
    """Judge the four conditions of spec 2.2 by their intervals."""
    conditions = [_per_turn(sample)]
    for name, bound in BOUNDS.items():
        if name != FINDINGS_PER_TURN:
            one = counts[RatioName(name)]
            conditions.append(_condition(name, one.value, one.interval, bound))
    return BypassSignature(tuple(conditions), sample.caveats or (NO_AUDIT,))


def _per_turn(sample: Sample) -> Condition:
    estimate = sample.per_turn(one.row for one in sample.assertions)
    return _condition(
        FINDINGS_PER_TURN, estimate.value, estimate.interval, BOUNDS[FINDINGS_PER_TURN]
    )


def _condition(
    name: str, value: float | None, interval: Interval | None, bound: Target
) -> Condition:
    if value is None:
        return Condition(name, None, None, bound, None)
    low, high = (value, value) if interval is None else (interval.low, interval.high)
    holds = bound.is_met_by(low) and bound.is_met_by(high)
    # Without an interval nothing can be said to hold beyond it.
    return Condition(name, value, interval, bound, holds and interval is not None)
