"""From `inference.outcome` events to resolutions: what is proven counts, the rest is a word."""

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Table, select
from sqlalchemy.orm import Session

from service import json_text
from service.db.bulk import rows_by_key
from service.events.log import LogPositions
from service.events.operations import append
from service.events.recording import record_rows
from service.events.schemas import Event
from service.events.vocabulary import Flag, Log, ResolutionSource
from service.inferences import lookups
from service.inferences.citations import MUST_CITE, Citations, claim_of
from service.inferences.lookups import Key
from service.inferences.snapshots import SHADOWS, shadow_id_of
from service.models import CogEvent, InferenceResolution

_RESOLUTIONS: Table = InferenceResolution.__table__  # type: ignore[assignment]
_BELIEF = tuple(SHADOWS.columns.keys()).index("belief_id")


def derived_id(*said: str) -> str:
    """The id of an event that the service derives from others; the same whenever it is derived."""
    return f"auto:{hashlib.sha256(json_text.encode(said).encode()).hexdigest()[:40]}"


def avoid_taken_ids(session: Session, derived: Sequence[Event]) -> None:
    """An agent that took such an id beforehand must not keep the outcome out of the record."""
    keys = {(event.agent_id, event.event_id) for event in derived}
    rows = lookups.by_agent(
        session,
        keys,
        lambda agent, ids: select(CogEvent.agent_id, CogEvent.log, CogEvent.event_id).where(
            CogEvent.agent_id == agent, CogEvent.log.in_(list(Log)), CogEvent.event_id.in_(ids)
        ),
    )
    taken = {tuple(row) for row in rows}
    for event in derived:
        if (event.agent_id, event.log, event.event_id) in taken:
            event.event_id = f"{event.event_id}:{secrets.token_hex(8)}"


def judge(session: Session, outcomes: Sequence[Event]) -> None:
    """Flags outcomes of nothing that is recorded, and those that cite what is not there."""
    keys = sorted({(event.agent_id, event.detail["shadow_id"]) for event in outcomes})
    known: dict[Key, str | None] = {
        (row[0], row[1]): row[_BELIEF] for row in rows_by_key(session, SHADOWS, "shadow_id", keys)
    }
    claims = []
    for event in outcomes:
        key = (event.agent_id, event.detail["shadow_id"])
        if key not in known:
            event.noted.append(Flag.UNKNOWN_SUBJECT)
        if event.detail["source"] in MUST_CITE:
            claims.append((event, claim_of(event, known.get(key))))
    if not claims:
        return
    citations = Citations(session, [claim for _, claim in claims])
    for event, claim in claims:
        if citations.fault(claim) is not None:
            event.noted.append(Flag.UNEVIDENCED)


def append_derived(session: Session, positions: LogPositions, outcomes: Sequence[Event]) -> None:
    """Appends outcomes that the service derived and that were judged, with their resolutions."""
    if not outcomes:
        return
    for event in outcomes:
        # What is noted is for the projectors of the event's own append; these have none.
        event.flags = [*event.flags, *event.noted]
    append(session, positions, outcomes, {})
    record_resolutions(session, positions, outcomes)


def record_resolutions(
    session: Session, positions: LogPositions, outcomes: Sequence[Event]
) -> None:
    """Writes the row of each judged outcome."""
    record_rows(session, positions, _RESOLUTIONS, [resolution_row(event) for event in outcomes])


def resolution_row(event: Event) -> tuple[Any, ...]:
    """The row of an `inference.outcome`, from the event and its flags alone.

    Flagged `unevidenced` it counts as the agent's own word, whatever source it named.
    """
    detail = event.detail
    source = ResolutionSource(detail["source"])
    if Flag.UNEVIDENCED in event.noted or Flag.UNEVIDENCED in event.flags:
        source = ResolutionSource.SELF_BELIEF
    return (
        event.agent_id, shadow_id_of(event.log, event.event_id), event.log,
        detail["shadow_id"], source,
        int(detail["outcome"]), json_text.encode_or_none(detail.get("evidence")), event.ts,
    )  # fmt: skip
