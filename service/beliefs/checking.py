"""Checks of the fields that calls of the ledger have and events have not."""

from datetime import datetime
from typing import Any

from scoring.labels import Label
from service import instants
from service.beliefs.grounds import evidence_id
from service.beliefs.schemas import BeliefIn, Evidence
from service.checks import id_fault
from service.errors import Fault
from service.settings import Settings

MAX_MEMBERS = 1_000


def stated(name: str, value: datetime | None, faults: list[Fault]) -> str | None:
    """An instant as it is recorded; what is wrong with it goes to `faults`."""
    if value is None:
        return None
    if value.tzinfo is None:
        faults.append(Fault(f"/{name}", "has no offset: add one, for example Z or +02:00"))
        return None
    try:
        return instants.format_instant(instants.checked(instants.to_microseconds(value)))
    except ValueError as problem:
        faults.append(Fault(f"/{name}", str(problem)))
        return None


def belief_faults(item: BeliefIn, settings: Settings) -> list[Fault]:
    """What is wrong with a belief that no event would show."""
    faults: list[Fault] = []
    if not item.content:
        faults.append(Fault("/content", "is missing: say what is believed"))
    if item.summarises is not None and item.justifications is not None:
        reason = "is what a summary rests on: leave `justifications` out"
        faults.append(Fault("/summarises", reason))
    start, end = item.valid_from, item.valid_until
    if start and end and start.tzinfo and end.tzinfo and end < start:
        faults.append(Fault("/valid_until", "lies before valid_from"))
    check_evidence("evidence", item.evidence, settings, faults)
    check_sets(item.justifications or [], settings, faults)
    if item.summarises is not None:
        _check_members("summarises", item.summarises, settings, faults)
    return faults


def check_evidence(
    name: str, items: Evidence | None, settings: Settings, faults: list[Fault]
) -> None:
    """Every item has an id."""
    if items and len(items) > MAX_MEMBERS:
        faults.append(Fault(f"/{name}", f"has more than {MAX_MEMBERS} items"))
    for place, item in enumerate(items or []):
        known_as = evidence_id(item)
        if not isinstance(known_as, str):
            faults.append(Fault(f"/{name}/{place}/id", "is missing: name the evidence"))
        elif fault := id_fault(f"{name}/{place}", known_as, settings):
            faults.append(fault)


def check_sets(sets: list[list[str]], settings: Settings, faults: list[Fault]) -> None:
    """Every set has members, and every member is an id."""
    if sum(map(len, sets)) > MAX_MEMBERS:
        faults.append(Fault("/justifications", f"have more than {MAX_MEMBERS} members"))
    for place, names in enumerate(sets):
        _check_members(f"justifications/{place}", names, settings, faults)


def _check_members(name: str, ids: list[str], settings: Settings, faults: list[Fault]) -> None:
    if not ids:
        faults.append(Fault(f"/{name}", "is empty, which justifies nothing: name what it rests on"))
    if len(ids) > MAX_MEMBERS:
        faults.append(Fault(f"/{name}", f"has more than {MAX_MEMBERS} members"))
    faults.extend(
        fault
        for place, one in enumerate(ids[:MAX_MEMBERS])
        if (fault := id_fault(f"{name}/{place}", one, settings))
    )


def recorded_sources(items: Evidence, faults: list[Fault]) -> list[Any]:
    """Sources as they are recorded: ids, or tool calls of stored turns.

    A label is none of the client's to say here: it is looked up. A tool call that is stored is a
    `know` by what the word means.
    """
    if len(items) > MAX_MEMBERS:
        faults.append(Fault("/sources", f"has more than {MAX_MEMBERS} items"))
    found: list[Any] = []
    for place, item in enumerate(items):
        if isinstance(item, str):
            found.append(item)
            continue
        call = item.get("tool_call")
        is_call = item.keys() == {"turn_id", "tool_call"} and isinstance(item["turn_id"], str)
        if is_call and isinstance(call, int) and not isinstance(call, bool) and call >= 0:
            found.append({**item, "label": str(Label.KNOW)})
        elif item.keys() == {"id"} and isinstance(item["id"], str):
            found.append(item["id"])
        else:
            reason = 'is neither an id nor {"turn_id": …, "tool_call": 0}: cite what is recorded'
            faults.append(Fault(f"/sources/{place}", reason))
    return found


def cited_ids(sources: list[Any] | None) -> list[str]:
    """What recorded sources are known by; a tool call by its turn and its place there."""
    return [
        one if isinstance(one, str) else f"{one['turn_id']}#{one['tool_call']}"
        for one in sources or []
    ]
