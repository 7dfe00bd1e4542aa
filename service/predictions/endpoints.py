from fastapi import APIRouter
from starlette.responses import Response

from service.agents.authentication import PrincipalDep
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.parameters import IdQuery, Place
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import ClockDep, DatabaseDep
from service.beliefs.endpoints import LEDGER_READERS, listed_agent
from service.predictions import queries
from service.predictions.schemas import PredictionState

router = APIRouter(prefix="/v1/predictions", tags=["predictions"], responses=RESPONSES)


@router.get("", response_model=None)
def list_predictions(
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
    agent: IdQuery = None,
    belief_id: IdQuery = None,
    state: PredictionState | None = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """Predictions, the one that moved last first, and how many stand in each state."""
    principal.require(*LEDGER_READERS)
    place = decode_cursor(after, Place)
    now = clock()
    with database.read() as session:
        agent_id = listed_agent(session, principal, agent)
        counts = queries.count_by_state(session, agent_id, belief_id, now=now)
        found, following = queries.newest_predictions(
            session, agent_id, belief_id, state, now=now, limit=limit, after=place
        )
    return as_json({"items": found, "next": encode_cursor(following), "counts": counts})
