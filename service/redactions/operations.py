"""Removing payloads: first the tombstone that allows it, then the bytes, in one transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Table, select, update
from sqlalchemy.orm import Session
from starlette.responses import Response

from service.api.responses import as_json
from service.db.erasing import overwrite_what_goes
from service.errors import Conflict, Fault, LedgerError, NotFound
from service.events.log import LogPositions
from service.events.operations import Projectors
from service.events.recording import record_rows
from service.events.vocabulary import Log
from service.models import CogEvent, Redaction, Turn
from service.redactions.queries import redaction_of
from service.trust.leaves import payload_hash

_REDACTIONS: Table = Redaction.__table__  # type: ignore[assignment]
TURNS: Table = Turn.__table__  # type: ignore[assignment]
EVENTS: Table = CogEvent.__table__  # type: ignore[assignment]
# What of the ledger no fold reads is its history all the same.
_LEDGER = ("belief.", "contradiction.", "prediction.", "inference.", "ledger.")


def is_ledger_event(event: str, projectors: Projectors) -> bool:
    """Whether a projection, or the history of one, rests on events of a type: never cut."""
    return event in projectors or event.startswith(_LEDGER)


@dataclass(frozen=True, slots=True)
class Payload:
    """A payload that stands, with the place of its row."""

    agent_id: str
    log: str
    seq: int
    text: str
    salt: bytes


@dataclass(frozen=True, slots=True)
class Why:
    """Who removes payloads, when and for what reason."""

    reason: str
    by: str | None
    at: int


def remove_payloads(
    session: Session, positions: LogPositions, table: Table, payloads: Sequence[Payload], why: Why
) -> None:
    """Removes payloads of one agent and log, whose audit log is locked; rows and leaves stay."""
    if not payloads:
        return
    overwrite_what_goes(session)
    rows = [
        (
            one.agent_id, one.log, one.seq, str(Log.AUDIT), str(table.name),
            payload_hash(one.salt, one.text), len(one.text.encode()), why.reason, why.by, why.at,
        )
        for one in payloads
    ]  # fmt: skip
    record_rows(session, positions, _REDACTIONS, rows)
    ((payload, salt),) = table.info["payloads"].items()
    done = session.execute(
        update(table)
        .where(
            table.c.agent_id == payloads[0].agent_id,
            table.c.log == payloads[0].log,
            table.c.seq.in_([one.seq for one in payloads]),
        )
        .values({payload: None, salt: None})
    )
    if done.rowcount != len(payloads):  # type: ignore[attr-defined]
        # PostgreSQL's trigger refuses a row by passing it over.
        raise RuntimeError("the database kept a payload that was to be removed")


@dataclass(frozen=True, slots=True)
class Target:
    """A row by what its writer calls it."""

    agent_id: str
    table: Table
    name: str
    log: Log = Log.AGENT

    @property
    def pointer(self) -> str:
        """Where a request names it."""
        return "/target/turn_id" if self.table is TURNS else "/target/event_id"


@dataclass(slots=True)
class Redact:
    """The removal of one payload, run in the writer's transaction."""

    target: Target
    why: Why
    projectors: Projectors
    size: int = field(default=1, init=False)

    @property
    def logs(self) -> Iterable[tuple[str, str]]:
        """The log that takes the tombstone."""
        return {(self.target.agent_id, str(Log.AUDIT))}

    def run(self, session: Session, positions: LogPositions) -> Response:
        """Removes it and answers 201 with the tombstone; 200 where that stands already."""
        target = self.target
        row = self._row(session)
        if row is None:
            named = "turn" if target.table is TURNS else f"event in its log {target.log}"
            raise NotFound(f"Agent {target.agent_id!r} has no {named} {target.name!r}.")
        earlier = redaction_of(session, target.agent_id, row.log, row.seq)
        if earlier is not None and row.payload is None:
            return as_json({"redaction": earlier, "duplicate": True})
        if target.table is EVENTS and is_ledger_event(row.event, self.projectors):
            raise _refused(target, f"is a {row.event}: what the ledger follows from is never cut")
        if (earlier is None) == (row.payload is None):
            raise _refused(target, "and its tombstone contradict each other: see `doxa verify`")
        payload = Payload(target.agent_id, row.log, row.seq, row.payload, row.salt)
        remove_payloads(session, positions, target.table, [payload], self.why)
        made = redaction_of(session, target.agent_id, row.log, row.seq)
        return as_json({"redaction": made, "duplicate": False}, 201)

    def _row(self, session: Session) -> Any:
        target = self.target
        if target.table is TURNS:
            statement: Any = select(
                Turn.log, Turn.seq, Turn.payload, Turn.payload_salt.label("salt")
            ).where(Turn.agent_id == target.agent_id, Turn.turn_id == target.name)
        else:
            statement = select(
                CogEvent.log, CogEvent.seq, CogEvent.event, CogEvent.detail.label("payload"),
                CogEvent.detail_salt.label("salt"),
            ).where(
                CogEvent.agent_id == target.agent_id,
                CogEvent.log == str(target.log),
                CogEvent.event_id == target.name,
            )  # fmt: skip
        return session.execute(statement).first()


def _refused(target: Target, reason: str) -> LedgerError:
    fault = Fault(target.pointer, reason)
    return Conflict(f"{target.name!r} {reason}.", errors=(fault,))
