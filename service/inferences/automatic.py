"""Resolutions that follow by themselves, by explicit reference only: no text is compared here.

A scored prediction, an operator's correction and a `know` belief may each name the claim they
decide. The `inference.outcome` is written in the transaction of the event that decides.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Executable, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from scoring.labels import Label
from service import json_text
from service.db.bulk import rows_by_key
from service.events.schemas import Event
from service.events.vocabulary import EventType, Flag, Log, ResolutionSource
from service.inferences import lookups
from service.inferences.evidence import items_of, usable_id
from service.inferences.judging import avoid_taken_ids, derived_id
from service.inferences.links import linked_predictions, linked_shadow
from service.inferences.lookups import Key
from service.models import ShadowInference
from service.predictions.projection import PREDICTIONS, PredictionRow

# Shadow inferences of one claim that one event resolves, the earliest first.
MAX_RESOLVED = 50
_CLAIM_SAYS = {"same": True, "contradicting": False}


@dataclass(frozen=True, slots=True)
class Decision:
    """An event that decides claims: which ones, how, since when, and by what evidence."""

    event: Event
    source: ResolutionSource
    outcome: bool
    at: int
    named: tuple[str, ...]
    evidence: dict[str, object]


@dataclass(frozen=True, slots=True)
class _Shadow:
    shadow_id: str
    log: str
    belief_id: str | None


def automatic_outcomes(session: Session, events: Sequence[Event]) -> list[Event]:
    """The `inference.outcome` events that follow from these, which are folded already."""
    decisions = [
        *_of_predictions(session, events),
        *filter(None, map(_of_operator, events)),
        *filter(None, map(_of_know, events)),
    ]
    if not decisions:
        return []
    shadows = _shadows_of(session, decisions)
    derived = [
        _outcome(decision, shadow)
        for decision in decisions
        for shadow in _resolved_by(decision, shadows)
    ]
    avoid_taken_ids(session, derived)
    return derived


def _of_predictions(session: Session, events: Sequence[Event]) -> Iterator[Decision]:
    """Predictions whose making and score are both known now."""
    telling = {
        (event.agent_id, event.detail["prediction_id"]): event
        for event in events
        if event.event == EventType.PREDICTION_SCORED and Flag.SUBJECT_CLOSED not in event.noted
    }
    for event in events:
        # A making that arrives after the score; one that repeats an earlier making tells nothing.
        if event.event == EventType.PREDICTION_MADE and Flag.ALREADY_CREATED not in event.noted:
            is_linked = linked_shadow(event) or event.belief_id or event.detail.get("belief_id")
            if is_linked:
                telling.setdefault((event.agent_id, event.detail["prediction_id"]), event)
    if not telling:
        return
    rows = rows_by_key(session, PREDICTIONS, "prediction_id", sorted(telling))
    scored = {
        (row.agent_id, row.prediction_id): row
        for row in (PredictionRow(*found) for found in rows)
        # What was made after its outcome was known predicts nothing.
        if row.made_at is not None and row.scored_at is not None and row.made_at <= row.scored_at
    }
    if not scored:
        return
    linked = linked_predictions(session, scored)
    for key, row in scored.items():
        event, scored_at = telling[key], row.scored_at or 0
        # What the making names counts before what the score names, when the outcome is known.
        found = _ids(linked.get(key), row.belief_id) or _ids(linked_shadow(event))
        evidence: dict[str, object] = {"prediction_id": row.prediction_id, "by": event.event_id}
        if found:
            yield Decision(
                event, ResolutionSource.PREDICTION, bool(row.outcome), scored_at, found, evidence
            )


def _of_operator(event: Event) -> Decision | None:
    """An operator's report that names a claim and says what is true of it."""
    if event.event != EventType.OPERATOR_REPORTED:
        return None
    outcome = event.detail.get("outcome")
    named = _ids(event.detail.get("shadow_id"), event.detail.get("belief_id"), event.belief_id)
    if not isinstance(outcome, bool) or not named:
        return None
    source = ResolutionSource.OPERATOR_CORRECTION
    return Decision(event, source, outcome, event.ts, named, {"by": event.event_id})


def _of_know(event: Event) -> Decision | None:
    """A `know` belief that names the claim it is about, and says whether it bears it out."""
    if event.event != EventType.BELIEF_CREATED or event.label_to != Label.KNOW:
        return None
    detail = event.detail
    outcome = detail.get("outcome")
    if not isinstance(outcome, bool):
        claim = detail.get("claim")
        outcome = _CLAIM_SAYS.get(claim) if isinstance(claim, str) else None
    named = _ids(*items_of(detail.get("resolves")), *items_of(detail.get("supersedes")))
    if outcome is None or not named:
        return None
    evidence: dict[str, object] = {"belief_id": event.belief_id, "by": event.event_id}
    return Decision(event, ResolutionSource.KNOW_BELIEF, outcome, event.ts, named, evidence)


def _ids(*values: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, map(usable_id, values))))[:MAX_RESOLVED]


def _shadows_of(session: Session, decisions: Iterable[Decision]) -> dict[Key, list[_Shadow]]:
    """Shadow inferences by (agent, their own id or their belief's), the earliest first."""
    keys = {(one.event.agent_id, name) for one in decisions for name in one.named}
    found: dict[Key, list[_Shadow]] = {}
    for column in (ShadowInference.shadow_id, ShadowInference.belief_id):
        for agent_id, name, *shadow in lookups.by_agent(session, keys, _by(column)):
            found.setdefault((agent_id, name), []).append(_Shadow(*shadow))
    return found


def _by(column: InstrumentedAttribute[Any]) -> Callable[[str, list[str]], Executable]:
    def statement(agent_id: str, ids: list[str]) -> Executable:
        return (
            select(
                ShadowInference.agent_id, column, ShadowInference.shadow_id, ShadowInference.log,
                ShadowInference.belief_id,
            )
            .where(ShadowInference.agent_id == agent_id, column.in_(ids))
            .order_by(ShadowInference.ts, ShadowInference.log, ShadowInference.seq)
        )  # fmt: skip

    return statement


def _resolved_by(decision: Decision, shadows: dict[Key, list[_Shadow]]) -> list[_Shadow]:
    """What an event decides; what the agent says reaches nothing that was written about it."""
    found = [
        shadow
        for name in decision.named
        for shadow in shadows.get((decision.event.agent_id, name), ())
        if decision.event.log == Log.AUDIT or shadow.log == Log.AGENT
    ]
    return list(dict.fromkeys(found))[:MAX_RESOLVED]


def _outcome(decision: Decision, shadow: _Shadow) -> Event:
    event = decision.event
    detail = {
        "shadow_id": shadow.shadow_id, "outcome": decision.outcome,
        "source": str(decision.source), "evidence": decision.evidence, "automatic": True,
    }  # fmt: skip
    return Event(
        agent_id=event.agent_id, log=event.log,
        event_id=derived_id(event.log, event.event_id, shadow.shadow_id), ts=decision.at,
        received_at=event.received_at, event=str(EventType.INFERENCE_OUTCOME),
        session_id=event.session_id, turn_id=event.turn_id, worker=event.worker,
        belief_id=shadow.belief_id, detail=detail, detail_text=json_text.encode(detail),
    )  # fmt: skip
