"""What each of PostgreSQL's roles may do with each table; a test holds the list to the models."""

from dataclasses import dataclass

import triggers


@dataclass(frozen=True, slots=True)
class Grant:
    """Privileges on one table. The service runs as the writer, with or without its auditor."""

    writer: str
    auditor: str = "SELECT"
    reader: str = "SELECT"


_READ = "SELECT"
_APPEND = "SELECT, INSERT"
_PROJECT = "SELECT, INSERT, UPDATE"
_HEADS = "SELECT, INSERT, UPDATE (size, frontier, unsealed_until, seal)"
# The seed of a draw is the auditor's secret until the turns are read.
_RUNS = (
    "SELECT (run_id, agent_id, window_from, window_until, method, method_version, state, "
    "sample_size, population, drawn_seq, started_at, heartbeat_at, finished_at, ledger)"
)

GRANTS: dict[str, Grant] = {
    "agents": Grant(_PROJECT),
    "alembic_version": Grant(_READ),
    "api_keys": Grant("SELECT, INSERT, UPDATE (revoked_at)", "", ""),
    "audit_requests": Grant(_PROJECT, _PROJECT),
    "audit_runs": Grant(_PROJECT, _PROJECT, _RUNS),
    "audit_samples": Grant(_APPEND, _APPEND, ""),
    "audited_turns": Grant(_APPEND, _APPEND),
    "belief_supports": Grant(_PROJECT),
    "belief_versions": Grant(_APPEND),
    "beliefs": Grant(_PROJECT),
    "bench_runs": Grant(_APPEND),
    # The writer removes a payload once a tombstone names its row; the trigger sees to that.
    "cog_events": Grant(f"{_APPEND}, UPDATE (detail, detail_salt)", _APPEND),
    "contradictions": Grant(_PROJECT),
    "findings": Grant(_APPEND, _APPEND),
    "hand_check_verdicts": Grant(_APPEND),
    "hand_checks": Grant(_PROJECT),
    "idempotency_keys": Grant(f"{_PROJECT}, DELETE", "", ""),
    "inference_contexts": Grant(_APPEND, _APPEND),
    "inference_resolutions": Grant(_APPEND),
    # Only the triggers write here, as the owner.
    "ledger_changes": Grant(_READ),
    "log_heads": Grant(_HEADS, _HEADS),
    "predictions": Grant(_PROJECT),
    "published_changes": Grant(_APPEND),
    "redactions": Grant(_APPEND),
    "shadow_inferences": Grant(_APPEND, _APPEND),
    "turns": Grant(f"{_APPEND}, UPDATE (payload, payload_salt)"),
    "weekly_reports": Grant(_APPEND, _APPEND),
}
# What even the owner may not alter.
PROTECTED = (*triggers.tables(), "log_heads", "published_changes")
