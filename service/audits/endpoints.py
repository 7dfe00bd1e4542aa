from fastapi import APIRouter
from starlette.responses import Response

from service.agents.authentication import PrincipalDep
from service.agents.queries import chosen_agent, zone_of
from service.api.paging import After, Limit, decode_cursor, encode_cursor
from service.api.problems import RESPONSES
from service.api.state import ClockDep, DatabaseDep
from service.audits import operations, queries
from service.audits.days import ONE_DAY, day_start
from service.audits.schemas import (
    AuditDetailOut,
    AuditIn,
    AuditQueuedOut,
    AuditRequestOut,
    AuditsOut,
    FindingsOut,
)
from service.audits.vocabulary import RequestState
from service.errors import NotFound
from service.principals import Principal, Scope

router = APIRouter(prefix="/v1/audits", tags=["audits"], responses=RESPONSES)


def _require_reader(principal: Principal) -> None:
    """Nobody who writes as the agent may see its audit, whatever else the key may do."""
    principal.require(Scope.READ, Scope.AUDIT, Scope.OPERATE)


@router.post("", status_code=202)
def request_audit(
    wanted: AuditIn,
    principal: PrincipalDep,
    database: DatabaseDep,
    clock: ClockDep,
    response: Response,
) -> AuditQueuedOut:
    """Takes a request down for the auditor, which runs on its own; look at it by its id."""
    principal.require(Scope.AUDIT, Scope.OPERATE)
    with database.write() as session:
        agent = chosen_agent(session, principal, wanted.agent)
        zone = zone_of(agent)
        since = wanted.day or wanted.since
        until = wanted.day + ONE_DAY if wanted.day is not None else wanted.until
        assert since is not None  # noqa: S101 - AuditIn refuses anything else
        assert until is not None  # noqa: S101
        request_id = operations.queue_request(
            session, agent.agent_id, day_start(since, zone), day_start(until, zone), clock()
        )
    response.headers["Location"] = f"/v1/audits/{request_id}"
    return AuditQueuedOut(request_id=request_id, state=RequestState.QUEUED)


@router.get("")
def list_audits(
    principal: PrincipalDep,
    database: DatabaseDep,
    agent: str | None = None,
    limit: Limit = 100,
    after: After = None,
) -> AuditsOut:
    """Runs, the latest window first; `next` is null on the last page."""
    _require_reader(principal)
    place = decode_cursor(after, queries.RunPlace)
    with database.read() as session:
        if agent is not None:
            chosen_agent(session, principal, agent)
        runs, following = queries.newest_runs(session, agent, limit=limit, after=place)
    return AuditsOut(items=runs, next=encode_cursor(following))


@router.get("/{audit_id}")
def read_audit(
    audit_id: str, principal: PrincipalDep, database: DatabaseDep
) -> AuditDetailOut | AuditRequestOut:
    """One run with its strata, or by a request's id what became of the request."""
    _require_reader(principal)
    with database.read() as session:
        run = queries.run_called(session, audit_id)
        if run is not None:
            shown = queries.runs_out(session, [run])[0]
            strata = queries.strata_of(session, audit_id)
            return AuditDetailOut(**shown.model_dump(), strata=strata)
        request = queries.request_called(session, audit_id)
    if request is None:
        raise NotFound(f"There is no audit and no request {audit_id!r}.")
    return request


@router.get("/{audit_id}/findings")
def list_findings(
    audit_id: str,
    principal: PrincipalDep,
    database: DatabaseDep,
    limit: Limit = 100,
    after: After = None,
) -> FindingsOut:
    """The findings of a run in the order they were stored; `next` is null on the last page."""
    _require_reader(principal)
    place = decode_cursor(after, tuple[queries.FindingPlace])
    with database.read() as session:
        run = queries.run_called(session, audit_id)
        if run is None:
            raise NotFound(f"There is no audit {audit_id!r}.")
        found, following = queries.findings_of(session, run, limit=limit, after=place and place[0])
    return FindingsOut(items=found, next=encode_cursor(None if following is None else (following,)))
