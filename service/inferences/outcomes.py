"""What the resolutions of a shadow inference say taken together."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from service.events.vocabulary import ResolutionSource
from service.instants import DAY

# An inference that nothing resolved for so long counts as unverifiable.
UNVERIFIABLE_AFTER = 30 * DAY
_RANK = {source: rank for rank, source in enumerate(ResolutionSource)}


class InferenceState(StrEnum):
    """Whether ground truth has arrived, and whether it speaks with one voice."""

    OPEN = "open"
    RESOLVED = "resolved"
    DISPUTED = "disputed"
    UNVERIFIABLE = "unverifiable"


@dataclass(frozen=True, slots=True)
class Tally:
    """How often a source gave one outcome, and when last: instant and position in the log."""

    source: ResolutionSource
    outcome: bool
    count: int
    resolved_at: int
    seq: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The effective outcome: what counts, whose word it is, and whether its equals disagree."""

    outcome: bool
    source: ResolutionSource
    resolved_at: int
    is_disputed: bool


def effective_outcome(tallies: Sequence[Tally]) -> Outcome | None:
    """The word of the best-ranked source, the latest where it spoke twice; None without any.

    At most one tally for each source and outcome. A lower source never makes a dispute.
    """
    if not tallies:
        return None
    best = min(tallies, key=lambda tally: _RANK[tally.source]).source
    equals = [tally for tally in tallies if tally.source is best]
    latest = max(equals, key=lambda tally: (tally.resolved_at, tally.seq))
    is_disputed = len({tally.outcome for tally in equals}) > 1
    return Outcome(latest.outcome, best, latest.resolved_at, is_disputed)


def state_of(outcome: Outcome | None, ts: int, now: int) -> InferenceState:
    """The state at `now` of an inference made at `ts`, both in microseconds since 1970 UTC."""
    if outcome is not None:
        return InferenceState.DISPUTED if outcome.is_disputed else InferenceState.RESOLVED
    is_old = now - ts > UNVERIFIABLE_AFTER
    return InferenceState.UNVERIFIABLE if is_old else InferenceState.OPEN
