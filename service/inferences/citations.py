"""Whether what a resolution cites is really recorded."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from scoring.labels import Label
from service.beliefs.projection import BELIEFS, SUPERSEDED, BeliefState
from service.db.bulk import rows_by_key
from service.events.schemas import Event
from service.events.vocabulary import ResolutionSource
from service.inferences import lookups
from service.inferences.evidence import (
    Payload,
    items_of,
    tool_call_of,
    tool_call_places,
    usable_id,
)
from service.inferences.links import linked_predictions
from service.inferences.lookups import Key
from service.predictions.projection import PREDICTIONS, PredictionRow

# These are given only with something stored to point at; without, they are the agent's word.
MUST_CITE = frozenset(
    {ResolutionSource.TOOL_RESULT, ResolutionSource.PREDICTION, ResolutionSource.KNOW_BELIEF}
)
ToolCall = tuple[str, int | str]
# Of one resolution; whoever cites more cites too much to be looked at.
MAX_CITED = 50
FORMS = {
    ResolutionSource.TOOL_RESULT: '{"turn_id": …, "tool_call": its index or name}',
    ResolutionSource.PREDICTION: '{"prediction_id": …}',
    ResolutionSource.KNOW_BELIEF: '{"belief_id": …}',
}


@dataclass(frozen=True, slots=True)
class Claim:
    """What a resolution says, and on what."""

    agent_id: str
    source: ResolutionSource
    outcome: bool
    evidence: object
    shadow_id: str
    belief_id: str | None = None

    @property
    def cited(self) -> list[Any]:
        """What it cites, in the form that its source asks for."""
        return cited(self.source, self.evidence)


def claim_of(event: Event, belief_id: str | None = None) -> Claim:
    """The claim of an `inference.outcome`; `belief_id` is that of the shadow inference."""
    detail = event.detail
    return Claim(
        event.agent_id, ResolutionSource(detail["source"]), detail["outcome"],
        detail.get("evidence"), detail["shadow_id"], belief_id,
    )  # fmt: skip


def cited(source: ResolutionSource, evidence: object) -> list[Any]:
    """Tool calls, prediction ids or belief ids that the evidence names, as the source asks."""
    items = items_of(evidence)[: MAX_CITED + 1]
    if source is ResolutionSource.TOOL_RESULT:
        return [call for item in items if (call := tool_call_of(item)) is not None]
    name = "prediction_id" if source is ResolutionSource.PREDICTION else "belief_id"
    found = (item.get(name) if isinstance(item, dict) else item for item in items)
    return [value for one in found if (value := usable_id(one)) is not None]


class Citations:
    """What the claims of one commit cite, looked up together."""

    def __init__(self, session: Session, claims: Sequence[Claim]) -> None:
        self._predictions: dict[Key, PredictionRow] = {}
        self._linked: dict[Key, str] = {}
        self._beliefs: dict[Key, BeliefState] = {}
        self._payloads: dict[Key, Payload] = {}
        self._observations: set[Key] = set()
        calls: set[Key] = set()
        by_source: dict[ResolutionSource, set[tuple[str, Any]]] = {}
        for claim in claims:
            mine = by_source.setdefault(claim.source, set())
            mine.update((claim.agent_id, one) for one in claim.cited)
        for agent_id, call in by_source.get(ResolutionSource.TOOL_RESULT, ()):
            calls.add((agent_id, call[0]))
        if wanted := by_source.get(ResolutionSource.PREDICTION):
            rows = rows_by_key(session, PREDICTIONS, "prediction_id", sorted(wanted))
            self._predictions = {(row[0], row[1]): PredictionRow(*row) for row in rows}
            self._linked = linked_predictions(session, self._predictions)
        if wanted := by_source.get(ResolutionSource.KNOW_BELIEF):
            rows = rows_by_key(session, BELIEFS, "belief_id", sorted(wanted))
            self._beliefs = {(row[0], row[1]): BeliefState(*row) for row in rows}
            calls |= {
                (belief.agent_id, turn_id)
                for belief in self._beliefs.values()
                for turn_id in _turns_behind(belief)
            }
            self._observations = _observations(session, self._beliefs.values())
        if calls:
            self._payloads = lookups.payloads(session, calls)

    def fault(self, claim: Claim) -> str | None:
        """Why what is cited does not prove the claim; None when it does."""
        if claim.source not in MUST_CITE:
            return None
        found = claim.cited
        if not found:
            return f"cites nothing: name it as {FORMS[claim.source]}"
        if len(found) > MAX_CITED:
            return f"cites more than {MAX_CITED}: name what decides"
        checks: dict[ResolutionSource, Callable[[Claim, Any], str | None]] = {
            ResolutionSource.TOOL_RESULT: self._tool_call_fault,
            ResolutionSource.PREDICTION: self._prediction_fault,
            ResolutionSource.KNOW_BELIEF: self._belief_fault,
        }
        check = checks[claim.source]
        return next((fault for one in found if (fault := check(claim, one))), None)

    def _tool_call_fault(self, claim: Claim, call: ToolCall) -> str | None:
        payload = self._payloads.get((claim.agent_id, call[0]))
        if payload is None:
            return f"turn {call[0]!r} is not stored, or its texts were removed: send the turn first"
        if not tool_call_places(payload, call[1]):
            return f"turn {call[0]!r} holds no tool call {call[1]!r}"
        return None

    def _prediction_fault(self, claim: Claim, prediction_id: str) -> str | None:
        row = self._predictions.get((claim.agent_id, prediction_id))
        if row is None or row.made_at is None:
            return f"there is no prediction {prediction_id!r}"
        if row.scored_at is None:
            return f"prediction {prediction_id!r} is not scored: score it first"
        if row.scored_at < row.made_at:
            return f"prediction {prediction_id!r} was made after its outcome was known"
        about = {self._linked.get((claim.agent_id, prediction_id)), row.belief_id} - {None}
        if about and about.isdisjoint({claim.shadow_id, claim.belief_id}):
            return f"prediction {prediction_id!r} was made about another claim"
        if bool(row.outcome) is not claim.outcome:
            came = "true" if row.outcome else "false"
            return f"prediction {prediction_id!r} came out {came}, not as this says"
        return None

    def _belief_fault(self, claim: Claim, belief_id: str) -> str | None:
        belief = self._beliefs.get((claim.agent_id, belief_id))
        if belief is None or belief.created_at is None:
            return f"there is no belief {belief_id!r}"
        if belief.label != Label.KNOW:
            return f"belief {belief_id!r} is held as {belief.label}, not as know"
        if belief.status == SUPERSEDED:
            return f"belief {belief_id!r} was superseded by {belief.superseded_by!r}"
        if not self._is_observed(belief):
            return (
                f"belief {belief_id!r} rests on no stored tool call or observation: a know must "
                'cite {"turn_id": …, "tool_call": …} or the event_id of an evidence.retrieved'
            )
        return None

    def _is_observed(self, belief: BeliefState) -> bool:
        for item in _evidence(belief):
            name = _id_of(item)
            if name is not None and (belief.agent_id, name) in self._observations:
                return True
            call = tool_call_of(item)
            if call is None and name is not None and belief.turn_id is not None:
                call = (belief.turn_id, name)
            if call is not None:
                payload = self._payloads.get((belief.agent_id, call[0]))
                if payload is not None and tool_call_places(payload, call[1]):
                    return True
        return False


def _evidence(belief: BeliefState) -> Sequence[object]:
    if belief.evidence is None:
        return ()
    return items_of(json.loads(belief.evidence))[:MAX_CITED]


def _id_of(item: object) -> str | None:
    if isinstance(item, dict):
        item = item.get("event_id") or item.get("id")
    return usable_id(item)


def _turns_behind(belief: BeliefState) -> set[str]:
    turns = {call[0] for item in _evidence(belief) if (call := tool_call_of(item)) is not None}
    if belief.turn_id is not None and any(_id_of(item) for item in _evidence(belief)):
        turns.add(belief.turn_id)
    return turns


def _observations(session: Session, beliefs: Iterable[BeliefState]) -> set[Key]:
    """The names of recorded observations that these beliefs may cite.

    By the event's own id from anywhere, by `detail.evidence_id` from the belief's turn.
    """
    held = [one for one in beliefs if _evidence(one)]
    ids = {
        (one.agent_id, name)
        for one in held
        for item in _evidence(one)
        if (name := _id_of(item)) is not None
    }
    turns = {(one.agent_id, one.turn_id) for one in held if one.turn_id is not None}
    seen = lookups.observations(session, turns=turns, event_ids=ids)
    return {(one.agent_id, name) for one in seen for name in one.names}
