"""Writes signed checkpoints of growing logs outside the database, by a thread of its own."""

import fcntl
import logging
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import quote

from service.trust.notes import (
    Checkpoint,
    Note,
    is_signed,
    log_of,
    origin_of,
    read_note,
    signed_note,
    split_notes,
)
from service.trust.signing import Signer, holds_under

_LOGGER = logging.getLogger(__name__)
SUFFIX = ".notes"
INTERVAL_SECONDS = 1.0
# How many rounds pass until the heads are looked through for what other processes wrote.
SWEEP_ROUNDS = 10
# A round that took long is followed by a pause in this ratio, so that ingestion keeps 98 % of it.
_PAUSE_RATIO, _LONGEST_PAUSE = 50, 10.0
_PLAIN = re.compile(r"[a-z0-9_-]{1,100}")
# More than the longest note: origins hold an agent's id percent-encoded.
_TAIL_BYTES = 16_384
# After these a note can begin; the empty lines set apart what was broken off before them.
_AFRESH = b"\n\n\n"

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Standing:
    """A log as its head says; `fault` is why nobody should sign that."""

    size: int
    root: bytes
    fault: str | None = None


class Watch(Protocol):
    """What a checkpointer asks the database."""

    def sizes(self) -> Mapping[Pair, int]:
        """The size of every log."""

    def look(self, agent_id: str, log: str, since: int, own: Sequence[range]) -> Standing | None:
        """The log now, its rows behind `since` checked but for positions in `own`; None: no log."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """A log whose checkpoints have stopped, and why."""

    agent_id: str
    log: str
    reason: str


@dataclass(slots=True)
class _Log:
    path: Path
    noted: Checkpoint | None
    # No head may ever be shorter: this is what was committed, or signed before.
    floor: int = 0
    own: list[range] = field(default_factory=list)
    alarm: str | None = None


def file_of(folder: Path, agent_id: str, log: str) -> Path:
    """Where the notes of a log stand, whatever the agent calls itself."""
    return folder / f"{_safe(agent_id)}.{_safe(log)}{SUFFIX}"


def _safe(name: str) -> str:
    """Unique, short, and the same on file systems that know no case."""
    if _PLAIN.fullmatch(name):
        return name
    raw = name.encode("utf-8", "surrogatepass")
    readable = quote(raw, safe="").replace(".", "%2E")[:80]
    return f"{readable}={sha256(raw).hexdigest()[:32]}"


def notes_in(path: Path, length: int) -> Iterator[str]:
    """The notes in the first bytes of a file as they stand there, the oldest first."""
    with path.open("rb") as file:
        yield from split_notes(_lines(file, length))


def _lines(file: BinaryIO, length: int) -> Iterator[str]:
    while length > 0 and (line := file.readline(min(length, _TAIL_BYTES))):
        length -= len(line)
        yield line.decode("utf-8", "replace")


def last_note(path: Path) -> Note | None:
    """The newest whole note of a file; None where there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            tail = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    for text in reversed(list(split_notes(tail.splitlines(keepends=True)))):
        try:
            return read_note(text)
        except ValueError:
            continue
    return None


def append_note(path: Path, note: str) -> None:
    """Adds a note to its file, on the disk when this returns."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    is_new = not path.exists()
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        length = os.fstat(descriptor).st_size
        tail = os.pread(descriptor, 2, max(0, length - 2))
        text = (b"" if tail in (b"", b"\n\n") else _AFRESH) + note.encode() + b"\n"
        if os.write(descriptor, text) != len(text):
            raise OSError(f"{path} takes no more")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if is_new:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class Checkpointer:
    """Signs the heads of logs, at most one a second each, and stops where a row is not Doxa's.

    Nothing here holds up ingestion: `offer` only takes down that a log has grown.
    """

    def __init__(
        self, folder: Path, signer: Signer, watch: Watch, *, interval: float = INTERVAL_SECONDS
    ) -> None:
        self._folder, self._signer, self._watch = folder, signer, watch
        self._holds = holds_under(signer.key)
        self._interval = interval
        self._logs: dict[Pair, _Log] = {}
        self._grown: set[Pair] = set()
        # What was offered before its log was opened by the thread.
        self._offered: dict[Pair, list[range]] = {}
        self._faults: dict[Pair, str] = {}
        self._gate, self._round = threading.Lock(), threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="doxa-checkpoints", daemon=True)
        self.notes = 0
        self.failures = 0
        self.cpu_seconds = 0.0
        self.problem: str | None = None

    def start(self) -> None:
        """Starts the thread, which looks at all heads first."""
        self._thread.start()

    def offer(
        self,
        agent_id: str,
        log: str,
        size: int,
        *,
        began: int | None = None,
        fault: str | None = None,
    ) -> None:
        """A commit has left a log at this size; `began` is its size before the commit's own rows.

        Rows between are known to be sealed and are not read again. The root is taken from the
        sealed head when the note is written, by when the log may have grown further. `fault` is
        what the commit found wrong: the log is not signed any more.
        """
        own = range(size if began is None else began, size)
        with self._gate:
            self._grown.add((agent_id, log))
            if fault is not None:
                self._faults[agent_id, log] = fault
            offered = self._offered.setdefault((agent_id, log), [])
            if offered and offered[-1].stop == own.start:
                offered[-1] = range(offered[-1].start, own.stop)
            else:
                offered.append(own)

    def alarms(self) -> list[Alarm]:
        """The logs that are not signed any more."""
        logs = list(self._logs.items())
        return [Alarm(*pair, log.alarm) for pair, log in sorted(logs, key=_first) if log.alarm]

    def note_now(self, *, sweep: bool = True) -> None:
        """One round: a note for each log that has grown; with `sweep`, by whomever."""
        with self._round:
            with self._gate:
                pairs, self._grown = self._grown, set()
            try:
                if sweep:
                    pairs |= self._changed()
            except Exception as problem:  # noqa: BLE001 - said in `problem`; the next round tries again
                self._fail(problem)
            for pair in sorted(pairs):
                try:
                    self._note(pair)
                except Exception as problem:  # noqa: BLE001 - one log's disk or row stops no other
                    self._fail(problem)
                    with self._gate:
                        self._grown.add(pair)

    def close(self) -> None:
        """Writes the last notes and ends the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        self.note_now()

    def _serve(self) -> None:
        rounds = 0
        pause = 0.0
        while not self._stop.wait(pause):
            began = time.thread_time()
            self.note_now(sweep=rounds % SWEEP_ROUNDS == 0)
            rounds += 1
            spent = time.thread_time() - began
            self.cpu_seconds += spent
            pause = max(self._interval, min(spent * _PAUSE_RATIO, _LONGEST_PAUSE))

    def _fail(self, problem: Exception) -> None:
        self.failures += 1
        self.problem = f"No checkpoint could be written to {self._folder}: {problem}"

    def _changed(self) -> set[Pair]:
        sizes = self._watch.sizes()
        changed = {
            pair
            for pair, size in sizes.items()
            if (log := self._log(pair)).noted is None or log.noted.size != size
        }
        # A log that was signed once and has no head any more.
        return changed | (self._signed_before() - sizes.keys())

    def _signed_before(self) -> set[Pair]:
        notes = (last_note(path) for path in self._folder.glob(f"*{SUFFIX}"))
        found = {log_of(note.checkpoint.origin) for note in notes if note is not None}
        return {pair for pair in found if pair is not None}

    def _log(self, pair: Pair) -> _Log:
        if pair not in self._logs:
            path = file_of(self._folder, *pair)
            note = last_note(path)
            if note is not None and not is_signed(note, self._signer.key, self._holds):
                note = None
            found = None if note is None else note.checkpoint
            self._logs[pair] = _Log(path, found, 0 if found is None else found.size)
        return self._logs[pair]

    def _note(self, pair: Pair) -> None:
        log = self._log(pair)
        with self._gate:
            own = self._offered.pop(pair, [])
            fault = self._faults.pop(pair, None)
        log.own = _joined([*log.own, *own])
        log.floor = max([log.floor, *(part.stop for part in log.own)])
        if log.alarm is not None:
            return
        since = 0 if log.noted is None else log.noted.size
        standing = self._watch.look(*pair, since, log.own)
        log.alarm = fault or _fault_of(log, standing)
        if log.alarm is not None:
            _LOGGER.error(
                "ALARM: log %s of agent %r is not signed any more: %s. Run `doxa verify`.",
                pair[1], pair[0], log.alarm,
            )  # fmt: skip
        elif standing is not None and standing.size != since:
            self._sign(pair, log, standing)

    def _sign(self, pair: Pair, log: _Log, standing: Standing) -> None:
        checkpoint = Checkpoint(origin_of(*pair), standing.size, standing.root)
        append_note(log.path, signed_note(checkpoint, self._signer.key, self._signer.sign))
        log.noted, log.floor = checkpoint, max(log.floor, checkpoint.size)
        log.own = [part for part in log.own if part.stop > checkpoint.size]
        self.notes += 1
        self.problem = None


def _fault_of(log: _Log, standing: Standing | None) -> str | None:
    """Why a log cannot be signed as it stands now."""
    if standing is None:
        return f"it held {log.floor} rows and is gone" if log.floor else None
    if standing.fault is not None:
        return standing.fault
    if standing.size < log.floor:
        return f"it held {log.floor} rows and now holds {standing.size}: {_CUT}"
    noted = log.noted
    if noted is not None and standing.size == noted.size and standing.root != noted.root:
        return f"its {noted.size} rows are not those that were signed"
    return None


_CUT = "it was cut, or an older copy of the database was put in its place"


def _first(item: tuple[Pair, _Log]) -> Pair:
    return item[0]


def _joined(parts: list[range]) -> list[range]:
    """Ranges in order, those that touch made one."""
    joined: list[range] = []
    for part in sorted(parts, key=lambda part: part.start):
        if joined and part.start <= joined[-1].stop:
            joined[-1] = range(joined[-1].start, max(joined[-1].stop, part.stop))
        else:
            joined.append(part)
    return joined
