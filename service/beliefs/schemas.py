"""Wire shapes of beliefs."""

from datetime import datetime
from typing import Any

import msgspec

from service.events.schemas import EventOut
from service.trust.receipts import Receipt

# Ids and objects with an `id`; what else an object says is kept.
Evidence = list[str | dict[str, Any]]


class MoveIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What every call of the ledger may carry. `detail` holds further keys, kept as they come."""

    agent_id: str | None = None
    event_id: str | None = None
    ts: datetime | None = None
    session_id: str | None = None
    turn_id: str | None = None
    worker: str | None = None
    detail: dict[str, Any] | None = None


class BeliefIn(MoveIn, forbid_unknown_fields=True, kw_only=True):
    """A belief to be written."""

    belief_id: str | None = None
    label: str | None = None
    confidence: float | None = None
    content: str | None = None
    category: str | None = None
    evidence: Evidence | None = None
    justifications: list[list[str]] | None = None
    summarises: list[str] | None = None
    sources: Evidence | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expected_versions: dict[str, str] | None = None


class SupersedeIn(BeliefIn, forbid_unknown_fields=True, kw_only=True):
    """The belief that replaces another one: a new one, or by `successor` one that there is."""

    successor: str | None = None
    expected_version: str | None = None


class RelabelIn(MoveIn, forbid_unknown_fields=True, kw_only=True):
    """Another label, another confidence, or both; and what they rest on."""

    label: str | None = None
    confidence: float | None = None
    sources: Evidence | None = None
    justifications: list[list[str]] | None = None
    expected_version: str | None = None


class ChallengeIn(MoveIn, forbid_unknown_fields=True, kw_only=True):
    """Something disagrees with a belief."""

    by: str | None = None
    evidence: Evidence | None = None
    expected_version: str | None = None


class BeliefOut(msgspec.Struct):
    """A belief as its events leave it."""

    agent_id: str
    belief_id: str
    content: str | None
    label: str | None
    confidence: float | None
    category: str | None
    writer: str | None
    session_id: str | None
    turn_id: str | None
    evidence: msgspec.Raw
    justifications: msgspec.Raw
    status: str
    superseded_by: str | None
    superseded_at: str | None
    needs_rederivation: bool
    challenges: int
    challenged_at: str | None
    overwrites: int
    created_label: str | None
    created_at: str | None
    valid_from: str | None
    valid_until: str | None
    last_ts: str
    version: str


class VersionOut(msgspec.Struct):
    """What a belief said once; `kind` tells a creation from an overwrite."""

    log: str
    seq: int
    ts: str
    kind: str
    content: str | None
    is_current: bool


class NeighbourOut(msgspec.Struct):
    """A belief that another one rests on, or that rests on it."""

    belief_id: str
    label: str | None
    status: str


class BeliefHistoryOut(msgspec.Struct):
    """One belief with all that is known of it; `…_complete` is false where a list was cut."""

    belief: BeliefOut
    versions: list[VersionOut]
    versions_complete: bool
    events: list[EventOut]
    events_complete: bool
    # The justifications of which nothing fell; where there are none, it rests on nothing.
    intact_justifications: list[list[str]]
    rests_on: list[NeighbourOut]
    supports: list[NeighbourOut]
    supports_complete: bool


class RecordedOut(msgspec.Struct):
    """An event that a call of the ledger appended, with a receipt for its shadow inference."""

    event_id: str
    event: str
    belief_id: str | None
    log: str
    seq: int
    flags: list[str]
    receipt: Receipt | None


class LedgerOut(msgspec.Struct):
    """What a call of the ledger did: the beliefs it named as they stand now, in their order.

    `weakened` are the dependents that became suspect; the events say what the caps left out.
    """

    accepted: int
    duplicates: int
    beliefs: list[BeliefOut]
    weakened: list[NeighbourOut]
    events: list[RecordedOut]
