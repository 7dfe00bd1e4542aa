"""Shadow inferences: what was believed on which evidence, written down before the outcome."""

from sqlalchemy.orm import Session

from scoring.labels import INFERENTIAL
from service.events.log import LogPositions
from service.events.recording import record_rows
from service.events.schemas import Event
from service.events.vocabulary import EventType
from service.inferences.automatic import automatic_outcomes
from service.inferences.judging import append_derived, judge, record_resolutions
from service.inferences.links import record_prediction_links
from service.inferences.snapshots import SHADOWS, shadow_id_of, shadow_rows
from service.trust.receipts import receipt_of

EVENT_TYPES = frozenset(
    {
        EventType.BELIEF_CREATED,
        EventType.ASSERTION_MADE,
        EventType.INFERENCE_OUTCOME,
        EventType.PREDICTION_MADE,
        EventType.PREDICTION_SCORED,
        EventType.OPERATOR_REPORTED,
    }
)


def project(session: Session, positions: LogPositions, events: list[Event]) -> None:
    """Writes a shadow inference for each inferential write or assertion, a row for each outcome.

    Runs after beliefs and predictions are folded; whatever decides a claim by naming it resolves
    it here, in the same transaction.
    """
    shadows = [event for event in events if leaves_shadow(event)]
    if shadows:
        placed = record_rows(session, positions, SHADOWS, shadow_rows(session, shadows))
        for event, (seq, leaf_hash) in zip(shadows, placed, strict=True):
            shadow_id = shadow_id_of(event.log, event.event_id)
            event.receipt = receipt_of(event.log, seq, leaf_hash, shadow_id)
    made = [event for event in events if event.event == EventType.PREDICTION_MADE]
    record_prediction_links(session, positions, made)
    told = [event for event in events if event.event == EventType.INFERENCE_OUTCOME]
    derived = automatic_outcomes(session, events)
    if not told and not derived:
        return
    judge(session, [*told, *derived])
    record_resolutions(session, positions, told)
    append_derived(session, positions, derived)


def leaves_shadow(event: Event) -> bool:
    """Whether a shadow inference is written down beside an event."""
    return event.event == EventType.ASSERTION_MADE or (
        event.event == EventType.BELIEF_CREATED and event.label_to in INFERENTIAL
    )
