"""Walks one log from its first row to its last and says what does not hold; memory stays flat."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat

from service.trust.notes import Checkpoint
from service.trust.seals import Sealer
from service.trust.tree import HASH_BYTES, Frontier
from service.verification.faults import Fault, Findings, Kind, Suspects
from service.verification.references import NEVER, References, peaks_of
from service.verification.rows import LEAF, SEAL, TABLES, Placed, key_of

# Leaves in hand before they enter the tree.
_BUFFER = 4096
# A longer gap is not bridged: nothing behind it can be compared.
_BRIDGED = 1 << 22
_UNKNOWN = b"\0" * HASH_BYTES

OnProgress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Head:
    """The stored row of a log's head; `holds` is whether its seal does, None without the key."""

    size: int
    frontier: bytes | None
    unsealed_until: int
    holds: bool | None


@dataclass(slots=True)
class Walked:
    """A log after the walk; what does not match a reference is a range, for want of a culprit."""

    agent_id: str
    log: str
    rows: int = 0
    root: bytes = b""
    anchored: int = 0
    newest_note: int = 0
    notes: int = 0
    peak_failure: tuple[int, int] | None = None
    note_failure: tuple[int, int] | None = None
    first_behind_head: int | None = None


class Walk:
    """The state of a walk: the tree so far, and what it is compared with next."""

    def __init__(
        self,
        walked: Walked,
        head: Head | None,
        sealer: Sealer | None,
        checkpoints: Iterator[Checkpoint],
        findings: Findings,
    ) -> None:
        self._walked, self._head, self._findings = walked, head, findings
        self._seal = None if sealer is None else sealer.seal
        self._tree = Frontier()
        self._leaves: list[bytes] = []
        self._position = 0
        is_usable = head is not None and head.frontier is not None and head.holds is not False
        peaks = peaks_of(head.size, head.frontier) if is_usable and head and head.frontier else []
        self._ahead = References(peaks, checkpoints, NEVER if head is None else head.size + 1)
        self._legacy = 0 if head is None else head.unsealed_until
        self._end = 0 if head is None else head.size
        self._stop = self._ahead.next_stop
        self._held: Placed | None = None
        self._suspects = Suspects()
        self._explained = 0
        self._whole = True
        self._matched = 0

    def run(self, rows: Iterable[Placed], on_progress: OnProgress) -> None:
        """Takes all rows; what is missing at the end is judged by `ends`."""
        seal, leaves = self._seal, self._leaves
        position = 0
        for placed in rows:
            seq, _, computed, row = placed
            if (
                seq == position + 1
                and seq < self._stop
                and computed is not None
                and computed == row[LEAF]
                and self._held is None
                and row[SEAL] == (row[SEAL] or b"" if seal is None else seal(computed))
            ):
                leaves.append(computed)
                position = seq
                if not position % _BUFFER:
                    self._flush()
                    on_progress(_BUFFER)
            else:
                self._position = position
                self._take(placed)
                position = self._position
        self._position = position
        if self._held is not None:
            self._settle(self._held)
        self._flush()
        self._suspects.judge(Kind.UNSEALED, self._findings)
        on_progress(position % _BUFFER)
        while self._ahead.note_until(NEVER):
            pass
        self._walked.rows, self._walked.root = self._position, self._tree.root()
        self._walked.notes = self._ahead.notes
        self._walked.newest_note = self._ahead.newest_note

    def _flush(self) -> None:
        self._tree.extend(self._leaves)
        self._leaves.clear()

    def _take(self, placed: Placed) -> None:
        held, self._held = self._held, None
        if held is not None and held[0] == placed[0]:
            # Two rows at one position: the one that Doxa sealed is the log's.
            ours, other = (placed, held) if self._is_sealed(placed) else (held, placed)
            self._misplaced(other)
            self._held = ours
            return
        if held is not None:
            self._settle(held)
        if placed[0] <= self._position:
            self._misplaced(placed)
        elif self._is_sealed(placed):
            self._settle(placed)
        else:
            self._held = placed

    def _is_sealed(self, placed: Placed) -> bool:
        _, _, computed, row = placed
        if computed is None or computed != row[LEAF] or row[SEAL] is None:
            return False
        return self._seal is None or bool(row[SEAL] == self._seal(computed))

    def _fault(self, kind: Kind, placed: Placed, reason: str) -> Fault:
        seq, number, _, row = placed
        table = TABLES[number]
        return Fault(
            kind,
            reason,
            self._walked.agent_id,
            self._walked.log,
            str(table.name),
            seq,
            key=key_of(table, row),
        )

    def _misplaced(self, placed: Placed) -> None:
        reason = "stands at a position that another row has"
        is_ours = self._is_sealed(placed) and self._seal is not None
        kind = Kind.RENUMBERED if is_ours else Kind.UNSEALED
        self._findings.add(self._fault(kind, placed, reason))
        if is_ours or self._seal is None:
            self._explained = self._position  # which of the two the tree has is not known

    def _settle(self, placed: Placed) -> None:
        """Gives a row its place in the tree, after the gap before it if there is one."""
        seq = placed[0]
        is_ours = self._is_sealed(placed)
        is_behind = self._head is not None and seq > self._end
        if seq > self._position + 1:
            if not is_ours or (self._seal is None and is_behind):
                self._findings.add(
                    self._fault(Kind.UNSEALED, placed, "was not written by Doxa, and leaves a gap")
                )
                return
            self._bridge(seq - 1)
        if is_behind and is_ours and self._walked.first_behind_head is None:
            self._walked.first_behind_head = seq
            self._ahead.forget_end()
            self._stop = self._ahead.next_stop
        self._leaves.append(self._leaf(placed))
        self._position = seq
        if len(self._leaves) >= _BUFFER:
            self._flush()
        if seq >= self._stop:
            self._compare()

    def _bridge(self, until: int) -> None:
        first = self._position + 1
        self._findings.add(
            Fault(
                Kind.DELETED,
                "is not there any more" if first == until else "are not there any more",
                self._walked.agent_id,
                self._walked.log,
                seq=first,
                until=None if first == until else until,
            )
        )
        self._flush()
        self._tree.extend(repeat(_UNKNOWN, min(until - self._position, _BRIDGED)))
        self._position = self._explained = until
        self._whole = False
        self._ahead.pass_over(until, are_comparable=self._tree.size == until)
        self._stop = self._ahead.next_stop

    def _leaf(self, placed: Placed) -> bytes:
        """The leaf of a row as it most likely was written; what does not fit is taken down."""
        seq, _, computed, row = placed
        stored, seal = row[LEAF], row[SEAL]
        if stored is None and seal is None and seq <= self._legacy and computed is not None:
            return computed
        if computed is not None and stored in (None, computed):
            if not self._is_sealed(placed):
                told = "has no seal" if seal is None else "has a seal that is not Doxa's"
                self._suspects.add(self._fault(Kind.UNSEALED, placed, told))
            return computed
        if self._seal is not None and computed is not None and seal == self._seal(computed):
            told = "its leaf was changed; its content is what was sealed"
            self._findings.add(self._fault(Kind.EDITED, placed, told))
            return computed
        told = "its content is not what its leaf was computed from"
        self._findings.add(self._fault(Kind.EDITED, placed, told))
        if self._seal is None or seal != self._seal(stored or b""):
            self._explained = seq
        return stored if isinstance(stored, bytes) and len(stored) == HASH_BYTES else _UNKNOWN

    def _compare(self) -> None:
        self._flush()
        size = self._position
        if (peak := self._ahead.peak_at(size)) is not None:
            if self._tree.packed()[-HASH_BYTES:] == peak.root:
                self._suspects.judge(Kind.UNSEALED, self._findings)
            elif self._is_unexplained(peak.start) and self._walked.peak_failure is None:
                self._walked.peak_failure = (peak.start, size)
        while (note := self._ahead.note_until(size)) is not None:
            if self._whole and self._tree.root() == note.root:
                self._matched = self._walked.anchored = size
                self._suspects.judge(Kind.UNSEALED, self._findings)
            elif self._whole:
                self._whole = False
                if self._is_unexplained(self._matched):
                    self._walked.note_failure = (self._matched, size)
        self._stop = self._ahead.next_stop

    def _is_unexplained(self, since: int) -> bool:
        if self._suspects.judge(Kind.REHASHED, self._findings):
            self._explained = self._position
            return False
        return self._explained <= since
