"""The row of a shadow inference: what was believed, and the evidence as it then stood.

Whatever is looked up stands in the agent's log before the event, so that a row depends on nothing
but that log: not on how events were grouped into commits, and not on what came later.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Table
from sqlalchemy.orm import Session

from service import json_text
from service.events.schemas import Event
from service.events.vocabulary import EventType, Log
from service.inferences import lookups
from service.inferences.evidence import (
    Found,
    Named,
    named_items,
    text_of,
    texts_in_turn,
    usable_id,
    with_texts,
)
from service.inferences.lookups import Key, Observation, StoredTurn
from service.models import ShadowInference

SHADOWS: Table = ShadowInference.__table__  # type: ignore[assignment]


def shadow_id_of(log: str, event_id: str) -> str:
    """The id of the shadow inference that an event leaves behind."""
    return f"{log}:{event_id}"


@dataclass(slots=True)
class _Snapshot:
    event: Event
    named: list[tuple[int, Named]]
    texts: dict[int, Found] = field(default_factory=dict)
    turn: StoredTurn | None = None

    @property
    def turn_key(self) -> Key | None:
        turn_id = self.event.turn_id
        return None if turn_id is None else (self.event.agent_id, turn_id)


def shadow_rows(session: Session, events: Sequence[Event]) -> list[tuple[Any, ...]]:
    """The rows of `shadow_inferences` for events.

    One statement when any names its turn; more only for a turn that is stored already and for
    evidence that is named by id.
    """
    snapshots = [_Snapshot(event, _unheld(event)) for event in events]
    own = [one for one in snapshots if one.event.log == Log.AGENT]
    if own:
        _take_beliefs(session, own)
        _take_turns(session, own)
        _take_observations(session, own)
    return [_row(one) for one in snapshots]


def _unheld(event: Event) -> list[tuple[int, Named]]:
    evidence = event.detail.get("evidence")
    return [] if evidence is None else named_items(evidence)


def _take_beliefs(session: Session, snapshots: Sequence[_Snapshot]) -> None:
    """Reads the contents of beliefs that are named as evidence, as they were at the event."""
    asked = [
        (one, place, item.evidence_id)
        for one in snapshots
        for place, item in one.named
        if item.evidence_id is not None and item.turn_id is None
    ]
    if not asked:
        return
    versions = lookups.belief_versions(
        session, {(one.event.agent_id, name) for one, _, name in asked}
    )
    if not versions:
        return
    chosen: dict[tuple[str, str, int], list[tuple[_Snapshot, int]]] = {}
    for one, place, name in asked:
        at = one.event
        found = lookups.version_at(versions.get((at.agent_id, name), ()), at.ts, at.seq)
        if found is not None:
            chosen.setdefault((at.agent_id, name, found.seq), []).append((one, place))
    for key, text in lookups.belief_texts(session, chosen).items():
        for one, place in chosen[key]:
            one.texts[place] = text


def _take_turns(session: Session, snapshots: Sequence[_Snapshot]) -> None:
    """Reads what a stored turn tells; mostly it is not there yet, and comes as a companion."""
    wanted = {
        (one.event.agent_id, turn_id)
        for one in snapshots
        for turn_id in (one.event.turn_id, *(item.turn_id for _, item in one.named))
        if turn_id is not None
    }
    if not wanted:
        return
    stored = lookups.stored_turns(session, wanted)
    if not stored:
        return
    for one in snapshots:
        turn = stored.get(one.turn_key) if one.turn_key else None
        if turn is not None and turn.seq < one.event.seq:
            one.turn = turn
    _take_texts(session, snapshots, stored)


def _take_texts(
    session: Session, snapshots: Sequence[_Snapshot], stored: dict[Key, StoredTurn]
) -> None:
    lacking: list[tuple[_Snapshot, Key, list[tuple[int, Named]]]] = []
    for one in snapshots:
        by_turn: dict[str, list[tuple[int, Named]]] = {}
        for place, item in one.named:
            turn_id = item.turn_id or one.event.turn_id
            if place not in one.texts and turn_id is not None:
                by_turn.setdefault(turn_id, []).append((place, item))
        lacking.extend(
            (one, (one.event.agent_id, turn_id), items)
            for turn_id, items in by_turn.items()
            if (turn := stored.get((one.event.agent_id, turn_id))) is not None
            and turn.seq < one.event.seq
        )
    if not lacking:
        return
    read = lookups.payloads(session, {key for _, key, _ in lacking})
    for one, key, items in lacking:
        if key in read:
            one.texts |= texts_in_turn(items, key[1], read[key])


def _take_observations(session: Session, snapshots: Sequence[_Snapshot]) -> None:
    """Reads what the agent itself said, in the same turn, that it had retrieved."""
    lacking = [
        (one, one.turn_key, [(at, item) for at, item in one.named if at not in one.texts])
        for one in snapshots
    ]
    turns = {key for _, key, items in lacking if key is not None and items}
    if not turns:
        return
    seen: dict[Key, list[Observation]] = {}
    for found in lookups.observations(session, turns=turns):
        if found.turn_id is not None:
            seen.setdefault((found.agent_id, found.turn_id), []).append(found)
    for one, key, items in lacking:
        if key is not None and key in seen:
            before = [found for found in seen[key] if found.seq < one.event.seq]
            before.sort(key=lambda found: found.seq)
            one.texts |= _texts_observed(items, key[1], before)


def _texts_observed(
    named: Sequence[tuple[int, Named]], turn_id: str, seen: Sequence[Observation]
) -> dict[int, Found]:
    """The texts of items by the observations of their turn; of a name's several the last."""
    by_name = {name: one for one in seen for name in one.names}
    return {
        place: found
        for place, item in named
        if item.evidence_id is not None
        and item.turn_id in (None, turn_id)
        and (one := by_name.get(item.evidence_id)) is not None
        and (found := text_of(one.detail, f"events/{one.event_id}")) is not None
    }


def _row(one: _Snapshot) -> tuple[Any, ...]:
    event, detail = one.event, one.event.detail
    statement = detail.get("statement")
    if statement is None:
        statement = detail.get("content")
    commit_sha, session_id = detail.get("commit_sha"), event.session_id
    if one.turn is not None:
        commit_sha = one.turn.commit_sha if commit_sha is None else commit_sha
        session_id = one.turn.session_id if session_id is None else session_id
    belief_id = event.belief_id
    if belief_id is None and event.event == EventType.ASSERTION_MADE:
        belief_id = usable_id(detail.get("belief_id"))
    return (
        event.agent_id, shadow_id_of(event.log, event.event_id), event.log, event.log,
        event.event_id, event.ts, event.received_at, session_id, event.turn_id, event.worker,
        belief_id, json_text.shown(statement), json_text.shown(detail.get("category")),
        event.label_to, event.confidence,
        json_text.encode_or_none(with_texts(detail.get("evidence"), one.texts)),
        json_text.encode_or_none(detail.get("alternatives")),
        json_text.shown(detail.get("gate_decision")),
        json_text.shown(commit_sha),
    )  # fmt: skip
