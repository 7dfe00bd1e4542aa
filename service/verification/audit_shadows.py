"""Shadow inferences of the auditor: they follow from the event of a finding and the finding."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from service import json_text
from service.db.scanning import readable
from service.events.vocabulary import EventType, Log, OpportunitySource
from service.inferences.operations import AUDIT_SOURCE
from service.inferences.snapshots import shadow_id_of
from service.models import AuditedTurn, CogEvent, Finding, ShadowInference
from service.verification.comparing import Row

_BATCH = 1_000
# How the auditor calls the event of a finding: `finding:` and the finding's id.
_PREFIX = "finding:"


def audit_shadow_rows(session: Session, agent_id: str | None) -> Iterator[list[Row]]:
    """What the events of findings make of the shadows that stand; in batches.

    An event without a shadow is none that is missing: the agent recorded that claim itself. The
    gate's decision stands in the shadow alone, so it is taken as it is there.
    """
    with readable():
        rows = session.execute(_statement(agent_id).execution_options(yield_per=_BATCH))
        for part in rows.partitions():
            yield [_row(found) for found in part if _is_auditors(found)]


def _statement(agent_id: str | None) -> Any:
    of_agent = [] if agent_id is None else [CogEvent.agent_id == agent_id]
    return (
        select(
            *(CogEvent.__table__.columns[name] for name in _OF_EVENT),
            Finding.statement,
            Finding.context_quotes,
            AuditedTurn.commit_sha,
            ShadowInference.gate_decision,
        )
        .join(
            ShadowInference,
            (ShadowInference.agent_id == CogEvent.agent_id)
            & (ShadowInference.shadow_id == _shadow_id()),
        )
        .join(
            Finding,
            (Finding.agent_id == CogEvent.agent_id)
            & (Finding.finding_id == func.substr(CogEvent.event_id, len(_PREFIX) + 1)),
        )
        .outerjoin(
            AuditedTurn,
            (AuditedTurn.agent_id == Finding.agent_id) & (AuditedTurn.turn_id == Finding.turn_id),
        )
        .where(
            CogEvent.event == EventType.OPPORTUNITY_DETECTED,
            CogEvent.log == Log.AUDIT,
            ShadowInference.source == AUDIT_SOURCE,
            *of_agent,
        )
    )


_OF_EVENT: Sequence[str] = (
    "agent_id", "event_id", "ts", "received_at", "session_id", "turn_id", "worker", "detail",
)  # fmt: skip


def _shadow_id() -> Any:
    return shadow_id_of(str(Log.AUDIT), "") + CogEvent.event_id


def _is_auditors(found: Any) -> bool:
    """Whether the auditor told of it; of a detail that was redacted the id alone says so."""
    if not found.event_id.startswith(_PREFIX):
        return False
    return found.detail is None or _detail(found).get("source") == OpportunitySource.AUDITOR


def _detail(found: Any) -> dict[str, Any]:
    try:
        detail = json.loads(found.detail)
    except ValueError:
        return {}
    return detail if isinstance(detail, dict) else {}


def _row(found: Any) -> Row:
    told = found.statement if found.detail is None else _detail(found).get("statement")
    return (
        found.agent_id, shadow_id_of(str(Log.AUDIT), found.event_id), str(Log.AUDIT), AUDIT_SOURCE,
        found.event_id, found.ts, found.received_at, found.session_id, found.turn_id, found.worker,
        None, json_text.shown(told), None, None, None, found.context_quotes, None,
        found.gate_decision, found.commit_sha,
    )  # fmt: skip
