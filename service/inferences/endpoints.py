from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import Response

from scoring.labels import Label
from service.agents.authentication import PrincipalDep
from service.agents.queries import chosen_agent
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.parameters import IdPath, IdQuery, Place
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import ClockDep, DatabaseDep
from service.beliefs.endpoints import listed_agent
from service.errors import NotFound
from service.events.endpoints import instant_of
from service.inferences import queries
from service.inferences.schemas import ShadowInferenceHistoryOut
from service.principals import Scope

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
            worker,
            session_id,
            turn_id,
            belief_id,
            instant_of(since, "from"),
            instant_of(until, "until"),
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
    """One shadow inference with every resolution that was recorded."""
    principal.require(*READERS)
    with database.read() as session:
        agent_id = chosen_agent(session, principal, agent).agent_id
        found = queries.shadow_inference_called(session, agent_id, shadow_id, now=clock())
        if found is None:
            raise NotFound(f"Agent {agent_id!r} has no shadow inference {shadow_id!r}.")
        body = ShadowInferenceHistoryOut(
            found, *queries.resolutions_of(session, agent_id, shadow_id)
        )
    return as_json(body)
