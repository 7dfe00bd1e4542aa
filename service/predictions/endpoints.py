from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from service.agents.authentication import PrincipalDep
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.parameters import IdPath, IdQuery, Place
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import ClockDep, DatabaseDep
from service.beliefs.endpoints import LEDGER_READERS, listed_agent
from service.contradictions.calls import KEYED, MADE_ALREADY, answer_of, caller_of, new_id
from service.events.endpoints import visible_log
from service.events.vocabulary import EventType
from service.predictions import queries
from service.predictions.operations import MakePrediction, ScorePrediction
from service.predictions.schemas import PredictionIn, PredictionState, ScoreIn

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
        wanted = queries.PredictionFilter(agent_id, belief_id, visible_log(principal))
        counts = queries.count_by_state(session, wanted, now=now)
        found, following = queries.newest_predictions(
            session, wanted, state, now=now, limit=limit, after=place
        )
    return as_json({"items": found, "next": encode_cursor(following), "counts": counts})


@router.post("", response_model=None, status_code=201, responses=MADE_ALREADY, openapi_extra=KEYED)
async def make_prediction(
    body: PredictionIn, request: Request, principal: PrincipalDep
) -> Response:
    """Takes a prediction down; 200 where it stands there already."""
    caller = await caller_of(request, principal, body, is_new=True)
    told = caller.told(
        EventType.PREDICTION_MADE,
        body,
        {
            "prediction_id": body.prediction_id or new_id(body.event_id),
            "statement": body.statement,
            "due_at": body.due_at,
        },
        confidence=body.confidence,
        belief_id=body.belief_id,
    )
    call = MakePrediction(told, caller.now, caller.projectors, caller.request_key, caller.visible)
    return await answer_of(request, call)


@router.post("/{prediction_id:path}/score", response_model=None, openapi_extra=KEYED)
async def score_prediction(
    prediction_id: IdPath, body: ScoreIn, request: Request, principal: PrincipalDep
) -> Response:
    """Records what came of a prediction; 409 where another outcome is recorded."""
    caller = await caller_of(request, principal, body, is_new=False)
    detail = {"prediction_id": prediction_id, "outcome": body.outcome, "evidence": body.evidence}
    told = caller.told(EventType.PREDICTION_SCORED, body, detail)
    call = ScorePrediction(told, caller.now, caller.projectors, caller.request_key, caller.visible)
    return await answer_of(request, call)
