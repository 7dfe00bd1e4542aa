"""The short way in: ingesting requests go past the framework's middleware and routing.

Measured with single events on 64 connections: matching, dependencies and five layers of middleware
cost three times what Doxa does with the event. The endpoints are the same functions that FastAPI
describes in the OpenAPI document.
"""

from collections.abc import Awaitable, Callable, Mapping

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from service.api import problems
from service.api.bodies import BodyKind, body_kind, read_body
from service.errors import ConfigurationError, Fault, LedgerError, Malformed, UnsupportedMedia

Endpoint = Callable[[Request], Awaitable[Response]]


class Doxa(FastAPI):
    """FastAPI, but for the paths in `ingest`, which answer POST themselves."""

    ingest: Mapping[str, Endpoint] = {}
    # The path prefix under which a proxy serves it, whether or not the proxy strips it.
    prefix: str = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if self.prefix and scope["type"] in ("http", "websocket"):
            scope["root_path"] = self.prefix
        if scope["type"] == "http" and (b"%00" in scope["query_string"] or "\0" in scope["path"]):
            await problems.of_error(_nul())(scope, receive, send)
            return
        if scope["type"] == "http" and scope["method"] == "POST":
            path = scope["path"]
            endpoint = self.ingest.get(path) or self.ingest.get(path.removeprefix(self.prefix))
            if endpoint is not None:
                scope["app"] = self
                response = await _answer(endpoint, Request(scope, receive))
                await response(scope, receive, send)
                return
        if scope["type"] == "http" and scope["method"] in ("POST", "PATCH", "PUT"):
            try:
                receive = await self._held(scope, receive)
            except LedgerError as refusal:
                await problems.of_error(refusal)(scope, receive, send)
                return
        await super().__call__(scope, receive, send)

    async def _held(self, scope: Scope, receive: Receive) -> Receive:
        """The body read to its limit and checked to be JSON, handed on as one message."""
        request = Request(scope, receive)
        body = await read_body(request, self.state.doxa.settings)
        if body and body_kind(request.headers.get("content-type")) is not BodyKind.JSON:
            raise UnsupportedMedia("Only application/json is taken here.")
        # It is unpacked by now.
        scope["headers"] = [h for h in scope["headers"] if h[0] != b"content-encoding"]
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def replay() -> Message:
            message = next(messages, None)
            return await receive() if message is None else message

        return replay


def _nul() -> Malformed:
    """U+0000 stands in no id and no name, and PostgreSQL would fail on it: refused everywhere."""
    fault = Fault("/query", "holds U+0000 (%00): remove it")
    return Malformed("The address holds U+0000.", errors=(fault,))


async def _answer(endpoint: Endpoint, request: Request) -> Response:
    try:
        return await endpoint(request)
    except LedgerError as refusal:
        return problems.of_error(refusal)
    except ConfigurationError as broken:
        return problems.of_broken_store(request, broken)
    except Exception as surprise:  # noqa: BLE001 - the edge: a caller is owed an answer
        return problems.of_surprise(request, surprise)
