from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from service.db.types import INSTANT, JSON_TEXT, KEY, REAL, TEXT, TRUTH, WHOLE
from service.models.record import STRICT, Committed, Record


class ShadowInference(Committed, Record):
    """What was believed, on which evidence, before the outcome was known. Write-once."""

    __tablename__ = "shadow_inferences"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    shadow_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    log: Mapped[str] = mapped_column(KEY)
    seq: Mapped[int] = mapped_column(WHOLE)
    source: Mapped[str] = mapped_column(KEY)
    event_id: Mapped[str] = mapped_column(KEY)
    ts: Mapped[int] = mapped_column(INSTANT)
    recorded_at: Mapped[int] = mapped_column(INSTANT)
    session_id: Mapped[str | None] = mapped_column(KEY)
    turn_id: Mapped[str | None] = mapped_column(KEY)
    worker: Mapped[str | None] = mapped_column(KEY)
    belief_id: Mapped[str | None] = mapped_column(KEY)
    statement: Mapped[str | None] = mapped_column(TEXT)
    category: Mapped[str | None] = mapped_column(TEXT)
    label: Mapped[str | None] = mapped_column(KEY)
    confidence: Mapped[float | None] = mapped_column(REAL)
    evidence: Mapped[str | None] = mapped_column(JSON_TEXT)
    alternatives: Mapped[str | None] = mapped_column(JSON_TEXT)
    gate_decision: Mapped[str | None] = mapped_column(TEXT)
    commit_sha: Mapped[str | None] = mapped_column(TEXT)

    __table_args__ = (
        UniqueConstraint("agent_id", "log", "seq"),
        Index(None, "agent_id", "ts"),
        Index(None, "agent_id", "belief_id"),
        STRICT,
    )


class InferenceResolution(Committed, Record):
    """Ground truth that arrived for a shadow inference; append-only, all of them stay."""

    __tablename__ = "inference_resolutions"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    resolution_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    log: Mapped[str] = mapped_column(KEY)
    seq: Mapped[int] = mapped_column(WHOLE)
    shadow_id: Mapped[str] = mapped_column(KEY)
    source: Mapped[str] = mapped_column(KEY)
    outcome: Mapped[int] = mapped_column(TRUTH)
    evidence: Mapped[str | None] = mapped_column(JSON_TEXT)
    resolved_at: Mapped[int] = mapped_column(INSTANT)

    __table_args__ = (
        UniqueConstraint("agent_id", "log", "seq"),
        Index(None, "agent_id", "shadow_id"),
        Index(None, "agent_id", "resolved_at"),
        STRICT,
    )


class InferenceContext(Committed, Record):
    """What became known of a shadow inference after its snapshot, append-only: its turn, mostly.

    `evidence` holds the text of evidence that the snapshot could only name by id.
    """

    __tablename__ = "inference_contexts"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    context_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    log: Mapped[str] = mapped_column(KEY)
    seq: Mapped[int] = mapped_column(WHOLE)
    shadow_id: Mapped[str] = mapped_column(KEY)
    kind: Mapped[str] = mapped_column(KEY)
    recorded_at: Mapped[int] = mapped_column(INSTANT)
    session_id: Mapped[str | None] = mapped_column(KEY)
    turn_id: Mapped[str | None] = mapped_column(KEY)
    commit_sha: Mapped[str | None] = mapped_column(TEXT)
    evidence: Mapped[str | None] = mapped_column(JSON_TEXT)

    __table_args__ = (
        UniqueConstraint("agent_id", "log", "seq"),
        Index(None, "agent_id", "shadow_id"),
        STRICT,
    )
