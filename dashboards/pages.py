"""The pages: the start page, the description of the API, and the files that both name."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from dashboards import commands
from dashboards.api_description import describe
from dashboards.overview import overview
from dashboards.rendering import HEADERS, PageRoute, assets, base_url_of, page
from service.agents.authentication import PrincipalDep
from service.api.state import ClockDep, DatabaseDep, SettingsDep
from service.errors import NotFound
from service.principals import Principal, Scope

REFRESH_SECONDS = 10
_FOREVER = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False, route_class=PageRoute)


@router.get("/")
def start_page(
    request: Request,
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
    settings: SettingsDep,
    refresh: str | None = None,
) -> Response:
    """One row an agent or, while there is no data, how to send some; `refresh=off` stands still."""
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)
    now = clock()
    with database.read() as session:
        found = overview(session, now)
    if not found.has_data:
        return _first_start(request, principal, looks=refresh != "off")
    audit_commands = {
        agent.agent_id: commands.audit_command(agent.agent_id, settings) for agent in found.agents
    }
    return page(request, "agents.html", overview=found, now=now, audit_commands=audit_commands)


def _first_start(request: Request, principal: Principal, *, looks: bool) -> Response:
    base_url = base_url_of(request)
    return page(
        request,
        "first_start.html",
        refresh_seconds=REFRESH_SECONDS if looks else None,
        needs_key=not principal.is_local,
        curl=commands.first_event(base_url, needs_key=not principal.is_local),
        python=commands.first_python(base_url),
        import_command=commands.with_url("doxa import FILE", base_url),
    )


@router.get("/docs")
def api_page(request: Request) -> Response:
    """The API as its OpenAPI document has it; open to all, as it says nothing of the record."""
    app = request.app
    return page(
        request,
        "api.html",
        api=describe(app.openapi()),
        openapi_path=app.openapi_url,
        base_url=base_url_of(request),
    )


@router.get("/static/{name}")
async def serve_asset(name: str, v: str = "") -> Response:
    """A file that pages name: kept for a year under its hash, asked for anew under any other."""
    asset = assets().get(name)
    if asset is None:
        raise NotFound(f"There is no file {name!r} here.")
    cached = {"Cache-Control": _FOREVER if v == asset.version else "no-cache"}
    return Response(asset.content, 200, HEADERS | cached, asset.media_type)
