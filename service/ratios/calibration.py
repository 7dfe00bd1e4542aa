"""Live calibration (spec 2.4): did what the agent was this sure of come true this often?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from scoring.calibration import (
    ECE_TARGET,
    brier_score,
    calibrated_reference,
    expected_calibration_error,
    judge_calibration,
    pairs_to_decide,
    reliability_table,
)
from scoring.figures import Status, Target
from service.events.vocabulary import Log, ResolutionSource
from service.inferences.outcomes import Tally, effective_outcome
from service.models import InferenceResolution, ShadowInference
from service.ratios.figures import Figure, Json, Kind, interval_json
from service.ratios.queries import recorded
from service.ratios.window import View

_SEED = 20_260_101
_CHUNK = 5_000


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim that was resolved: the confidence first stated, and whether it came true."""

    claim: str
    confidence: float
    outcome: bool
    is_disputed: bool


@dataclass(frozen=True, slots=True)
class Calibration:
    """The pairs of a window and their scores."""

    pairs: tuple[Pair, ...]
    brier: Figure
    ece: Figure
    if_calibrated: Json | None

    def as_json(self) -> Json:
        """As it stands in answers."""
        confidences, outcomes = _columns(self.pairs)
        table = reliability_table(confidences, outcomes) if self.pairs else ()
        return {
            "n": len(self.pairs),
            "disputed": sum(pair.is_disputed for pair in self.pairs),
            "brier": self.brier.as_json(),
            "ece": self.ece.as_json(),
            "ece_if_calibrated": self.if_calibrated,
            "bins": [
                {
                    "low": one.low,
                    "high": one.high,
                    "n": one.n,
                    "mean_confidence": one.mean_confidence,
                    "accuracy": one.accuracy,
                    "interval": interval_json(one.interval),
                }
                for one in table
            ],
        }


def _columns(pairs: Iterable[Pair]) -> tuple[list[float], list[int]]:
    members = list(pairs)
    return [pair.confidence for pair in members], [int(pair.outcome) for pair in members]


def read_calibration(session: Session, view: View, before: View | None = None) -> Calibration:
    """Scores of the claims resolved in the window, beside those of the window before."""
    earlier = read_pairs(session, before or view.over(view.window.before()))
    pairs = read_pairs(session, view)
    confidences, outcomes = _columns(pairs)
    previous_confidences, previous_outcomes = _columns(earlier)
    reference = calibrated_reference(confidences, _SEED) if pairs else None
    error = expected_calibration_error(confidences, outcomes)
    status = judge_calibration(error, reference)
    caveats: tuple[str, ...] = ()
    if status is Status.INCONCLUSIVE and reference is not None:
        needed = pairs_to_decide(len(pairs), reference)
        caveats = (f"{len(pairs)} resolved claims are too few to tell: about {needed} would do",)
    if disputed := sum(pair.is_disputed for pair in pairs):
        caveats += (f"{disputed} outcomes are disputed between sources of equal rank",)
    reason = None if pairs else "no claim with a confidence of the agent's own was resolved"
    brier = Figure(
        brier_score(confidences, outcomes), None, len(pairs), None,
        Status.NO_TARGET if pairs else Status.UNAVAILABLE, Kind.CENSUS, None,
        brier_score(previous_confidences, previous_outcomes), caveats, reason, "score",
    )  # fmt: skip
    ece = Figure(
        error, None, len(pairs), None, status, Kind.CENSUS, Target("<", ECE_TARGET),
        expected_calibration_error(previous_confidences, previous_outcomes), caveats, reason,
        "score",
    )  # fmt: skip
    shown = None if reference is None else {"mean": reference.mean, "p95": reference.p95}
    return Calibration(tuple(pairs), brier, ece, shown)


def read_pairs(session: Session, view: View) -> list[Pair]:
    """One pair a claim whose effective outcome arrived in the window, by the time it was told.

    A belief and the assertions of it are one claim; the confidence is the first the agent stated.
    """
    shadows = _claims(session, view)
    resolutions = _resolutions(session, view, shadows)
    pairs: list[Pair] = []
    for claim, stated in sorted(_by_claim(shadows).items()):
        told = effective_outcome(
            _tallies(one for row in stated for one in resolutions.get(row.shadow_id, ()))
        )
        confidence = next((row.confidence for row in stated if row.confidence is not None), None)
        if told is None or confidence is None or not view.window.holds(told.resolved_at):
            continue
        pairs.append(Pair(claim, confidence, told.outcome, told.is_disputed))
    return pairs


def _tallies(rows: Iterable[Any]) -> list[Tally]:
    """Resolutions of one claim by source and outcome."""
    by_voice: dict[tuple[str, int], list[Any]] = {}
    for row in rows:
        by_voice.setdefault((row.source, row.outcome), []).append(row)
    found = []
    for (source, outcome), voices in by_voice.items():
        last = max(voices, key=lambda row: (row.resolved_at, row.seq))
        found.append(
            Tally(ResolutionSource(source), bool(outcome), len(voices), last.resolved_at, last.seq)
        )
    return found


def _by_claim(shadows: Iterable[Any]) -> dict[str, list[Any]]:
    claims: dict[str, list[Any]] = {}
    for row in shadows:
        claim = f"belief {row.belief_id}" if row.belief_id else f"inference {row.shadow_id}"
        claims.setdefault(claim, []).append(row)
    return claims


def _claims(session: Session, view: View) -> list[Any]:
    """Shadow inferences of the agent's own whose claim had news in the window, oldest first."""
    window = view.window
    news = select(InferenceResolution.shadow_id).where(
        *recorded(InferenceResolution, view),
        InferenceResolution.resolved_at >= window.start,
        InferenceResolution.resolved_at < window.until,
    )
    own = (*recorded(ShadowInference, view), ShadowInference.log == Log.AGENT)
    beliefs = select(ShadowInference.belief_id).where(
        *own, ShadowInference.shadow_id.in_(news), ShadowInference.belief_id.is_not(None)
    )
    return list(
        session.execute(
            select(ShadowInference.shadow_id, ShadowInference.belief_id, ShadowInference.confidence)
            .where(
                *own,
                or_(ShadowInference.shadow_id.in_(news), ShadowInference.belief_id.in_(beliefs)),
            )
            .order_by(ShadowInference.ts, ShadowInference.seq)
        )
    )


def _resolutions(session: Session, view: View, shadows: Iterable[Any]) -> Mapping[str, list[Any]]:
    """All outcomes told before the window's end, by shadow inference."""
    wanted = sorted(row.shadow_id for row in shadows)
    found: dict[str, list[Any]] = {}
    for start in range(0, len(wanted), _CHUNK):
        rows = session.execute(
            select(
                InferenceResolution.shadow_id, InferenceResolution.source,
                InferenceResolution.outcome, InferenceResolution.resolved_at,
                InferenceResolution.log, InferenceResolution.seq,
            ).where(
                *recorded(InferenceResolution, view),
                InferenceResolution.shadow_id.in_(wanted[start : start + _CHUNK]),
                InferenceResolution.resolved_at < view.window.until,
            )
        )  # fmt: skip
        for row in rows:
            found.setdefault(row.shadow_id, []).append(row)
    return found
