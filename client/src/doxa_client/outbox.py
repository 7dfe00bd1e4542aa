"""Records that wait to be sent."""

from __future__ import annotations

import threading
from collections import deque
from itertools import islice

#: Batches end at this many bytes even when they could hold more records.
BODY_LIMIT_BYTES = 4 * 1024 * 1024

#: An id and the record as the JSON that is sent.
Record = tuple[str, bytes]


class Outbox:
    """Records waiting for one route, oldest first; safe for several threads to append to."""

    def __init__(self, route: str, batch_size: int) -> None:
        self.route = route
        self.due_at = batch_size  # the length at which a batch goes by itself
        self._records: deque[Record] = deque()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._records)

    def append(self, record_id: str, body: bytes) -> None:
        """Add a record at the end."""
        with self._lock:
            self._records.append((record_id, body))

    def peek(self, count: int) -> list[Record]:
        """Return up to `count` of the oldest records, at least one, at most a body's worth."""
        batch: list[Record] = []
        size_bytes = 0
        with self._lock:
            for record in islice(self._records, count):
                size_bytes += len(record[1]) + 1
                if batch and size_bytes > BODY_LIMIT_BYTES:
                    break
                batch.append(record)
        return batch

    def drop(self, count: int) -> None:
        """Remove the oldest records, once their fate is known."""
        with self._lock:
            for _ in range(count):
                self._records.popleft()
