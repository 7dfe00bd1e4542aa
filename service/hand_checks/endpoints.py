import asyncio
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from service.agents.authentication import PrincipalDep
from service.agents.queries import agent_called
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.parameters import IdPath, IdQuery, Place
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import ClockDep, DatabaseDep, state_of
from service.contradictions.calls import KEYED, MADE_ALREADY, answer_of, request_key_of
from service.errors import NotFound
from service.hand_checks import operations, queries
from service.hand_checks.schemas import CheckState, HandCheckOut, VerdictIn
from service.principals import Scope

router = APIRouter(prefix="/v1/hand-checks", tags=["hand-checks"], responses=RESPONSES)


@router.get("", response_model=None)
def list_hand_checks(
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
    agent: IdQuery = None,
    week: Annotated[str | None, Query(max_length=16, description="like 2026-W40")] = None,
    state: CheckState | None = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """The queue, newest first; what a week that has ended still lacks is drawn before."""
    principal.require(Scope.OPERATE)
    place = decode_cursor(after, Place)
    now = clock()
    with database.read() as session:
        if agent is not None:
            agent_called(session, agent)
        missing = operations.missing(session, now, agent)
    if missing:
        with database.write() as session:
            # Another one may have drawn them meanwhile.
            operations.draw_missing(session, operations.missing(session, now, agent), now)
    with database.read() as session:
        counts = queries.count_by_state(session, agent, week)
        found, following = queries.newest_checks(
            session, agent, week, state, limit=limit, after=place
        )
    return as_json({"items": found, "next": encode_cursor(following), "counts": counts})


@router.post(
    "/{check_id}",
    response_model=None,
    status_code=201,
    responses=MADE_ALREADY,
    openapi_extra=KEYED,
)
async def answer_hand_check(
    check_id: IdPath, body: VerdictIn, request: Request, principal: PrincipalDep
) -> Response:
    """Records a verdict; it may be given anew, and the latest holds."""
    principal.require(Scope.OPERATE)
    state = state_of(request)

    def find() -> HandCheckOut | None:
        with state.database.read() as session:
            return queries.check_called(session, check_id)

    check = await asyncio.to_thread(find)
    if check is None:
        raise NotFound(f"There is no hand-check {check_id!r}.")
    now = state.clock()
    verdict = operations.RecordVerdict(
        check.agent_id,
        check_id,
        body.verdict,
        body.note,
        body.verdict_id,
        principal.key_id,
        now,
        await request_key_of(request, check.agent_id, now),
    )
    return await answer_of(request, verdict)
