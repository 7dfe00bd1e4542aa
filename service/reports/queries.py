"""Reading benchmark runs and published reports."""

from sqlalchemy import select, tuple_
from sqlalchemy.orm import Session

from service.models import BenchRun, WeeklyReport
from service.ratios.queries import recorded
from service.ratios.window import View

Place = tuple[int, int]


def last_bench_run(session: Session, view: View) -> BenchRun | None:
    """The last run before the window's end that the record of the view knows."""
    return session.scalar(
        select(BenchRun)
        .where(*recorded(BenchRun, view), BenchRun.ran_at < view.window.until)
        .order_by(BenchRun.ran_at.desc(), BenchRun.seq.desc())
        .limit(1)
    )


def newest_bench_runs(
    session: Session, agent_id: str, *, limit: int, after: Place | None
) -> tuple[list[BenchRun], Place | None]:
    """One page of runs, newest first by (ran_at, seq), and where the next one begins."""
    place = tuple_(BenchRun.ran_at, BenchRun.seq)
    statement = select(BenchRun).where(BenchRun.agent_id == agent_id)
    if after is not None:
        statement = statement.where(place < after)
    rows = session.scalars(
        statement.order_by(BenchRun.ran_at.desc(), BenchRun.seq.desc()).limit(limit + 1)
    ).all()
    page = list(rows[:limit])
    return page, (page[-1].ran_at, page[-1].seq) if len(rows) > limit else None


def published_report(session: Session, agent_id: str, week: str) -> WeeklyReport | None:
    """The report of a week as it was published."""
    return session.get(WeeklyReport, (agent_id, week))
