"""The first thing a reader should know of a week."""

from collections.abc import Sequence
from dataclasses import dataclass

from service.instants import format_instant
from service.models import BenchRun
from service.ratios.figures import Json
from service.ratios.signature import BypassSignature
from service.reports.figures import ReportFigure
from service.reports.wording import figure_shown, number

NO_RUN = "No benchmark run recorded."


@dataclass(frozen=True, slots=True)
class Bench:
    """The last benchmark run before the week's end, and the line that tells of it.

    JustLoss is a loss: the agent beats the bare model when its own is smaller.
    """

    run: Json | None
    beats_bare: bool | None
    line: str

    def as_json(self) -> Json:
        """As it stands in the report."""
        return {"run": self.run, "beats_bare": self.beats_bare, "line": self.line}


def bench_of(run: BenchRun | None) -> Bench:
    """The line of a run, or of none."""
    if run is None:
        return Bench(None, None, NO_RUN)
    beats = run.just_loss < run.just_loss_bare
    day = format_instant(run.ran_at)[:10]
    verdict = "beats" if beats else "does not beat"
    line = (
        f"The agent {verdict} the bare model: JustLoss {run.just_loss:.3f} against "
        f"{run.just_loss_bare:.3f} (commit {run.commit_sha[:12]}, run of {day})."
    )
    facts = {
        "bench_run_id": run.bench_run_id,
        "ran_at": format_instant(run.ran_at),
        "commit_sha": run.commit_sha,
        "just_loss": run.just_loss,
        "just_loss_bare": run.just_loss_bare,
    }
    return Bench(facts, beats, line)


def top_line(figures: Sequence[ReportFigure], bench: Bench, signature: BypassSignature) -> str:
    """A lost benchmark first, else the bypass signature, else what moved most."""
    if bench.beats_bare is False:
        return bench.line
    if signature.holds:
        return (
            "The bypass signature holds: inferences are asserted and written without abduction, "
            "and challenges change nothing."
        )
    return _moved_most(figures)


def _moved_most(figures: Sequence[ReportFigure]) -> str:
    moves = [
        (abs(move), figure) for figure in figures if (move := _relative_move(figure)) is not None
    ]
    if not moves:
        available = any(figure.point.value is not None for figure in figures)
        if not available:
            return "There is no figure for this week yet: each says what it is missing."
        return "There is no earlier week to compare with."
    move, figure = max(moves, key=lambda one: one[0])
    if move == 0:
        return "Nothing moved since last week."
    title, unit = figure.specification.title, figure.specification.unit
    return (
        f"What moved most: {title}, from {number(figure.previous, unit)} last week to "
        f"{figure_shown(figure)}."
    )


def _relative_move(figure: ReportFigure) -> float | None:
    """The change since last week as a share of the larger of both, so that units compare."""
    now, before = figure.point.value, figure.previous
    if now is None or before is None:
        return None
    larger = max(abs(now), abs(before))
    return 0.0 if larger == 0 else (now - before) / larger
