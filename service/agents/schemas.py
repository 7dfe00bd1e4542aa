"""Wire shapes of agents and keys."""

from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from service.principals import Scope


def _known_zone(name: str) -> str:
    if name not in available_timezones():
        raise ValueError("is no time zone: use an IANA name such as Europe/Vienna, or UTC")
    ZoneInfo(name)
    return name


def _plain(text: str) -> str:
    if not text.isprintable():
        raise ValueError("holds a control character: remove it")
    return text


Name = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_plain)]
TimeZone = Annotated[str, Field(max_length=64), AfterValidator(_known_zone)]


class AgentChange(BaseModel):
    """What an operator may say of an agent; what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid")

    time_zone: TimeZone | None = None
    model: Name | None = None
    model_family: Name | None = None
    sample_size: Annotated[int, Field(ge=1, le=100_000)] | None = None
    daily_token_budget: Annotated[int, Field(ge=0, le=2**53)] | None = None


class AgentIn(AgentChange):
    """A new agent."""

    agent_id: Name


class AgentOut(BaseModel):
    """An agent as registered."""

    agent_id: str
    created_at: str
    time_zone: str
    model: str | None
    model_family: str | None
    sample_size: int | None
    daily_token_budget: int | None


class AgentsOut(BaseModel):
    """All agents."""

    items: list[AgentOut]
    next: None = None


class KeyIn(BaseModel):
    """A new key; a writing key belongs to one agent."""

    model_config = ConfigDict(extra="forbid")

    scope: Scope
    agent_id: Name | None = None
    name: Name = "unnamed"


class KeyOut(BaseModel):
    """A key without its secret."""

    key_id: str
    scope: Scope
    agent_id: str | None
    name: str
    created_at: str
    revoked_at: str | None


class NewKeyOut(KeyOut):
    """A key with its secret, which is shown this once."""

    key: str


class KeysOut(BaseModel):
    """All keys."""

    items: list[KeyOut]
    next: None = None
