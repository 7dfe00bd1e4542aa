"""What a log's tree is compared with: the checkpoints of its file and the peaks of its head."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from service.trust.checkpoints import SUFFIX, file_of, last_note, notes_in
from service.trust.notes import (
    Checkpoint,
    Holds,
    Torn,
    VerifierKey,
    is_signed,
    log_of,
    origin_of,
    read_note,
)
from service.trust.signing import holds_under
from service.trust.tree import HASH_BYTES

NEVER = 1 << 63


@dataclass(slots=True)
class Notes:
    """The checkpoint files of a folder, as long as they were when this was made.

    Made before the record is read: what a running service signs meanwhile is not missed in it.
    """

    folder: Path | None
    keys: list[VerifierKey]
    lengths: dict[Path, int] = field(default_factory=dict)
    torn: int = 0
    _holds: list[tuple[VerifierKey, Holds]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Measures the files."""
        if self.folder is not None:
            paths = sorted(self.folder.glob(f"*{SUFFIX}"))
            self.lengths = {path: path.stat().st_size for path in paths}
        self._holds = [(key, holds_under(key)) for key in self.keys]

    def logs(self) -> set[tuple[str, str]]:
        """The logs that have checkpoints, also when nothing else is left of them."""
        found = set()
        for path in self.lengths:
            note = last_note(path)
            pair = None if note is None else log_of(note.checkpoint.origin)
            if pair is not None and file_of(path.parent, *pair) == path:
                found.add(pair)
        return found

    def of(
        self, agent_id: str, log: str, on_fault: Callable[[str, int | None], None]
    ) -> Iterator[Checkpoint]:
        """A log's checkpoints, each larger than the one before; what does not hold is told."""
        if self.folder is None:
            return
        path = file_of(self.folder, agent_id, log)
        origin, last = origin_of(agent_id, log), Checkpoint("", 0, b"")
        for text in notes_in(path, self.lengths[path]) if path in self.lengths else ():
            checkpoint = self._checked(text, path, origin, on_fault)
            if checkpoint is None:
                continue
            if checkpoint.size < last.size:
                on_fault(
                    f"{path.name} goes back from {last.size} rows to {checkpoint.size}",
                    checkpoint.size,
                )
            elif checkpoint.size > last.size:
                yield checkpoint
                last = checkpoint
            elif checkpoint.root != last.root:
                on_fault(f"{path.name} has two roots for {last.size} rows", last.size)

    def _checked(
        self, text: str, path: Path, origin: str, on_fault: Callable[[str, int | None], None]
    ) -> Checkpoint | None:
        try:
            note = read_note(text)
        except Torn:
            self.torn += 1  # a full disk or a killed process leaves such
            return None
        except ValueError as problem:
            on_fault(f"a note in {path.name} {problem}", None)
            return None
        checkpoint = note.checkpoint
        if self._holds and not any(is_signed(note, key, holds) for key, holds in self._holds):
            on_fault(
                f"the note of {checkpoint.size} rows in {path.name} is not signed by the public "
                "key",
                checkpoint.size,
            )
            return None
        if checkpoint.origin != origin:
            on_fault(f"{path.name} has a note of another log, {checkpoint.origin}", None)
            return None
        return checkpoint


@dataclass(frozen=True, slots=True)
class Peak:
    """The root of a full subtree, over the rows after `start` up to `end`."""

    start: int
    end: int
    root: bytes


class References:
    """What a walk is compared with next: peaks and checkpoints, each at its size."""

    def __init__(self, peaks: list[Peak], checkpoints: Iterator[Checkpoint], end: int) -> None:
        """`end` is where a closer look begins in any case: behind the head."""
        self._peaks, self._checkpoints, self._end = peaks[::-1], checkpoints, end
        self._note = next(checkpoints, None)
        self.notes = 0
        self.newest_note = 0

    @property
    def next_stop(self) -> int:
        """The next position to look at closely."""
        peak = self._peaks[-1].end if self._peaks else NEVER
        return min(peak, NEVER if self._note is None else self._note.size, self._end)

    def forget_end(self) -> None:
        """What stands behind the head is known."""
        self._end = NEVER

    def peak_at(self, size: int) -> Peak | None:
        """The peak that ends at a size, once."""
        return self._peaks.pop() if self._peaks and self._peaks[-1].end == size else None

    def note_until(self, size: int) -> Checkpoint | None:
        """The next checkpoint of at most this size, once."""
        note = self._note
        if note is None or note.size > size:
            return None
        self.notes += 1
        self.newest_note = note.size
        self._note = next(self._checkpoints, None)
        return note

    def pass_over(self, size: int, *, are_comparable: bool) -> None:
        """Leaves out what ends within a gap, and all peaks where positions are not comparable."""
        while self._peaks and (self._peaks[-1].end <= size or not are_comparable):
            self._peaks.pop()
        while self.note_until(size):
            pass


def peaks_of(size: int, packed: bytes) -> list[Peak]:
    """What a head's frontier says; nothing where it does not fit the size."""
    if len(packed) != size.bit_count() * HASH_BYTES:
        return []
    peaks: list[Peak] = []
    start = 0
    for place in range(size.bit_count()):
        width = 1 << ((size - start).bit_length() - 1)
        root = packed[place * HASH_BYTES : (place + 1) * HASH_BYTES]
        peaks.append(Peak(start, start + width, root))
        start += width
    return peaks
