"""Ratios that count events of the window as they were told, and nothing of any audit."""

import json
from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy.orm import Session

from service.events.vocabulary import EventType, Flag, OpportunitySource
from service.models import CogEvent
from service.ratios import queries
from service.ratios.figures import Counted, Reading, share_json
from service.ratios.queries import EventRow
from service.ratios.window import View

_DISCRIMINATORS = (EventType.DISCRIMINATOR_GENERATED, EventType.DISCRIMINATOR_ACTED_ON)
_OVERWRITES = (
    EventType.BELIEF_OVERWRITTEN,
    EventType.BELIEF_SUPERSEDED,
    EventType.BELIEF_OVERWRITE_REFUSED,
)
NO_IDS = (
    "{missing} of {total} discriminators have no id: of those, events are counted, and one acted "
    "on counts for one generated whichever it was"
)


class _Category(msgspec.Struct):
    """What is read of a creation's detail; msgspec skips the rest without building it."""

    category: Any = None


_category = msgspec.json.Decoder(_Category)


def category_of(detail: str | None) -> str | None:
    """The category in the detail of a `belief.created`; None when it is not a text."""
    if not detail:
        return None
    category = _category.decode(detail).category
    return category if isinstance(category, str) else None


def counted(row: EventRow, *, counts: bool, kind: str = "event", **more: Any) -> Counted:
    """An event as a member of a denominator."""
    return Counted(
        row.ts,
        row.log,
        row.seq,
        row.event_id,
        kind,
        counts,
        row.session_id,
        row.turn_id,
        row.worker,
        more.pop("subject", row.belief_id),
        **more,
    )


def read_infer_without_abduction(session: Session, view: View) -> Reading:
    """Beliefs written as `infer`, and which of them without the hypothesis machinery."""
    created = session.execute(
        queries.subjects(
            view,
            CogEvent.ts,
            EventType.BELIEF_CREATED,
            CogEvent.label_to == "infer",
        )
        .add_columns(
            *queries.EVENT[1:], CogEvent.detail, queries.was_abducted(view).label("abducted")
        )
        .order_by(CogEvent.ts, CogEvent.log, CogEvent.seq)
    )
    rows = [
        counted(row, counts=not row.abducted, category=category_of(row.detail)) for row in created
    ]
    return Reading(rows, "no belief was written as infer in the window")


def read_in_path_engagement(session: Session, view: View) -> Reading:
    """Opportunities that the agent's own trigger saw, and which of their turns abducted."""
    seen = queries.events(
        session,
        view,
        [EventType.OPPORTUNITY_DETECTED],
        CogEvent.detail,
        queries.was_abducted(view).label("abducted"),
    )
    rows = [
        counted(row, counts=bool(row.abducted))
        for row in seen
        if json.loads(row.detail or "{}").get("source") == OpportunitySource.IN_PATH
    ]
    return Reading(rows, "the agent reported no in-path opportunity in the window")


def read_silent_overwrites(session: Session, view: View) -> Reading:
    """Contents changed in place, among all that were changed in place or superseded."""
    changed = queries.events(session, view, _OVERWRITES)
    refused = sum(row.event == EventType.BELIEF_OVERWRITE_REFUSED for row in changed)
    rows = [
        counted(row, counts=row.event == EventType.BELIEF_OVERWRITTEN)
        for row in changed
        if row.event != EventType.BELIEF_OVERWRITE_REFUSED
    ]
    empty = "no belief was overwritten or superseded in the window"
    return Reading(rows, empty, {"refused": refused})


def read_revision(session: Session, view: View) -> Reading:
    """Distinct beliefs challenged in the window, and which were superseded after it.

    A supersession counts once and for good: what comes after it, or names the belief itself as its
    successor, changes nothing (spec 1.3).
    """
    challenges = queries.events(session, view, [EventType.BELIEF_CHALLENGED])
    first: dict[str, EventRow] = {}
    for row in challenges:
        first.setdefault(row.belief_id, row)
    superseded: dict[str, int] = {}
    for row in queries.events_about(
        session,
        view,
        CogEvent.belief_id,
        queries.subjects(view, CogEvent.belief_id, EventType.BELIEF_CHALLENGED),
        [EventType.BELIEF_SUPERSEDED],
        CogEvent.flags,
    ):
        if not is_circular(row.flags):
            superseded.setdefault(row.belief_id, row.ts)
    rows = [
        counted(row, counts=superseded.get(belief, row.ts - 1) >= row.ts, kind="belief")
        for belief, row in first.items()
    ]
    replaced = len(queries.events(session, view, [EventType.BELIEF_SUPERSEDED]))
    beside = {
        "events": {
            "value": replaced / len(challenges) if challenges else None,
            "numerator": replaced,
            "denominator": len(challenges),
        }
    }
    return Reading(rows, "no belief was challenged in the window", beside)


def is_circular(flags: str | None) -> bool:
    """Whether a supersession named the belief itself, which changes nothing."""
    return flags is not None and Flag.CIRCULAR in json.loads(flags)


def read_follow_through(session: Session, view: View) -> Reading:
    """Distinct discriminators generated in the window, and which of them were acted on later."""
    generated: dict[str, EventRow] = {}
    nameless: list[EventRow] = []
    acted_on: dict[str, int] = {}
    nameless_acts = 0
    for row in queries.events(session, view, _DISCRIMINATORS, CogEvent.detail):
        identity = discriminator_id(row.detail)
        if row.event == EventType.DISCRIMINATOR_GENERATED:
            if identity is None:
                nameless.append(row)
            else:
                generated.setdefault(identity, row)
        elif identity is None:
            nameless_acts += 1
        else:
            acted_on[identity] = row.ts
    rows = [
        counted(
            row,
            counts=acted_on.get(identity, row.ts - 1) >= row.ts,
            kind="discriminator",
            subject=identity,
        )
        for identity, row in generated.items()
    ]
    rows += [
        counted(row, counts=place < nameless_acts, kind="event", subject=None)
        for place, row in enumerate(nameless)
    ]
    caveats: tuple[str, ...] = ()
    if nameless:
        caveats = (NO_IDS.format(missing=len(nameless), total=len(rows)),)
    beside = {"distinct": len(generated), "events_without_id": len(nameless)}
    return Reading(rows, "no discriminator was generated in the window", beside, caveats)


def discriminator_id(detail: str | None) -> str | None:
    """The id of a discriminator, if the event has one."""
    identity = json.loads(detail or "{}").get("discriminator_id")
    return identity if isinstance(identity, str) else None


def raw_relabels(session: Session, view: View) -> Mapping[str, Any]:
    """Relabel events from `infer` upward, as told, over the writes of an `infer`: both events."""
    types = (EventType.BELIEF_RELABELLED, EventType.BELIEF_CREATED)
    relabels = writes = 0
    for row in queries.events(session, view, types):
        if row.event == EventType.BELIEF_CREATED:
            writes += row.label_to == "infer"
        elif row.label_from == "infer" and row.label_to in ("remember", "know"):
            relabels += 1
    return share_json(relabels, writes)
