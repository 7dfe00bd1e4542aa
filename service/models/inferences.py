from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from service.db.types import BYTES, INSTANT, JSON_TEXT, KEY, REAL, TEXT, TRUTH, WHOLE
from service.models.record import STRICT, Record


class ShadowInference(Record):
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
    detail_salt: Mapped[bytes | None] = mapped_column(BYTES)

    __table_args__ = (
        UniqueConstraint("agent_id", "log", "seq"),
        Index(None, "agent_id", "ts"),
        Index(None, "agent_id", "belief_id"),
        STRICT,
    )


class InferenceResolution(Record):
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
