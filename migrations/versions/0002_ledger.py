"""The owned ledger and the record that commits to itself: leaves, seals, tombstones, changes."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


KEY = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
COMMITTED = (
    "audited_turns",
    "bench_runs",
    "cog_events",
    "findings",
    "inference_resolutions",
    "shadow_inferences",
    "turns",
)
TABLES = (
    "belief_supports",
    "hand_check_verdicts",
    "hand_checks",
    "idempotency_keys",
    "inference_contexts",
    "ledger_changes",
    "published_changes",
    "redactions",
)


def leaf_columns() -> tuple[sa.Column[bytes], sa.Column[bytes]]:
    return (
        sa.Column("leaf_hash", sa.LargeBinary, nullable=True),
        sa.Column("seal", sa.LargeBinary, nullable=True),
    )


def upgrade() -> None:
    for table in COMMITTED:
        for column in leaf_columns():
            op.add_column(table, column)
    op.drop_column("shadow_inferences", "detail_salt")
    op.add_column("log_heads", sa.Column("frontier", sa.LargeBinary, nullable=True))
    op.add_column("log_heads", sa.Column("unsealed_until", WHOLE, nullable=True))
    op.add_column("log_heads", sa.Column("seal", sa.LargeBinary, nullable=True))
    _create_ledger_tables()
    _create_hand_checks()
    _create_inference_contexts()
    _create_trust_tables()


def _create_ledger_tables() -> None:
    op.create_table(
        "belief_supports",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("supporter_id", KEY, nullable=False),
        sa.Column("belief_id", KEY, nullable=False),
        sa.PrimaryKeyConstraint(
            "agent_id", "supporter_id", "belief_id", name=op.f("pk_belief_supports")
        ),
        sqlite_strict=True,
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("idempotency_key", KEY, nullable=False),
        sa.Column("request_hash", sa.LargeBinary, nullable=False),
        sa.Column("status", WHOLE, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("created_at", WHOLE, nullable=False),
        sa.PrimaryKeyConstraint("agent_id", "idempotency_key", name=op.f("pk_idempotency_keys")),
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_idempotency_keys_created_at"), "idempotency_keys", ["created_at"])


def _create_hand_checks() -> None:
    op.create_table(
        "hand_checks",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("check_id", KEY, nullable=False),
        sa.Column("kind", KEY, nullable=False),
        sa.Column("subject_id", KEY, nullable=False),
        sa.Column("iso_week", KEY, nullable=False),
        sa.Column("drawn_at", WHOLE, nullable=False),
        sa.Column("snapshot", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("agent_id", "check_id", name=op.f("pk_hand_checks")),
        sa.UniqueConstraint(
            "agent_id", "kind", "subject_id", name=op.f("uq_hand_checks_agent_id_kind_subject_id")
        ),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_hand_checks_agent_id_drawn_at"), "hand_checks", ["agent_id", "drawn_at"]
    )
    op.create_table(
        "hand_check_verdicts",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("verdict_id", KEY, nullable=False),
        sa.Column("log", KEY, nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.Column("check_id", KEY, nullable=False),
        sa.Column("kind", KEY, nullable=False),
        sa.Column("subject_id", KEY, nullable=False),
        sa.Column("verdict", KEY, nullable=False),
        sa.Column("note", sa.Text, nullable=True),
        sa.Column("decided_by", KEY, nullable=True),
        sa.Column("decided_at", WHOLE, nullable=False),
        *leaf_columns(),
        sa.PrimaryKeyConstraint("agent_id", "verdict_id", name=op.f("pk_hand_check_verdicts")),
        sa.UniqueConstraint(
            "agent_id", "log", "seq", name=op.f("uq_hand_check_verdicts_agent_id_log_seq")
        ),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_hand_check_verdicts_agent_id_check_id"),
        "hand_check_verdicts",
        ["agent_id", "check_id"],
    )


def _create_inference_contexts() -> None:
    op.create_table(
        "inference_contexts",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("context_id", KEY, nullable=False),
        sa.Column("log", KEY, nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.Column("shadow_id", KEY, nullable=False),
        sa.Column("kind", KEY, nullable=False),
        sa.Column("recorded_at", WHOLE, nullable=False),
        sa.Column("session_id", KEY, nullable=True),
        sa.Column("turn_id", KEY, nullable=True),
        sa.Column("commit_sha", sa.Text, nullable=True),
        sa.Column("evidence", sa.Text, nullable=True),
        *leaf_columns(),
        sa.PrimaryKeyConstraint("agent_id", "context_id", name=op.f("pk_inference_contexts")),
        sa.UniqueConstraint(
            "agent_id", "log", "seq", name=op.f("uq_inference_contexts_agent_id_log_seq")
        ),
        sqlite_strict=True,
    )
    op.create_index(
        op.f("ix_inference_contexts_agent_id_shadow_id"),
        "inference_contexts",
        ["agent_id", "shadow_id"],
    )


def _create_trust_tables() -> None:
    op.create_table(
        "redactions",
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("target_log", KEY, nullable=False),
        sa.Column("target_seq", WHOLE, nullable=False),
        sa.Column("log", KEY, nullable=False),
        sa.Column("seq", WHOLE, nullable=False),
        sa.Column("target_table", KEY, nullable=False),
        sa.Column("payload_hash", sa.LargeBinary, nullable=False),
        sa.Column("payload_bytes", WHOLE, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("removed_by", KEY, nullable=True),
        sa.Column("removed_at", WHOLE, nullable=False),
        *leaf_columns(),
        sa.PrimaryKeyConstraint("agent_id", "target_log", "target_seq", name=op.f("pk_redactions")),
        sa.UniqueConstraint("agent_id", "log", "seq", name=op.f("uq_redactions_agent_id_log_seq")),
        sqlite_strict=True,
    )
    op.create_table(
        "ledger_changes",
        sa.Column("change_id", WHOLE, nullable=False, autoincrement=True),
        sa.Column("at", WHOLE, nullable=False),
        sa.Column("table_name", KEY, nullable=False),
        sa.Column("op", KEY, nullable=False),
        sa.Column("refused", sa.Integer, nullable=False),
        sa.Column("row_key", sa.Text, nullable=False),
        sa.Column("old_row", sa.Text, nullable=True),
        sa.Column("new_row", sa.Text, nullable=True),
        sa.PrimaryKeyConstraint("change_id", name=op.f("pk_ledger_changes")),
        sqlite_strict=True,
        sqlite_autoincrement=True,
    )
    op.create_table(
        "published_changes",
        sa.Column("change_id", WHOLE, nullable=False, autoincrement=False),
        sa.Column("agent_id", KEY, nullable=False),
        sa.Column("event_id", KEY, nullable=False),
        sa.PrimaryKeyConstraint("change_id", name=op.f("pk_published_changes")),
        sqlite_strict=True,
    )
    op.create_index(op.f("ix_published_changes_agent_id"), "published_changes", ["agent_id"])


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)
    for column in ("seal", "unsealed_until", "frontier"):
        op.drop_column("log_heads", column)
    op.add_column("shadow_inferences", sa.Column("detail_salt", sa.LargeBinary, nullable=True))
    for table in COMMITTED:
        op.drop_column(table, "seal")
        op.drop_column(table, "leaf_hash")
