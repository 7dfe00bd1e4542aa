"""The client: buffer what the agent did, send it in batches."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Iterable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Callable, Optional

import httpx

from doxa_client.buffers import EXIT_TIMEOUT_S, Buffers
from doxa_client.delivery import Delivery, logger
from doxa_client.errors import DoxaError
from doxa_client.ids import new_id
from doxa_client.records import (
    check_object,
    check_objects,
    encode_record,
    format_instant,
)
from doxa_client.results import FlushResult

DEFAULT_URL = "http://127.0.0.1:8000"


class Doxa:
    """Sends an agent's events and turns to a Doxa service, synchronously and in batches.

    `emit` and `turn` buffer; a buffer is sent when it holds `batch_size` records, and by `flush`.
    Neither of the two raises because of the network or the service: what could not be sent stays
    buffered, and the next `flush` sends it, or raises if the key is refused. One client may be
    shared by threads. `key` may be set anew at any time, as after a rotation.
    """

    def __init__(
        self,
        url: Optional[str] = None,
        key: Optional[str] = None,
        agent: Optional[str] = None,
        *,
        batch_size: int = 200,
        timeout: float = 10.0,
        transport: Optional[httpx.BaseTransport] = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Take `url` and `key` from DOXA_URL and DOXA_API_KEY where None; `timeout` in seconds.

        `agent` may be left out when the key is bound to one. `transport` and `sleep` are for tests.
        """
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}")
        self.agent = agent
        self.key = key if key is not None else os.environ.get("DOXA_API_KEY")
        self._http = httpx.Client(
            base_url=_check_url(url or os.environ.get("DOXA_URL") or DEFAULT_URL),
            timeout=timeout,
            transport=transport,
            headers={"User-Agent": "doxa-client"},
        )
        self._buffers = Buffers(Delivery(self._http, batch_size, sleep), batch_size)
        atexit.register(self._close_at_exit)

    @property
    def key(self) -> Optional[str]:
        """The API key; None where the service asks for none."""
        return self._key

    @key.setter
    def key(self, key: Optional[str]) -> None:
        # Checked here because the HTTP library's own complaint would print the key.
        if key and not (key.isascii() and key.isprintable() and " " not in key):
            raise ValueError("the API key holds a space, a line break or a non-ASCII character")
        self._key = key or None

    def emit(
        self,
        event: str,
        *,
        session_id: Optional[str] = None,
        turn_id: Optional[str] = None,
        worker: Optional[str] = None,
        belief_id: Optional[str] = None,
        contradiction_id: Optional[str] = None,
        label_from: Optional[str] = None,
        label_to: Optional[str] = None,
        confidence: Optional[float] = None,
        detail: Optional[Mapping[str, Any]] = None,
        ts: Optional[datetime] = None,
        event_id: Optional[str] = None,
        cost_tokens: Optional[int] = None,
        cost_usd: Optional[float] = None,
        latency_ms: Optional[float] = None,
    ) -> str:
        """Buffer one event and return its id, which makes sending it again harmless.

        `ts` is when it happened (now, if None) and must bear a time zone; `detail` must be JSON.
        """
        event_id = event_id or new_id()
        place = {"session_id": session_id, "turn_id": turn_id, "worker": worker}
        subject = {"belief_id": belief_id, "contradiction_id": contradiction_id}
        claim = {"label_from": label_from, "label_to": label_to, "confidence": confidence}
        cost = {"cost_tokens": cost_tokens, "cost_usd": cost_usd, "latency_ms": latency_ms}
        record = {
            "agent_id": self.agent,
            "event_id": event_id,
            "ts": format_instant("ts", ts),
            "event": event,
            "detail": check_object("detail", detail),
        }
        body = encode_record({**record, **place, **subject, **claim, **cost})
        self._buffers.add(self._buffers.events, event_id, body, self._authorization())
        return event_id

    def turn(
        self,
        output: str,
        *,
        session_id: str,
        turn_id: Optional[str] = None,
        inputs: Iterable[Mapping[str, Any]] = (),
        retrieved: Iterable[Mapping[str, Any]] = (),
        tool_calls: Iterable[Mapping[str, Any]] = (),
        worker: Optional[str] = None,
        model: Optional[str] = None,
        commit_sha: Optional[str] = None,
        ts: Optional[datetime] = None,
        input_tokens: Optional[int] = None,
        output_tokens: Optional[int] = None,
        cost_usd: Optional[float] = None,
        latency_ms: Optional[float] = None,
    ) -> str:
        """Buffer one turn and return its id.

        `inputs` are the messages new since the session's previous turn, `{"role", "content"}`;
        `retrieved` the memory read, `{"id", "content", "label"}`; `tool_calls` are in their order,
        `{"name", "arguments", "result"}`.
        """
        turn_id = turn_id or new_id()
        place = {"session_id": session_id, "turn_id": turn_id, "worker": worker}
        origin = {"model": model, "commit_sha": commit_sha}
        tokens = {"input_tokens": input_tokens, "output_tokens": output_tokens}
        cost = {"cost_usd": cost_usd, "latency_ms": latency_ms}
        record = {
            "agent_id": self.agent,
            "ts": format_instant("ts", ts),
            "inputs": check_objects("inputs", inputs),
            "retrieved": check_objects("retrieved", retrieved),
            "tool_calls": check_objects("tool_calls", tool_calls),
            "output": output,
        }
        body = encode_record({**record, **place, **origin, **tokens, **cost})
        self._buffers.add(self._buffers.turns, turn_id, body, self._authorization())
        return turn_id

    def flush(self) -> FlushResult:
        """Send everything buffered and say what came of it since the last flush.

        Raises DoxaError when the key or the URL is refused. An unreachable or overloaded service is
        tried again with growing pauses; after that the rest is counted as `unsent` and kept.
        """
        return self._buffers.flush(self._authorization())

    def close(self) -> FlushResult:
        """Flush, then close the connections; what could not be sent by then is lost, and logged."""
        try:
            return self.flush()
        finally:
            self._shut()

    def __enter__(self) -> Doxa:
        return self

    def __exit__(
        self,
        exc_type: Optional[type[BaseException]],
        exc: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        try:
            self.close()
        except DoxaError as error:
            if exc_type is None:
                raise
            # The exception that is already on its way matters more to the caller.
            logger.warning("Doxa refused the last batch: %s", error)

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._key}"} if self._key else {}

    def _shut(self) -> None:
        atexit.unregister(self._close_at_exit)
        self._buffers.close()
        self._http.close()

    def _close_at_exit(self) -> None:
        """Give a process that ends without flush or close one short attempt."""
        self._http.timeout = httpx.Timeout(EXIT_TIMEOUT_S)
        self._buffers.flush_once(self._authorization())
        self._shut()


def _check_url(url: str) -> str:
    parsed = httpx.URL(url)
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ValueError(f"{parsed!r} is no http:// or https:// address of a Doxa service")
    return url
