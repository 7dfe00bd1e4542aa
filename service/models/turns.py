from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from service.db.types import BYTES, INSTANT, JSON_TEXT, KEY, REAL, WHOLE
from service.models.record import STRICT, Committed, Record


class Turn(Committed, Record):
    """One input → output step, write-once. What is large or secret stands in `payload`.

    `payload` is the JSON object {"inputs", "output", "retrieved", "tool_calls"}.
    """

    __tablename__ = "turns"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    turn_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    log: Mapped[str] = mapped_column(KEY)
    seq: Mapped[int] = mapped_column(WHOLE)
    ts: Mapped[int] = mapped_column(INSTANT)
    received_at: Mapped[int] = mapped_column(INSTANT)
    session_id: Mapped[str] = mapped_column(KEY)
    worker: Mapped[str | None] = mapped_column(KEY)
    model: Mapped[str | None] = mapped_column(KEY)
    commit_sha: Mapped[str | None] = mapped_column(KEY)
    payload: Mapped[str | None] = mapped_column(JSON_TEXT)
    payload_salt: Mapped[bytes | None] = mapped_column(BYTES)
    input_tokens: Mapped[int | None] = mapped_column(WHOLE)
    output_tokens: Mapped[int | None] = mapped_column(WHOLE)
    cost_usd: Mapped[float | None] = mapped_column(REAL)
    latency_ms: Mapped[float | None] = mapped_column(REAL)
    flags: Mapped[str | None] = mapped_column(JSON_TEXT)

    __table_args__ = (
        UniqueConstraint("agent_id", "log", "seq"),
        Index(None, "agent_id", "ts"),
        Index(None, "agent_id", "session_id", "ts"),
        STRICT | {"info": {"payloads": {"payload": "payload_salt"}}},
    )
