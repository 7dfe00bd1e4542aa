"""Opening and moving contradictions, as jobs of the writer."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy.orm import Session

from service import json_text
from service.beliefs.grounding import laundered_by
from service.beliefs.ledger import Ledger
from service.beliefs.projection import SUPERSEDED, BeliefState
from service.beliefs.rules import Rule as LedgerRule
from service.beliefs.weakening import moment, plan_weakening
from service.contradictions import queries
from service.contradictions.expiry import expire
from service.contradictions.lifecycle import (
    Move,
    ResolutionKind,
    Rule,
    check_content,
    check_move,
)
from service.contradictions.projection import (
    CONTRADICTIONS,
    ContradictionRow,
    ContradictionState,
)
from service.contradictions.refusing import Done, LedgerCall, Refused, instant_after, taken
from service.db.bulk import rows_by_key
from service.errors import Conflict, Fault, NotFound
from service.events.log import LogPositions
from service.events.operations import append
from service.events.schemas import Event
from service.events.vocabulary import EventType, Log


@dataclass(slots=True)
class OpenContradiction(LedgerCall):
    """A contradiction that was found. The open one between the same members is answered instead."""

    def perform(self, session: Session, positions: LogPositions) -> Done:
        """Records it, unless it stands there already."""
        told = self.told
        members = queries.members_of(told.detail.get("beliefs"))
        assert told.contradiction_id is not None  # noqa: S101 - given by the endpoint
        row = stored(session, told.agent_id, told.contradiction_id)
        if row is not None and is_hidden(session, row, self.now, self.visible):
            reason = f"{row.contradiction_id!r} stands for another contradiction: choose a new id"
            raise taken("contradiction_id", reason)
        if row is not None and row.detected_at is not None:
            return self._known(session, row, members)
        twin = queries.open_between(session, told.agent_id, members, self.visible)
        if twin is not None and self._is_open(session, positions, twin):
            return self._answer(session, twin, status=200)
        if self.recorded(session):
            raise taken("event_id", f"{told.event_id!r} opened another contradiction")
        at = self.now if row is None else instant_after(self.now, row)
        append(session, positions, [self.event(at)], self.projectors)
        return self._answer(session, told.contradiction_id, status=201)

    def _is_open(self, session: Session, positions: LogPositions, contradiction_id: str) -> bool:
        """Whether it is open still; one whose time has run out is closed first."""
        row = stored(session, self.told.agent_id, contradiction_id)
        return row is not None and not expire(session, positions, [row], self.now, self.projectors)

    def _known(self, session: Session, row: ContradictionRow, members: Sequence[str]) -> Done:
        if set(queries.stored_members(row.beliefs)) != set(members):
            raise taken(
                "contradiction_id",
                f"{row.contradiction_id!r} stands for another contradiction: choose a new id",
            )
        return self._answer(session, row.contradiction_id, status=200)

    def _answer(self, session: Session, contradiction_id: str, *, status: int) -> Done:
        return answer(session, self.told.agent_id, contradiction_id, self.now, status)


@dataclass(slots=True)
class MoveContradiction(LedgerCall):
    """One move of a contradiction through its states."""

    move: Move

    @property
    def asked(self) -> dict[str, Any]:
        """What was asked for, with the state it asked for."""
        return {"state": str(self.move.to)} | self.told.detail

    def perform(self, session: Session, positions: LogPositions) -> Done:
        """Moves it, and supersedes the beliefs given up in the same breath: both or neither."""
        agent_id, contradiction_id = self.told.agent_id, self.told.contradiction_id
        assert contradiction_id is not None  # noqa: S101 - it stands in the path
        row = stored(session, agent_id, contradiction_id)
        if row is None or is_hidden(session, row, self.now, self.visible):
            raise NotFound(f"Agent {agent_id!r} has no contradiction {contradiction_id!r}.")
        if self.recorded(session):
            return answer(session, agent_id, contradiction_id, self.now, 200)
        row = self._expired_meanwhile(session, positions, row)
        check_move(row, self.move)
        members = queries.stored_members(row.beliefs)
        added = check_content(row, self.move, members, self.now)
        at = instant_after(self.now, row)
        events = [self.event(at, **added), *self._superseded(session)]
        append(session, positions, events, self.projectors)
        return answer(session, agent_id, contradiction_id, self.now, 200)

    def _expired_meanwhile(
        self, session: Session, positions: LogPositions, row: ContradictionRow
    ) -> ContradictionRow:
        """Its time may have run out while nobody looked: then it is closed, and no move is left."""
        if not expire(session, positions, [row], self.now, self.projectors):
            return row
        return stored(session, row.agent_id, row.contradiction_id) or row

    def _superseded(self, session: Session) -> list[Event]:
        """The recorded, active beliefs given up, where the one kept is a belief of the ledger.

        With them falls what rested on them alone, as at any supersession.
        """
        move, agent_id = self.move, self.told.agent_id
        is_resolved = move.to is ContradictionState.RESOLVED
        if not is_resolved or move.resolution is ResolutionKind.NOT_A_CONTRADICTION:
            return []
        ledger = Ledger(session, None)
        kept = ledger.state(agent_id, move.kept or "")
        if kept is None:
            return []
        if kept.status == SUPERSEDED:
            raise _not_current(kept)
        given_up = ledger.states(agent_id, move.given_up)
        for belief_id in sorted(given_up):
            # One may have fallen with another; superseded before, it has its successor.
            if given_up[belief_id].status != SUPERSEDED:
                reason = laundered_by(session, ledger, given_up[belief_id], kept)
                if reason is not None:
                    raise _laundering(reason)
                closing = self._supersession(ledger, belief_id, kept.belief_id)
                ledger.plan(closing)
                plan_weakening(ledger, closing, self.now)
        return ledger.events

    def _supersession(self, ledger: Ledger, belief_id: str, kept: str) -> Event:
        told = self.told
        detail = {"superseded_by": kept, "evidence": list(self.move.evidence)}
        name = f"{told.event_id}|{belief_id}"
        return msgspec.structs.replace(
            told,
            event=str(EventType.BELIEF_SUPERSEDED),
            event_id=f"sha256:{hashlib.sha256(name.encode()).hexdigest()[:40]}",
            ts=moment(ledger, told, belief_id, self.now),
            belief_id=belief_id,
            cost_tokens=None,  # counted once, on the resolution
            detail=detail,
            detail_text=json_text.encode(detail),
            flags=[],
            noted=[],
        )


def _laundering(reason: str) -> Refused:
    rule = LedgerRule.LAUNDERING
    return Refused(
        rule, Conflict(f"kept {reason}. Rule: {rule}.", errors=(Fault("/kept", reason),))
    )


def _not_current(kept: BeliefState) -> Refused:
    reason = f"is superseded by {kept.superseded_by!r}: keep what is current, or open it anew"
    return Refused(
        Rule.KEPT_IS_CURRENT,
        Conflict(f"kept {reason}. Rule: {Rule.KEPT_IS_CURRENT}.", errors=(Fault("/kept", reason),)),
    )


def stored(session: Session, agent_id: str, contradiction_id: str) -> ContradictionRow | None:
    """A contradiction as the ledger has it."""
    rows = rows_by_key(session, CONTRADICTIONS, "contradiction_id", [(agent_id, contradiction_id)])
    return ContradictionRow(*rows[0]) if rows else None


def is_hidden(session: Session, row: ContradictionRow, now: int, log: Log | None) -> bool:
    """Whether a contradiction is none of those that a reader of a log may see."""
    if log is None:
        return False
    name = row.contradiction_id
    return queries.contradiction_called(session, row.agent_id, name, now=now, log=log) is None


def answer(session: Session, agent_id: str, contradiction_id: str, now: int, status: int) -> Done:
    """The contradiction as it stands now."""
    found = queries.contradiction_called(session, agent_id, contradiction_id, now=now)
    return Done(status, found)
