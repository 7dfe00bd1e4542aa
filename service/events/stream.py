"""Server-sent events: what arrives, as it arrives, resumable at any place."""

import asyncio
import re
from collections.abc import AsyncIterator

import msgspec

from service.api.state import Stopping
from service.db.database import Database
from service.errors import Fault, Malformed
from service.events.queries import following_events, log_sizes
from service.events.schemas import EventOut
from service.events.vocabulary import Log

PAGE = 500
POLL_SECONDS = 0.25
HEARTBEAT_SECONDS = 15.0
_PLACE = re.compile(r"(\d{1,18})\.(\d{1,18})", re.ASCII)


def format_place(sizes: dict[str, int]) -> str:
    """Two log lengths as one text, agent first: the form of `as_of` and of stream ids."""
    return f"{sizes[Log.AGENT]}.{sizes[Log.AUDIT]}"


def parse_place(text: str, pointer: str) -> dict[str, int]:
    """The two log lengths in a text such as "1234.56"; Malformed for any other."""
    found = _PLACE.fullmatch(text)
    if found is None:
        fault = Fault(pointer, "is no place in the record: it looks like 1234.56")
        raise Malformed(f"{pointer} {fault.reason}.", errors=(fault,))
    return {Log.AGENT: int(found[1]), Log.AUDIT: int(found[2])}


class Follower:
    """Follows one agent's record and turns each event into a message."""

    def __init__(
        self,
        database: Database,
        stopping: Stopping,
        agent_id: str,
        logs: tuple[Log, ...],
        wanted: frozenset[str],
    ) -> None:
        self._database = database
        self._stopping = stopping
        self._agent_id = agent_id
        self._logs = logs
        self._wanted = wanted

    async def messages(self, after: dict[str, int] | None) -> AsyncIterator[bytes]:
        """Messages after a place (without one: from now on), until the service stops."""
        place = dict(after) if after is not None else await asyncio.to_thread(self._now)
        yield b"retry: 1000\n\n"
        quiet = 0.0
        while not self._stopping.requested:
            page = await asyncio.to_thread(self._page, place)
            for event in page:
                place[event.log] = event.seq
                if not self._wanted or event.event in self._wanted:
                    yield _message(event, place)
            if len(page) == PAGE:
                continue
            await asyncio.sleep(POLL_SECONDS)
            quiet = 0.0 if page else quiet + POLL_SECONDS
            if quiet >= HEARTBEAT_SECONDS:
                quiet = 0.0
                yield b": still here\n\n"

    def _now(self) -> dict[str, int]:
        with self._database.read() as session:
            return log_sizes(session, self._agent_id)

    def _page(self, place: dict[str, int]) -> list[EventOut]:
        with self._database.read() as session:
            return following_events(session, self._agent_id, place, self._logs, limit=PAGE)


def _message(event: EventOut, place: dict[str, int]) -> bytes:
    identity = format_place(place).encode()
    # Raw line breaks cannot occur inside: JSON escapes them in texts.
    return b"id: %b\nevent: event\ndata: %b\n\n" % (identity, msgspec.json.encode(event))
