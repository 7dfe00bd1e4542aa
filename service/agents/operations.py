"""Registering agents and keys."""

import hashlib
import secrets
from collections.abc import Iterable

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from service.agents.schemas import AgentChange, AgentIn, KeyIn
from service.db.upserts import insert_or
from service.errors import Conflict, Fault, Malformed, NotFound
from service.models import Agent, ApiKey
from service.principals import Scope

DEFAULT_TIME_ZONE = "UTC"


def ensure_agents(session: Session, agent_ids: Iterable[str], now: int) -> None:
    """Registers agents that wrote for the first time; those that are known stay as they are."""
    rows = [
        {"agent_id": agent_id, "created_at": now, "time_zone": DEFAULT_TIME_ZONE}
        for agent_id in sorted(set(agent_ids))
    ]
    if rows:
        session.execute(insert_or(session, Agent).on_conflict_do_nothing(), rows)


def create_agent(session: Session, wanted: AgentIn, now: int) -> Agent:
    """Registers an agent; Conflict when the id is taken."""
    if session.get(Agent, wanted.agent_id) is not None:
        raise Conflict(f"Agent {wanted.agent_id!r} exists: change it with PATCH.")
    fields = wanted.model_dump(exclude_none=True)
    agent = Agent(created_at=now, **({"time_zone": DEFAULT_TIME_ZONE} | fields))
    session.add(agent)
    session.flush()
    return agent


def change_agent(session: Session, agent_id: str, change: AgentChange) -> Agent:
    """Changes what is given and leaves the rest; NotFound for an unknown agent."""
    agent = session.get(Agent, agent_id)
    if agent is None:
        raise NotFound(f"There is no agent {agent_id!r}.")
    for name in change.model_fields_set:
        value = getattr(change, name)
        if name == "time_zone" and value is None:
            value = DEFAULT_TIME_ZONE
        setattr(agent, name, value)
    session.flush()
    return agent


def hash_key(key: str) -> bytes:
    """What is stored of a key. Plain SHA-256: a key is 256 random bits, nothing to guess at."""
    return hashlib.sha256(key.encode()).digest()


def create_key(session: Session, wanted: KeyIn, now: int) -> tuple[ApiKey, str]:
    """A new key and its secret, which is not kept."""
    if (wanted.scope is Scope.WRITE) != (wanted.agent_id is not None):
        reason = (
            "is missing: a writing key belongs to one agent"
            if wanted.scope is Scope.WRITE
            else "only a writing key belongs to an agent: leave it out"
        )
        raise Malformed(f"agent_id {reason}.", errors=(Fault("/agent_id", reason),))
    if wanted.agent_id is not None:
        ensure_agents(session, [wanted.agent_id], now)
    secret = f"doxa_{wanted.scope}_{secrets.token_urlsafe(32)}"
    row = ApiKey(
        key_id=secrets.token_hex(8),
        key_hash=hash_key(secret),
        scope=wanted.scope,
        agent_id=wanted.agent_id,
        name=wanted.name,
        created_at=now,
    )
    session.add(row)
    session.flush()
    return row, secret


def revoke_key(session: Session, key_id: str, now: int) -> None:
    """Ends a key at once; NotFound for an unknown one."""
    found = session.execute(
        update(ApiKey)
        .where(ApiKey.key_id == key_id, ApiKey.revoked_at.is_(None))
        .values(revoked_at=now)
        .returning(ApiKey.key_id)
    ).first()
    if (
        found is None
        and session.scalar(select(ApiKey.key_id).where(ApiKey.key_id == key_id)) is None
    ):
        raise NotFound(f"There is no key {key_id!r}.")
