"""Reads batches of events beside the service: python -m service.events.reading_process

On standard input come frames, each behind its length in four bytes: first how to read, then for
each batch its circumstances and its body. To each batch one frame goes to standard output: the
events, leaves and seals computed, or nothing where the service is to read the batch itself, since
only it explains what is wrong. The process ends with its input.
"""

import signal
import struct
import sys
from typing import IO

import msgspec

from service.errors import LedgerError
from service.events.committing import commit_to
from service.events.normalise import Intake, normalise
from service.events.parsing import BatchReader, Parsed
from service.events.schemas import Event, EventIn
from service.events.vocabulary import Log
from service.principals import Principal, Scope
from service.settings import Settings
from service.trust.seals import Sealer

LENGTH = struct.Struct("!I")
NOTHING = b""


class HowToRead(msgspec.Struct, array_like=True):
    """What holds for all batches: the limits, the seals' key, the types whose detail is folded."""

    settings: str
    seal_key: bytes
    folded: list[str]


class Circumstances(msgspec.Struct, array_like=True):
    """What holds for one batch."""

    lines: bool
    scopes: list[str]
    agent_id: str | None
    key_id: str | None
    now: int
    log: str
    skips: bool

    def intake(self, settings: Settings) -> Intake:
        """The same as the service would check the batch against, but for asking the database."""
        principal = Principal(frozenset(map(Scope, self.scopes)), self.agent_id, self.key_id)
        return Intake(
            principal, settings, self.now, lambda: self.agent_id, Log(self.log), self.skips
        )


class Batch(msgspec.Struct, array_like=True):
    """A batch without a fault."""

    is_single: bool
    events: list[Event]


def read_frame(stream: IO[bytes]) -> bytes | None:
    """The next frame; None where the stream ends."""
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    (length,) = LENGTH.unpack(head)
    frame = stream.read(length)
    return frame if len(frame) == length else None


def write_frame(stream: IO[bytes], frame: bytes) -> None:
    """Sends one frame."""
    stream.write(LENGTH.pack(len(frame)))
    stream.write(frame)
    stream.flush()


def main() -> None:
    """Reads until its input ends."""
    # Ctrl+C reaches the whole group; the service ends this process by closing its input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = read_frame(sys.stdin.buffer)
    if first is None:
        return
    how = msgspec.msgpack.decode(first, type=HowToRead)
    settings = Settings.model_validate_json(how.settings)
    reader = BatchReader[EventIn, Event](EventIn, settings)
    sealer, folded = Sealer(how.seal_key), frozenset(how.folded)
    circumstances = msgspec.msgpack.Decoder(Circumstances)
    encoder = msgspec.msgpack.Encoder()
    while (head := read_frame(sys.stdin.buffer)) is not None:
        body = read_frame(sys.stdin.buffer)
        if body is None:
            return
        around = circumstances.decode(head)
        parsed = _read(reader, body, around, settings)
        frame = NOTHING
        if parsed is not None:
            commit_to(parsed.rows, sealer)
            for event in parsed.rows:
                if event.event not in folded:
                    event.detail = {}  # nobody reads it there, and its text goes along
            frame = encoder.encode(Batch(parsed.is_single, parsed.rows))
        write_frame(sys.stdout.buffer, frame)


def _read(
    reader: BatchReader[EventIn, Event], body: bytes, around: Circumstances, settings: Settings
) -> Parsed[Event] | None:
    intake = around.intake(settings)
    try:
        parsed = reader.read(
            body,
            lines=around.lines,
            normalise=lambda item, index, repaired: normalise(
                item, intake, index, repaired=repaired
            ),
        )
    except LedgerError:
        return None
    return None if parsed.bad else parsed


if __name__ == "__main__":
    main()
