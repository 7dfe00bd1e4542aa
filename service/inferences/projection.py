"""Shadow inferences: what was believed on which evidence, written down before the outcome."""

from sqlalchemy import Table
from sqlalchemy.orm import Session

from scoring.labels import INFERENTIAL
from service import json_text
from service.db.bulk import rows_by_key
from service.events.log import LogPositions
from service.events.recording import record_rows
from service.events.schemas import Event
from service.events.vocabulary import EventType, Flag, ResolutionSource
from service.models import InferenceResolution, ShadowInference

EVENT_TYPES = frozenset(
    {EventType.BELIEF_CREATED, EventType.ASSERTION_MADE, EventType.INFERENCE_OUTCOME}
)
# These may be given only with something stored to point at; without, they are the agent's word.
_MUST_CITE = frozenset({ResolutionSource.TOOL_RESULT, ResolutionSource.KNOW_BELIEF})
_SHADOWS: Table = ShadowInference.__table__  # type: ignore[assignment]
_RESOLUTIONS: Table = InferenceResolution.__table__  # type: ignore[assignment]


def shadow_id_of(log: str, event_id: str) -> str:
    """The id of the shadow inference that an event leaves behind."""
    return f"{log}:{event_id}"


def project(session: Session, positions: LogPositions, events: list[Event]) -> None:
    """Writes a shadow inference for each inferential write or assertion, a row for each outcome."""
    outcomes = [event for event in events if event.event == EventType.INFERENCE_OUTCOME]
    shadows = [
        _shadow(event)
        for event in events
        if event.event == EventType.ASSERTION_MADE
        or (event.event == EventType.BELIEF_CREATED and event.label_to in INFERENTIAL)
    ]
    record_rows(session, positions, _SHADOWS, shadows)
    _note_unknown(session, outcomes)
    record_rows(session, positions, _RESOLUTIONS, [_resolution(event) for event in outcomes])


def _note_unknown(session: Session, outcomes: list[Event]) -> None:
    keys = sorted({(event.agent_id, event.detail["shadow_id"]) for event in outcomes})
    known = {(row[0], row[1]) for row in rows_by_key(session, _SHADOWS, "shadow_id", keys)}
    for event in outcomes:
        if (event.agent_id, event.detail["shadow_id"]) not in known:
            event.noted.append(Flag.UNKNOWN_SUBJECT)


def _shadow(event: Event) -> tuple[object, ...]:
    detail = event.detail
    statement = detail.get("statement")
    if statement is None:
        statement = detail.get("content")
    return (
        event.agent_id, shadow_id_of(event.log, event.event_id), event.log,
        event.log, event.event_id, event.ts,
        event.received_at, event.session_id, event.turn_id, event.worker, event.belief_id,
        json_text.shown(statement), json_text.shown(detail.get("category")), event.label_to,
        event.confidence, json_text.encode_or_none(detail.get("evidence")),
        json_text.encode_or_none(detail.get("alternatives")),
        json_text.shown(detail.get("gate_decision")), json_text.shown(detail.get("commit_sha")),
    )  # fmt: skip


def _resolution(event: Event) -> tuple[object, ...]:
    detail = event.detail
    source = ResolutionSource(detail["source"])
    if source in _MUST_CITE and not detail.get("evidence"):
        event.noted.append(Flag.UNEVIDENCED)
        source = ResolutionSource.SELF_BELIEF
    return (
        event.agent_id, shadow_id_of(event.log, event.event_id), event.log,
        detail["shadow_id"], source,
        int(detail["outcome"]), json_text.encode_or_none(detail.get("evidence")), event.ts,
    )  # fmt: skip
