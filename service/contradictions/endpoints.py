from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from service.agents.authentication import PrincipalDep
from service.agents.queries import chosen_agent
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.parameters import IdPath, IdQuery, Place
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import DatabaseDep
from service.beliefs.endpoints import LEDGER_READERS, history, listed_agent
from service.contradictions import queries
from service.contradictions.projection import ContradictionState
from service.contradictions.schemas import ContradictionHistoryOut
from service.errors import NotFound
from service.events.endpoints import visible_log
from service.events.queries import EventFilter

router = APIRouter(prefix="/v1/contradictions", tags=["contradictions"], responses=RESPONSES)


@router.get("", response_model=None)
def list_contradictions(
    principal: PrincipalDep,
    database: DatabaseDep,
    agent: IdQuery = None,
    state: ContradictionState | None = None,
    owner: IdQuery = None,
    priority: Annotated[int | None, Query(ge=1, le=5)] = None,
    detector: IdQuery = None,
    resolution: IdQuery = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Contradictions, the one that moved last first; a writing key sees its own agent's."""
    principal.require(*LEDGER_READERS)
    place = decode_cursor(after, Place)
    with database.read() as session:
        agent_id = listed_agent(session, principal, agent)
        wanted = queries.ContradictionFilter(agent_id, state, owner, priority, detector, resolution)
        found, following = queries.newest_contradictions(session, wanted, limit=limit, after=place)
    return as_json({"items": found, "next": encode_cursor(following)})


@router.get("/{contradiction_id:path}", response_model=None)
def read_contradiction(
    contradiction_id: IdPath,
    principal: PrincipalDep,
    database: DatabaseDep,
    agent: IdQuery = None,
) -> Response:
    """One contradiction with its events; a writing key sees those of its own log."""
    principal.require(*LEDGER_READERS)
    with database.read() as session:
        agent_id = chosen_agent(session, principal, agent).agent_id
        found = queries.contradiction_called(session, agent_id, contradiction_id)
        if found is None:
            raise NotFound(f"Agent {agent_id!r} has no contradiction {contradiction_id!r}.")
        wanted = EventFilter(
            agent_id=agent_id, contradiction_id=contradiction_id, log=visible_log(principal)
        )
        body = ContradictionHistoryOut(found, *history(session, wanted))
    return as_json(body)
