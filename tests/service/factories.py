"""Events as the service checks them, and the way they take into the record."""

import asyncio
import itertools
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import msgspec
from sqlalchemy import Table, select

from cli.server import serving_in_background
from service.app import create_app, projectors
from service.db.database import Database
from service.errors import Fault
from service.events.normalise import Intake, normalise
from service.events.schemas import Accepted, Event, EventIn
from service.events.vocabulary import Log
from service.events.writer import EventBatch, Writer
from service.instants import DAY, SECOND, parse_instant, to_datetime
from service.models import CogEvent
from service.models.record import Record
from service.principals import LOCAL
from service.settings import Settings

NOW = parse_instant("2026-10-03T12:00:00Z")
AGENT = "piper"
_INTAKE = Intake(LOCAL, Settings.model_validate({}), NOW + DAY, lambda: AGENT)
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


def flags_of(database: Database, event: Event) -> list[str]:
    """The flags that an event was recorded with."""
    with database.read() as session:
        flags = session.scalars(
            select(CogEvent.flags).where(
                CogEvent.agent_id == event.agent_id, CogEvent.event_id == event.event_id
            )
        ).one()
    found: list[str] = json.loads(flags or "[]")
    return found


def row_of(database: Database, model: type[Record], *key: str | int) -> dict[str, Any]:
    """The row of a table under a primary key, by column name; no row is a failure."""
    table: Table = model.__table__  # type: ignore[assignment]
    conditions = [column == value for column, value in zip(table.primary_key, key, strict=False)]
    with database.read() as session:
        return dict(session.execute(select(*table.columns).where(*conditions)).one()._mapping)


@contextmanager
def a_client(settings: Settings, *, now: int = NOW) -> Iterator[httpx.Client]:
    """A client of a real server on loopback, whose clock stands still."""
    app = create_app(settings, clock=lambda: now)
    with (
        serving_in_background(app, settings) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=30) as client,
    ):
        yield client


def a_key(
    client: httpx.Client, scope: str, agent: str | None = None, **auth: str
) -> dict[str, str]:
    """The headers of a new key; the first one must be of scope `operate`."""
    answer = client.post("/v1/keys", json={"scope": scope, "agent_id": agent}, headers=auth)
    assert answer.status_code == 201, answer.text
    return {"Authorization": f"Bearer {answer.json()['key']}"}
