"""The weekly cognition report (spec 2.6): a function of agent, week and state of the record."""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from sqlalchemy.orm import Session

from scoring.calibration import ECE_TARGET
from scoring.figures import Target
from service import json_text
from service.instants import format_instant
from service.ratios import queries
from service.ratios.figures import Json
from service.ratios.reading import Reader, Readers
from service.ratios.signature import BypassSignature
from service.ratios.window import AsOf, View, iso_week_of, parse_week, week_window
from service.reports import census_figures, label_mix, sampled_figures
from service.reports.figures import WEEKS, ReportFigure, Specification, report_figure
from service.reports.queries import last_bench_run
from service.reports.top import Bench, bench_of, top_line

SPECIFICATIONS = (
    Specification(
        "inference_opportunities", "Inference opportunities", "opportunities", None,
        sampled_figures.inference_opportunities, ("ratios/unrecorded_assertions/items",),
    ),
    Specification(
        "machinery_engagement", "Machinery engagement", "ratio", None,
        sampled_figures.machinery_engagement, ("ratios/abduction_engagement/items",),
    ),
    Specification(
        "unsupported_assertions", "Unsupported assertions", "ratio", Target("falling"),
        sampled_figures.unsupported_assertions, ("ratios/unsupported_assertions/items",),
    ),
    Specification(
        "live_calibration", "Live calibration, 30 days", "score", Target("<", ECE_TARGET),
        census_figures.live_calibration, ("calibration",), "expected calibration error",
    ),
    Specification(
        "look_before_infer", "Look before infer", "ratio", None,
        sampled_figures.look_before_infer, ("ratios/unrecorded_assertions/items",),
    ),
    Specification(
        "contradictions", "Open contradictions", "count", None,
        census_figures.contradictions,
        ("ratios/contradiction_age/items", "ratios/contradiction_resolution/items"),
    ),
    Specification(
        "revision", "Revised after a challenge", "ratio", Target(">", 0.5),
        census_figures.revision, ("ratios/revision/items", "ratios/silent_overwrites/items"),
    ),
    Specification(
        "label_mix", "Relabelled from infer to remember", "count", None,
        label_mix.label_mix, ("events",),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Report:
    """One week of one agent, seen from one state of the record."""

    view: View
    week: str
    figures: tuple[ReportFigure, ...]
    bench: Bench
    signature: BypassSignature
    top: str
    record_ends: int | None

    def as_json(self) -> Json:
        """As it stands in answers; equal reports are equal texts."""
        return {
            "agent": self.view.agent_id,
            "week": self.week,
            "time_zone": self.view.zone.key,
            "window": self.view.window.as_json(),
            "as_of": str(self.view.as_of),
            "top": self.top,
            "figures": [figure.as_json() for figure in self.figures],
            "bench": self.bench.as_json(),
            "bypass_signature": self.signature.as_json(),
            "record_ends": None if self.record_ends is None else format_instant(self.record_ends),
        }

    def as_text(self) -> str:
        """The same as canonical JSON."""
        return json_text.encode(self.as_json())


def make_report(session: Session, agent_id: str, zone: ZoneInfo, week: str, as_of: AsOf) -> Report:
    """Makes the report of an ISO week (2026-W40); made twice it is the same to the byte."""
    monday = parse_week(week)
    view = View(agent_id, zone, as_of, week_window(monday, zone))
    weeks = [Reader(session, earlier) for earlier in _weeks_to(view, monday)]
    figures = tuple(
        report_figure(one, weeks, tuple(_path(view, week, path) for path in one.rows))
        for one in SPECIFICATIONS
    )
    signature = Readers(weeks[-1], weeks[-2]).signature()
    bench = bench_of(last_bench_run(session, view))
    return Report(
        view,
        week,
        figures,
        bench,
        signature,
        top_line(figures, bench, signature),
        queries.last_instant(session, view),
    )


def _weeks_to(view: View, monday: date) -> list[View]:
    """The week and those before it, oldest first: four, and one more to come before the first."""
    mondays = [monday]
    for back in range(1, WEEKS + 1):
        try:
            mondays.append(monday - timedelta(weeks=back))
        except OverflowError:
            # In the first month of the calendar there is no week before.
            mondays.append(mondays[-1])
    return [replace(view, window=week_window(one, view.zone)) for one in reversed(mondays)]


def _path(view: View, week: str, path: str) -> str:
    """The call of the API that answers with the rows behind a figure."""
    query: list[tuple[str, str]] = [("agent", view.agent_id)]
    if path == "events":
        types = ("belief.created", "belief.relabelled", "summary.written")
        query += [("event", name) for name in types]
        query += list(view.window.as_json().items())
    elif path == "calibration":
        until = view.window.as_json()["until"]
        query += [("until", until), ("window", "30d"), ("as_of", str(view.as_of))]
    else:
        query += [("week", week), ("as_of", str(view.as_of))]
    return f"/v1/{path}?{urlencode(query)}"


def latest_week(session: Session, view: View) -> str:
    """The latest week with data before the view's end; without any, the week of that end."""
    newest = queries.last_instant(session, view)
    return iso_week_of(view.window.until if newest is None else newest, view.zone)
