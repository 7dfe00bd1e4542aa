"""Writes on shadow inferences, as jobs of the writer: an outbound assertion, a resolution."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import select
from sqlalchemy.orm import Session
from starlette.responses import Response

from service import json_text
from service.api.idempotency import RequestKey, claim, settle
from service.api.problems import of_error
from service.api.responses import as_json
from service.errors import Conflict, Fault, LedgerError, Malformed, NotFound
from service.events.log import LogPositions
from service.events.operations import Projectors, append, sort_out
from service.events.parsing import refuse
from service.events.schemas import Event
from service.events.vocabulary import EventType, Log, ResolutionSource
from service.inferences.citations import Citations, Claim, claim_of
from service.inferences.schemas import AssertedOut, ResolvedOut
from service.inferences.snapshots import shadow_id_of
from service.inferences.vocabulary import Rule
from service.models import CogEvent, InferenceResolution, ShadowInference
from service.trust.receipts import receipt_of

_RULES = {
    ResolutionSource.TOOL_RESULT: Rule.TOOL_RESULT,
    ResolutionSource.PREDICTION: Rule.PREDICTION,
    ResolutionSource.KNOW_BELIEF: Rule.KNOW_BELIEF,
}


@dataclass(slots=True)
class InferenceCall:
    """One call: the event that it becomes, appended once however often it is sent.

    `is_dated` tells whether the caller gave the instant: a repetition without one means the first.
    """

    told: Event
    projectors: Projectors
    now: int
    is_dated: bool
    key: RequestKey | None = None
    size: int = field(default=1, init=False)

    @property
    def logs(self) -> Iterable[tuple[str, str]]:
        """The logs that must be locked: a refusal is the audit log's."""
        return {(self.told.agent_id, str(log)) for log in Log}

    def run(self, session: Session, positions: LogPositions) -> Response:
        """The answer; the one of then for a request that was answered before."""
        if self.key is not None and (earlier := claim(session, self.key)) is not None:
            return earlier
        answer = self._perform(session, positions)
        if self.key is not None:
            settle(session, self.key, answer)
        return answer

    def _perform(self, session: Session, positions: LogPositions) -> Response:
        # A new object each time: a job may be run again, and what was noted then may not hold now.
        event = msgspec.structs.replace(self.told, noted=[], leaf_hash=None)
        if not self.is_dated and (ts := _recorded_ts(session, event)) is not None:
            event.ts = ts
        found = sort_out(session, [event], {})
        if found.conflicts:
            raise refuse([], found.conflicts, is_single=True)
        if found.fresh:
            refusal = self.refusal(session, event)
            if refusal is not None:
                rule, problem = refusal
                append(session, positions, [self._refused(rule, problem)], self.projectors)
                return of_error(problem)
            append(session, positions, [event], self.projectors)
        return as_json(self.body(session, event), 201 if found.fresh else 200)

    def refusal(self, _session: Session, _event: Event) -> tuple[Rule, LedgerError] | None:
        """The rule that stands against it, and what the caller is told."""
        return None

    def body(self, session: Session, event: Event) -> Any:
        """What was recorded."""
        raise NotImplementedError

    def _refused(self, rule: Rule, problem: LedgerError) -> Event:
        """What is kept of a refusal, in the log that the agent does not read."""
        told = self.told
        detail = {
            "rule": str(rule), "reason": problem.detail, "status": problem.status,
            "event": told.event, "asked": told.detail,
        }  # fmt: skip
        return Event(
            told.agent_id, str(Log.AUDIT), secrets.token_hex(16), self.now, self.now,
            str(EventType.LEDGER_REFUSED), told.session_id, told.turn_id, told.worker,
            detail=detail, detail_text=json_text.encode(detail),
        )  # fmt: skip


def _recorded_ts(session: Session, event: Event) -> int | None:
    return session.scalar(
        select(CogEvent.ts).where(
            CogEvent.agent_id == event.agent_id,
            CogEvent.log == event.log,
            CogEvent.event_id == event.event_id,
        )
    )


class AssertionCall(InferenceCall):
    """An outbound assertion, with the shadow inference that it leaves."""

    __slots__ = ()

    def body(self, session: Session, event: Event) -> AssertedOut:
        """The shadow inference's id and the receipt for its row."""
        shadow_id = shadow_id_of(event.log, event.event_id)
        row = session.execute(
            select(ShadowInference.log, ShadowInference.seq, ShadowInference.leaf_hash).where(
                ShadowInference.agent_id == event.agent_id, ShadowInference.shadow_id == shadow_id
            )
        ).one_or_none()
        if row is None:
            # The id is that of an event of another kind, which left none.
            raise Conflict(
                f"event_id {event.event_id!r} left no shadow inference: choose a new id.",
                errors=(Fault("/event_id", "stands for another event: choose a new id"),),
            )
        receipt = receipt_of(row.log, row.seq, row.leaf_hash or b"", shadow_id)
        return AssertedOut(event.agent_id, shadow_id, event.event_id, receipt)


class ResolutionCall(InferenceCall):
    """Ground truth for a shadow inference; what it cites must be there."""

    __slots__ = ()

    def refusal(self, session: Session, event: Event) -> tuple[Rule, LedgerError] | None:
        """NotFound for a claim that is not there, or is not for this voice to speak of."""
        shadow_id = event.detail["shadow_id"]
        shadow = session.execute(
            select(ShadowInference.log, ShadowInference.belief_id).where(
                ShadowInference.agent_id == event.agent_id, ShadowInference.shadow_id == shadow_id
            )
        ).one_or_none()
        if shadow is None or (event.log == Log.AGENT and shadow.log != Log.AGENT):
            raise NotFound(f"Agent {event.agent_id!r} has no shadow inference {shadow_id!r}.")
        claimed = claim_of(event, shadow.belief_id)
        rule = _RULES.get(claimed.source)
        if rule is None:
            return None
        fault = Citations(session, [claimed]).fault(claimed)
        return None if fault is None else (rule, _problem(rule, claimed, fault))

    def body(self, session: Session, event: Event) -> ResolvedOut:
        """The resolution as it was recorded."""
        resolution_id = shadow_id_of(event.log, event.event_id)
        row = session.execute(
            select(InferenceResolution.source, InferenceResolution.outcome).where(
                InferenceResolution.agent_id == event.agent_id,
                InferenceResolution.resolution_id == resolution_id,
            )
        ).one()
        return ResolvedOut(
            event.agent_id, event.detail["shadow_id"], resolution_id, event.event_id, row.source,
            bool(row.outcome),
        )  # fmt: skip


def _problem(rule: Rule, claimed: Claim, fault: str) -> LedgerError:
    """Malformed where nothing is cited in a form that can be read, else Conflict."""
    kind = Conflict if claimed.cited else Malformed
    return kind(
        f"A resolution by {claimed.source} {fault}. Rule: {rule}. What nothing stored bears out "
        f"can be sent as {ResolutionSource.SELF_BELIEF}.",
        errors=(Fault("/evidence", fault),),
        members={"rule": str(rule)},
    )
