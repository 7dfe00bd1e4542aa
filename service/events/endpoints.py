import asyncio
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Header, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from service.agents.authentication import PrincipalDep, principal_of
from service.agents.queries import chosen_agent, only_agent
from service.api.bodies import BATCH_BODY, BodyKind, body_kind, read_body, skips_bad_items
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import DatabaseDep, state_of
from service.db.database import Database
from service.errors import Fault, Malformed, Unavailable
from service.events.normalise import Intake, normalise
from service.events.parsing import BatchReader, Item, Parsed, Row, refuse
from service.events.queries import EventFilter, Place, newest_events
from service.events.reading import ApartReader
from service.events.schemas import Event, EventIn
from service.events.stream import Follower, parse_place
from service.events.vocabulary import Log
from service.events.writer import EventBatch, Writer
from service.instants import parse_instant
from service.principals import Principal, Scope

router = APIRouter(prefix="/v1/events", tags=["events"], responses=RESPONSES)
# A body this large is parsed in a thread, so that the loop goes on answering others.
PARSE_IN_THREAD_BYTES = 2**20


async def post_events(request: Request) -> Response:
    """Stores one event, an array, or NDJSON; answers after the commit."""
    principal = await principal_of(request)
    principal.require(Scope.WRITE, Scope.AUDIT, Scope.OPERATE)
    state = state_of(request)
    kind = body_kind(request.headers.get("content-type"))
    body = await read_body(request, state.settings)
    skip = skips_bad_items(request)
    agent = DefaultAgent(state.database, principal)
    intake = Intake(principal, state.settings, state.clock(), agent, own_log(principal), skip)
    reader: BatchReader[EventIn, Event] = request.app.state.event_reader
    apart: ApartReader | None = request.app.state.apart_reader
    lines = kind is BodyKind.LINES
    parsed = await apart.read(body, intake, lines=lines) if apart else None
    if parsed is None:
        parsed = await parse_batch(
            body,
            reader,
            lambda item, index, repaired: normalise(item, intake, index, repaired=repaired),
            lines=lines,
            skip=skip,
        )
    batch = EventBatch(parsed.rows, parsed.bad, skip and not parsed.is_single, parsed.is_single)
    return as_json(await writer_of(request).submit(batch))


# FastAPI describes it here; it is served past FastAPI (service.api.ingest_path).
router.add_api_route(
    "", post_events, methods=["POST"], openapi_extra=BATCH_BODY, response_model=None
)


async def parse_batch(
    body: bytes,
    reader: BatchReader[Item, Row],
    normalise_item: Callable[[Item, int, bool], Row | list[Fault]],
    *,
    lines: bool,
    skip: bool,
) -> Parsed[Row]:
    """The rows of a body; raises for bad items unless they are to be skipped in a batch."""

    def read() -> Parsed[Row]:
        return reader.read(body, lines=lines, normalise=normalise_item)

    parsed = await asyncio.to_thread(read) if len(body) > PARSE_IN_THREAD_BYTES else read()
    if parsed.bad and (not skip or parsed.is_single):
        raise refuse(parsed.bad, [], is_single=parsed.is_single)
    return parsed


class DefaultAgent:
    """The agent of an item that names none: the key's, or the only one there is; asked once."""

    def __init__(self, database: Database, principal: Principal) -> None:
        self._database = database
        self._found = principal.agent_id
        self._asked = principal.agent_id is not None

    def __call__(self) -> str | None:
        """Its id, or None."""
        if not self._asked:
            with self._database.read() as session:
                self._found = only_agent(session)
            self._asked = True
        return self._found


def writer_of(request: Request) -> Writer:
    """The service's one writer."""
    writer: Writer = request.app.state.writer
    return writer


def instant_of(text: str | None, name: str) -> int | None:
    """An instant from a query parameter; Malformed names it."""
    if text is None:
        return None
    try:
        return parse_instant(text)
    except ValueError as problem:
        fault = Fault(f"/query/{name}", str(problem))
        raise Malformed(f"{name} {problem}.", errors=(fault,)) from None


def own_log(principal: Principal) -> Log:
    """The log that a principal writes: what auditor and operator say is not the agent's."""
    speaks_as_agent = principal.is_local or Scope.WRITE in principal.scopes
    return Log.AGENT if speaks_as_agent else Log.AUDIT


def visible_log(principal: Principal) -> Log | None:
    """The log a principal may read: an agent's key only the agent's, everyone else both."""
    return None if principal.agent_id is None else Log.AGENT


@router.get("", response_model=None)
def list_events(
    principal: PrincipalDep,
    database: DatabaseDep,
    agent: str | None = None,
    event: Annotated[list[str] | None, Query()] = None,
    worker: str | None = None,
    session_id: str | None = None,
    turn_id: str | None = None,
    belief_id: str | None = None,
    contradiction_id: str | None = None,
    since: Annotated[str | None, Query(alias="from")] = None,
    until: str | None = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Events, newest first; `next` is null on the last page."""
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)
    place = decode_cursor(after, Place)
    wanted = EventFilter(
        agent_id=agent,
        log=visible_log(principal),
        event=tuple(event or ()),
        worker=worker,
        session_id=session_id,
        turn_id=turn_id,
        belief_id=belief_id,
        contradiction_id=contradiction_id,
        since=instant_of(since, "from"),
        until=instant_of(until, "until"),
    )
    with database.read() as session:
        if agent is not None:
            chosen_agent(session, principal, agent)
        events, following = newest_events(session, wanted, limit=limit, after=place)
    return as_json({"items": events, "next": encode_cursor(following)})


@router.get("/stream", response_model=None, responses={200: {"content": {"text/event-stream": {}}}})
async def stream_events(
    request: Request,
    principal: PrincipalDep,
    database: DatabaseDep,
    agent: str | None = None,
    event: Annotated[list[str] | None, Query()] = None,
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response:
    """Events as they arrive; reconnect with `Last-Event-ID` and none is missed or repeated."""
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)

    def choose() -> str:
        with database.read() as session:
            return chosen_agent(session, principal, agent).agent_id

    place = parse_place(last_event_id, "/header/last-event-id") if last_event_id else None
    agent_id = await asyncio.to_thread(choose)
    stopping = state_of(request).stopping
    if stopping.requested:
        raise Unavailable("Doxa is stopping: connect again to the next one.")
    follower = Follower(database, stopping, agent_id, tuple(Log), frozenset(event or ()))
    return StreamingResponse(
        follower.messages(place),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )
