from typing import Annotated, Literal

from fastapi import APIRouter, Query
from sqlalchemy.orm import Session
from starlette.responses import Response

from scoring.labels import Label
from service.agents.authentication import PrincipalDep
from service.agents.queries import chosen_agent, only_agent
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.parameters import IdPath, IdQuery, Place
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import DatabaseDep
from service.beliefs import queries
from service.beliefs.schemas import BeliefHistoryOut
from service.errors import NotFound
from service.events.endpoints import visible_log
from service.events.queries import EventFilter, newest_events
from service.events.schemas import EventOut
from service.principals import Principal, Scope

router = APIRouter(prefix="/v1/beliefs", tags=["beliefs"], responses=RESPONSES)
# Who may read the ledger: a writing key too, its own agent's.
LEDGER_READERS = (Scope.READ, Scope.AUDIT, Scope.OPERATE, Scope.WRITE)
MAX_EVENTS = 1_000


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
            agent_id, label, status, worker, session_id, turn_id, q, visible_log(principal)
        )
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
            queries.rests_on(session, belief),
            *queries.supported_by(session, agent_id, belief_id),
        )
    return as_json(body)
