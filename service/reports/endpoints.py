from datetime import date, timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import Response

from service.agents.authentication import PrincipalDep
from service.agents.queries import chosen_agent, zone_of
from service.api.bodies import BodyKind, body_kind, read_body
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import ClockDep, DatabaseDep, SettingsDep
from service.errors import UnsupportedMedia
from service.instants import format_instant
from service.json_text import read_leniently
from service.models import BenchRun
from service.principals import Principal, Scope
from service.ratios.queries import current_as_of
from service.ratios.window import AsOf, View, Window, parse_week
from service.reports import queries
from service.reports.html import Links, as_html, content_security_policy
from service.reports.markdown import as_markdown
from service.reports.negotiation import Form, choose_form
from service.reports.operations import parse_bench_run, record_bench_run
from service.reports.presentation import present
from service.reports.schemas import BenchRunOut, BenchRunsOut
from service.reports.weekly import Report, latest_week, make_report

router = APIRouter(prefix="/v1", tags=["reports"], responses=RESPONSES)
_FORMS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The report in the form asked for by Accept",
        "content": {
            Form.JSON: {"schema": {"type": "object"}},
            Form.MARKDOWN: {"schema": {"type": "string"}},
            Form.HTML: {"schema": {"type": "string"}},
        },
    },
    406: {"description": "None of the media types asked for is made here"},
}
AsOfQuery = Annotated[str | None, Query(description="a state of the record, 1234.56")]


@router.get("/reports/weekly", response_model=None, responses=_FORMS)
def read_latest_report(
    request: Request,
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
    agent: str | None = None,
    as_of: AsOfQuery = None,
) -> Response:
    """The cognition report of the latest week with data, never one of the future."""
    form = _form(request)
    with database.read() as session:
        report = _report(session, principal, agent, None, as_of, clock())
    return _answer(request, report, form, clock())


@router.get("/reports/weekly/{iso_week}", response_model=None, responses=_FORMS)
def read_report(
    iso_week: str,
    request: Request,
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
    agent: str | None = None,
    as_of: AsOfQuery = None,
) -> Response:
    """The cognition report of an ISO week such as 2026-W40, in the agent's time zone."""
    form = _form(request)
    parse_week(iso_week, "iso_week")
    with database.read() as session:
        report = _report(session, principal, agent, iso_week, as_of, clock())
    return _answer(request, report, form, clock())


def _form(request: Request) -> Form:
    return choose_form(",".join(request.headers.getlist("accept")) or None)


def _report(
    session: Session,
    principal: Principal,
    asked: str | None,
    week: str | None,
    as_of: str | None,
    now: int,
) -> Report:
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)
    agent = chosen_agent(session, principal, asked)
    zone = zone_of(agent)
    current = current_as_of(session, agent.agent_id)
    state = current if as_of is None else AsOf.parse(as_of, current)
    if week is None:
        # One microsecond on, so that what happens just now has happened.
        so_far = Window(now, now + 1)
        week = latest_week(session, View(agent.agent_id, zone, state, so_far))
    return make_report(session, agent.agent_id, zone, week, state)


def _answer(request: Request, report: Report, form: Form, now: int) -> Response:
    headers = {"Vary": "Accept", "Cache-Control": "no-cache"}
    if form is Form.JSON:
        return Response(report.as_text(), 200, headers, Form.JSON)
    shown = present(report)
    if form is Form.MARKDOWN:
        return Response(as_markdown(shown), 200, headers, f"{Form.MARKDOWN}; charset=utf-8")
    headers["Content-Security-Policy"] = content_security_policy()
    headers["X-Content-Type-Options"] = "nosniff"
    headers["Referrer-Policy"] = "no-referrer"
    page = as_html(shown, _links(request, report, now))
    return Response(page, 200, headers, f"{Form.HTML}; charset=utf-8")


def _links(request: Request, report: Report, now: int) -> Links:
    monday = parse_week(report.week)
    root = str(request.scope.get("root_path", "")).rstrip("/")
    following = _week_beside(monday, 1)
    if report.view.window.until > now:
        following = None
    return Links(root, _week_beside(monday, -1), following)


def _week_beside(monday: date, weeks: int) -> str | None:
    try:
        year, week, _ = (monday + timedelta(weeks=weeks)).isocalendar()
    except OverflowError:
        return None
    return f"{year:04}-W{week:02}"


async def _bench_body(request: Request, settings: SettingsDep) -> bytes:
    if body_kind(request.headers.get("content-type")) is not BodyKind.JSON:
        raise UnsupportedMedia("A benchmark run is one JSON object: send application/json.")
    return await read_body(request, settings)


@router.post(
    "/bench-runs",
    response_model=None,
    status_code=201,
    responses={
        200: {"description": "This run is recorded already"},
        201: {"model": BenchRunOut},
    },
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "required": ["ran_at", "commit_sha", "just_loss", "just_loss_bare"],
                        "properties": {
                            "agent_id": {"type": "string"},
                            "bench_run_id": {"type": "string"},
                            "ran_at": {"type": "string", "format": "date-time"},
                            "commit_sha": {"type": "string"},
                            "just_loss": {"type": "number", "minimum": 0},
                            "just_loss_bare": {"type": "number", "minimum": 0},
                            "detail": {"type": "object"},
                        },
                        "additionalProperties": False,
                    }
                }
            },
        }
    },
)
def post_bench_run(
    body: Annotated[bytes, Depends(_bench_body)],
    principal: PrincipalDep,
    database: DatabaseDep,
    settings: SettingsDep,
) -> Response:
    """Records a benchmark run for the report's line; sent again it is found, not doubled."""
    principal.require(Scope.OPERATE)
    run = parse_bench_run(body, settings)
    with database.write() as session:
        agent = chosen_agent(session, principal, run.agent_id)
        recorded, is_new = record_bench_run(session, agent.agent_id, run)
        answer = _bench_out(recorded)
    return as_json(answer.model_dump(), 201 if is_new else 200)


@router.get("/bench-runs", response_model=BenchRunsOut)
def list_bench_runs(
    principal: PrincipalDep,
    database: DatabaseDep,
    agent: str | None = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Benchmark runs, newest first."""
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)
    place = decode_cursor(after, queries.Place)
    with database.read() as session:
        agent_id = chosen_agent(session, principal, agent).agent_id
        runs, following = queries.newest_bench_runs(session, agent_id, limit=limit, after=place)
        items = [_bench_out(run).model_dump() for run in runs]
    return as_json({"items": items, "next": encode_cursor(following)})


def _bench_out(run: BenchRun) -> BenchRunOut:
    return BenchRunOut(
        agent_id=run.agent_id,
        bench_run_id=run.bench_run_id,
        ran_at=format_instant(run.ran_at),
        commit_sha=run.commit_sha,
        just_loss=run.just_loss,
        just_loss_bare=run.just_loss_bare,
        beats_bare=run.just_loss < run.just_loss_bare,
        detail=None if run.detail is None else read_leniently(run.detail),
        seq=run.seq,
    )
