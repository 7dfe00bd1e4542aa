"""When the buffered events and turns are sent, and what happens to those that could not be."""

from __future__ import annotations

import threading
from typing import Optional

from doxa_client.delivery import ATTEMPTS, Delivery, logger
from doxa_client.errors import DoxaError, UndeliveredError
from doxa_client.outbox import Outbox
from doxa_client.results import FlushResult

EXIT_TIMEOUT_S = 2.0


class Buffers:
    """The two outboxes of a client and the lock that lets one thread send at a time.

    Other threads go on buffering meanwhile. `authorization` is the header that bears the key, given
    with each call because the key may change.
    """

    def __init__(self, delivery: Delivery, batch_size: int) -> None:
        self.events = Outbox("/v1/events", batch_size)
        self.turns = Outbox("/v1/turns", batch_size)
        self._delivery = delivery
        self._batch_size = batch_size
        self._sending = threading.Lock()
        self._closed = False

    def add(
        self, outbox: Outbox, record_id: str, body: bytes, authorization: dict[str, str]
    ) -> None:
        """Buffer a record, and send its outbox when a batch is full and nobody is sending."""
        if self._closed:
            raise RuntimeError("this Doxa client is closed")
        outbox.append(record_id, body)
        if len(outbox) < outbox.due_at or not self._sending.acquire(blocking=False):
            return
        try:
            self._send(outbox, authorization, ATTEMPTS)
        except (DoxaError, UndeliveredError) as error:
            # Not raised: the record is safe, and an agent must not fail over its instruments.
            logger.warning("a batch could not be sent, %d record(s) kept: %s", len(outbox), error)
        finally:
            self._sending.release()

    def flush(self, authorization: dict[str, str]) -> FlushResult:
        """Send everything; raise if the client is refused, return what is left if unreachable."""
        with self._sending:
            reason: Optional[str] = None
            if self._closed:
                reason = "this Doxa client is closed"
            else:
                try:
                    self._send_all(authorization, ATTEMPTS)
                except UndeliveredError as error:
                    reason = str(error)
                    logger.warning("not sent, %d record(s) kept: %s", self._unsent(), reason)
            return self._delivery.tally.close(self._unsent(), reason)

    def flush_once(self, authorization: dict[str, str]) -> None:
        """Make one attempt at everything and raise nothing, as befits the end of a process."""
        if not self._unsent() or not self._sending.acquire(timeout=EXIT_TIMEOUT_S):
            return
        try:
            self._send_all(authorization, attempts=1)
        except (DoxaError, UndeliveredError) as error:
            logger.warning("the last batch could not be sent: %s", error)
        finally:
            self._sending.release()

    def close(self) -> None:
        """Take nothing more; what is still here is lost, and that is logged."""
        if self._closed:
            return
        self._closed = True
        if self._unsent():
            logger.warning("the client closes with %d record(s) unsent: lost", self._unsent())

    def _send_all(self, authorization: dict[str, str], attempts: int) -> None:
        self._send(self.events, authorization, attempts)
        self._send(self.turns, authorization, attempts)

    def _send(self, outbox: Outbox, authorization: dict[str, str], attempts: int) -> None:
        # After a failure a whole further batch has to gather before one goes by itself again:
        # otherwise each call would wait for a service that is away.
        outbox.due_at = len(outbox) + self._batch_size
        self._delivery.send(outbox, authorization, attempts)
        outbox.due_at = self._batch_size

    def _unsent(self) -> int:
        return len(self.events) + len(self.turns)
