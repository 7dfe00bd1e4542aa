from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from service.agents.authentication import PrincipalDep
from service.agents.queries import chosen_agent
from service.api.parameters import IdQuery
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import DatabaseDep, SettingsDep
from service.principals import Scope
from service.trust.checkpoints import Checkpointer
from service.verification import queries
from service.verification.anchoring import is_outside
from service.verification.schemas import ChainStateOut

router = APIRouter(prefix="/v1/shadow-inferences", tags=["shadow inferences"], responses=RESPONSES)


@router.get("/verify", response_model=None)
def read_chain_state(
    request: Request,
    principal: PrincipalDep,
    database: DatabaseDep,
    settings: SettingsDep,
    agent: IdQuery = None,
) -> Response:
    """The state of the chain: each log's length and root, its newest checkpoint, and alarms.

    It looks at heads, seals of heads and triggers; `doxa verify` recomputes every row.
    """
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)
    checkpointer: Checkpointer | None = getattr(request.app.state, "checkpointer", None)
    alarms = {} if checkpointer is None else {(a.agent_id, a.log): a for a in checkpointer.alarms()}
    folder = settings.resolved_checkpoint_dir
    with database.read() as session:
        agent_id = chosen_agent(session, principal, agent).agent_id
        logs = queries.log_states(session, agent_id, database.sealer, folder, alarms)
        wrong = queries.wrong_triggers(session)
    return as_json(
        ChainStateOut(
            agent_id,
            holds=not wrong and all(log.is_sealed and log.alarm is None for log in logs),
            anchored=is_outside(settings)
            and all(log.checkpoint is not None for log in logs if log.size),
            logs=logs,
            triggers=wrong,
            checkpoint_problem=None if checkpointer is None else checkpointer.problem,
        )
    )
