"""Calls that the owned ledger refuses: the refusal is recorded in the commit that refuses."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from service import json_text
from service.api import problems
from service.api.idempotency import RequestKey, claim, settle
from service.api.responses import as_json
from service.db.refusals import AlreadyRecorded
from service.errors import Conflict, Fault, LedgerError
from service.events.log import LogPositions
from service.events.operations import Projectors, append
from service.events.schemas import Event
from service.events.vocabulary import EventType, Flag, Log
from service.instants import LATEST
from service.models import CogEvent


class Refused(Exception):
    """A rule of the ledger that a call would break; `problem` is what its caller is told."""

    def __init__(self, rule: str, problem: LedgerError) -> None:
        super().__init__(problem.detail)
        problem.members["rule"] = str(rule)
        self.rule = rule
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Done:
    """What a call did: the status and the body of its answer."""

    status: int
    body: Any


@dataclass(slots=True)
class LedgerCall:
    """One call on the owned ledger, a job of the writer; `told` is the event it wants to become.

    `perform` may raise Refused. That is recorded as `ledger.refused` and returned, not raised: what
    a job raises is rolled back, and the refusal is to stay.
    """

    told: Event
    now: int
    projectors: Projectors
    request_key: RequestKey | None
    # The log that the caller may read; both where it is None. What another opened is not there.
    visible: Log | None
    size: int = field(default=1, init=False)

    @property
    def logs(self) -> Iterable[tuple[str, str]]:
        """The logs that must be locked: a refusal is the audit log's."""
        return {(self.told.agent_id, str(log)) for log in Log}

    def run(self, session: Session, positions: LogPositions) -> Response:
        """Does it, or records why not; a repeated Idempotency-Key has the answer of then."""
        if self.request_key is not None:
            earlier = claim(session, self.request_key)
            if earlier is not None:
                return earlier
        try:
            done = self.perform(session, positions)
            answer = as_json(done.body, done.status)
        except Refused as refusal:
            append(session, positions, [self._refusal(refusal)], self.projectors)
            answer = problems.of_error(refusal.problem)
        except AlreadyRecorded as problem:
            # An id that the ledger made of the client's: nothing of the call is kept.
            reason = "an id made of it is taken by another event: choose a new one"
            fault = Fault("/event_id", reason)
            raise Conflict(f"event_id: {reason}.", errors=(fault,)) from problem
        if self.request_key is not None:
            settle(session, self.request_key, answer)
        return answer

    @property
    def asked(self) -> dict[str, Any]:
        """What was asked for, as a refusal keeps it."""
        return self.told.detail

    def perform(self, session: Session, positions: LogPositions) -> Done:
        """Does it; raises Refused where a rule stands against it."""
        raise NotImplementedError

    def recorded(self, session: Session) -> bool:
        """Whether this very call was recorded before; Refused when its id says something else."""
        told = self.told
        row = session.execute(
            select(
                CogEvent.event, CogEvent.contradiction_id, CogEvent.session_id, CogEvent.turn_id,
                CogEvent.worker, CogEvent.cost_tokens, CogEvent.confidence, CogEvent.belief_id,
                CogEvent.detail,
            ).where(
                CogEvent.agent_id == told.agent_id,
                CogEvent.log == told.log,
                CogEvent.event_id == told.event_id,
            )
        ).one_or_none()  # fmt: skip
        if row is None:
            return False
        *fields, detail = row
        mine = (
            told.event, told.contradiction_id, told.session_id, told.turn_id, told.worker,
            told.cost_tokens, told.confidence, told.belief_id,
        )  # fmt: skip
        known = msgspec.json.decode(detail or "{}")
        if tuple(fields) == mine and all(
            # The ledger may have added to what it was told, and never changes it.
            name in known and json_text.same(known[name], value)
            for name, value in told.detail.items()
        ):
            return True
        reason = f"{told.event_id!r} is recorded with other content: choose a new id"
        raise taken("event_id", reason)

    def event(self, at: int, **added: Any) -> Event:
        """The event that is appended; a new object each time, as a job may be run again."""
        detail = self.told.detail | added
        return msgspec.structs.replace(
            self.told,
            ts=at,
            detail=detail,
            detail_text=json_text.encode(detail),
            # What a type should carry is a rule here; the fold notes what else is odd.
            flags=[flag for flag in self.told.flags if flag != Flag.INCOMPLETE],
            noted=[],
        )

    def _refusal(self, refusal: Refused) -> Event:
        told = self.told
        detail = {
            "rule": str(refusal.rule),
            "reason": refusal.problem.detail,
            "status": refusal.problem.status,
            "event": told.event,
            "asked": self.asked,
        }
        return Event(
            told.agent_id, str(Log.AUDIT), secrets.token_hex(16), self.now, self.now,
            str(EventType.LEDGER_REFUSED), told.session_id, told.turn_id, told.worker,
            told.belief_id, told.contradiction_id, detail=detail,
            detail_text=json_text.encode(detail),
        )  # fmt: skip


def taken(name: str, reason: str) -> Refused:
    """The refusal of an id that stands for something else."""
    return Refused(
        "id_taken",
        Conflict(f"{name} {reason}. Rule: id_taken.", errors=(Fault(f"/{name}", reason),)),
    )


def instant_after(now: int, row: Any) -> int:
    """Now, or just behind the last event of a subject whose clock runs ahead of ours.

    What the ledger decides rests on the state it saw, so it must be folded after all of it.
    """
    if now > row.last_ts:
        return now
    # Of one instant the log `agent` is folded before the log `audit`.
    last: int = row.last_ts + (row.last_log == Log.AUDIT)
    return min(last, LATEST)
