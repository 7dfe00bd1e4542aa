from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from service.agents.authentication import PrincipalDep
from service.agents.queries import chosen_agent
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.parameters import IdPath, IdQuery, Place
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import ClockDep, DatabaseDep
from service.beliefs.endpoints import LEDGER_READERS, history, listed_agent
from service.contradictions import queries
from service.contradictions.calls import KEYED, MADE_ALREADY, answer_of, caller_of, new_id
from service.contradictions.funnel import read_funnel
from service.contradictions.lifecycle import Move, asked_detail
from service.contradictions.operations import MoveContradiction, OpenContradiction
from service.contradictions.projection import ContradictionState
from service.contradictions.salience import CAP, budget_json, read_salience, tokens_between
from service.contradictions.schemas import ContradictionHistoryOut, ContradictionIn, TransitionIn
from service.errors import Fault, Malformed, NotFound
from service.events.endpoints import instant_of, visible_log
from service.events.queries import EventFilter
from service.events.vocabulary import EventType
from service.instants import DAY, EARLIEST, format_instant, parse_duration
from service.principals import Scope

router = APIRouter(prefix="/v1/contradictions", tags=["contradictions"], responses=RESPONSES)


@router.get("", response_model=None)
def list_contradictions(
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
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
        wanted = queries.ContradictionFilter(
            agent_id, state, owner, priority, detector, resolution, visible_log(principal)
        )
        found, following = queries.newest_contradictions(
            session, wanted, now=clock(), limit=limit, after=place
        )
    return as_json({"items": found, "next": encode_cursor(following)})


@router.post("", response_model=None, status_code=201, responses=MADE_ALREADY, openapi_extra=KEYED)
async def open_contradiction(
    body: ContradictionIn, request: Request, principal: PrincipalDep
) -> Response:
    """Opens a contradiction; 200 with the open one where it stands between the same members."""
    caller = await caller_of(request, principal, body, is_new=True)
    names = ("beliefs", "detector", "priority", "owner", "next_action", "ttl", "note")
    detail = body.model_dump(include=set(names), exclude_none=True, mode="json")
    told = caller.told(
        EventType.CONTRADICTION_CREATED,
        body,
        detail,
        contradiction_id=body.contradiction_id or new_id(body.event_id),
    )
    return await answer_of(
        request,
        OpenContradiction(told, caller.now, caller.projectors, caller.request_key, caller.visible),
    )


_BECOMES = {
    # No event leads back to the first state: the move is refused before there would be one.
    ContradictionState.CANDIDATE: EventType.CONTRADICTION_CREATED,
    ContradictionState.INVESTIGATING: EventType.CONTRADICTION_INVESTIGATED,
    ContradictionState.RESOLVED: EventType.CONTRADICTION_RESOLVED,
    ContradictionState.SCOPED: EventType.CONTRADICTION_SCOPED,
    ContradictionState.EXPIRED: EventType.CONTRADICTION_EXPIRED,
}


@router.post("/{contradiction_id:path}/transitions", response_model=None, openapi_extra=KEYED)
async def move_contradiction(
    contradiction_id: IdPath, body: TransitionIn, request: Request, principal: PrincipalDep
) -> Response:
    """Moves a contradiction; 409 names the moves that are allowed."""
    caller = await caller_of(request, principal, body, is_new=False)
    move = Move(
        to=body.state, owner=body.owner, next_action=body.next_action, priority=body.priority,
        ttl=body.ttl, resolution=body.resolution, kept=body.kept, given_up=tuple(body.given_up),
        evidence=tuple(body.evidence), scopes=body.scopes, note=body.note,
        expected_state=body.expected_state, expected_version=body.expected_version,
    )  # fmt: skip
    told = caller.told(
        _BECOMES[body.state], body, asked_detail(move), contradiction_id=contradiction_id
    )
    return await answer_of(
        request,
        MoveContradiction(
            told, caller.now, caller.projectors, caller.request_key, caller.visible, move
        ),
    )


@router.get("/salience", response_model=None)
def read_the_salience(
    principal: PrincipalDep, database: DatabaseDep, clock: ClockDep, agent: IdQuery = None
) -> Response:
    """What the open contradictions weigh now, and the tokens of the last 24 hours."""
    principal.require(*LEDGER_READERS)
    now, log = clock(), visible_log(principal)
    with database.read() as session:
        chosen = chosen_agent(session, principal, agent)
        weight = read_salience(session, chosen.agent_id, now, queries.told_in(log))
        tokens = tokens_between(session, chosen.agent_id, now - DAY, now, log)
        return as_json(
            {
                "agent": chosen.agent_id,
                "at": format_instant(now),
                "salience": weight.value,
                "cap": CAP,
                "is_capped": weight.uncapped > CAP,
                "open": weight.open,
                "without_priority": weight.without_priority,
                "budget": budget_json(tokens, chosen.daily_token_budget),
            }
        )


@router.get("/funnel", response_model=None)
def read_the_funnel(
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
    agent: IdQuery = None,
    since: Annotated[str | None, Query(alias="from")] = None,
    until: str | None = None,
    window: str | None = None,
) -> Response:
    """How far the contradictions got that were detected in a window, by default of 30 days."""
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)
    ends = instant_of(until, "until")
    ends = clock() if ends is None else ends
    begins = _beginning(instant_of(since, "from"), window, ends)
    with database.read() as session:
        chosen = chosen_agent(session, principal, agent)
        body = read_funnel(session, chosen.agent_id, begins, ends, chosen.daily_token_budget)
    return as_json(body)


def _beginning(since: int | None, window: str | None, until: int) -> int:
    if since is not None and window is not None:
        raise _bad_window("window", "and from exclude each other: leave one out")
    try:
        length = 30 * DAY if window is None else parse_duration(window)
    except ValueError as problem:
        raise _bad_window("window", str(problem)) from None
    begins = max(EARLIEST, until - length) if since is None else since
    if begins >= until:
        raise _bad_window("from", f"is not before until ({format_instant(until)})")
    return begins


def _bad_window(name: str, reason: str) -> Malformed:
    return Malformed(f"{name} {reason}.", errors=(Fault(f"/query/{name}", reason),))


@router.get("/{contradiction_id:path}", response_model=None)
def read_contradiction(
    contradiction_id: IdPath,
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
    agent: IdQuery = None,
) -> Response:
    """One contradiction with its events; a writing key sees those of its own log."""
    principal.require(*LEDGER_READERS)
    with database.read() as session:
        agent_id = chosen_agent(session, principal, agent).agent_id
        log = visible_log(principal)
        found = queries.contradiction_called(
            session, agent_id, contradiction_id, now=clock(), log=log
        )
        if found is None:
            raise NotFound(f"Agent {agent_id!r} has no contradiction {contradiction_id!r}.")
        wanted = EventFilter(agent_id=agent_id, contradiction_id=contradiction_id, log=log)
        body = ContradictionHistoryOut(found, *history(session, wanted))
    return as_json(body)
