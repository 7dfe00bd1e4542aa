import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Query
from sqlalchemy.orm import Session
from starlette.requests import Request
from starlette.responses import Response

from scoring.labels import Label
from service.agents.authentication import PrincipalDep
from service.agents.queries import chosen_agent, only_agent
from service.api.idempotency import PARAMETER, RequestKey, key_of, request_hash
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.parameters import IdPath, IdQuery, Place
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import DatabaseDep, state_of
from service.beliefs import queries
from service.beliefs.normalise import (
    Move,
    belief_move,
    challenge_move,
    relabel_move,
    supersede_move,
)
from service.beliefs.operations import LedgerJob
from service.beliefs.schemas import (
    BeliefHistoryOut,
    BeliefIn,
    ChallengeIn,
    MoveIn,
    RelabelIn,
    SupersedeIn,
)
from service.errors import Fault, Malformed, NotFound
from service.events.endpoints import DefaultAgent, own_log, visible_log, writer_of
from service.events.normalise import Intake
from service.events.parsing import BatchReader, Parsed, refuse
from service.events.queries import EventFilter, newest_events
from service.events.schemas import EventOut
from service.principals import Principal, Scope

router = APIRouter(prefix="/v1/beliefs", tags=["beliefs"], responses=RESPONSES)
# Who may read the ledger: a writing key too, its own agent's.
LEDGER_READERS = (Scope.READ, Scope.AUDIT, Scope.OPERATE, Scope.WRITE)
MAX_EVENTS = 1_000


def described(*, takes_many: bool = False) -> dict[str, Any]:
    """What the OpenAPI document says of a body that is read here and not by FastAPI."""
    one: dict[str, Any] = {"type": "object"}
    many: dict[str, Any] = {"anyOf": [one, {"type": "array", "items": one}]}
    content = {"application/json": {"schema": many if takes_many else one}}
    return {
        "parameters": [PARAMETER],
        "requestBody": {"required": True, "content": content},
    }


def listed_agent(session: Session, principal: Principal, asked: str | None) -> str | None:
    """The agent whose rows a list shows: the one asked for, the key's, the only one, or all."""
    if asked is None and principal.agent_id is None:
        return only_agent(session)
    return chosen_agent(session, principal, asked).agent_id


def history(session: Session, wanted: EventFilter) -> tuple[list[EventOut], bool]:
    """A subject's events in the order they are folded, the newest thousand; and whether all."""
    events, following = newest_events(session, wanted, limit=MAX_EVENTS)
    return events[::-1], following is None


@router.get("", response_model=None)
def list_beliefs(
    principal: PrincipalDep,
    database: DatabaseDep,
    agent: IdQuery = None,
    label: Label | None = None,
    status: Literal["active", "superseded"] | None = None,
    worker: IdQuery = None,
    session_id: IdQuery = None,
    turn_id: IdQuery = None,
    needs_rederivation: Annotated[bool | None, Query(description="the queue of rule 5")] = None,
    q: Annotated[str | None, Query(max_length=1024, description="part of the content")] = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Beliefs, the one that moved last first; a writing key sees its own agent's."""
    principal.require(*LEDGER_READERS)
    place = decode_cursor(after, Place)
    with database.read() as session:
        agent_id = listed_agent(session, principal, agent)
        wanted = queries.BeliefFilter(
            agent_id, label, status, worker, session_id, turn_id, q, visible_log(principal),
            needs_rederivation,
        )  # fmt: skip
        beliefs, following = queries.newest_beliefs(session, wanted, limit=limit, after=place)
    return as_json({"items": beliefs, "next": encode_cursor(following)})


@router.get("/{belief_id:path}", response_model=None)
def read_belief(
    belief_id: IdPath, principal: PrincipalDep, database: DatabaseDep, agent: IdQuery = None
) -> Response:
    """One belief: what it said, what happened to it, what it rests on and what rests on it.

    A writing key sees where the belief stands, but only content and history of its own log.
    """
    principal.require(*LEDGER_READERS)
    log = visible_log(principal)
    with database.read() as session:
        agent_id = chosen_agent(session, principal, agent).agent_id
        belief = queries.belief_called(session, agent_id, belief_id, log)
        if belief is None:
            raise NotFound(f"Agent {agent_id!r} has no belief {belief_id!r}.")
        wanted = EventFilter(agent_id=agent_id, belief_id=belief_id, log=log)
        body = BeliefHistoryOut(
            belief,
            *queries.versions_of(session, agent_id, belief_id, log),
            *history(session, wanted),
            queries.standing_on(session, belief),
            queries.rests_on(session, belief),
            *queries.supported_by(session, agent_id, belief_id),
        )
    return as_json(body)


Item = TypeVar("Item", bound=MoveIn)
Normalise = Callable[[Item, Intake, int, bool], Move | list[Fault]]
_INSTANTS = ("ts", "valid_from", "valid_until")


@router.post("", response_model=None, openapi_extra=described(takes_many=True))
async def post_beliefs(request: Request, principal: PrincipalDep) -> Response:
    """Writes one belief or an array, all or nothing; answers after the commit.

    The same `belief_id` with the same content is one belief with one more piece of evidence.
    """
    principal.require(Scope.WRITE)
    return await _move(
        request,
        principal,
        BeliefIn,
        lambda item, intake, index, repaired: belief_move(item, intake, index, repaired=repaired),
        takes_many=True,
    )


@router.post("/{belief_id:path}/supersede", response_model=None, openapi_extra=described())
async def supersede_belief(
    belief_id: IdPath, request: Request, principal: PrincipalDep
) -> Response:
    """Puts a belief in the place of another one, whose dependents are weakened."""
    principal.require(Scope.WRITE)
    return await _move(
        request,
        principal,
        SupersedeIn,
        lambda item, intake, _, repaired: supersede_move(
            item, belief_id, intake, repaired=repaired
        ),
    )


@router.post("/{belief_id:path}/relabel", response_model=None, openapi_extra=described())
async def relabel_belief(belief_id: IdPath, request: Request, principal: PrincipalDep) -> Response:
    """Changes the label of a belief, its confidence, or both."""
    principal.require(Scope.WRITE, Scope.OPERATE)
    return await _move(
        request,
        principal,
        RelabelIn,
        lambda item, intake, _, repaired: relabel_move(item, belief_id, intake, repaired=repaired),
    )


@router.post("/{belief_id:path}/challenge", response_model=None, openapi_extra=described())
async def challenge_belief(
    belief_id: IdPath, request: Request, principal: PrincipalDep
) -> Response:
    """Records that something disagrees with a belief."""
    principal.require(Scope.WRITE, Scope.OPERATE)
    return await _move(
        request,
        principal,
        ChallengeIn,
        lambda item, intake, _, repaired: challenge_move(
            item, belief_id, intake, repaired=repaired
        ),
    )


async def _move(
    request: Request,
    principal: Principal,
    item_type: type[Item],
    normalise_item: Normalise[Item],
    *,
    takes_many: bool = False,
) -> Response:
    """Reads a call of the ledger, and has the writer do it."""
    state = state_of(request)
    key, body, now = key_of(request), await request.body(), state.clock()
    agent = DefaultAgent(state.database, principal)
    intake = Intake(principal, state.settings, now, agent, own_log(principal))
    reader: BatchReader[Item, Move] = BatchReader(item_type, state.settings, _INSTANTS)

    def read() -> Parsed[Move]:
        parsed = reader.read(
            body,
            lines=False,
            normalise=lambda item, index, repaired: normalise_item(item, intake, index, repaired),
        )
        if not takes_many and not parsed.is_single:
            raise Malformed("The body is no object: one move at a time.")
        if not parsed.rows:
            raise refuse(parsed.bad, [], is_single=parsed.is_single)
        if not takes_many:
            with state.database.read() as session:
                chosen_agent(session, principal, parsed.rows[0].agent_id)
        return parsed

    parsed = await asyncio.to_thread(read)
    writer = writer_of(request)
    remembered = key and RequestKey(parsed.rows[0].agent_id, key, request_hash(request, body), now)
    job = LedgerJob(
        parsed.rows, parsed.bad, parsed.is_single, visible_log(principal), writer.projectors, now,
        remembered or None,
    )  # fmt: skip
    answer: Response = await writer.submit(job)
    return answer
