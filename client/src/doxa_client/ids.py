"""Time-ordered ids (UUID version 7, RFC 9562), which the standard library has only from 3.14 on."""

from __future__ import annotations

import secrets
import threading
import time
import uuid
from typing import Callable

_COUNTER_BITS = 42
_TAIL_BITS = 32
_TIMESTAMP_MASK = (1 << 48) - 1


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


class TimeOrderedIds:
    """Makes UUIDv7 values, each greater than the one before, also within a millisecond.

    The layout is method 1 of RFC 9562, section 6.2: 48 bits of Unix milliseconds, a counter of 42
    bits that starts at a random place below its middle in each new millisecond, 32 random bits.
    """

    def __init__(
        self,
        now_ms: Callable[[], int] = _now_ms,
        random_bits: Callable[[int], int] = secrets.randbits,
    ) -> None:
        self._now_ms = now_ms
        self._random_bits = random_bits
        self._lock = threading.Lock()
        self._last_ms = -1
        self._counter = 0

    def __call__(self) -> str:
        """Return the next id in its canonical text form, 36 characters."""
        with self._lock:
            timestamp_ms, counter = self._advance()
        return str(_lay_out(timestamp_ms, counter, self._random_bits(_TAIL_BITS)))

    def _advance(self) -> tuple[int, int]:
        """Return milliseconds and counter, greater as a pair than the last ones."""
        now_ms = self._now_ms()
        if now_ms > self._last_ms:
            self._start_millisecond(now_ms)
        elif self._counter + 1 < 1 << _COUNTER_BITS:
            # The same millisecond, or a clock that was set back: order matters more than the time.
            self._counter += 1
        else:
            self._start_millisecond(self._last_ms + 1)
        return self._last_ms, self._counter

    def _start_millisecond(self, timestamp_ms: int) -> None:
        self._last_ms = timestamp_ms
        self._counter = self._random_bits(_COUNTER_BITS - 1)


def _lay_out(timestamp_ms: int, counter: int, tail: int) -> uuid.UUID:
    """Put the parts in their places around the version (7) and the variant (binary 10)."""
    counter_high, counter_low = counter >> 30, counter & ((1 << 30) - 1)
    return uuid.UUID(
        int=(timestamp_ms & _TIMESTAMP_MASK) << 80
        | 0x7 << 76
        | counter_high << 64
        | 0b10 << 62
        | counter_low << 32
        | tail
    )


#: One sequence for the whole process, so that ids of several clients are ordered among themselves.
new_id = TimeOrderedIds()
