from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.agents.authentication import PrincipalDep
from service.agents.queries import chosen_agent, zone_of
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import ClockDep, DatabaseDep
from service.errors import Fault, Forbidden, Malformed
from service.principals import Principal, Scope
from service.ratios import items, queries
from service.ratios.calibration import read_calibration
from service.ratios.definitions import DEFINITIONS, IN_PATH_ENGAGEMENT, Definition, Dimension
from service.ratios.figures import Kind, RatioName
from service.ratios.grouping import require_dimension
from service.ratios.reading import Reader, read_ratios
from service.ratios.schemas import ItemsOut, RatioOut, RatiosOut
from service.ratios.window import Asked, AsOf, View, choose_window

router = APIRouter(prefix="/v1", tags=["ratios"], responses=RESPONSES)
Source = Annotated[
    Literal["auditor", "in_path"] | None,
    Query(description="which reading of abduction_engagement comes first"),
]
GroupBy = Annotated[Dimension | None, Query(description="groups whose counts add up to the whole")]


@dataclass(frozen=True, slots=True)
class Question:
    """What every call here is asked about."""

    agent: str | None
    asked: Asked
    as_of: str | None


def _question(
    agent: str | None = None,
    start: Annotated[str | None, Query(alias="from", description="an instant")] = None,
    until: Annotated[str | None, Query(description="an instant; default now")] = None,
    window: Annotated[str | None, Query(description="a duration, 30d or P30D")] = None,
    week: Annotated[str | None, Query(description="an ISO week, 2026-W40")] = None,
    as_of: Annotated[str | None, Query(description="a state of the record, 1234.56")] = None,
) -> Question:
    return Question(agent, Asked(start, until, window, week), as_of)


QuestionDep = Annotated[Question, Depends(_question)]


def sees_audit(principal: Principal) -> bool:
    """Whether figures may rest on the audit log: never for an agent's own key."""
    return principal.agent_id is None


def view_for(session: Session, principal: Principal, question: Question, now: int) -> View:
    """The agent, window and state of the record that a call is about."""
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE, Scope.WRITE)
    agent = chosen_agent(session, principal, question.agent)
    zone = zone_of(agent)
    window = choose_window(question.asked, zone, now)
    current = readable(session, principal, agent.agent_id)
    as_of = current if question.as_of is None else AsOf.parse(question.as_of, current)
    return View(agent.agent_id, zone, as_of, window)


def readable(session: Session, principal: Principal, agent_id: str) -> AsOf:
    """The record as it stands, as far as the principal may read it."""
    current = queries.current_as_of(session, agent_id)
    return current if sees_audit(principal) else AsOf(current.agent, 0)


def _head(view: View) -> dict[str, Any]:
    return {
        "agent": view.agent_id,
        "window": view.window.as_json(),
        "as_of": str(view.as_of),
    }


@router.get("/ratios", response_model=None, responses={200: {"model": RatiosOut}})
def list_ratios(
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
    question: QuestionDep,
    group_by: GroupBy = None,
    source: Source = None,
) -> Response:
    """All ten ratios and the bypass signature; an agent's own key is shown the census ones."""
    with database.read() as session:
        view = view_for(session, principal, question, clock())
        allowed = sees_audit(principal)
        names = [name for name in RatioName if allowed or _is_census(name, source)]
        found = read_ratios(
            session,
            view,
            names,
            dimension=group_by,
            in_path=source == "in_path",
            sees_audit=allowed,
        )
    body = _head(view)
    body["ratios"] = {name: figure.as_json() for name, figure in found.figures.items()}
    if group_by is not None:
        body["group_by"] = group_by
    if found.signature is not None:
        body["bypass_signature"] = found.signature.as_json()
    return as_json(body)


def _is_census(name: RatioName, source: str | None) -> bool:
    in_path = name is RatioName.ABDUCTION_ENGAGEMENT and source == "in_path"
    return in_path or DEFINITIONS[name].kind is Kind.CENSUS


def _definition(name: RatioName, source: str | None, principal: Principal) -> Definition:
    """The ratio's definition in the reading asked for; refused to keys that may not see it."""
    if source is not None and name is not RatioName.ABDUCTION_ENGAGEMENT:
        reason = f"is for {RatioName.ABDUCTION_ENGAGEMENT} only: leave it out"
        raise Malformed(f"source {reason}.", errors=(Fault("/query/source", reason),))
    if not sees_audit(principal) and not _is_census(name, source):
        raise Forbidden(
            f"{name} rests on the auditor's sample, which an agent's own key never sees."
        )
    return IN_PATH_ENGAGEMENT if source == "in_path" else DEFINITIONS[name]


@router.get("/ratios/{name}", response_model=None, responses={200: {"model": RatioOut}})
def read_ratio(
    name: RatioName,
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
    question: QuestionDep,
    group_by: GroupBy = None,
    source: Source = None,
) -> Response:
    """One ratio, with its groups where a dimension is asked."""
    definition = _definition(name, source, principal)
    if group_by is not None:
        require_dimension(definition, group_by)
    with database.read() as session:
        view = view_for(session, principal, question, clock())
        found = read_ratios(
            session,
            view,
            [name],
            dimension=group_by,
            in_path=source == "in_path",
            sees_audit=sees_audit(principal),
        )
    body = {**_head(view), "name": name, "group_by": group_by}
    return as_json({**body, **found.figures[name].as_json()})


@router.get("/ratios/{name}/items", response_model=None, responses={200: {"model": ItemsOut}})
def list_items(
    name: RatioName,
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
    question: QuestionDep,
    source: Source = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """The rows behind a ratio, oldest first; later pages see the record as the first one did."""
    definition = _definition(name, source, principal)
    place = decode_cursor(after, items.Cursor)
    with database.read() as session:
        view = view_for(session, principal, question, clock())
        if place is not None:
            current = readable(session, principal, view.agent_id)
            view = items.view_of(place, view, current)
        rows = Reader(session, view).reading(definition).rows
        page, has_more = items.page(rows, limit=limit, after=place)
        shown = items.shown(session, view.agent_id, page)
    following = items.cursor_of(page[-1], view) if has_more else None
    return as_json({**_head(view), "name": name, "items": shown, "next": encode_cursor(following)})


@router.get("/calibration", response_model=None)
def read_live_calibration(
    principal: PrincipalDep, database: DatabaseDep, clock: ClockDep, question: QuestionDep
) -> Response:
    """Brier score, calibration error and reliability table of the claims resolved in the window."""
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)
    with database.read() as session:
        view = view_for(session, principal, question, clock())
        found = read_calibration(session, view)
    return as_json({**_head(view), **found.as_json()})
