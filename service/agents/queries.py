"""Reading agents and keys."""

from dataclasses import dataclass
from zoneinfo import ZoneInfo

from sqlalchemy import select
from sqlalchemy.orm import Session

from service.errors import Fault, Malformed, NotFound
from service.models import Agent, ApiKey
from service.principals import Principal


def all_agents(session: Session) -> list[Agent]:
    """All agents by id."""
    return list(session.scalars(select(Agent).order_by(Agent.agent_id)))


def only_agent(session: Session) -> str | None:
    """The id of the one agent there is; None when there are none or several."""
    found = session.scalars(select(Agent.agent_id).limit(2)).all()
    return found[0] if len(found) == 1 else None


def agent_called(session: Session, agent_id: str) -> Agent:
    """The agent with an id; NotFound names those there are."""
    agent = session.get(Agent, agent_id)
    if agent is None:
        known = session.scalars(select(Agent.agent_id).order_by(Agent.agent_id).limit(10)).all()
        hint = f"Known are: {', '.join(known)}." if known else "None has written yet."
        raise NotFound(f"There is no agent {agent_id!r}. {hint}")
    return agent


def chosen_agent(session: Session, principal: Principal, asked: str | None) -> Agent:
    """The agent a request is about: the one it names, the key's, or the only one there is."""
    agent_id = asked or principal.agent_id or only_agent(session)
    if agent_id is None:
        some = session.scalars(select(Agent.agent_id).order_by(Agent.agent_id).limit(10)).all()
        if not some:
            raise NotFound("No agent has written yet: send an event, or `doxa import` a file.")
        reason = f"is missing, and there are several agents: {', '.join(some)}"
        raise Malformed(f"agent {reason}.", errors=(Fault("/query/agent", reason),))
    principal.require_agent(agent_id)
    return agent_called(session, agent_id)


def zone_of(agent: Agent) -> ZoneInfo:
    """The agent's time zone, in which its days and weeks begin."""
    return ZoneInfo(agent.time_zone)


@dataclass(frozen=True, slots=True)
class StoredKey:
    """What is known of a key that may be used."""

    key_id: str
    key_hash: bytes
    scope: str
    agent_id: str | None


def active_keys(session: Session) -> list[StoredKey]:
    """All keys that were not revoked."""
    rows = session.execute(
        select(ApiKey.key_id, ApiKey.key_hash, ApiKey.scope, ApiKey.agent_id).where(
            ApiKey.revoked_at.is_(None)
        )
    )
    return [StoredKey(*row) for row in rows]


def all_keys(session: Session) -> list[ApiKey]:
    """All keys, revoked ones included, oldest first."""
    return list(session.scalars(select(ApiKey).order_by(ApiKey.created_at, ApiKey.key_id)))
