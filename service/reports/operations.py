"""Recording benchmark runs, and publishing a report once."""

import hashlib
import json
import math
from zoneinfo import ZoneInfo

import msgspec
from sqlalchemy import Table
from sqlalchemy.orm import Session

from service import json_text
from service.agents.queries import agent_called, zone_of
from service.checks import id_fault, instant_fault
from service.db.upserts import insert_or
from service.errors import Conflict, Fault, Malformed, Unreadable
from service.events.log import LogPositions
from service.events.recording import record_rows
from service.events.vocabulary import Log
from service.instants import to_microseconds
from service.models import BenchRun, WeeklyReport
from service.ratios.queries import current_as_of
from service.reports.queries import published_report
from service.reports.schemas import BenchRunIn
from service.reports.weekly import make_report
from service.settings import Settings

_MAX_LOSS = 1e9
_BENCH_RUNS: Table = BenchRun.__table__  # type: ignore[assignment]


def parse_bench_run(body: bytes, settings: Settings) -> BenchRunIn:
    """A run from strict JSON; Malformed lists every fault."""
    if json_text.nesting(body) > settings.max_nesting:
        reason = f"is nested deeper than {settings.max_nesting} levels (DOXA_MAX_NESTING)"
        raise Malformed(f"The body {reason}.", errors=(Fault("", reason),))
    try:
        run = msgspec.json.decode(body, type=BenchRunIn)
    except msgspec.ValidationError as problem:
        fault = json_text.fault_of(problem)
        raise Malformed(f"{fault.pointer} {fault.reason}.", errors=(fault,)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise Unreadable(f"The body is no strict JSON: {problem}.") from None
    faults = _faults(run, settings)
    if faults:
        listed = "; ".join(f"{fault.pointer} {fault.reason}" for fault in faults)
        raise Malformed(listed, errors=tuple(faults))
    return run


def _faults(run: BenchRunIn, settings: Settings) -> list[Fault]:
    names = ("commit_sha", "agent_id", "bench_run_id")
    found = [
        id_fault(name, value, settings)
        for name in names
        if (value := getattr(run, name)) is not None
    ]
    if run.ran_at.tzinfo is None:
        found.append(Fault("/ran_at", "has no offset: add one, for example Z or +02:00"))
    else:
        found.append(instant_fault("ran_at", to_microseconds(run.ran_at), settings))
    for name in ("just_loss", "just_loss_bare"):
        value = getattr(run, name)
        if not (math.isfinite(value) and 0 <= value <= _MAX_LOSS):
            found.append(Fault(f"/{name}", "is no loss: send a number of 0 or more"))
    inspection = json_text.Inspection(settings.max_nesting, settings.max_string_chars)
    json_text.inspect(run.detail or {}, "/detail", inspection, depth=2)
    return [fault for fault in (*found, *inspection.faults) if fault is not None]


def record_bench_run(session: Session, agent_id: str, run: BenchRunIn) -> tuple[BenchRun, bool]:
    """The recorded run, and whether it is new; Conflict when the id is taken by another one."""
    facts = {
        "ran_at": to_microseconds(run.ran_at),
        "commit_sha": run.commit_sha,
        "just_loss": run.just_loss,
        "just_loss_bare": run.just_loss_bare,
        "detail": json_text.encode_or_none(run.detail),
    }
    run_id = run.bench_run_id or _derived_id(agent_id, facts)
    # The lock comes first: two of the same at once must see each other.
    positions = LogPositions(session)
    positions.lock([(agent_id, str(Log.AUDIT))])
    found = session.get(BenchRun, (agent_id, run_id))
    if found is not None:
        if all(_same(name, getattr(found, name), value) for name, value in facts.items()):
            return found, False
        raise Conflict(
            f"bench_run_id {run_id!r} is recorded with other content: choose a new id.",
            errors=(Fault("/bench_run_id", "is taken"),),
        )
    row = (agent_id, run_id, str(Log.AUDIT), *facts.values())
    record_rows(session, positions, _BENCH_RUNS, [row])
    positions.store()
    recorded = session.get_one(BenchRun, (agent_id, run_id))
    return recorded, True


def _same(name: str, recorded: object, sent: object) -> bool:
    if name != "detail" or recorded is None or sent is None:
        return recorded == sent
    return json_text.same(json.loads(str(recorded)), json.loads(str(sent)))


def _derived_id(agent_id: str, facts: dict[str, object]) -> str:
    digest = hashlib.sha256(json_text.encode([agent_id, facts]).encode())
    return f"sha256:{digest.hexdigest()[:40]}"


def publish_report(session: Session, agent_id: str, week: str, now: int) -> WeeklyReport:
    """Makes the report of a week from the record as it stands, once; later calls find it.

    What was published does not change when more arrives: the API makes the week anew.
    """
    found = published_report(session, agent_id, week)
    if found is not None:
        return found
    zone: ZoneInfo = zone_of(agent_called(session, agent_id))
    as_of = current_as_of(session, agent_id)
    report = make_report(session, agent_id, zone, week, as_of)
    values = {
        "agent_id": agent_id,
        "iso_week": week,
        "as_of": str(as_of),
        "made_at": now,
        "body": report.as_text(),
    }
    # Another process may have been faster: the first one stands.
    session.execute(insert_or(session, WeeklyReport).values(values).on_conflict_do_nothing())
    published = published_report(session, agent_id, week)
    assert published is not None  # noqa: S101 - inserted above, by us or by the other
    return published
