"""Projections of the ledger's events: each row can be folded anew from `cog_events`."""

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from service.db.types import INSTANT, JSON_TEXT, KEY, REAL, TEXT, TRUTH, WHOLE
from service.models.record import STRICT, Record


class Belief(Record):
    """A belief as its events leave it; `last_ts`, `last_log`, `last_seq` name the last folded."""

    __tablename__ = "beliefs"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    belief_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    # NULL until `belief.created` arrives: events may name a belief before its creation does.
    created_at: Mapped[int | None] = mapped_column(INSTANT)
    created_label: Mapped[str | None] = mapped_column(KEY)
    label: Mapped[str | None] = mapped_column(KEY)
    confidence: Mapped[float | None] = mapped_column(REAL)
    category: Mapped[str | None] = mapped_column(TEXT)
    writer: Mapped[str | None] = mapped_column(KEY)
    session_id: Mapped[str | None] = mapped_column(KEY)
    turn_id: Mapped[str | None] = mapped_column(KEY)
    evidence: Mapped[str | None] = mapped_column(JSON_TEXT)
    justifications: Mapped[str | None] = mapped_column(JSON_TEXT)
    status: Mapped[str] = mapped_column(KEY)
    superseded_by: Mapped[str | None] = mapped_column(KEY)
    superseded_at: Mapped[int | None] = mapped_column(INSTANT)
    needs_rederivation: Mapped[int] = mapped_column(TRUTH)
    challenged_at: Mapped[int | None] = mapped_column(INSTANT)
    challenges: Mapped[int] = mapped_column(WHOLE)
    overwrites: Mapped[int] = mapped_column(WHOLE)
    valid_from: Mapped[int | None] = mapped_column(INSTANT)
    valid_until: Mapped[int | None] = mapped_column(INSTANT)
    # Which of `belief_versions` is the current content; the other versions are its history.
    content_log: Mapped[str | None] = mapped_column(KEY)
    content_seq: Mapped[int | None] = mapped_column(WHOLE)
    last_ts: Mapped[int] = mapped_column(INSTANT)
    last_log: Mapped[str] = mapped_column(KEY)
    last_seq: Mapped[int] = mapped_column(WHOLE)

    __table_args__ = (Index(None, "agent_id", "last_ts"), STRICT)


class BeliefVersion(Record):
    """What a belief said, insert-only: its creation, and each overwrite that was reported."""

    __tablename__ = "belief_versions"
    __table_args__ = (STRICT,)

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    belief_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    log: Mapped[str] = mapped_column(KEY, primary_key=True)
    seq: Mapped[int] = mapped_column(WHOLE, primary_key=True)
    ts: Mapped[int] = mapped_column(INSTANT)
    kind: Mapped[str] = mapped_column(KEY)
    content: Mapped[str | None] = mapped_column(TEXT)


class BeliefSupport(Record):
    """One member of a belief's justifications: which beliefs rest on it is one look-up."""

    __tablename__ = "belief_supports"
    __table_args__ = (STRICT,)

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    supporter_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    belief_id: Mapped[str] = mapped_column(KEY, primary_key=True)


class Contradiction(Record):
    """A contradiction as its events leave it."""

    __tablename__ = "contradictions"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    contradiction_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    beliefs: Mapped[str | None] = mapped_column(JSON_TEXT)
    detector: Mapped[str | None] = mapped_column(TEXT)
    detected_at: Mapped[int | None] = mapped_column(INSTANT)
    state: Mapped[str] = mapped_column(KEY)
    priority: Mapped[int | None] = mapped_column(WHOLE)
    owner: Mapped[str | None] = mapped_column(KEY)
    next_action: Mapped[str | None] = mapped_column(TEXT)
    ttl_us: Mapped[int | None] = mapped_column(WHOLE)
    investigated_at: Mapped[int | None] = mapped_column(INSTANT)
    closed_at: Mapped[int | None] = mapped_column(INSTANT)
    resolution: Mapped[str | None] = mapped_column(TEXT)
    resolution_detail: Mapped[str | None] = mapped_column(JSON_TEXT)
    cost_tokens: Mapped[int] = mapped_column(WHOLE)
    last_ts: Mapped[int] = mapped_column(INSTANT)
    last_log: Mapped[str] = mapped_column(KEY)
    last_seq: Mapped[int] = mapped_column(WHOLE)

    __table_args__ = (Index(None, "agent_id", "state", "detected_at"), STRICT)


class Prediction(Record):
    """A dated claim with a probability, and its outcome once it was scored."""

    __tablename__ = "predictions"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    prediction_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    statement: Mapped[str | None] = mapped_column(TEXT)
    confidence: Mapped[float | None] = mapped_column(REAL)
    belief_id: Mapped[str | None] = mapped_column(KEY)
    made_at: Mapped[int | None] = mapped_column(INSTANT)
    due_at: Mapped[int | None] = mapped_column(INSTANT)
    outcome: Mapped[int | None] = mapped_column(TRUTH)
    scored_at: Mapped[int | None] = mapped_column(INSTANT)
    last_ts: Mapped[int] = mapped_column(INSTANT)
    last_log: Mapped[str] = mapped_column(KEY)
    last_seq: Mapped[int] = mapped_column(WHOLE)

    __table_args__ = (Index(None, "agent_id", "due_at"), STRICT)
