from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from service.db.types import BYTES, INSTANT, JSON_TEXT, KEY, WHOLE
from service.models.record import STRICT, Record


class IdempotencyKey(Record):
    """An answer that is given again for 30 days to whoever repeats the same request.

    `agent_id` is the agent that the call wrote for; `request_hash` tells a repetition from another
    request under the same key.
    """

    __tablename__ = "idempotency_keys"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    idempotency_key: Mapped[str] = mapped_column(KEY, primary_key=True)
    request_hash: Mapped[bytes] = mapped_column(BYTES)
    status: Mapped[int] = mapped_column(WHOLE)
    body: Mapped[str] = mapped_column(JSON_TEXT)
    created_at: Mapped[int] = mapped_column(INSTANT)

    __table_args__ = (Index(None, "created_at"), STRICT)
