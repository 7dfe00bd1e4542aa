"""Getting buffered records to the service: batches, retries, and what each answer means."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Callable, Optional

import httpx

from doxa_client.errors import (
    DoxaError,
    Problem,
    UndeliveredError,
    name_address,
    read_problem,
)
from doxa_client.outbox import Outbox, Record
from doxa_client.results import Rejection, Tally

logger = logging.getLogger("doxa_client")

ATTEMPTS = 5
BACKOFF_START_S = 0.25
BACKOFF_LIMIT_S = 8.0
#: A server that asks for more patience than this is not waited for; the buffer keeps the records.
RETRY_AFTER_LIMIT_S = 60.0

_REFUSES_CONTENT = frozenset({400, 409, 413, 422})
_PASSES_BY_ITSELF = frozenset({408, 425, 429})


class Delivery:
    """Sends outboxes over one HTTP client; one thread at a time (the caller holds the lock)."""

    def __init__(
        self,
        http: httpx.Client,
        batch_size: int,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.tally = Tally()
        self._http = http
        self._batch_size = batch_size
        self._sleep = sleep
        self._jitter = jitter

    def send(self, outbox: Outbox, authorization: dict[str, str], attempts: int = ATTEMPTS) -> None:
        """Send what the outbox holds now; a record leaves it only when its fate is known.

        A batch that is refused as a whole is halved until the record at fault stands alone and can
        be named, so that it takes no other down with it.
        """
        remaining = len(outbox)
        size = self._batch_size
        while remaining > 0:
            batch = outbox.peek(min(size, remaining))
            response = self._post(outbox.route, batch, authorization, attempts)
            if response.is_success:
                self._count(read_answer(response, [record_id for record_id, _ in batch]))
                size = min(self._batch_size, 2 * len(batch))
            else:
                problem = read_problem(response)
                if not _is_about_content(problem):
                    raise problem.to_error()
                if len(batch) > 1:
                    size = len(batch) // 2
                    continue
                self._count(Tally(rejected=[_to_rejection(batch[0][0], problem)]))
            outbox.drop(len(batch))
            remaining -= len(batch)

    def _count(self, answer: Tally) -> None:
        self.tally.add(answer)
        if answer.rejected:
            first = answer.rejected[0]
            logger.warning(
                "Doxa refused %d record(s); the first is %s%s: %s",
                len(answer.rejected),
                first.id,
                f" at {first.pointer}" if first.pointer else "",
                first.reason,
            )

    def _post(
        self, route: str, batch: Sequence[Record], authorization: dict[str, str], attempts: int
    ) -> httpx.Response:
        """Post one batch until something other than a passing trouble answers."""
        content = b"[" + b",".join(body for _, body in batch) + b"]"
        headers = {"Content-Type": "application/json", **authorization}
        for attempt in range(1, attempts + 1):
            retry_after_s: Optional[float] = None
            try:
                response = self._http.post(
                    route, params={"on_error": "skip"}, content=content, headers=headers
                )
            except httpx.RequestError as error:
                trouble = f"{type(error).__name__}: {error}"
            else:
                if not _is_passing(response.status_code):
                    return response
                trouble = str(read_problem(response).to_error())
                retry_after_s = read_retry_after(response)
            if attempt == attempts or (retry_after_s or 0.0) > RETRY_AFTER_LIMIT_S:
                break
            self._sleep(self._pause(attempt, retry_after_s))
        raise UndeliveredError(f"{trouble} (attempt {attempt} of {attempts})")

    def _pause(self, attempt: int, retry_after_s: Optional[float]) -> float:
        """Seconds to wait: full jitter under a doubling ceiling, on top of what was asked for."""
        ceiling = min(BACKOFF_LIMIT_S, BACKOFF_START_S * 2.0 ** (attempt - 1))
        return (retry_after_s or 0.0) + self._jitter() * ceiling


def read_answer(response: httpx.Response, ids: Sequence[str]) -> Tally:
    """Read `{"accepted", "duplicates", "rejected": [{"index", "pointer", "reason"}]}`."""
    try:
        answer = response.json()
        return Tally(
            accepted=int(answer["accepted"]),
            duplicates=int(answer["duplicates"]),
            rejected=[_read_rejection(item, ids) for item in answer["rejected"]],
        )
    except (ValueError, KeyError, TypeError, IndexError):
        raise DoxaError(
            response.status_code,
            "Not an answer of Doxa's",
            f"{name_address(response)} answered, but not with the counts of what it "
            "stored; check the URL and what stands in front of it",
        ) from None


def read_retry_after(response: httpx.Response) -> Optional[float]:
    """Return the seconds of a `Retry-After` header, which may be a number or a date."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        until = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=timezone.utc)
    return max(0.0, (until - datetime.now(timezone.utc)).total_seconds())


def _read_rejection(item: Any, ids: Sequence[str]) -> Rejection:
    index = int(item["index"])
    if index < 0:
        raise IndexError(index)
    return Rejection(ids[index], str(item.get("pointer") or ""), str(item["reason"]))


def _to_rejection(record_id: str, problem: Problem) -> Rejection:
    """Turn the refusal of a body that held one record into the rejection of that record."""
    if not problem.errors:
        return Rejection(record_id, "", str(problem.to_error()))
    pointer, reason = problem.errors[0]
    within_item = pointer[2:] if pointer == "/0" or pointer.startswith("/0/") else pointer
    return Rejection(record_id, within_item, reason or str(problem.to_error()))


def _is_about_content(problem: Problem) -> bool:
    # A 403 that points at items says what this key may not say, not that the key is no good.
    return problem.status in _REFUSES_CONTENT or (problem.status == 403 and bool(problem.errors))


def _is_passing(status: int) -> bool:
    # Any 5xx may be sent again: every record carries an id, so nothing is stored twice.
    return status in _PASSES_BY_ITSELF or status >= 500
