import asyncio
from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from scoring.labels import Label
from service.agents.authentication import PrincipalDep
from service.agents.queries import agent_called, chosen_agent
from service.api.bodies import read_body
from service.api.idempotency import PARAMETER, RequestKey, key_of, request_hash
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.parameters import IdPath, IdQuery, Place
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import ClockDep, DatabaseDep, state_of
from service.beliefs.endpoints import listed_agent
from service.errors import Fault, Forbidden, Malformed, NotFound
from service.events.endpoints import DefaultAgent, instant_of, own_log, writer_of
from service.events.normalise import Intake, normalise
from service.events.parsing import BatchReader, refuse
from service.events.schemas import Event, EventIn
from service.events.vocabulary import ResolutionSource
from service.inferences import queries
from service.inferences.calls import AssertionCall, InferenceCall, ResolutionCall
from service.inferences.outcomes import InferenceState
from service.inferences.schemas import AssertionIn, ResolutionIn, ShadowInferenceHistoryOut
from service.principals import Principal, Scope

router = APIRouter(prefix="/v1/shadow-inferences", tags=["shadow inferences"], responses=RESPONSES)
# Not for a writing key: what an agent knows of its own scoring it could play to.
READERS = (Scope.READ, Scope.AUDIT, Scope.OPERATE)


@router.get("", response_model=None)
def list_shadow_inferences(
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
    agent: IdQuery = None,
    source: Literal["agent", "audit"] | None = None,
    label: Label | None = None,
    category: Annotated[str | None, Query(max_length=1024)] = None,
    state: InferenceState | None = None,
    worker: IdQuery = None,
    session_id: IdQuery = None,
    turn_id: IdQuery = None,
    belief_id: IdQuery = None,
    since: Annotated[str | None, Query(alias="from")] = None,
    until: str | None = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Shadow inferences, newest first, each with its effective outcome."""
    principal.require(*READERS)
    place = decode_cursor(after, Place)
    with database.read() as session:
        wanted = queries.ShadowFilter(
            listed_agent(session, principal, agent),
            source,
            label,
            category,
            state,
            worker,
            session_id,
            turn_id,
            belief_id,
            instant_of(since, "from"),
            instant_of(until, "until"),
            clock(),
        )
        found, following = queries.newest_shadow_inferences(
            session, wanted, now=clock(), limit=limit, after=place
        )
    return as_json({"items": found, "next": encode_cursor(following)})


@router.get("/{shadow_id:path}", response_model=None)
def read_shadow_inference(
    shadow_id: IdPath,
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
    agent: IdQuery = None,
) -> Response:
    """One shadow inference with every resolution, and what became known of it later."""
    principal.require(*READERS)
    with database.read() as session:
        agent_id = chosen_agent(session, principal, agent).agent_id
        found = queries.shadow_inference_called(session, agent_id, shadow_id, now=clock())
        if found is None:
            raise NotFound(f"Agent {agent_id!r} has no shadow inference {shadow_id!r}.")
        body = ShadowInferenceHistoryOut(
            found,
            *queries.resolutions_of(session, agent_id, shadow_id),
            queries.contexts_of(session, agent_id, shadow_id),
            queries.same_claim(session, found),
        )
    return as_json(body)


def _described(shape: type[msgspec.Struct]) -> dict[str, Any]:
    """What FastAPI is told of a call that reads its body itself."""
    _, components = msgspec.json.schema_components([shape], ref_template="{name}")
    content = {"application/json": {"schema": components[shape.__name__]}}
    return {"parameters": [PARAMETER], "requestBody": {"required": True, "content": content}}


@router.post("", status_code=201, response_model=None, openapi_extra=_described(AssertionIn))
async def assert_outbound(request: Request, principal: PrincipalDep) -> Response:
    """Records a claim that leaves the agent, with its evidence as it stands now."""
    principal.require(Scope.WRITE)
    return await _submit(request, principal, AssertionIn, AssertionIn.as_event, AssertionCall)


@router.post(
    "/{shadow_id:path}/resolutions",
    status_code=201,
    response_model=None,
    openapi_extra=_described(ResolutionIn),
)
async def resolve(shadow_id: IdPath, request: Request, principal: PrincipalDep) -> Response:
    """Records ground truth; what cites nothing that is stored is refused, and that is recorded."""
    principal.require(Scope.WRITE, Scope.OPERATE)

    def as_event(sent: ResolutionIn) -> EventIn:
        if sent.source == ResolutionSource.SELF_BELIEF and Scope.WRITE not in principal.scopes:
            raise Forbidden(
                "self_belief is the agent's own word: an operator gives operator_correction.",
                errors=(Fault("/source", "needs scope write"),),
            )
        return sent.as_event(shadow_id)

    return await _submit(request, principal, ResolutionIn, as_event, ResolutionCall)


Sent = TypeVar("Sent", AssertionIn, ResolutionIn)


async def _submit(
    request: Request,
    principal: Principal,
    shape: type[Sent],
    as_event: Callable[[Sent], EventIn],
    call: type[InferenceCall],
) -> Response:
    state = state_of(request)
    body = await read_body(request, state.settings)
    agent = DefaultAgent(state.database, principal)
    intake = Intake(principal, state.settings, state.clock(), agent, own_log(principal))

    def read() -> tuple[Event, bool]:
        event, is_dated = _read(
            body, BatchReader(shape, state.settings, _INSTANTS), as_event, intake
        )
        if call is ResolutionCall:
            # An agent is made by its first write, and what is refused is none.
            with state.database.read() as session:
                agent_called(session, event.agent_id)
        return event, is_dated

    event, is_dated = await asyncio.to_thread(read)
    key, wanted = key_of(request), None
    if key is not None:
        wanted = RequestKey(event.agent_id, key, request_hash(request, body), intake.now)
    writer = writer_of(request)
    answer: Response = await writer.submit(
        call(event, writer.projectors, intake.now, is_dated, wanted)
    )
    return answer


_INSTANTS = ("ts", "resolved_at")


def _read(
    body: bytes,
    reader: BatchReader[Sent, Event],
    as_event: Callable[[Sent], EventIn],
    intake: Intake,
) -> tuple[Event, bool]:
    """The event of a body that holds one object, and whether it says when; Malformed otherwise."""
    dated: list[bool] = []

    def normalised(sent: Sent, index: int, *, repaired: bool) -> Event | list[Fault]:
        item = as_event(sent)
        dated.append(item.ts is not None)
        found = normalise(item, intake, index, repaired=repaired)
        if isinstance(found, Event):
            return found
        return [Fault(_pointer(fault.pointer, sent), fault.reason) for fault in found]

    parsed = reader.read(
        body, lines=False, normalise=lambda sent, index, odd: normalised(sent, index, repaired=odd)
    )
    if not parsed.is_single:
        raise Malformed("The body must be one object.", errors=(Fault("", "is no object"),))
    if parsed.bad:
        raise refuse(parsed.bad, [], is_single=True)
    return parsed.rows[0], dated[0]


def _pointer(pointer: str, sent: AssertionIn | ResolutionIn) -> str:
    """Where the field stands in the request that the event calls otherwise."""
    if pointer == "/ts" and isinstance(sent, ResolutionIn):
        return "/resolved_at"
    return "/label" if pointer == "/label_to" else pointer.removeprefix("/detail")
