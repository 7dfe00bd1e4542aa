"""Wire shapes of shadow inferences."""

import msgspec


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


class ShadowInferenceHistoryOut(msgspec.Struct):
    """One shadow inference with its resolutions; not complete where the oldest were cut."""

    shadow_inference: ShadowInferenceOut
    resolutions: list[ResolutionOut]
    resolutions_complete: bool
