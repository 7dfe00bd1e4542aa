from sqlalchemy import UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from service.db.types import INSTANT, JSON_TEXT, KEY, REAL, TEXT, WHOLE
from service.models.record import STRICT, Committed, Record


class BenchRun(Committed, Record):
    """A benchmark run of the agent beside the bare model; a row of the audit log."""

    __tablename__ = "bench_runs"
    __table_args__ = (UniqueConstraint("agent_id", "log", "seq"), STRICT)

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    bench_run_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    log: Mapped[str] = mapped_column(KEY)
    seq: Mapped[int] = mapped_column(WHOLE)
    ran_at: Mapped[int] = mapped_column(INSTANT)
    commit_sha: Mapped[str] = mapped_column(TEXT)
    just_loss: Mapped[float] = mapped_column(REAL)
    just_loss_bare: Mapped[float] = mapped_column(REAL)
    detail: Mapped[str | None] = mapped_column(JSON_TEXT)


class WeeklyReport(Record):
    """A report as it was published: bytes that the scheduler made once for (agent, week)."""

    __tablename__ = "weekly_reports"
    __table_args__ = (STRICT,)

    agent_id: Mapped[str] = mapped_column(KEY, primary_key=True)
    iso_week: Mapped[str] = mapped_column(KEY, primary_key=True)
    as_of: Mapped[str] = mapped_column(KEY)
    made_at: Mapped[int] = mapped_column(INSTANT)
    body: Mapped[str] = mapped_column(JSON_TEXT)
