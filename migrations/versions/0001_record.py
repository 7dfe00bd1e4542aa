"""The record: two logs, turns, the projected ledger, audits and reports."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.types import TypeEngine

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


KEY = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL: TypeEngine[float] = sa.Double().with_variant(sqlite.REAL(), "sqlite")
TABLES = (
    "agents",
    "api_keys",
    "audit_requests",
    "audit_runs",
    "audit_samples",
    "audited_turns",
    "belief_versions",
    "beliefs",
    "bench_runs",
    "cog_events",
    "contradictions",
    "findings",
    "inference_resolutions",
    "log_heads",
    "predictions",
    "shadow_inferences",
    "turns",
    "weekly_reports",
)


def only_where(column: str) -> dict[str, Any]:
    """An index over the rows that have a value."""
    condition = sa.text(f"{column} IS NOT NULL")
    return {"sqlite_where": condition, "postgresql_where": condition}


def upgrade() -> None:
    op.create_table(
        "agents",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("created_at", WHOLE, nullable=False),
        sa.Column("time_zone", sa.Text, nullable=False),
        sa.Column("model", sa.Text, nullable=True),
        sa.Column("model_family", sa.Text, nullable=True),
        sa.Column("sample_size", WHOLE, nullable=True),
        sa.Column("daily_token_budget", WHOLE, nullable=True),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_agents")),
        sqlite_strict=True,
    )
    op.create_table(
        "api_keys",
        sa.Column("key_id", KEY, nullable=False),
        sa.Column("key_hash", sa.LargeBinary, nullable=False),
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("agent_id", KEY, nullable=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_at", WHOLE, nullable=False),
        sa.Column("revoked_at", WHOLE, nullable=True),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_api_keys_key_hash")),
        sqlite_strict=True,
    )
    op.create_table(
        "audit_requests",
        sa.Column("request_id", KEY, nullable=False),
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("window_from", WHOLE, nullable=False),
        sa.Column("window_until", WHOLE, nullable=False),
        sa.Column("requested_at", WHOLE, nullable=False),
        sa.Column("taken_at", WHOLE, nullable=True),
        sa.Column("outcome", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("request_id", name=op.f("pk_audit_requests")),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_audit_requests_taken_at"), "audit_requests", ["taken_at"], unique=False
    )
    op.create_table(
        "audit_runs",
        sa.Column("run_id", KEY, nullable=False),
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("window_from", WHOLE, nullable=False),
        sa.Column("window_until", WHOLE, nullable=False),
        sa.Column("method", KEY, nullable=False),
        sa.Column("method_version", KEY, nullable=False),
        sa.Column("state", KEY, nullable=False),
        sa.Column("seed", sa.LargeBinary, nullable=False),
        sa.Column("sample_size", WHOLE, nullable=False),
        sa.Column("population", WHOLE, nullable=False),
        sa.Column("drawn_seq", WHOLE, nullable=False),
        sa.Column("started_at", WHOLE, nullable=False),
        sa.Column("heartbeat_at", WHOLE, nullable=False),
        sa.Column("finished_at", WHOLE, nullable=True),
        sa.Column("ledger", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_audit_runs")),
        sa.UniqueConstraint(
            "agent_id",
            "window_from",
            "window_until",
            name=op.f("uq_audit_runs_agent_id_window_from_window_until"),
        ),
        sqlite_strict=True,
    )
    op.create_table(
        "audit_samples",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("turn_id", KEY, nullable=False),
        sa.Column("run_id", KEY, nullable=False),
        sa.Column("position", WHOLE, nullable=False),
        sa.Column("stratum", KEY, nullable=False),
        sa.Column("stratum_population", WHOLE, nullable=False),
        sa.Column("stratum_sample", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "turn_id", name=op.f("pk_audit_samples")),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_audit_samples_run_id_position"),
        "audit_samples",
        ["run_id", "position"],
        unique=False,
    )
    op.create_table(
        "audited_turns",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("turn_id", KEY, nullable=False),
        sa.Column("log", KEY, nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.Column("run_id", KEY, nullable=False),
        sa.Column("ts", WHOLE, nullable=False),
        sa.Column("audited_at", WHOLE, nullable=False),
        sa.Column("session_id", KEY, nullable=False),
        sa.Column("worker", KEY, nullable=True),
        sa.Column("model", KEY, nullable=True),
        sa.Column("commit_sha", KEY, nullable=True),
        sa.Column("stratum", KEY, nullable=False),
        sa.Column("stratum_population", WHOLE, nullable=False),
        sa.Column("stratum_sample", WHOLE, nullable=False),
        sa.Column("state", KEY, nullable=False),
        sa.Column("reason", sa.Text, nullable=True),
        sa.Column("sentences", WHOLE, nullable=False),
        sa.Column("claims", WHOLE, nullable=False),
        sa.Column("counts", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "turn_id", name=op.f("pk_audited_turns")),
        sa.UniqueConstraint(
            "agent_id", "log", "seq", name=op.f("uq_audited_turns_agent_id_log_seq")
        ),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_audited_turns_agent_id_ts"), "audited_turns", ["agent_id", "ts"], unique=False
    )
    op.create_index(op.f("ix_audited_turns_run_id"), "audited_turns", ["run_id"], unique=False)
    op.create_table(
        "belief_versions",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("belief_id", KEY, nullable=False),
        sa.Column("log", KEY, nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.Column("ts", WHOLE, nullable=False),
        sa.Column("kind", KEY, nullable=False),
        sa.Column("content", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint(
            "agent_id", "belief_id", "log", "seq", name=op.f("pk_belief_versions")
        ),
        sqlite_strict=True,
    )
    op.create_table(
        "beliefs",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("belief_id", KEY, nullable=False),
        sa.Column("created_at", WHOLE, nullable=True),
        sa.Column("created_label", KEY, nullable=True),
        sa.Column("label", KEY, nullable=True),
        sa.Column("confidence", REAL, nullable=True),
        sa.Column("category", sa.Text, nullable=True),
        sa.Column("writer", KEY, nullable=True),
        sa.Column("session_id", KEY, nullable=True),
        sa.Column("turn_id", KEY, nullable=True),
        sa.Column("evidence", sa.Text, nullable=True),
        sa.Column("justifications", sa.Text, nullable=True),
        sa.Column("status", KEY, nullable=False),
        sa.Column("superseded_by", KEY, nullable=True),
        sa.Column("superseded_at", WHOLE, nullable=True),
        sa.Column("needs_rederivation", sa.Integer, nullable=False),
        sa.Column("challenged_at", WHOLE, nullable=True),
        sa.Column("challenges", WHOLE, nullable=False),
        sa.Column("overwrites", WHOLE, nullable=False),
        sa.Column("valid_from", WHOLE, nullable=True),
        sa.Column("valid_until", WHOLE, nullable=True),
        sa.Column("content_log", KEY, nullable=True),
        sa.Column("content_seq", WHOLE, nullable=True),
        sa.Column("last_ts", WHOLE, nullable=False),
        sa.Column("last_log", KEY, nullable=False),
        sa.Column("last_seq", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "belief_id", name=op.f("pk_beliefs")),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_beliefs_agent_id_last_ts"), "beliefs", ["agent_id", "last_ts"], unique=False
    )
    op.create_table(
        "bench_runs",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("bench_run_id", KEY, nullable=False),
        sa.Column("log", KEY, nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.Column("ran_at", WHOLE, nullable=False),
        sa.Column("commit_sha", sa.Text, nullable=False),
        sa.Column("just_loss", REAL, nullable=False),
        sa.Column("just_loss_bare", REAL, nullable=False),
        sa.Column("detail", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("agent_id", "bench_run_id", name=op.f("pk_bench_runs")),
        sa.UniqueConstraint("agent_id", "log", "seq", name=op.f("uq_bench_runs_agent_id_log_seq")),
        sqlite_strict=True,
    )
    op.create_table(
        "cog_events",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("log", KEY, nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.Column("event_id", KEY, nullable=False),
        sa.Column("ts", WHOLE, nullable=False),
        sa.Column("received_at", WHOLE, nullable=False),
        sa.Column("session_id", KEY, nullable=True),
        sa.Column("turn_id", KEY, nullable=True),
        sa.Column("worker", KEY, nullable=True),
        sa.Column("event", KEY, nullable=False),
        sa.Column("belief_id", KEY, nullable=True),
        sa.Column("contradiction_id", KEY, nullable=True),
        sa.Column("label_from", KEY, nullable=True),
        sa.Column("label_to", KEY, nullable=True),
        sa.Column("confidence", REAL, nullable=True),
        sa.Column("detail", sa.Text, nullable=True),
        sa.Column("detail_salt", sa.LargeBinary, nullable=True),
        sa.Column("cost_tokens", WHOLE, nullable=True),
        sa.Column("cost_usd", REAL, nullable=True),
        sa.Column("latency_ms", REAL, nullable=True),
        sa.Column("flags", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("agent_id", "log", "seq", name=op.f("pk_cog_events")),
        sa.UniqueConstraint(
            "agent_id", "log", "event_id", name=op.f("uq_cog_events_agent_id_log_event_id")
        ),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_cog_events_agent_id_belief_id"),
        "cog_events",
        ["agent_id", "belief_id"],
        unique=False,
        **only_where("belief_id"),
    )
    op.create_index(
        op.f("ix_cog_events_agent_id_contradiction_id"),
        "cog_events",
        ["agent_id", "contradiction_id"],
        unique=False,
        **only_where("contradiction_id"),
    )
    op.create_index(
        op.f("ix_cog_events_agent_id_event_ts"),
        "cog_events",
        ["agent_id", "event", "ts"],
        unique=False,
    )
    op.create_index(
        op.f("ix_cog_events_agent_id_session_id_ts"),
        "cog_events",
        ["agent_id", "session_id", "ts"],
        unique=False,
        **only_where("session_id"),
    )
    op.create_index(
        op.f("ix_cog_events_agent_id_ts"), "cog_events", ["agent_id", "ts"], unique=False
    )
    op.create_index(
        op.f("ix_cog_events_agent_id_turn_id"),
        "cog_events",
        ["agent_id", "turn_id"],
        unique=False,
        **only_where("turn_id"),
    )
    op.create_table(
        "contradictions",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("contradiction_id", KEY, nullable=False),
        sa.Column("beliefs", sa.Text, nullable=True),
        sa.Column("detector", sa.Text, nullable=True),
        sa.Column("detected_at", WHOLE, nullable=True),
        sa.Column("state", KEY, nullable=False),
        sa.Column("priority", WHOLE, nullable=True),
        sa.Column("owner", KEY, nullable=True),
        sa.Column("next_action", sa.Text, nullable=True),
        sa.Column("ttl_us", WHOLE, nullable=True),
        sa.Column("investigated_at", WHOLE, nullable=True),
        sa.Column("closed_at", WHOLE, nullable=True),
        sa.Column("resolution", sa.Text, nullable=True),
        sa.Column("resolution_detail", sa.Text, nullable=True),
        sa.Column("cost_tokens", WHOLE, nullable=False),
        sa.Column("last_ts", WHOLE, nullable=False),
        sa.Column("last_log", KEY, nullable=False),
        sa.Column("last_seq", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "contradiction_id", name=op.f("pk_contradictions")),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_contradictions_agent_id_state_detected_at"),
        "contradictions",
        ["agent_id", "state", "detected_at"],
        unique=False,
    )
    op.create_table(
        "findings",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("finding_id", KEY, nullable=False),
        sa.Column("log", KEY, nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.Column("run_id", KEY, nullable=False),
        sa.Column("turn_id", KEY, nullable=False),
        sa.Column("session_id", KEY, nullable=False),
        sa.Column("ts", WHOLE, nullable=False),
        sa.Column("statement", sa.Text, nullable=False),
        sa.Column("quote", sa.Text, nullable=False),
        sa.Column("quote_start", WHOLE, nullable=False),
        sa.Column("quote_end", WHOLE, nullable=False),
        sa.Column("context_quotes", sa.Text, nullable=False),
        sa.Column("support", KEY, nullable=True),
        sa.Column("support_score", REAL, nullable=True),
        sa.Column("expressed_confidence", REAL, nullable=True),
        sa.Column("decisive_source", sa.Integer, nullable=True),
        sa.Column("tool_before", sa.Integer, nullable=False),
        sa.Column("abducted", sa.Integer, nullable=False),
        sa.Column("gated", sa.Integer, nullable=False),
        sa.Column("written", sa.Integer, nullable=False),
        sa.Column("belief_id", KEY, nullable=True),
        sa.Column("belief_label", KEY, nullable=True),
        sa.Column("link_score", REAL, nullable=True),
        sa.PrimaryKeyConstraint("agent_id", "finding_id", name=op.f("pk_findings")),
        sa.UniqueConstraint("agent_id", "log", "seq", name=op.f("uq_findings_agent_id_log_seq")),
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_findings_agent_id_ts"), "findings", ["agent_id", "ts"], unique=False)
    op.create_index(
        op.f("ix_findings_agent_id_turn_id"), "findings", ["agent_id", "turn_id"], unique=False
    )
    op.create_index(op.f("ix_findings_run_id"), "findings", ["run_id"], unique=False)
    op.create_table(
        "inference_resolutions",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("resolution_id", KEY, nullable=False),
        sa.Column("log", KEY, nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.Column("shadow_id", KEY, nullable=False),
        sa.Column("source", KEY, nullable=False),
        sa.Column("outcome", sa.Integer, nullable=False),
        sa.Column("evidence", sa.Text, nullable=True),
        sa.Column("resolved_at", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "resolution_id", name=op.f("pk_inference_resolutions")),
        sa.UniqueConstraint(
            "agent_id", "log", "seq", name=op.f("uq_inference_resolutions_agent_id_log_seq")
        ),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_inference_resolutions_agent_id_resolved_at"),
        "inference_resolutions",
        ["agent_id", "resolved_at"],
        unique=False,
    )
    op.create_index(
        op.f("ix_inference_resolutions_agent_id_shadow_id"),
        "inference_resolutions",
        ["agent_id", "shadow_id"],
        unique=False,
    )
    op.create_table(
        "log_heads",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("log", KEY, nullable=False),
        sa.Column("size", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "log", name=op.f("pk_log_heads")),
        sqlite_strict=True,
    )
    op.create_table(
        "predictions",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("prediction_id", KEY, nullable=False),
        sa.Column("statement", sa.Text, nullable=True),
        sa.Column("confidence", REAL, nullable=True),
        sa.Column("belief_id", KEY, nullable=True),
        sa.Column("made_at", WHOLE, nullable=True),
        sa.Column("due_at", WHOLE, nullable=True),
        sa.Column("outcome", sa.Integer, nullable=True),
        sa.Column("scored_at", WHOLE, nullable=True),
        sa.Column("last_ts", WHOLE, nullable=False),
        sa.Column("last_log", KEY, nullable=False),
        sa.Column("last_seq", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "prediction_id", name=op.f("pk_predictions")),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_predictions_agent_id_due_at"), "predictions", ["agent_id", "due_at"], unique=False
    )
    op.create_table(
        "shadow_inferences",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("shadow_id", KEY, nullable=False),
        sa.Column("log", KEY, nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.Column("source", KEY, nullable=False),
        sa.Column("event_id", KEY, nullable=False),
        sa.Column("ts", WHOLE, nullable=False),
        sa.Column("recorded_at", WHOLE, nullable=False),
        sa.Column("session_id", KEY, nullable=True),
        sa.Column("turn_id", KEY, nullable=True),
        sa.Column("worker", KEY, nullable=True),
        sa.Column("belief_id", KEY, nullable=True),
        sa.Column("statement", sa.Text, nullable=True),
        sa.Column("category", sa.Text, nullable=True),
        sa.Column("label", KEY, nullable=True),
        sa.Column("confidence", REAL, nullable=True),
        sa.Column("evidence", sa.Text, nullable=True),
        sa.Column("alternatives", sa.Text, nullable=True),
        sa.Column("gate_decision", sa.Text, nullable=True),
        sa.Column("commit_sha", sa.Text, nullable=True),
        sa.Column("detail_salt", sa.LargeBinary, nullable=True),
        sa.PrimaryKeyConstraint("agent_id", "shadow_id", name=op.f("pk_shadow_inferences")),
        sa.UniqueConstraint(
            "agent_id", "log", "seq", name=op.f("uq_shadow_inferences_agent_id_log_seq")
        ),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_shadow_inferences_agent_id_belief_id"),
        "shadow_inferences",
        ["agent_id", "belief_id"],
        unique=False,
    )
    op.create_index(
        op.f("ix_shadow_inferences_agent_id_ts"),
        "shadow_inferences",
        ["agent_id", "ts"],
        unique=False,
    )
    op.create_table(
        "turns",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("turn_id", KEY, nullable=False),
        sa.Column("log", KEY, nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.Column("ts", WHOLE, nullable=False),
        sa.Column("received_at", WHOLE, nullable=False),
        sa.Column("session_id", KEY, nullable=False),
        sa.Column("worker", KEY, nullable=True),
        sa.Column("model", KEY, nullable=True),
        sa.Column("commit_sha", KEY, nullable=True),
        sa.Column("payload", sa.Text, nullable=True),
        sa.Column("payload_salt", sa.LargeBinary, nullable=True),
        sa.Column("input_tokens", WHOLE, nullable=True),
        sa.Column("output_tokens", WHOLE, nullable=True),
        sa.Column("cost_usd", REAL, nullable=True),
        sa.Column("latency_ms", REAL, nullable=True),
        sa.Column("flags", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("agent_id", "turn_id", name=op.f("pk_turns")),
        sa.UniqueConstraint("agent_id", "log", "seq", name=op.f("uq_turns_agent_id_log_seq")),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_turns_agent_id_session_id_ts"),
        "turns",
        ["agent_id", "session_id", "ts"],
        unique=False,
    )
    op.create_index(op.f("ix_turns_agent_id_ts"), "turns", ["agent_id", "ts"], unique=False)
    op.create_table(
        "weekly_reports",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("iso_week", KEY, nullable=False),
        sa.Column("as_of", KEY, nullable=False),
        sa.Column("made_at", WHOLE, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "iso_week", name=op.f("pk_weekly_reports")),
        sqlite_strict=True,
    )


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
