"""Large batches are read in a process of their own, while the writer commits the one before."""

import asyncio
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from service.events.normalise import Intake
from service.events.parsing import Parsed
from service.events.reading_process import (
    NOTHING,
    Batch,
    Circumstances,
    HowToRead,
    read_frame,
    write_frame,
)
from service.events.schemas import Event
from service.settings import Settings

# Below this the way there and back costs more than reading.
READ_APART_BYTES = 32 * 1024
# A process that died is not started again in the same breath.
RESTART_SECONDS = 5.0
END_SECONDS = 5.0


@dataclass(slots=True)
class _Waiting:
    head: bytes
    body: bytes
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Parsed[Event] | None]"

    def answer(self, parsed: Parsed[Event] | None) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._resolve, parsed)

    def _resolve(self, parsed: Parsed[Event] | None) -> None:
        if not self.future.done():
            self.future.set_result(parsed)


class ApartReader:
    """Starts its process with the first large batch; whatever fails there is read here instead."""

    def __init__(self, settings: Settings, seal_key: bytes, folded: Iterable[str]) -> None:
        """`folded` are the event types whose detail a projection reads."""
        how = HowToRead(settings.model_dump_json(), seal_key, sorted(folded))
        self._how = msgspec.msgpack.encode(how)
        self._gate = threading.Lock()
        self._running: _Running | None = None
        self._died_at = float("-inf")
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The id of the process, None while there is none."""
        running = self._running
        return running.process.pid if running and running.is_alive else None

    async def read(self, body: bytes, intake: Intake, *, lines: bool) -> Parsed[Event] | None:
        """The batch, leaves computed; None where the caller is to read it itself."""
        if len(body) < READ_APART_BYTES:
            return None
        running = self._ready()
        if running is None:
            return None
        loop = asyncio.get_running_loop()
        principal = intake.principal
        around = Circumstances(
            lines, sorted(principal.scopes), principal.agent_id, principal.key_id, intake.now,
            str(intake.log), intake.skips,
        )  # fmt: skip
        head = msgspec.msgpack.encode(around)
        waiting = _Waiting(head, body, loop, loop.create_future())
        running.take(waiting)
        return await waiting.future

    def _ready(self) -> "_Running | None":
        with self._gate:
            if self._closed:
                return None
            if self._running is None or not self._running.is_alive:
                if self._running is not None:
                    self._died_at, self._running = time.monotonic(), None
                if time.monotonic() - self._died_at < RESTART_SECONDS:
                    return None
                self._running = _Running(self._how)
                # It is not ready yet: this batch is read here, the next ones there.
                return None
            return self._running

    def close(self) -> None:
        """Ends the process."""
        with self._gate:
            self._closed = True
            running, self._running = self._running, None
        if running is not None:
            running.close()


class _Running:
    """The process with a thread that sends to it and one that listens."""

    def __init__(self, how: bytes) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "service.events.reading_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._how = how
        self._to_send: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._open: deque[_Waiting] = deque()
        self._ended = False
        self._threads = [
            threading.Thread(target=self._send, name="doxa-reader-out", daemon=True),
            threading.Thread(target=self._listen, name="doxa-reader-in", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it still answers."""
        return not self._ended

    def take(self, waiting: _Waiting) -> None:
        """Queues a batch, which is answered in every case."""
        with self._gate:
            if not self._ended:
                self._open.append(waiting)
                self._to_send.put(waiting)
                return
        waiting.answer(None)

    def close(self) -> None:
        """Closes its input and waits until it is gone."""
        self._to_send.put(None)
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for thread in self._threads:
            thread.join(END_SECONDS)

    def _send(self) -> None:
        pipe = self.process.stdin
        assert pipe is not None  # noqa: S101 - asked for above
        try:
            write_frame(pipe, self._how)
            while (waiting := self._to_send.get()) is not None:
                write_frame(pipe, waiting.head)
                write_frame(pipe, waiting.body)
            pipe.close()
        except OSError:
            return  # it is gone: whoever listens answers what is open

    def _listen(self) -> None:
        pipe = self.process.stdout
        assert pipe is not None  # noqa: S101 - asked for above
        decoder = msgspec.msgpack.Decoder(Batch)
        with pipe:
            while (frame := read_frame(pipe)) is not None:
                with self._gate:
                    waiting = self._open.popleft()
                if frame == NOTHING:
                    waiting.answer(None)
                    continue
                batch = decoder.decode(frame)
                waiting.answer(Parsed(batch.events, [], batch.is_single))
        with self._gate:
            self._ended = True
            left, self._open = list(self._open), deque()
        self._to_send.put(None)
        for waiting in left:
            waiting.answer(None)
        self.process.wait()
