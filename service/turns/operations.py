"""Recording turns: write-once rows of the agent's log."""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, select, tuple_
from sqlalchemy.orm import Session

from service import json_text
from service.errors import Fault
from service.events.log import LogPositions
from service.events.parsing import BadItem, refuse
from service.events.recording import record_rows
from service.events.schemas import Accepted, Rejection
from service.events.vocabulary import Log
from service.models import Turn
from service.turns.schemas import TurnRow

_TURNS: Table = Turn.__table__  # type: ignore[assignment]
# What another area writes down of turns that have just been stored, in their transaction.
Follower = Callable[[Session, LogPositions, Sequence[TurnRow]], None]


@dataclass(slots=True)
class TurnBatch:
    """The turns of one request, run in the writer's transaction."""

    turns: list[TurnRow]
    bad: list[BadItem]
    skip: bool
    is_single: bool = False
    followers: Sequence[Follower] = ()

    @property
    def logs(self) -> Iterable[tuple[str, str]]:
        """The logs that must be locked."""
        return {(turn.agent_id, str(Log.AGENT)) for turn in self.turns}

    @property
    def size(self) -> int:
        """How many items it holds."""
        return len(self.turns)

    def run(self, session: Session, positions: LogPositions) -> Accepted:
        """Stores what is new; what is there with other content is a conflict."""
        recorded = _recorded(session, self.turns)
        mine: dict[tuple[str, str], TurnRow] = {}
        conflicts: list[BadItem] = []
        duplicates = 0
        for turn in self.turns:
            key = (turn.agent_id, turn.turn_id)
            if key in mine:
                is_same = _content(mine[key]) == _content(turn) and _same(
                    mine[key].payload, turn.payload
                )
            elif key in recorded:
                fields, payload = recorded[key]
                is_same = fields == _content(turn) and _same(payload, turn.payload)
            else:
                mine[key] = turn
                continue
            if is_same:
                duplicates += 1
            else:
                reason = (
                    f"turn_id {turn.turn_id!r} is recorded with other content: a turn is write-once"
                )
                conflicts.append(BadItem(turn.index, (Fault("/turn_id", reason),)))
        if conflicts and not self.skip:
            raise refuse(self.bad, conflicts, is_single=self.is_single)
        _insert(session, positions, list(mine.values()))
        for follow in self.followers:
            follow(session, positions, list(mine.values()))
        rejected = sorted(self.bad + conflicts, key=lambda item: item.index)
        return Accepted(
            len(mine),
            duplicates,
            [
                Rejection(b.index, fault.pointer, fault.reason)
                for b in rejected
                for fault in b.faults
            ],
        )


def _insert(session: Session, positions: LogPositions, turns: Sequence[TurnRow]) -> None:
    rows = [
        (
            t.agent_id, t.turn_id, str(Log.AGENT), t.ts,
            t.received_at, t.session_id, t.worker, t.model, t.commit_sha, t.payload_text,
            os.urandom(16), t.input_tokens, t.output_tokens, t.cost_usd, t.latency_ms,
            json.dumps(t.flags) if t.flags else None,
        )
        for t in turns
    ]  # fmt: skip
    record_rows(session, positions, _TURNS, rows)


def _content(turn: TurnRow) -> tuple[Any, ...]:
    return (
        turn.ts, turn.session_id, turn.worker, turn.model, turn.commit_sha, turn.input_tokens,
        turn.output_tokens, turn.cost_usd, turn.latency_ms,
    )  # fmt: skip


_CONTENT_COLUMNS = (
    Turn.ts, Turn.session_id, Turn.worker, Turn.model, Turn.commit_sha, Turn.input_tokens,
    Turn.output_tokens, Turn.cost_usd, Turn.latency_ms,
)  # fmt: skip


def _recorded(
    session: Session, turns: Sequence[TurnRow]
) -> dict[tuple[str, str], tuple[tuple[Any, ...], Any]]:
    keys = list({(turn.agent_id, turn.turn_id) for turn in turns})
    found: dict[tuple[str, str], tuple[tuple[Any, ...], Any]] = {}
    for start in range(0, len(keys), 5_000):
        rows = session.execute(
            select(Turn.agent_id, Turn.turn_id, Turn.payload, *_CONTENT_COLUMNS).where(
                tuple_(Turn.agent_id, Turn.turn_id).in_(keys[start : start + 5_000])
            )
        )
        for agent_id, turn_id, payload, *fields in rows:
            found[agent_id, turn_id] = (
                tuple(fields),
                None if payload is None else json.loads(payload),
            )
    return found


def _same(recorded: Any, sent: Any) -> bool:
    # A payload that was removed cannot be compared: the id decides.
    return recorded is None or json_text.same(recorded, sent)
