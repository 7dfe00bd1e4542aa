from sqlalchemy import Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from service.db.types import BYTES, INSTANT, JSON_TEXT, KEY, REAL, WHOLE
from service.models.record import STRICT, Committed, Record


class LogHead(Record):
    """How many rows each of an agent's two logs holds; its row is the lock of that log.

    `frontier` is the Merkle tree over the log's leaves as far as an append needs it, `seal` the
    HMAC of the row. Rows up to `unsealed_until` were written before Doxa sealed rows.
    """

    __tablename__ = "log_heads"
    __table_args__ = (STRICT,)

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    log: Mapped[str] = mapped_column(KEY, primary_key=True)
    size: Mapped[int] = mapped_column(WHOLE)
    frontier: Mapped[bytes | None] = mapped_column(BYTES)
    unsealed_until: Mapped[int | None] = mapped_column(WHOLE)
    seal: Mapped[bytes | None] = mapped_column(BYTES)


class CogEvent(Committed, Record):
    """The one source of truth: append-only, in the order of (`agent_id`, `log`, `seq`).

    `seq` is the row's position in its log. Every write-once row of the agent takes one (events,
    turns, shadow inferences, findings, …), so that two lengths name a state of the whole record.
    """

    __tablename__ = "cog_events"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    log: Mapped[str] = mapped_column(KEY, primary_key=True)
    seq: Mapped[int] = mapped_column(WHOLE, primary_key=True)
    event_id: Mapped[str] = mapped_column(KEY)
    ts: Mapped[int] = mapped_column(INSTANT)
    received_at: Mapped[int] = mapped_column(INSTANT)
    session_id: Mapped[str | None] = mapped_column(KEY)
    turn_id: Mapped[str | None] = mapped_column(KEY)
    worker: Mapped[str | None] = mapped_column(KEY)
    event: Mapped[str] = mapped_column(KEY)
    belief_id: Mapped[str | None] = mapped_column(KEY)
    contradiction_id: Mapped[str | None] = mapped_column(KEY)
    label_from: Mapped[str | None] = mapped_column(KEY)
    label_to: Mapped[str | None] = mapped_column(KEY)
    confidence: Mapped[float | None] = mapped_column(REAL)
    detail: Mapped[str | None] = mapped_column(JSON_TEXT)
    # Salts the hash by which a leaf will hold `detail`, so that the text can be redacted later.
    detail_salt: Mapped[bytes | None] = mapped_column(BYTES)
    cost_tokens: Mapped[int | None] = mapped_column(WHOLE)
    cost_usd: Mapped[float | None] = mapped_column(REAL)
    latency_ms: Mapped[float | None] = mapped_column(REAL)
    flags: Mapped[str | None] = mapped_column(JSON_TEXT)

    __table_args__ = (
        UniqueConstraint("agent_id", "log", "event_id"),
        Index(None, "agent_id", "event", "ts"),
        Index(None, "agent_id", "ts"),
        Index(
            None,
            "agent_id",
            "session_id",
            "ts",
            sqlite_where=text("session_id IS NOT NULL"),
            postgresql_where=text("session_id IS NOT NULL"),
        ),
        Index(
            None,
            "agent_id",
            "turn_id",
            sqlite_where=text("turn_id IS NOT NULL"),
            postgresql_where=text("turn_id IS NOT NULL"),
        ),
        Index(
            None,
            "agent_id",
            "belief_id",
            sqlite_where=text("belief_id IS NOT NULL"),
            postgresql_where=text("belief_id IS NOT NULL"),
        ),
        Index(
            None,
            "agent_id",
            "contradiction_id",
            sqlite_where=text("contradiction_id IS NOT NULL"),
            postgresql_where=text("contradiction_id IS NOT NULL"),
        ),
        STRICT | {"info": {"payloads": {"detail": "detail_salt"}}},
    )
