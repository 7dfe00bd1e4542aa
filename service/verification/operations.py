"""Verifying a whole record in one snapshot, and the checkpointer of a running service."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection, Engine

from service.db import triggers
from service.db.database import Database
from service.db.scanning import Unreadable, damage, readable, snapshot
from service.errors import ConfigurationError
from service.settings import Settings
from service.trust.checkpoints import Checkpointer
from service.trust.seals import Sealer
from service.trust.signing import signer_of
from service.verification.ends import judge_end
from service.verification.faults import Fault, Findings, Kind
from service.verification.queries import RecordWatch, all_logs, head_of
from service.verification.references import Notes
from service.verification.rows import Removed, first_out_of_order, key_of, row_at, rows_of
from service.verification.walking import OnProgress, Walk, Walked

# Payloads that are gone are counted all and shown up to here: a purge may have taken millions.
SHOWN_REMOVED = 100


@dataclass(slots=True)
class Verdict:
    """What was verified, and what does not hold."""

    findings: Findings = field(default_factory=Findings)
    logs: list[Walked] = field(default_factory=list)
    removed: list[Removed] = field(default_factory=list)
    removed_count: int = 0
    torn_notes: int = 0
    seals_checked: bool = False
    # Heads that have a seal, and those whose seal is of the key at hand.
    heads: int = 0
    heads_held: int = 0

    @property
    def rows(self) -> int:
        """How many rows were read."""
        return sum(walked.rows for walked in self.logs)

    @property
    def is_anchored(self) -> bool:
        """Whether every log that has rows agrees with a checkpoint."""
        return any(w.rows for w in self.logs) and all(w.anchored for w in self.logs if w.rows)

    def take_removed(self, removed: Removed) -> None:
        """Takes down that a payload is gone."""
        self.removed_count += 1
        if len(self.removed) < SHOWN_REMOVED:
            self.removed.append(removed)


@dataclass(frozen=True, slots=True)
class Means:
    """With what a record is verified: the key of its seals where it is at hand, its checkpoints."""

    sealer: Sealer | None
    notes: Notes


def verify_record(engine: Engine, means: Means, on_progress: OnProgress) -> Verdict:
    """Reads everything once; the engine may be of a copy and is only read."""
    try:
        return _verify(engine, means, on_progress, is_tolerant=False)
    except Unreadable:
        # Bytes that are no text, or worse: once more without faith.
        return _verify(engine, means, on_progress, is_tolerant=True)


def _verify(engine: Engine, means: Means, on_progress: OnProgress, *, is_tolerant: bool) -> Verdict:
    verdict = Verdict(seals_checked=means.sealer is not None)
    means.notes.torn = 0
    with snapshot(engine, is_tolerant=is_tolerant) as connection:
        _guarded(verdict, lambda: _check_file(connection, verdict))
        _guarded(verdict, lambda: _check_triggers(connection, verdict))
        logs: list[tuple[str, str]] = []
        _guarded(verdict, lambda: logs.extend(all_logs(connection)), is_final=is_tolerant)
        for pair in sorted({*logs, *means.notes.logs()}):
            _guarded(
                verdict,
                lambda pair=pair: _walk(connection, verdict, means, pair, on_progress),  # type: ignore[misc]
                is_final=is_tolerant,
            )
    verdict.torn_notes = means.notes.torn
    return verdict


def _guarded(verdict: Verdict, step: Callable[[], None], *, is_final: bool = True) -> None:
    try:
        with readable():
            step()
    except Unreadable as problem:
        if not is_final:
            raise
        verdict.findings.add(Fault(Kind.DAMAGED, str(problem)))


def _check_file(connection: Connection, verdict: Verdict) -> None:
    for reason in damage(connection):
        verdict.findings.add(Fault(Kind.DAMAGED, reason))


def _check_triggers(connection: Connection, verdict: Verdict) -> None:
    for wrong in triggers.differences(connection):
        verdict.findings.add(Fault(Kind.TRIGGER, f"{wrong.name} {wrong.reason}", table=wrong.table))


def _walk(
    connection: Connection,
    verdict: Verdict,
    means: Means,
    pair: tuple[str, str],
    on_progress: OnProgress,
) -> None:
    agent_id, log = pair
    mine = Findings()
    walked = Walked(agent_id, log)

    def take_checkpoint_fault(reason: str, seq: int | None) -> None:
        mine.add(Fault(Kind.CHECKPOINT, reason, agent_id, log, seq=seq))

    head = head_of(connection, agent_id, log, means.sealer)
    if head is not None and head.holds is not None:
        verdict.heads += 1
        verdict.heads_held += head.holds
    checkpoints = means.notes.of(agent_id, log, take_checkpoint_fault)
    walk = Walk(walked, head, means.sealer, checkpoints, mine)
    walk.run(rows_of(connection, agent_id, log, verdict.take_removed), on_progress)
    judge_end(walked, head, mine)
    verdict.logs.append(walked)
    for fault in mine.first:
        verdict.findings.add(_named(connection, fault), mine.counts[fault.kind])


def _named(connection: Connection, fault: Fault) -> Fault:
    """The fault with its row, where there is one at the position; a range is searched for it."""
    if fault.table is not None or fault.seq is None or fault.agent_id is None or not fault.log:
        return fault
    seq = fault.seq
    if fault.kind in (Kind.REORDERED, Kind.RENUMBERED) and fault.until is not None:
        since = seq - 1
        found = first_out_of_order(connection, fault.agent_id, fault.log, since, fault.until)
        seq = found or seq
    if fault.kind in (Kind.DELETED, Kind.CHECKPOINT):
        return fault
    row = row_at(connection, fault.agent_id, fault.log, seq)
    if row is None:
        return fault
    return replace(fault, seq=seq, table=str(row[0].name), key=key_of(*row))


def make_checkpointer(settings: Settings, database: Database) -> Checkpointer:
    """A checkpointer over a database that was opened with its key, to be started.

    Raises ConfigurationError where a key cannot be used.
    """
    if database.sealer is None:
        raise ConfigurationError("The database was opened without the key of its seals.")
    return Checkpointer(
        settings.resolved_checkpoint_dir,
        signer_of(settings.resolved_key_dir),
        RecordWatch(database, database.sealer),
    )


def count_rows(engine: Engine) -> int:
    """About how many rows there are to read: what the heads say."""
    with snapshot(engine) as connection:
        heads = (head_of(connection, *pair, None) for pair in all_logs(connection))
        return sum(head.size for head in heads if head is not None)
