from sqlalchemy import Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from service.db.types import INSTANT, JSON_TEXT, KEY, TEXT, WHOLE
from service.models.record import STRICT, Committed, Record


class HandCheck(Record):
    """Something drawn for a person to look at: a resolution, later a finding. `snapshot` is what
    the person is shown, as it was when it was drawn."""

    __tablename__ = "hand_checks"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    check_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    kind: Mapped[str] = mapped_column(KEY)
    subject_id: Mapped[str] = mapped_column(KEY)
    iso_week: Mapped[str] = mapped_column(KEY)
    drawn_at: Mapped[int] = mapped_column(INSTANT)
    snapshot: Mapped[str | None] = mapped_column(JSON_TEXT)

    __table_args__ = (
        UniqueConstraint("agent_id", "kind", "subject_id"),
        Index(None, "agent_id", "drawn_at"),
        STRICT,
    )


class HandCheckVerdict(Committed, Record):
    """What a person said of a hand-check; a row of the audit log, write-once. The latest holds."""

    __tablename__ = "hand_check_verdicts"

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    verdict_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    log: Mapped[str] = mapped_column(KEY)
    seq: Mapped[int] = mapped_column(WHOLE)
    check_id: Mapped[str] = mapped_column(KEY)
    kind: Mapped[str] = mapped_column(KEY)
    subject_id: Mapped[str] = mapped_column(KEY)
    verdict: Mapped[str] = mapped_column(KEY)
    note: Mapped[str | None] = mapped_column(TEXT)
    decided_by: Mapped[str | None] = mapped_column(KEY)
    decided_at: Mapped[int] = mapped_column(INSTANT)

    __table_args__ = (
        UniqueConstraint("agent_id", "log", "seq"),
        Index(None, "agent_id", "check_id"),
        STRICT,
    )
