"""The owned ledger: rules checked and events appended under the lock of the agent's logs."""

import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session
from starlette.responses import Response

from service import json_text
from service.api import idempotency, problems
from service.api.responses import as_json
from service.beliefs.ledger import Ledger
from service.beliefs.normalise import Move, MoveKind
from service.beliefs.planning import Done, Planner, is_recorded
from service.beliefs.queries import beliefs_called
from service.beliefs.rules import Breach, Breaks, Rule, refusal
from service.beliefs.schemas import LedgerOut, NeighbourOut, RecordedOut
from service.beliefs.superseding import supersede
from service.events.log import LogPositions
from service.events.operations import Projectors, append
from service.events.parsing import BadItem
from service.events.schemas import Event
from service.events.vocabulary import EventType, Log

# Of a refused content and of a reason so much is kept.
MAX_ATTEMPT_CHARS = 200


@dataclass(slots=True)
class LedgerJob:
    """One call of the ledger in the writer's transaction: all its moves, or the refusal of them.

    A refusal is an answer and no exception, as it is recorded in the same commit.
    """

    moves: Sequence[Move]
    bad: Sequence[BadItem]
    is_single: bool
    log: Log | None
    projectors: Projectors
    now: int
    key: idempotency.RequestKey | None = None

    @property
    def logs(self) -> Iterable[tuple[str, str]]:
        """Both logs of each agent: an event of the audit log moves beliefs, too."""
        return {(move.agent_id, str(log)) for move in self.moves for log in Log}

    @property
    def size(self) -> int:
        """How many items it holds."""
        return len(self.moves)

    def run(self, session: Session, positions: LogPositions) -> Response:
        """The answer, which is given after the commit."""
        if self.key is not None and (answer := idempotency.claim(session, self.key)) is not None:
            return answer
        answer = self._answer(session, positions)
        if self.key is not None:
            idempotency.settle(session, self.key, answer)
        return answer

    def _answer(self, session: Session, positions: LogPositions) -> Response:
        ledger = Ledger(session, self.log)
        for agent_id in sorted({move.agent_id for move in self.moves}):
            mine = [move.event for move in self.moves if move.agent_id == agent_id]
            ledger.prepare(agent_id, mine)
        planner = Planner(session, ledger, self.now)
        done: list[Done] = []
        breaches: list[tuple[Move, Breach]] = []
        refused_ids: set[str | None] = set()
        for move in self.moves:
            try:
                done.append(plan(planner, move))
            except Breaks as broken:
                breach = broken.breach
                # What fails only because an earlier item of the same call did is not held up to it.
                if breach.rule is not Rule.UNKNOWN_SUPPORT or breach.belief_id not in refused_ids:
                    breaches.append((move, breach))
                    refused_ids.add(move.event.belief_id)
        if breaches or self.bad:
            refused = [refused_event(move, breach, self.now) for move, breach in breaches]
            append(session, positions, refused, self.projectors)
            told = [(move.index, breach) for move, breach in breaches]
            return problems.of_error(refusal(told, self.bad, is_single=self.is_single))
        append(session, positions, ledger.events, self.projectors)
        return as_json(self._told(session, done, ledger.events))

    def _told(self, session: Session, done: Sequence[Done], events: Sequence[Event]) -> LedgerOut:
        pairs = list(zip(self.moves, done, strict=True))
        named = dict.fromkeys((move.agent_id, name) for move, one in pairs for name in one.beliefs)
        weak = dict.fromkeys((move.agent_id, name) for move, one in pairs for name in one.weakened)
        beliefs = beliefs_called(session, named, self.log)
        weakened = [
            NeighbourOut(belief.belief_id, belief.label, belief.status)
            for belief in beliefs_called(session, weak, None)
        ]
        return LedgerOut(
            sum(one.is_new for one in done),
            sum(not one.is_new for one in done),
            beliefs,
            weakened,
            [_recorded(event) for event in events],
        )


_PLANS: dict[MoveKind, Callable[[Planner, Move], Done]] = {
    MoveKind.CREATE: Planner.create,
    MoveKind.SUPERSEDE: supersede,
    MoveKind.RELABEL: Planner.relabel,
    MoveKind.CHALLENGE: Planner.challenge,
}


def plan(planner: Planner, move: Move) -> Done:
    """One call; one that was answered before is a duplicate, whatever came of it since."""
    if not is_recorded(planner.ledger, move):
        return _PLANS[move.kind](planner, move)
    if move.kind is not MoveKind.SUPERSEDE:
        return Done([move.subject], is_new=False)
    return Done([move.successor or move.event.belief_id or "", move.subject], is_new=False)


def refused_event(move: Move, breach: Breach, now: int) -> Event:
    """What the audit log keeps of a write that broke a rule."""
    attempt = move.event
    detail: dict[str, object] = {
        "rule": str(breach.rule),
        "attempted": str(move.kind),
        "reason": breach.reason[:MAX_ATTEMPT_CHARS],
        "label": attempt.label_to,
        "confidence": attempt.confidence,
    }
    if (told := json_text.shown(attempt.detail.get("content"))) is not None:
        detail["content"] = told[:MAX_ATTEMPT_CHARS]
    if breach.belief_id is not None and breach.belief_id != move.subject:
        detail["about"] = breach.belief_id
    kept = {name: value for name, value in detail.items() if value is not None}
    return Event(
        move.agent_id, str(Log.AUDIT), secrets.token_hex(16), now, now,
        str(EventType.LEDGER_REFUSED), attempt.session_id, attempt.turn_id, attempt.worker,
        move.subject, None, None, None, None, kept, json_text.encode(kept),
    )  # fmt: skip


def _recorded(event: Event) -> RecordedOut:
    flags = list(dict.fromkeys([*event.flags, *event.noted]))
    return RecordedOut(
        event.event_id, event.event, event.belief_id, event.log, event.seq, flags, event.receipt
    )
