from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from service.db.types import BYTES, INSTANT, JSON_TEXT, KEY, REAL, TEXT, TRUTH, WHOLE
from service.models.record import STRICT, Committed, Record


class AuditRun(Record):
    """One reading of one agent's turns of [`window_from`, `window_until`)."""

    __tablename__ = "audit_runs"

    run_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    agent_id: Mapped[str] = mapped_column(KEY)
    window_from: Mapped[int] = mapped_column(INSTANT)
    window_until: Mapped[int] = mapped_column(INSTANT)
    method: Mapped[str] = mapped_column(KEY)
    method_version: Mapped[str] = mapped_column(KEY)
    state: Mapped[str] = mapped_column(KEY)
    seed: Mapped[bytes] = mapped_column(BYTES)
    sample_size: Mapped[int] = mapped_column(WHOLE)
    population: Mapped[int] = mapped_column(WHOLE)
    # How long the agent's log was at the draw: turns beyond it came too late for this run.
    drawn_seq: Mapped[int] = mapped_column(WHOLE)
    started_at: Mapped[int] = mapped_column(INSTANT)
    heartbeat_at: Mapped[int] = mapped_column(INSTANT)
    finished_at: Mapped[int | None] = mapped_column(INSTANT)
    ledger: Mapped[str | None] = mapped_column(JSON_TEXT)

    # Whichever process starts it, one run for an agent and window.
    __table_args__ = (UniqueConstraint("agent_id", "window_from", "window_until"), STRICT)


class AuditSample(Record):
    """A turn that a run drew, with its stratum; stored before any text is read.

    The primary key lets no turn be drawn twice, whatever run it stands in.
    """

    __tablename__ = "audit_samples"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    turn_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    run_id: Mapped[str] = mapped_column(KEY)
    position: Mapped[int] = mapped_column(WHOLE)
    stratum: Mapped[str] = mapped_column(KEY)
    stratum_population: Mapped[int] = mapped_column(WHOLE)
    stratum_sample: Mapped[int] = mapped_column(WHOLE)

    __table_args__ = (Index(None, "run_id", "position"), STRICT)


class AuditedTurn(Committed, Record):
    """What became of a drawn turn; a row of the audit log, write-once."""

    __tablename__ = "audited_turns"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    turn_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    log: Mapped[str] = mapped_column(KEY)
    seq: Mapped[int] = mapped_column(WHOLE)
    run_id: Mapped[str] = mapped_column(KEY)
    ts: Mapped[int] = mapped_column(INSTANT)
    audited_at: Mapped[int] = mapped_column(INSTANT)
    session_id: Mapped[str] = mapped_column(KEY)
    worker: Mapped[str | None] = mapped_column(KEY)
    model: Mapped[str | None] = mapped_column(KEY)
    commit_sha: Mapped[str | None] = mapped_column(KEY)
    stratum: Mapped[str] = mapped_column(KEY)
    stratum_population: Mapped[int] = mapped_column(WHOLE)
    stratum_sample: Mapped[int] = mapped_column(WHOLE)
    state: Mapped[str] = mapped_column(KEY)
    reason: Mapped[str | None] = mapped_column(TEXT)
    sentences: Mapped[int] = mapped_column(WHOLE)
    claims: Mapped[int] = mapped_column(WHOLE)
    counts: Mapped[str] = mapped_column(JSON_TEXT)

    __table_args__ = (
        UniqueConstraint("agent_id", "log", "seq"),
        Index(None, "agent_id", "ts"),
        Index(None, "run_id"),
        STRICT,
    )


class Finding(Committed, Record):
    """One inferential assertion that the auditor found; a row of the audit log, write-once."""

    __tablename__ = "findings"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    finding_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    log: Mapped[str] = mapped_column(KEY)
    seq: Mapped[int] = mapped_column(WHOLE)
    run_id: Mapped[str] = mapped_column(KEY)
    turn_id: Mapped[str] = mapped_column(KEY)
    session_id: Mapped[str] = mapped_column(KEY)
    ts: Mapped[int] = mapped_column(INSTANT)
    statement: Mapped[str] = mapped_column(TEXT)
    quote: Mapped[str] = mapped_column(TEXT)
    quote_start: Mapped[int] = mapped_column(WHOLE)
    quote_end: Mapped[int] = mapped_column(WHOLE)
    context_quotes: Mapped[str] = mapped_column(JSON_TEXT)
    support: Mapped[str | None] = mapped_column(KEY)
    support_score: Mapped[float | None] = mapped_column(REAL)
    expressed_confidence: Mapped[float | None] = mapped_column(REAL)
    # NULL: this method cannot tell. Never read as "no".
    decisive_source: Mapped[int | None] = mapped_column(TRUTH)
    tool_before: Mapped[int] = mapped_column(TRUTH)
    abducted: Mapped[int] = mapped_column(TRUTH)
    gated: Mapped[int] = mapped_column(TRUTH)
    written: Mapped[int] = mapped_column(TRUTH)
    belief_id: Mapped[str | None] = mapped_column(KEY)
    belief_label: Mapped[str | None] = mapped_column(KEY)
    link_score: Mapped[float | None] = mapped_column(REAL)

    __table_args__ = (
        UniqueConstraint("agent_id", "log", "seq"),
        Index(None, "agent_id", "ts"),
        Index(None, "run_id"),
        Index(None, "agent_id", "turn_id"),
        STRICT,
    )


class AuditRequest(Record):
    """A run somebody asked for over the API, until an auditor takes it up."""

    __tablename__ = "audit_requests"

    request_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    agent_id: Mapped[str] = mapped_column(KEY)
    window_from: Mapped[int] = mapped_column(INSTANT)
    window_until: Mapped[int] = mapped_column(INSTANT)
    requested_at: Mapped[int] = mapped_column(INSTANT)
    taken_at: Mapped[int | None] = mapped_column(INSTANT)
    outcome: Mapped[str | None] = mapped_column(TEXT)

    __table_args__ = (Index(None, "taken_at"), STRICT)
