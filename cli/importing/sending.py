"""Sending records in batches, and bringing each refusal back to the file and line it came from."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from cli.importing.json_values import NotJSONError, encode_json
from cli.importing.records import BadRecord, Record, RecordKind

BATCH_RECORDS = 500
BATCH_BYTES = 2_000_000
ATTEMPTS = 6
LONGEST_PAUSE_S = 30.0
REMEMBERED_PROBLEMS = 1000  # a file of a million bad lines must not fill the memory

_PATHS = {RecordKind.TURN: "/v1/turns", RecordKind.EVENT: "/v1/events"}
_BUSY = (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.SERVICE_UNAVAILABLE)
# Answers that concern what was sent and not who sent it or how the service fares.
_ABOUT_CONTENT = (
    httpx.codes.BAD_REQUEST,
    httpx.codes.FORBIDDEN,
    httpx.codes.CONFLICT,
    httpx.codes.REQUEST_ENTITY_TOO_LARGE,
    httpx.codes.UNPROCESSABLE_ENTITY,
)
_UNREACHABLE = (httpx.ConnectError, httpx.ConnectTimeout, httpx.UnsupportedProtocol)


class ServiceUnavailableError(Exception):
    """The service cannot be reached, stays busy, or refuses whoever is asking."""


@dataclass(slots=True)
class Tally:
    """What became of the records.

    `kept` are records that were there already with another time or model: a turn is write-once,
    so the first import stays. `rejected` were refused by the service; `bad` could not be read.
    """

    accepted: int = 0
    duplicates: int = 0
    kept: int = 0
    rejected: int = 0
    bad: int = 0
    problems: list[BadRecord] = field(default_factory=list)

    def note_bad(self, problem: BadRecord) -> None:
        """Count something that could not be read."""
        self.bad += 1
        self._remember(problem)

    def note_rejection(self, record: Record, pointer: str, reason: str) -> None:
        """Count a refusal; a clash over an id made from the content is no refusal (see `kept`)."""
        if record.derived and pointer in ("/turn_id", "/event_id"):
            self.kept += 1
            return
        self.rejected += 1
        text = f"{pointer}: {reason}" if pointer else reason
        self._remember(BadRecord(record.source, record.line, text))

    def _remember(self, problem: BadRecord) -> None:
        if len(self.problems) < REMEMBERED_PROBLEMS:
            self.problems.append(problem)


@dataclass(frozen=True, slots=True)
class _Encoded:
    record: Record
    text: bytes


class Outbox:
    """Collects the records of one kind and posts them when a batch is full."""

    def __init__(
        self,
        client: httpx.Client,
        kind: RecordKind,
        tally: Tally,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._path = _PATHS[kind]
        self._tally = tally
        self._pause = pause
        self._batch: list[_Encoded] = []
        self._bytes = 0

    def add(self, record: Record) -> None:
        """Take a record; sends what was collected first if this one would not fit with it."""
        try:
            text = encode_json(record.body)
        except NotJSONError as problem:
            self._tally.note_bad(BadRecord(record.source, record.line, str(problem)))
            return
        if len(self._batch) == BATCH_RECORDS or self._bytes + len(text) > BATCH_BYTES:
            self.flush()
        self._batch.append(_Encoded(record, text))
        self._bytes += len(text) + 1

    def flush(self) -> None:
        """Send what was collected."""
        batch, self._batch, self._bytes = self._batch, [], 0
        if batch:
            self._send(batch)

    def _send(self, batch: list[_Encoded]) -> None:
        response = self._post(b"[" + b",".join(item.text for item in batch) + b"]")
        if response.is_success:
            self._count(batch, _read_object(response))
        elif response.status_code in _ABOUT_CONTENT:
            self._resend(batch, response)
        else:
            raise ServiceUnavailableError(f"{self._client.base_url} {_explain(response)}")

    def _count(self, batch: list[_Encoded], answer: dict[str, object]) -> None:
        accepted, duplicates = answer.get("accepted"), answer.get("duplicates")
        if not isinstance(accepted, int) or not isinstance(duplicates, int):
            raise ServiceUnavailableError(f"{self._client.base_url} does not answer as Doxa does")
        self._tally.accepted += accepted
        self._tally.duplicates += duplicates
        for index, pointer, reason in _read_faults(answer.get("rejected"), len(batch)):
            self._tally.note_rejection(batch[index].record, pointer, reason)

    def _resend(self, batch: list[_Encoded], response: httpx.Response) -> None:
        """A batch refused as a whole: drop the items named; without names, send it in halves."""
        faults = _read_faults(_read_object(response).get("errors"), len(batch))
        if response.status_code == httpx.codes.FORBIDDEN and not faults:
            raise ServiceUnavailableError(f"{self._client.base_url} {_explain(response)}")
        named = {index for index, _, _ in faults}
        for index, pointer, reason in faults:
            self._tally.note_rejection(batch[index].record, pointer, reason)
        rest = [item for index, item in enumerate(batch) if index not in named]
        if named:
            if rest:
                self._send(rest)
        elif len(batch) == 1:
            self._tally.note_rejection(batch[0].record, "", _explain(response))
        else:
            middle = len(batch) // 2
            self._send(batch[:middle])
            self._send(batch[middle:])

    def _post(self, body: bytes) -> httpx.Response:
        """Post until the service is not busy; safe to repeat, because every record has an id."""
        reason, pause_s = "", 0.0
        for attempt in range(ATTEMPTS):
            if attempt:
                self._pause(pause_s)
            pause_s = min(2.0**attempt, LONGEST_PAUSE_S)
            try:
                response = self._client.post(
                    self._path,
                    params={"on_error": "skip"},
                    content=body,
                    headers={"Content-Type": "application/json"},
                )
            except _UNREACHABLE as problem:
                raise ServiceUnavailableError(
                    f"{self._client.base_url} cannot be reached ({problem}): start it with "
                    "`doxa serve`, or name another with DOXA_URL"
                ) from None
            except httpx.TransportError as problem:
                reason = f"broke off ({type(problem).__name__})"
                continue
            if response.status_code not in _BUSY:
                return response
            reason = _explain(response)
            pause_s = min(_retry_after_s(response, pause_s), LONGEST_PAUSE_S)
        raise ServiceUnavailableError(
            f"{self._client.base_url} {reason}, also at attempt {ATTEMPTS}: try again later"
        )


def _retry_after_s(response: httpx.Response, default: float) -> float:
    """Seconds of a Retry-After header, which is a number or a date."""
    text = response.headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        then = parsedate_to_datetime(text)
    except ValueError:
        return default
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, (then - datetime.now(UTC)).total_seconds())


def _read_object(response: httpx.Response) -> dict[str, object]:
    try:
        answer = response.json()
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _read_faults(items: object, count: int) -> list[tuple[int, str, str]]:
    """Index, pointer within the item, reason: of a `rejected` list or a problem's `errors`.

    Of an item with several faults the first is given, as an item is counted once.
    """
    found: dict[int, tuple[int, str, str]] = {}
    for item in items if isinstance(items, list) else []:
        if not isinstance(item, dict):
            continue
        pointer, index = str(item.get("pointer") or ""), item.get("index")
        if not isinstance(index, int):
            first, _, rest = pointer.removeprefix("/").partition("/")
            if not (first.isascii() and first.isdigit()):
                continue
            index, pointer = int(first), f"/{rest}" if rest else ""
        if 0 <= index < count:
            found.setdefault(index, (index, pointer, str(item.get("reason") or "was refused")))
    return list(found.values())


def _explain(response: httpx.Response) -> str:
    """What a refusal says of itself: status, title, detail."""
    answer = _read_object(response)
    words = [str(answer[key]) for key in ("title", "detail") if answer.get(key)]
    return f"answered {response.status_code}: {'; '.join(words) or response.reason_phrase}"
