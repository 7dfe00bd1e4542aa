from dataclasses import dataclass
from enum import StrEnum

from service.errors import Forbidden


class Scope(StrEnum):
    """What a key may do."""

    WRITE = "write"
    READ = "read"
    AUDIT = "audit"
    OPERATE = "operate"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who is asking: a key's scope, or anybody on this machine while there are no keys."""

    scopes: frozenset[Scope]
    agent_id: str | None = None
    key_id: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether the service runs without keys, on loopback."""
        return self.key_id is None

    def require(self, *any_of: Scope) -> None:
        """Raises Forbidden unless the key has one of the scopes."""
        if self.scopes.isdisjoint(any_of):
            raise Forbidden(
                f"This needs a key with scope {' or '.join(any_of)}; this one has "
                f"{', '.join(sorted(self.scopes))}. Make one with `doxa keys create`."
            )

    def require_agent(self, agent_id: str) -> None:
        """Raises Forbidden when the key is bound to another agent."""
        if self.agent_id is not None and self.agent_id != agent_id:
            raise Forbidden(
                f"This key belongs to agent {self.agent_id!r} and cannot speak of {agent_id!r}."
            )


# Without keys everybody on this machine may do everything but speak with the audit's voice.
LOCAL = Principal(frozenset(Scope))
