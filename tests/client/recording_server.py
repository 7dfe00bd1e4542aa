"""A small HTTP service on loopback that keeps what it is sent and answers as it is told."""

from __future__ import annotations

import json
import socket
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Record = dict[str, Any]


@dataclass(frozen=True)
class Reply:
    """An answer to give instead of storing; `close` breaks the connection without one."""

    status: int = 503
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    close: bool = False
    store_first: bool = False
    unread: bool = False  # answer without reading the body, as a proxy with a limit does


@dataclass(frozen=True)
class Request:
    path: str
    query: str
    headers: dict[str, str]
    items: list[Record]


class RecordingServer:
    """Stores events by `event_id` and turns by `turn_id`, each once, as the contract says.

    `planned` replies come first, one a request; then `judge`, given the items of a request, may
    return a reply; else the items are stored, apart from those that `reject` gives a reason for.
    """

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.stored: dict[str, Record] = {}
        self.planned: deque[Reply] = deque()
        self.judge: Callable[[Request], Reply | None] = lambda request: None
        self.reject: Callable[[Record], tuple[str, str] | None] = lambda item: None
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def sizes(self) -> list[int]:
        return [len(request.items) for request in self.requests]

    def answer(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            reply = self.planned.popleft() if self.planned else self.judge(request)
            if reply is not None and not reply.store_first:
                return reply
            counts = self._store(request.items)
        return reply or Reply(200, counts)

    def plan(self, *replies: Reply) -> None:
        self.planned.extend(replies)

    def next_is_unread(self) -> Reply | None:
        with self._lock:
            if self.planned and self.planned[0].unread:
                return self.planned.popleft()
        return None

    def _store(self, items: list[Record]) -> Record:
        accepted = duplicates = 0
        rejected: list[Record] = []
        for index, item in enumerate(items):
            refusal = self.reject(item)
            item_id = item["event_id"] if "event" in item else item["turn_id"]
            if refusal is not None:
                rejected.append({"index": index, "pointer": refusal[0], "reason": refusal[1]})
            elif item_id in self.stored:
                duplicates += 1
            else:
                self.stored[item_id] = item
                accepted += 1
        return {"accepted": accepted, "duplicates": duplicates, "rejected": rejected}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                unread = server.next_is_unread()
                if unread is not None:
                    self.respond(unread)
                    self.close_connection = True
                    return
                body = self.rfile.read(int(self.headers["Content-Length"]))
                path, _, query = self.path.partition("?")
                headers = {name.lower(): value for name, value in self.headers.items()}
                reply = server.answer(Request(path, query, headers, json.loads(body)))
                if reply.close:
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                self.respond(reply)

            def respond(self, reply: Reply) -> None:
                text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
                content = text.encode()
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                return

        return Handler


def problem(status: int, title: str, detail: str = "", **members: object) -> Reply:
    """A problem document (RFC 9457)."""
    document = {"type": f"/problems/{status}", "title": title, "status": status, "detail": detail}
    return Reply(
        status, {**document, **members}, headers={"Content-Type": "application/problem+json"}
    )
