"""Turning templates into answers: escaping, headers, the stylesheet, errors as pages."""

import hashlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response

from dashboards import commands, showing
from service.api.problems import of_error
from service.errors import LedgerError

# No script at all, nothing from elsewhere, and nobody may frame a page.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_MEDIA_TYPES = {"doxa.css": "text/css; charset=utf-8", "doxa.svg": "image/svg+xml"}
_KEPT = ("WWW-Authenticate", "Retry-After")
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("dashboards"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for present in (
        showing.shown,
        showing.prose,
        showing.coded,
        showing.local_time,
        showing.local_day,
        showing.utc_time,
        showing.ago,
        showing.count,
    ):
        environment.filters[present.__name__] = present
    environment.globals["per_cent"] = showing.per_cent
    return environment


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that pages name, with the hash by which they name this version of it."""

    content: bytes
    media_type: str
    version: str


@cache
def assets() -> dict[str, Asset]:
    """The files of `static`, by name."""
    folder = files("dashboards").joinpath("static")
    contents = {name: folder.joinpath(name).read_bytes() for name in _MEDIA_TYPES}
    return {
        name: Asset(content, _MEDIA_TYPES[name], hashlib.sha256(content).hexdigest()[:16])
        for name, content in contents.items()
    }


def prefix_of(request: Request) -> str:
    """The path under which a proxy serves Doxa, without a slash at its end."""
    return str(request.scope.get("root_path", "")).rstrip("/")


def base_url_of(request: Request) -> str:
    """The address at which the caller reached Doxa, without a slash at its end."""
    return str(request.base_url).rstrip("/")


def _address_of(request: Request) -> str:
    """The address of this page, whether or not a proxy takes the prefix off the path."""
    path = request.url.path.removeprefix(prefix_of(request))
    query = f"?{request.url.query}" if request.url.query else ""
    return f"{base_url_of(request)}{path}{query}"


def page(
    request: Request,
    template: str,
    *,
    status: int = 200,
    headers: dict[str, str] | None = None,
    **values: Any,
) -> Response:
    """A template of this package as an HTML answer with the headers that every page carries."""
    html = _environment().get_template(template)
    text = html.render(
        prefix=prefix_of(request),
        assets=assets(),
        version=request.app.version,
        **values,
    )
    return Response(text, status, HEADERS | (headers or {}), "text/html; charset=utf-8")


def wants_html(request: Request) -> bool:
    """Whether the caller names HTML among what it takes, as browsers do and API clients do not."""
    ranges = (part.partition(";") for part in request.headers.get("accept", "").lower().split(","))
    return any(
        media.strip() in ("text/html", "application/xhtml+xml")
        and parameters.replace(" ", "").rstrip("0.") != "q="
        for media, _, parameters in ranges
    )


def problem_page(request: Request, error: LedgerError) -> Response:
    """A refusal as a page that says what to do."""
    problem = of_error(error)
    headers = {name: problem.headers[name] for name in _KEPT if name in problem.headers}
    return page(
        request,
        "problem.html",
        status=error.status,
        headers=headers,
        error=error,
        command=commands.read_with_key(_address_of(request)),
    )


class PageRoute(APIRoute):
    """A route whose refusals are pages for browsers, and problem documents for all others."""

    def get_route_handler(self) -> Handler:
        """The route's handler; a refusal for a browser is rendered, any other goes on."""
        answer = super().get_route_handler()

        async def answer_as_page(request: Request) -> Response:
            try:
                return await answer(request)
            except LedgerError as error:
                if not wants_html(request):
                    raise
                return problem_page(request, error)

        return answer_as_page
