"""From a request to a call on the owned ledger: who speaks of which agent, and what is told."""

import asyncio
import hashlib
import secrets
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from service.agents.queries import chosen_agent
from service.api.idempotency import PARAMETER, RequestKey, key_of, request_hash
from service.api.state import state_of
from service.contradictions.schemas import LedgerCallIn
from service.errors import Fault, Malformed
from service.events.endpoints import DefaultAgent, own_log, visible_log, writer_of
from service.events.normalise import Intake, normalise
from service.events.operations import Projectors
from service.events.schemas import Event, EventIn
from service.events.vocabulary import Log
from service.events.writer import Job
from service.principals import Principal, Scope

# For the OpenAPI document: of a call that makes something, and that may find it made already.
KEYED: dict[str, Any] = {"parameters": [PARAMETER]}
MADE_ALREADY: dict[int | str, dict[str, Any]] = {
    200: {"description": "It was there already, and is answered as it stands"}
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, about which agent, and when."""

    intake: Intake
    agent_id: str | None
    projectors: Projectors
    request_key: RequestKey | None

    @property
    def visible(self) -> Log | None:
        """The log that the caller may read; both where it is None."""
        return visible_log(self.intake.principal)

    @property
    def now(self) -> int:
        """Microseconds since 1970 UTC."""
        return self.intake.now

    def told(self, event: str, body: LedgerCallIn, detail: dict[str, Any], **fields: Any) -> Event:
        """The event that a call wants to become, checked like any other; Malformed names why not.

        What the event calls `detail.x` the call calls `x`.
        """
        item = EventIn(
            event, self.agent_id, None, body.event_id, body.session_id, body.turn_id, body.worker,
            cost_tokens=body.cost_tokens, detail=detail, **fields,
        )  # fmt: skip
        found = normalise(item, self.intake, 0)
        if isinstance(found, Event):
            return found
        faults = tuple(Fault(f.pointer.removeprefix("/detail"), f.reason) for f in found)
        raise Malformed("; ".join(f"{f.pointer} {f.reason}" for f in faults[:5]), errors=faults)


async def caller_of(
    request: Request, principal: Principal, body: LedgerCallIn, *, is_new: bool
) -> Caller:
    """The caller of a write; only what `is_new` may be the first word of an agent."""
    principal.require(Scope.WRITE, Scope.OPERATE)
    state = state_of(request)

    def choose() -> str | None:
        if is_new:
            return body.agent_id or DefaultAgent(state.database, principal)()
        with state.database.read() as session:
            return chosen_agent(session, principal, body.agent_id).agent_id

    agent_id = await asyncio.to_thread(choose)
    now = state.clock()
    intake = Intake(principal, state.settings, now, lambda: agent_id, own_log(principal))
    request_key = await request_key_of(request, agent_id, now)
    return Caller(intake, agent_id, writer_of(request).projectors, request_key)


async def request_key_of(request: Request, agent_id: str | None, now: int) -> RequestKey | None:
    """What makes a call be answered once; None where it carries no Idempotency-Key."""
    key = key_of(request)
    if key is None or agent_id is None:
        return None
    return RequestKey(agent_id, key, request_hash(request, await request.body()), now)


async def answer_of(request: Request, call: Job) -> Response:
    """The answer of a call, after its commit."""
    found: Response = await writer_of(request).submit(call)
    return found


def new_id(event_id: str | None) -> str:
    """An id for what the client gave none; made of the event's id, so that a retry finds it."""
    if event_id is None:
        return secrets.token_hex(16)
    return hashlib.sha256(event_id.encode()).hexdigest()[:32]
