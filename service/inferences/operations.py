"""Shadow inferences that no event of the agent left behind."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Table
from sqlalchemy.orm import Session

from service import json_text
from service.events.log import LogPositions
from service.events.recording import record_rows
from service.events.schemas import Event
from service.events.vocabulary import Log
from service.inferences.snapshots import shadow_id_of
from service.models import ShadowInference

AUDIT_SOURCE = "audit"
_SHADOWS: Table = ShadowInference.__table__  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class AuditShadow:
    """A claim that the auditor found and the agent did not record; `event` tells of the finding."""

    event: Event
    statement: str
    evidence: object
    gate_decision: str | None
    commit_sha: str | None


def record_audit_shadows(
    session: Session, positions: LogPositions, shadows: Sequence[AuditShadow]
) -> None:
    """Writes shadow inferences into the audit log, which is locked; without label and confidence.

    Only a confidence that the agent stated itself is ever scored, and it stated none here.
    """
    rows = [
        (
            shadow.event.agent_id, shadow_id_of(str(Log.AUDIT), shadow.event.event_id),
            str(Log.AUDIT), AUDIT_SOURCE,
            shadow.event.event_id, shadow.event.ts, shadow.event.received_at,
            shadow.event.session_id, shadow.event.turn_id, shadow.event.worker, None,
            json_text.shown(shadow.statement), None, None, None,
            json_text.encode_or_none(shadow.evidence), None,
            json_text.shown(shadow.gate_decision), json_text.shown(shadow.commit_sha),
            )
        for shadow in shadows
    ]  # fmt: skip
    record_rows(session, positions, _SHADOWS, rows)
