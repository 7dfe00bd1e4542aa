"""Removing a payload that must not stay, and reading what was removed."""

import asyncio
from typing import Any

import msgspec
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from service.agents.authentication import PrincipalDep
from service.agents.queries import agent_called, chosen_agent
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.parameters import IdQuery, Instant
from service.api.problems import RESPONSES
from service.api.responses import as_json
from service.api.state import DatabaseDep, state_of
from service.db.erasing import empty_log
from service.errors import Conflict, Fault, LedgerError, Malformed
from service.events.endpoints import writer_of
from service.principals import Scope
from service.redactions import queries
from service.redactions.operations import EVENTS, TURNS, Redact, Target, Why
from service.redactions.schemas import RedactionIn, TargetIn

router = APIRouter(prefix="/v1/redactions", tags=["redactions"], responses=RESPONSES)
_AGAIN: dict[int | str, dict[str, Any]] = {
    200: {"description": "It was removed before: the tombstone of then."}
}
_NEVER_CUT = {
    "shadow_id": "a shadow inference is what a claim is scored by later",
    "finding_id": "a finding is what the auditor saw",
    "verdict_id": "a verdict is what a person said",
}


@router.post("", response_model=None, status_code=201, responses=_AGAIN)
async def redact(body: RedactionIn, request: Request, principal: PrincipalDep) -> Response:
    """Removes the whole payload of a turn or an event; its row, hash and leaf stay.

    `erased` says whether the bytes are gone from the database's files, too: null where those are
    not Doxa's to say, as on PostgreSQL.
    """
    principal.require(Scope.OPERATE)
    state = state_of(request)

    def choose() -> str:
        with state.database.read() as session:
            return chosen_agent(session, principal, body.agent_id).agent_id

    target = _target(await asyncio.to_thread(choose), body.target)
    why = Why(body.reason, principal.key_id, state.clock())
    writer = writer_of(request)
    answer: Response = await writer.submit(Redact(target, why, writer.projectors))
    told = msgspec.json.decode(bytes(answer.body))
    told["erased"] = await asyncio.to_thread(empty_log, state.database)
    return as_json(told, answer.status_code)


def _target(agent_id: str, named: TargetIn) -> Target:
    for name, reason in _NEVER_CUT.items():
        if getattr(named, name) is not None:
            raise _refused(Conflict, name, f"{reason}, and is never cut")
    if (named.turn_id is None) == (named.event_id is None):
        raise _refused(Malformed, "turn_id", "name one of turn_id and event_id")
    if named.turn_id is not None:
        return Target(agent_id, TURNS, named.turn_id)
    return Target(agent_id, EVENTS, named.event_id or "", named.log)


def _refused(kind: type[LedgerError], name: str, reason: str) -> LedgerError:
    return kind(f"target: {reason}.", errors=(Fault(f"/target/{name}", reason),))


@router.get("", response_model=None)
def list_redactions(
    principal: PrincipalDep,
    database: DatabaseDep,
    agent: IdQuery = None,
    limit: Limit = 100,
    after: After = None,
) -> Response:
    """What was removed, newest first; `next` is null on the last page."""
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)
    place = decode_cursor(after, tuple[Instant, str, Instant])
    with database.read() as session:
        if agent is not None:
            agent_called(session, agent)
        found, following = queries.newest_redactions(session, agent, limit=limit, after=place)
    return as_json({"items": found, "next": encode_cursor(following)})
