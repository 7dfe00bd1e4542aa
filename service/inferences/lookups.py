"""Batched look-ups in the writer's transaction: turns, gates and the texts of beliefs."""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Executable, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from service.events.operations import arriving
from service.events.vocabulary import EventType, Log
from service.inferences.evidence import Found, Payload
from service.models import BeliefVersion, CogEvent, Turn

# Two parameters an item, far below what either database takes.
_CHUNK = 5_000
# As service.beliefs writes it: a version that an overwrite brought.
_OVERWRITTEN = "overwritten"
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """What a shadow inference takes from its turn, payload apart."""

    seq: int
    session_id: str
    commit_sha: str | None


@dataclass(frozen=True, slots=True)
class Version:
    """A content that a belief had, without the content."""

    ts: int
    seq: int
    kind: str


@dataclass(frozen=True, slots=True)
class Gate:
    """A decision of a turn's gate; `order` is (ts, seq)."""

    order: tuple[int, int]
    decision: object
    event_id: str


def by_agent(
    session: Session, keys: Iterable[Key], statement: Callable[[str, list[str]], Executable]
) -> Iterator[Any]:
    """The rows that `statement(agent_id, ids)` finds, asked for each agent, in chunks."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for agent_id, key in keys:
        wanted[agent_id].add(key)
    for agent_id, mine in sorted(wanted.items()):
        ids = sorted(mine)
        for start in range(0, len(ids), _CHUNK):
            yield from session.execute(statement(agent_id, ids[start : start + _CHUNK]))


def stored_turns(session: Session, keys: Iterable[Key]) -> dict[Key, StoredTurn]:
    """The turns of these (agent, turn id) pairs that there are."""
    rows = by_agent(
        session,
        keys,
        lambda agent, ids: select(
            Turn.agent_id, Turn.turn_id, Turn.seq, Turn.session_id, Turn.commit_sha
        ).where(Turn.agent_id == agent, Turn.turn_id.in_(ids)),
    )
    return {(row[0], row[1]): StoredTurn(*row[2:]) for row in rows}


def payloads(session: Session, keys: Iterable[Key]) -> dict[Key, Payload]:
    """The payloads of the turns that there are; of one that was removed, nothing."""
    rows = by_agent(
        session,
        keys,
        lambda agent, ids: select(Turn.agent_id, Turn.turn_id, Turn.payload).where(
            Turn.agent_id == agent, Turn.turn_id.in_(ids)
        ),
    )
    return {
        (agent_id, turn_id): json.loads(payload)
        for agent_id, turn_id, payload in rows
        if payload is not None
    }


def latest_gate(gates: Sequence[Gate], before: tuple[int, int]) -> Gate | None:
    """The last decision that a claim can rest on."""
    earlier = [gate for gate in gates if gate.order < before]
    return max(earlier, key=lambda gate: gate.order, default=None)


def belief_versions(session: Session, keys: Iterable[Key]) -> dict[Key, list[Version]]:
    """The contents that beliefs had by the agent's own log, without the texts."""
    rows = by_agent(
        session,
        keys,
        lambda agent, ids: select(
            BeliefVersion.agent_id, BeliefVersion.belief_id, BeliefVersion.ts, BeliefVersion.seq,
            BeliefVersion.kind,
        ).where(
            BeliefVersion.agent_id == agent,
            BeliefVersion.belief_id.in_(ids),
            BeliefVersion.log == str(Log.AGENT),
        ),
    )  # fmt: skip
    found: dict[Key, list[Version]] = defaultdict(list)
    for agent_id, belief_id, *version in rows:
        found[agent_id, belief_id].append(Version(*version))
    return found


def version_at(versions: Sequence[Version], ts: int, seq: int) -> Version | None:
    """What a belief said at an event: recorded before it and true before it.

    A creation after the first does not count, of the overwrites the last does.
    """
    known = [one for one in versions if one.ts <= ts and one.seq < seq]
    overwrites = [one for one in known if one.kind == _OVERWRITTEN]
    if overwrites:
        return max(overwrites, key=lambda one: (one.ts, one.seq))
    return min(known, key=lambda one: (one.ts, one.seq), default=None)


def belief_texts(
    session: Session, wanted: Collection[tuple[str, str, int]]
) -> dict[tuple[str, str, int], Found]:
    """The contents of versions by (agent, belief, position in the agent's log)."""
    positions = {(agent_id, belief_id): set[int]() for agent_id, belief_id, _ in wanted}
    for agent_id, belief_id, seq in wanted:
        positions[agent_id, belief_id].add(seq)

    def contents(agent_id: str, ids: list[str]) -> Executable:
        places = {seq for name in ids for seq in positions[agent_id, name]}
        return select(
            BeliefVersion.agent_id, BeliefVersion.belief_id, BeliefVersion.seq,
            BeliefVersion.content,
        ).where(
            BeliefVersion.agent_id == agent_id,
            BeliefVersion.belief_id.in_(ids),
            BeliefVersion.log == str(Log.AGENT),
            # The sum keeps it out of the index, where each id would be tried with each place.
            (BeliefVersion.seq + 0).in_(sorted(places)),
        )  # fmt: skip

    return {
        (agent_id, belief_id, seq): Found(content, f"beliefs/{belief_id}")
        for agent_id, belief_id, seq, content in by_agent(session, positions, contents)
        if content is not None
    }


@dataclass(frozen=True, slots=True)
class Observation:
    """An `evidence.retrieved` of the agent's own log."""

    agent_id: str
    turn_id: str | None
    seq: int
    event_id: str
    detail: Payload

    @property
    def names(self) -> list[str]:
        """What it can be cited by: the event's id, and the id that it gives the evidence."""
        named = self.detail.get("evidence_id")
        return [self.event_id, named] if isinstance(named, str) and named else [self.event_id]


def observations(
    session: Session, *, turns: Collection[Key], event_ids: Collection[Key] = ()
) -> Iterator[Observation]:
    """Those of turns, and those called by id; also what is being appended just now."""
    for column, keys in ((CogEvent.turn_id, turns), (CogEvent.event_id, event_ids)):
        for agent_id, turn_id, seq, event_id, detail in by_agent(
            session, keys, partial(_observed, column)
        ):
            yield Observation(agent_id, turn_id, seq, event_id, json.loads(detail or "{}"))
    for event in arriving(session):
        if (
            event.event == EventType.EVIDENCE_RETRIEVED
            and event.log == Log.AGENT
            and (
                (event.agent_id, event.turn_id) in turns
                or (event.agent_id, event.event_id) in event_ids
            )
        ):
            told = json.loads(event.detail_text or "{}")
            yield Observation(event.agent_id, event.turn_id, event.seq, event.event_id, told)


def _observed(column: InstrumentedAttribute[Any], agent_id: str, ids: list[str]) -> Executable:
    return select(
        CogEvent.agent_id, CogEvent.turn_id, CogEvent.seq, CogEvent.event_id, CogEvent.detail
    ).where(
        CogEvent.agent_id == agent_id,
        CogEvent.log == str(Log.AGENT),
        column.in_(ids),
        CogEvent.event == str(EventType.EVIDENCE_RETRIEVED),
    )
