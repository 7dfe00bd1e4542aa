from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from service.agents.authentication import PrincipalDep, principal_of
from service.agents.queries import chosen_agent
from service.api.bodies import BATCH_BODY, BodyKind, body_kind, read_body, skips_bad_items
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import DatabaseDep, state_of
from service.errors import NotFound
from service.events.endpoints import (
    DefaultAgent,
    instant_of,
    parse_batch,
    visible_log,
    writer_of,
)
from service.events.parsing import BatchReader
from service.principals import Scope
from service.turns import queries
from service.turns.normalise import TurnIntake, normalise_turn
from service.turns.operations import TurnBatch
from service.turns.schemas import TurnIn, TurnRow

router = APIRouter(prefix="/v1", tags=["turns"], responses=RESPONSES)


async def post_turns(request: Request) -> Response:
    """Stores one turn, an array, or NDJSON; answers after the commit."""
    principal = await principal_of(request)
    principal.require(Scope.WRITE, Scope.OPERATE)
    state = state_of(request)
    kind = body_kind(request.headers.get("content-type"))
    body = await read_body(request, state.settings)
    skip = skips_bad_items(request)
    agent = DefaultAgent(state.database, principal)
    intake = TurnIntake(principal, state.settings, state.clock(), agent, skip)
    reader: BatchReader[TurnIn, TurnRow] = request.app.state.turn_reader
    parsed = await parse_batch(
        body,
        reader,
        lambda item, index, repaired: normalise_turn(item, intake, index, repaired=repaired),
        lines=kind is BodyKind.LINES,
        skip=skip,
    )
    batch = TurnBatch(
        parsed.rows,
        parsed.bad,
        skip and not parsed.is_single,
        parsed.is_single,
        request.app.state.turn_followers,
    )
    return as_json(await writer_of(request).submit(batch))


# FastAPI describes it here; it is served past FastAPI (service.api.ingest_path).
router.add_api_route(
    "/turns", post_turns, methods=["POST"], openapi_extra=BATCH_BODY, response_model=None
)


@router.get("/turns", response_model=None)
def list_turns(
    principal: PrincipalDep,
    database: DatabaseDep,
    agent: str | None = None,
    session_id: str | None = None,
    worker: str | None = None,
    since: Annotated[str | None, Query(alias="from")] = None,
    until: str | None = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Turns without their texts, newest first; `next` is null on the last page."""
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)
    place = decode_cursor(after, queries.Place)
    with database.read() as session:
        if agent is not None:
            chosen_agent(session, principal, agent)
        turns, following = queries.newest_turns(
            session,
            agent,
            session_id=session_id,
            worker=worker,
            since=instant_of(since, "from"),
            until=instant_of(until, "until"),
            limit=limit,
            after=place,
        )
    return as_json({"items": turns, "next": encode_cursor(following)})


@router.get("/turns/{turn_id:path}", response_model=None)
def read_turn(
    turn_id: str, principal: PrincipalDep, database: DatabaseDep, agent: str | None = None
) -> Response:
    """One turn with its texts and its events."""
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)
    with database.read() as session:
        agent_id = chosen_agent(session, principal, agent).agent_id
        turn = queries.turn_called(session, agent_id, turn_id)
        if turn is None:
            raise NotFound(f"Agent {agent_id!r} has no turn {turn_id!r}.")
        body: dict[str, Any] = msgspec.to_builtins(queries.turn_out(turn))
        body.update(queries.payload_of(turn))
        body["payload_removed"] = turn.payload is None
        body["redacted"] = queries.redaction_of(session, turn)
        body["events"] = queries.events_of_turn(session, agent_id, turn_id, visible_log(principal))
    return as_json(body)


@router.get("/sessions", response_model=None)
def list_sessions(
    principal: PrincipalDep,
    database: DatabaseDep,
    agent: str | None = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Sessions with their number of turns, the most recent first."""
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)
    place = decode_cursor(after, tuple[int, str])
    with database.read() as session:
        agent_id = chosen_agent(session, principal, agent).agent_id
        found, following = queries.sessions(session, agent_id, limit=limit, after=place)
    return as_json({"items": found, "next": encode_cursor(following)})
