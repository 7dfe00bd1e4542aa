"""Events as the service checks them, and the way they take into the record."""

import asyncio
import itertools
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from service.app import projectors
from service.db.database import Database
from service.errors import Fault
from service.events.normalise import Intake, normalise
from service.events.schemas import Accepted, Event, EventIn
from service.events.vocabulary import Log
from service.events.writer import EventBatch, Writer
from service.instants import DAY, SECOND, parse_instant, to_datetime
from service.principals import LOCAL
from service.settings import Settings

NOW = parse_instant("2026-10-03T12:00:00Z")
AGENT = "piper"
_INTAKE = Intake(LOCAL, Settings(), NOW + DAY, lambda: AGENT)
_NUMBERS = itertools.count(1)


def checked(log: Log = Log.AGENT, **fields: Any) -> Event | list[Fault]:
    """What the service makes of an event as sent: the row, or its faults; `ts` in microseconds."""
    ts = fields.pop("ts", None)
    item = EventIn(ts=None if ts is None else to_datetime(ts), **fields)
    return normalise(item, replace(_INTAKE, log=log), 0)


def an_event(event: str = "x.test", *, log: Log = Log.AGENT, **fields: Any) -> Event:
    """A checked event of agent `piper`; unless told, its id is new and it is a second younger.

    `fields` are those of the wire, `ts` alone is given in microseconds since 1970 UTC. What the
    service would refuse is an AssertionError that shows the faults.
    """
    number = next(_NUMBERS)
    given: dict[str, Any] = {"event_id": f"event-{number}", "ts": NOW + number * SECOND} | fields
    found = checked(log, event=event, **given)
    assert isinstance(found, Event), found
    return found


def a_belief(belief_id: str, label: str | None = "infer", **fields: Any) -> Event:
    """A complete `belief.created`; `content` and other keys go in by `detail`."""
    detail = {"content": f"what {belief_id} says", "category": "system state"}
    given: dict[str, Any] = {"worker": "day", "label_to": label} | fields
    given["detail"] = detail | (fields.get("detail") or {})
    return an_event("belief.created", belief_id=belief_id, **given)


def post(database: Database, events: Iterable[Event]) -> Accepted:
    """Sends one batch through a real writer, as one request; raises what would refuse it.

    The events given stay as they are, so that the same ones can be sent again.
    """
    batch = [msgspec.structs.replace(e, noted=[], index=i) for i, e in enumerate(events)]
    writer = Writer(database, projectors(), max_pending_items=1_000_000, clock=lambda: NOW)
    writer.start()
    try:
        answer: Accepted = asyncio.run(writer.submit(EventBatch(batch, [], skip=False)))
    finally:
        writer.close()
    return answer
