"""Which resolutions of a week a person is asked about: a seeded draw that anybody can repeat."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

WEEKLY = 20
# Of these so many are kept for what was said to be no contradiction, where there are as many.
FALSE_DETECTIONS = 5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A resolution that can be drawn."""

    contradiction_id: str
    is_false_detection: bool


def rank(agent_id: str, week: str, contradiction_id: str) -> bytes:
    """Its place in the draw: as good as random, and the same whenever and wherever it is made."""
    return hashlib.sha256("\x00".join((agent_id, week, contradiction_id)).encode()).digest()


def draw(agent_id: str, week: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """At most twenty, by rank, a share of them false detections; few of one kind make room."""
    ordered = sorted(candidates, key=lambda c: rank(agent_id, week, c.contradiction_id))
    false = [c for c in ordered if c.is_false_detection]
    others = [c for c in ordered if not c.is_false_detection]
    reserved = min(len(false), max(FALSE_DETECTIONS, WEEKLY - len(others)))
    chosen = false[:reserved] + others[: WEEKLY - reserved]
    return sorted(chosen, key=lambda c: rank(agent_id, week, c.contradiction_id))


def check_id_of(agent_id: str, kind: str, subject_id: str) -> str:
    """The id of the check of a subject; the same again, whoever draws it."""
    named = "\x00".join((agent_id, kind, subject_id))
    return hashlib.sha256(named.encode()).hexdigest()[:32]
