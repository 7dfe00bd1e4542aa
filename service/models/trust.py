from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from service.db.types import BYTES, INSTANT, JSON_TEXT, KEY, TEXT, TRUTH, WHOLE
from service.models.record import STRICT, Committed, Record


class Redaction(Committed, Record):
    """The tombstone of a payload that was removed; a row of the audit log, write-once.

    The payload's salted hash moves here from the row, so that the leaf can still be computed; its
    salt goes with the payload.
    """

    __tablename__ = "redactions"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    target_log: Mapped[str] = mapped_column(KEY, primary_key=True)
    target_seq: Mapped[int] = mapped_column(WHOLE, primary_key=True)
    log: Mapped[str] = mapped_column(KEY)
    seq: Mapped[int] = mapped_column(WHOLE)
    target_table: Mapped[str] = mapped_column(KEY)
    payload_hash: Mapped[bytes] = mapped_column(BYTES)
    payload_bytes: Mapped[int] = mapped_column(WHOLE)
    reason: Mapped[str] = mapped_column(TEXT)
    removed_by: Mapped[str | None] = mapped_column(KEY)
    removed_at: Mapped[int] = mapped_column(INSTANT)

    __table_args__ = (UniqueConstraint("agent_id", "log", "seq"), STRICT)


class LedgerChange(Record):
    """What a trigger caught: an attempt on a write-once row, or a change in a watched ledger.

    Written by triggers alone; the service publishes each row as an event with its next commit.
    """

    __tablename__ = "ledger_changes"

    change_id: Mapped[int] = mapped_column(WHOLE, primary_key=True, autoincrement=True)
    at: Mapped[int] = mapped_column(INSTANT)
    table_name: Mapped[str] = mapped_column(KEY)
    op: Mapped[str] = mapped_column(KEY)
    refused: Mapped[int] = mapped_column(TRUTH)
    row_key: Mapped[str] = mapped_column(JSON_TEXT)
    old_row: Mapped[str | None] = mapped_column(JSON_TEXT)
    new_row: Mapped[str | None] = mapped_column(JSON_TEXT)

    __table_args__ = (STRICT | {"sqlite_autoincrement": True},)


class PublishedChange(Record):
    """Which rows of `ledger_changes` have become events."""

    __tablename__ = "published_changes"

    change_id: Mapped[int] = mapped_column(WHOLE, primary_key=True, autoincrement=False)
    agent_id: Mapped[str] = mapped_column(KEY)
    event_id: Mapped[str] = mapped_column(KEY)

    __table_args__ = (Index(None, "agent_id"), STRICT)
