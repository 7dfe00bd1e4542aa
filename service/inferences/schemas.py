"""Wire shapes of shadow inferences."""

from datetime import datetime
from typing import Any

import msgspec

from service.events.schemas import EventIn
from service.events.vocabulary import EventType
from service.trust.receipts import Receipt


class AssertionIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An inferential claim that leaves the agent."""

    turn_id: str
    statement: str
    agent_id: str | None = None
    event_id: str | None = None
    ts: datetime | None = None
    session_id: str | None = None
    worker: str | None = None
    belief_id: str | None = None
    category: str | None = None
    label: str | None = None
    confidence: float | None = None
    evidence: Any = None
    alternatives: Any = None
    gate_decision: str | None = None
    commit_sha: str | None = None

    def as_event(self) -> EventIn:
        """The `assertion.made` that it becomes."""
        detail = {
            name: value for name in _ASSERTION_DETAIL if (value := getattr(self, name)) is not None
        }
        return EventIn(
            str(EventType.ASSERTION_MADE), self.agent_id, self.ts, self.event_id, self.session_id,
            self.turn_id, self.worker, self.belief_id, label_to=self.label,
            confidence=self.confidence, detail=detail,
        )  # fmt: skip


_ASSERTION_DETAIL = (
    "statement", "category", "evidence", "alternatives", "gate_decision", "commit_sha",
)  # fmt: skip


class ResolutionIn(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Ground truth for a shadow inference, and what it rests on."""

    source: str
    outcome: bool
    evidence: Any = None
    agent_id: str | None = None
    event_id: str | None = None
    resolved_at: datetime | None = None
    session_id: str | None = None
    turn_id: str | None = None
    worker: str | None = None

    def as_event(self, shadow_id: str) -> EventIn:
        """The `inference.outcome` that it becomes."""
        detail = {"shadow_id": shadow_id, "outcome": self.outcome, "source": self.source}
        if self.evidence is not None:
            detail["evidence"] = self.evidence
        return EventIn(
            str(EventType.INFERENCE_OUTCOME), self.agent_id, self.resolved_at, self.event_id,
            self.session_id, self.turn_id, self.worker, detail=detail,
        )  # fmt: skip


class AssertedOut(msgspec.Struct):
    """The shadow inference that an assertion left, with the receipt for its row."""

    agent_id: str
    shadow_id: str
    event_id: str
    receipt: Receipt


class ResolvedOut(msgspec.Struct):
    """A resolution as it was recorded."""

    agent_id: str
    shadow_id: str
    resolution_id: str
    event_id: str
    source: str
    outcome: bool


class OutcomeOut(msgspec.Struct):
    """The effective outcome: that of the best-ranked source, the latest between equals."""

    outcome: bool
    source: str
    resolved_at: str
    disputed: bool


class TallyOut(msgspec.Struct):
    """How often a source gave one outcome, and when last."""

    source: str
    outcome: bool
    count: int
    last_resolved_at: str


class ShadowInferenceOut(msgspec.Struct):
    """What was believed before the outcome was known, and what became known since."""

    agent_id: str
    shadow_id: str
    log: str
    seq: int
    source: str
    event_id: str
    ts: str
    recorded_at: str
    session_id: str | None
    turn_id: str | None
    worker: str | None
    belief_id: str | None
    statement: str | None
    category: str | None
    label: str | None
    confidence: float | None
    evidence: msgspec.Raw
    alternatives: msgspec.Raw
    gate_decision: str | None
    commit_sha: str | None
    state: str
    effective: OutcomeOut | None
    outcomes: list[TallyOut]


class ResolutionOut(msgspec.Struct):
    """One resolution as it was recorded; all of them stay."""

    resolution_id: str
    log: str
    seq: int
    source: str
    outcome: bool
    evidence: msgspec.Raw
    resolved_at: str


class ContextOut(msgspec.Struct):
    """What became known after the snapshot: `turn`, `gate` or `prediction`."""

    context_id: str
    kind: str
    log: str
    seq: int
    recorded_at: str
    session_id: str | None
    turn_id: str | None
    commit_sha: str | None
    evidence: msgspec.Raw


class ShadowInferenceHistoryOut(msgspec.Struct):
    """One shadow inference with its resolutions; not complete where the oldest were cut.

    `same_claim` are the other shadow inferences of its belief: one claim, scored once.
    """

    shadow_inference: ShadowInferenceOut
    resolutions: list[ResolutionOut]
    resolutions_complete: bool
    contexts: list[ContextOut]
    same_claim: list[str]
