from fastapi import APIRouter
from starlette.requests import Request

from service.agents import operations, queries
from service.agents.authentication import Keyring, PrincipalDep
from service.agents.schemas import (
    AgentChange,
    AgentIn,
    AgentOut,
    AgentsOut,
    KeyIn,
    KeyOut,
    KeysOut,
    NewKeyOut,
)
from service.api.problems import RESPONSES
from service.api.state import ClockDep, DatabaseDep
from service.instants import format_instant
from service.models import Agent, ApiKey
from service.principals import Scope

router = APIRouter(prefix="/v1", tags=["agents"], responses=RESPONSES)


@router.get("/agents")
def list_agents(principal: PrincipalDep, database: DatabaseDep) -> AgentsOut:
    """All agents; a writing key sees its own."""
    with database.read() as session:
        agents = [
            agent
            for agent in queries.all_agents(session)
            if principal.agent_id in (None, agent.agent_id)
        ]
        return AgentsOut(items=[agent_out(agent) for agent in agents])


@router.post("/agents", status_code=201)
def create_agent(
    wanted: AgentIn, principal: PrincipalDep, database: DatabaseDep, clock: ClockDep
) -> AgentOut:
    """Registers an agent."""
    principal.require(Scope.OPERATE)
    with database.write() as session:
        return agent_out(operations.create_agent(session, wanted, clock()))


@router.patch("/agents/{agent_id}")
def change_agent(
    agent_id: str, change: AgentChange, principal: PrincipalDep, database: DatabaseDep
) -> AgentOut:
    """Changes what is given of an agent."""
    principal.require(Scope.OPERATE)
    with database.write() as session:
        return agent_out(operations.change_agent(session, agent_id, change))


@router.get("/keys")
def list_keys(principal: PrincipalDep, database: DatabaseDep) -> KeysOut:
    """All keys, without their secrets."""
    principal.require(Scope.OPERATE)
    with database.read() as session:
        return KeysOut(items=[key_out(key) for key in queries.all_keys(session)])


@router.post("/keys", status_code=201)
def create_key(
    wanted: KeyIn, principal: PrincipalDep, database: DatabaseDep, clock: ClockDep, request: Request
) -> NewKeyOut:
    """A new key; its secret is shown in this answer and never again."""
    principal.require(Scope.OPERATE)
    with database.write() as session:
        row, secret = operations.create_key(session, wanted, clock())
        answer = NewKeyOut(**key_out(row).model_dump(), key=secret)
    _keyring(request).forget()
    return answer


@router.delete("/keys/{key_id}", status_code=204)
def revoke_key(
    key_id: str, principal: PrincipalDep, database: DatabaseDep, clock: ClockDep, request: Request
) -> None:
    """Ends a key at once."""
    principal.require(Scope.OPERATE)
    with database.write() as session:
        operations.revoke_key(session, key_id, clock())
    _keyring(request).forget()


def _keyring(request: Request) -> Keyring:
    keyring: Keyring = request.app.state.keyring
    return keyring


def agent_out(agent: Agent) -> AgentOut:
    """An agent as it is shown."""
    return AgentOut(
        agent_id=agent.agent_id,
        created_at=format_instant(agent.created_at),
        time_zone=agent.time_zone,
        model=agent.model,
        model_family=agent.model_family,
        sample_size=agent.sample_size,
        daily_token_budget=agent.daily_token_budget,
    )


def key_out(key: ApiKey) -> KeyOut:
    """A key as it is shown."""
    return KeyOut(
        key_id=key.key_id,
        scope=Scope(key.scope),
        agent_id=key.agent_id,
        name=key.name,
        created_at=format_instant(key.created_at),
        revoked_at=None if key.revoked_at is None else format_instant(key.revoked_at),
    )
