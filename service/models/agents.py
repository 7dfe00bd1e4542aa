from sqlalchemy import UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from service.db.types import BYTES, INSTANT, KEY, TEXT, WHOLE
from service.models.record import STRICT, Record


class Agent(Record):
    """An observed system and what its operator says of it."""

    __tablename__ = "agents"
    __table_args__ = (STRICT,)

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    created_at: Mapped[int] = mapped_column(INSTANT)
    time_zone: Mapped[str] = mapped_column(TEXT)
    model: Mapped[str | None] = mapped_column(TEXT)
    model_family: Mapped[str | None] = mapped_column(TEXT)
    sample_size: Mapped[int | None] = mapped_column(WHOLE)
    daily_token_budget: Mapped[int | None] = mapped_column(WHOLE)


class ApiKey(Record):
    """A key, hashed: what it may do, and for a writing key whose it is."""

    __tablename__ = "api_keys"
    __table_args__ = (UniqueConstraint("key_hash"), STRICT)

    key_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    key_hash: Mapped[bytes] = mapped_column(BYTES)
    scope: Mapped[str] = mapped_column(TEXT)
    agent_id: Mapped[str | None] = mapped_column(KEY)
    name: Mapped[str] = mapped_column(TEXT)
    created_at: Mapped[int] = mapped_column(INSTANT)
    revoked_at: Mapped[int | None] = mapped_column(INSTANT)
