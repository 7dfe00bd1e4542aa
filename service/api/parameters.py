"""Ids in queries and paths, and the place where a page of rows ends."""

from typing import Annotated, Any

import msgspec
from fastapi import Path, Query
from fastapi.dependencies.models import Dependant
from starlette.requests import Request

from service.errors import Fault, Malformed
from service.json_text import escape

IdQuery = Annotated[str | None, Query(max_length=1024)]
# `:path` in the routes, as an id may hold a slash.
IdPath = Annotated[str, Path(max_length=1024)]
Instant = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
# An instant, the agent, and the row's own id.
Place = tuple[Instant, str, str]


async def refuse_unknown_parameters(request: Request) -> None:
    """Refuses a query parameter that the call does not know, or takes once and was sent twice.

    A mistyped `until` would otherwise give a figure over another window, and say nothing.
    """
    route = request.scope.get("route")
    dependant = getattr(route, "dependant", None)
    if dependant is None or not request.scope["query_string"]:
        return
    known = _query_parameters(dependant)
    for name in request.query_params:
        if name not in known:
            raise _refused(name, f"is no parameter here: there are {', '.join(sorted(known))}")
        values = request.query_params.getlist(name)
        if len(values) > 1 and "list" not in str(known[name].field_info.annotation):
            raise _refused(name, "was sent more than once")


def _query_parameters(dependant: Dependant) -> dict[str, Any]:
    found = {field.alias: field for field in dependant.query_params}
    for inner in dependant.dependencies:
        found |= _query_parameters(inner)
    return found


def _refused(name: str, reason: str) -> Malformed:
    fault = Fault(f"/query/{escape(name)}", reason)
    return Malformed(f"{name[:60]!r} {reason}.", errors=(fault,))
