"""Load generators, run in a process of their own so that they do not share the service's lock.

Usage: python -m bench.load arrays URL CONNECTIONS < bodies     (length-prefixed bodies)
       python -m bench.load singles URL CLIENTS SECONDS PATH [AGENT]
Prints one JSON object: how many items or requests, in how many seconds, and how many failed.
"""

import asyncio
import http.client
import itertools
import json
import struct
import sys
import threading
import time
from urllib.parse import urlsplit

JSON_HEADERS = {"Content-Type": "application/json"}


def read_bodies() -> list[bytes]:
    """Bodies from standard input, each behind its length."""
    bodies = []
    while header := sys.stdin.buffer.read(4):
        bodies.append(sys.stdin.buffer.read(struct.unpack("!I", header)[0]))
    return bodies


def post_arrays(url: str, connections: int, bodies: list[bytes]) -> dict[str, float]:
    """Posts each body once, `connections` at a time."""
    place = urlsplit(url)
    queue = iter(bodies)
    lock = threading.Lock()
    failures = 0

    def work() -> None:
        nonlocal failures
        connection = http.client.HTTPConnection(place.hostname or "", place.port)
        while True:
            with lock:
                body = next(queue, None)
            if body is None:
                connection.close()
                return
            connection.request("POST", "/v1/events", body, JSON_HEADERS)
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                print(text[:500], file=sys.stderr)
                with lock:
                    failures += 1

    threads = [threading.Thread(target=work) for _ in range(connections)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"seconds": time.perf_counter() - began, "failures": failures}


class Clients:
    """Keep-alive clients that each send the next request when the last was answered."""

    def __init__(self, url: str, path: str, run: str) -> None:
        place = urlsplit(url)
        self._host, self._port = place.hostname or "", place.port or 80
        self._path = path
        self._numbers = itertools.count()
        self._run = run
        self.answered = 0
        self.failures = 0

    def _request(self) -> bytes:
        number = next(self._numbers)
        body = json.dumps(
            {
                "agent_id": "bench",
                "event_id": f"{self._run}-{number:012d}",
                "ts": "2026-10-03T12:00:00Z",
                "event": "evidence.retrieved",
                "session_id": f"s{number // 50}",
                "turn_id": f"t{number // 8}",
                "worker": "day",
                "cost_tokens": 220,
                "detail": {"tool": "sqlite", "query": "select * from jobs where id = 1 and "
                           "status = 'failed' order by started_at desc", "rows": 3,
                           "note": "the nightly backup job was skipped on the second host " * 2},
            }
        ).encode()  # fmt: skip
        head = (
            f"POST {self._path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    async def client(self, until: float) -> None:
        """One client, until the clock says so."""
        reader, writer = await asyncio.open_connection(self._host, self._port)
        while time.perf_counter() < until:
            writer.write(self._request())
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            self.answered += 1
            self.failures += not head.startswith(b"HTTP/1.1 200")
        writer.close()


async def post_singles(
    url: str, clients: int, seconds: float, path: str, run: str
) -> dict[str, float]:
    """Requests that `clients` clients had answered within some seconds."""
    load = Clients(url, path, run)
    began = time.perf_counter()
    await asyncio.gather(*(load.client(began + seconds) for _ in range(clients)))
    took = time.perf_counter() - began
    return {"requests": load.answered, "seconds": took, "failures": load.failures}


def main() -> None:
    """Entry point."""
    kind, url, count, *rest = sys.argv[1:]
    if kind == "arrays":
        result = post_arrays(url, int(count), read_bodies())
    else:
        result = asyncio.run(post_singles(url, int(count), float(rest[0]), rest[1], rest[2]))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
