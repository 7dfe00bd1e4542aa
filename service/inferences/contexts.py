"""Companion rows: what becomes known of a shadow inference after its snapshot, append-only."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import Executable, case, select
from sqlalchemy.orm import Session

from scoring.labels import INFERENTIAL
from service import json_text
from service.db.bulk import rows_by_key
from service.events.log import LogPositions
from service.events.queries import events_of
from service.events.recording import record_rows
from service.events.vocabulary import EventType, Flag, Log
from service.inferences import lookups
from service.inferences.evidence import found_items, named_items, texts_in_turn
from service.inferences.judging import append_derived, avoid_taken_ids, derived_id, judge
from service.inferences.links import CONTEXTS
from service.inferences.lookups import Gate, Key
from service.inferences.snapshots import SHADOWS, shadow_id_of
from service.inferences.vocabulary import ContextKind
from service.models import CogEvent
from service.turns.schemas import TurnRow

_SHADOW_COLUMNS = tuple(SHADOWS.columns.keys())
_GATE = str(EventType.GATE_DECIDED)
_ASSERTED = str(EventType.ASSERTION_MADE)
_BELIEVED = str(EventType.BELIEF_CREATED)
_OUTCOME = str(EventType.INFERENCE_OUTCOME)


@dataclass(frozen=True, slots=True)
class _Shadow:
    shadow_id: str
    order: tuple[int, int]
    session_id: str | None
    turn_id: str
    commit_sha: str | None
    gate_decision: str | None
    evidence: Any


def record_turn_contexts(
    session: Session, positions: LogPositions, turns: Sequence[TurnRow]
) -> None:
    """Writes down what turns that have just been stored tell of what was recorded before them.

    The agent's log is locked. One statement where the turns left no shadow inference and no
    outcome that lacked its proof.
    """
    by_key = {(turn.agent_id, turn.turn_id): turn for turn in turns}
    told = _told_in(session, by_key)
    if told.leaving:
        record_rows(session, positions, CONTEXTS, _companions(session, told, by_key))
    if told.unproven:
        _prove(session, positions, told.unproven, by_key)


@dataclass(slots=True)
class _Told:
    """What the agent's events of some turns hold for us: ids of events, gates by turn."""

    leaving: list[Key] = field(default_factory=list)
    unproven: list[Key] = field(default_factory=list)
    gates: dict[Key, list[Gate]] = field(default_factory=dict)


def _told_in(session: Session, keys: Iterable[Key]) -> _Told:
    found = _Told()
    for row in lookups.by_agent(session, keys, _events_in):
        agent_id, turn_id, event_id, event, ts, seq, flags, detail = row
        if event == _GATE:
            gate = Gate((ts, seq), json.loads(detail or "{}").get("decision"), event_id)
            found.gates.setdefault((agent_id, turn_id), []).append(gate)
        elif event != _OUTCOME:
            found.leaving.append((agent_id, event_id))
        elif Flag.UNEVIDENCED in json.loads(flags or "[]"):
            found.unproven.append((agent_id, event_id))
    return found


def _events_in(agent_id: str, turn_ids: list[str]) -> Executable:
    return select(
        CogEvent.agent_id, CogEvent.turn_id, CogEvent.event_id, CogEvent.event, CogEvent.ts,
        CogEvent.seq, CogEvent.flags, case((CogEvent.event == _GATE, CogEvent.detail)),
    ).where(
        CogEvent.agent_id == agent_id,
        CogEvent.log == str(Log.AGENT),
        CogEvent.turn_id.in_(turn_ids),
        CogEvent.event.in_((_ASSERTED, _GATE, _OUTCOME))
        | ((CogEvent.event == _BELIEVED) & CogEvent.label_to.in_(sorted(INFERENTIAL))),
    )  # fmt: skip


def _companions(
    session: Session, told: _Told, turns: Mapping[Key, TurnRow]
) -> list[tuple[Any, ...]]:
    keys = sorted((agent, shadow_id_of(Log.AGENT, event_id)) for agent, event_id in told.leaving)
    rows: list[tuple[Any, ...]] = []
    for row in rows_by_key(session, SHADOWS, "shadow_id", keys):
        said = dict(zip(_SHADOW_COLUMNS, row, strict=True))
        key = (said["agent_id"], said["turn_id"])
        shadow = _Shadow(
            said["shadow_id"], (said["ts"], said["seq"]), said["session_id"], said["turn_id"],
            said["commit_sha"], said["gate_decision"], json.loads(said["evidence"] or "null"),
        )  # fmt: skip
        rows.extend(_of_turn(shadow, turns[key]))
        rows.extend(_of_gate(shadow, turns[key], told.gates.get(key, ())))
    return rows


def _prove(
    session: Session, positions: LogPositions, keys: Iterable[Key], turns: Mapping[Key, TurnRow]
) -> None:
    """Says again, with its proof, what an outcome of the turn said before the turn was here.

    The outcome as it was told stays the agent's word; what is appended has the rank it named.
    """
    by_agent: dict[str, list[str]] = {}
    for agent_id, event_id in keys:
        by_agent.setdefault(agent_id, []).append(event_id)
    derived = []
    for agent_id, ids in sorted(by_agent.items()):
        among = (CogEvent.log == str(Log.AGENT)) & CogEvent.event_id.in_(sorted(ids))
        for event in events_of(session, agent_id, among, {_OUTCOME}):
            turn = turns[agent_id, event.turn_id or ""]
            detail = event.detail | {"automatic": True, "proves": event.event_id}
            derived.append(
                msgspec.structs.replace(
                    event, event_id=derived_id(event.log, event.event_id, "proven"),
                    received_at=turn.received_at, detail=detail,
                    detail_text=json_text.encode(detail), flags=[], noted=[],
                )
            )  # fmt: skip
    judge(session, derived)
    proven = [event for event in derived if Flag.UNEVIDENCED not in event.noted]
    avoid_taken_ids(session, proven)
    append_derived(session, positions, proven)


def _of_turn(shadow: _Shadow, turn: TurnRow) -> list[tuple[Any, ...]]:
    """The companion of a turn; none where the snapshot knows all that the turn could tell."""
    named = [
        (place, item) for place, item in named_items(shadow.evidence) if item.turn_id in
        (None, turn.turn_id)
    ]  # fmt: skip
    texts = texts_in_turn(named, turn.turn_id, turn.payload) if named else {}
    tells_commit = turn.commit_sha is not None and turn.commit_sha != shadow.commit_sha
    if not (texts or tells_commit or turn.session_id != shadow.session_id):
        return []
    items = found_items(shadow.evidence, texts) or None
    return [_row(shadow, turn, ContextKind.TURN, items)]


def _of_gate(shadow: _Shadow, turn: TurnRow, gates: Sequence[Gate]) -> list[tuple[Any, ...]]:
    if shadow.gate_decision is not None:
        return []
    gate = lookups.latest_gate(gates, shadow.order)
    if gate is None:
        return []
    decided = {"decision": gate.decision, "event_id": gate.event_id}
    return [_row(shadow, turn, ContextKind.GATE, decided)]


def _row(shadow: _Shadow, turn: TurnRow, kind: ContextKind, evidence: object) -> tuple[Any, ...]:
    return (
        turn.agent_id, f"{kind}:{shadow.shadow_id}", str(Log.AGENT), shadow.shadow_id, str(kind),
        turn.received_at, turn.session_id, turn.turn_id, turn.commit_sha,
        json_text.encode_or_none(evidence),
    )  # fmt: skip
