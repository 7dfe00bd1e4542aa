"""A real service whose clock is moved by hand, and the calls on its queue of contradictions."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

import httpx
from fastapi import FastAPI

from cli.server import serving_in_background
from service.app import create_app
from service.settings import Settings
from service.upkeep import Upkeep
from tests.service.factories import AGENT, NOW

OWNED = {"owner": "day", "next_action": "test"}


@dataclass(slots=True)
class Clock:
    """Microseconds since 1970 UTC, moved by hand."""

    now: int = NOW

    def __call__(self) -> int:
        return self.now


@dataclass(slots=True)
class Queue:
    """One running service."""

    client: httpx.Client
    clock: Clock
    app: FastAPI
    headers: dict[str, str] = field(default_factory=dict)

    def post(self, path: str, **body: Any) -> httpx.Response:
        """A write of agent `piper`, unless another is named."""
        told = {"agent_id": AGENT} | body
        return self.client.post(path, json=told, headers=self.headers)

    def open(self, *beliefs: str, **body: Any) -> httpx.Response:
        """Opens a contradiction between some beliefs."""
        return self.post("/v1/contradictions", beliefs=list(beliefs or ("b1", "b2")), **body)

    def move(self, contradiction_id: str, state: str, **body: Any) -> httpx.Response:
        """Moves a contradiction."""
        path = f"/v1/contradictions/{quote(contradiction_id, safe='')}/transitions"
        return self.post(path, state=state, **body)

    def read(self, path: str, **query: Any) -> Any:
        """What a path answers."""
        answer = self.client.get(path, params={"agent": AGENT} | query, headers=self.headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def contradiction(self, contradiction_id: str) -> dict[str, Any]:
        """A contradiction as it stands."""
        found = self.read(f"/v1/contradictions/{quote(contradiction_id, safe='')}")
        row: dict[str, Any] = found["contradiction"]
        return row

    def events(self, event: str, **query: Any) -> list[dict[str, Any]]:
        """The recorded events of a type, newest first."""
        items: list[dict[str, Any]] = self.read("/v1/events", event=event, **query)["items"]
        return items

    def upkeep(self) -> Upkeep:
        """What the service does by the clock; nothing runs unless it is called."""
        state = self.app.state.doxa
        return Upkeep(state.database, self.app.state.writer, clock=self.clock)


@contextmanager
def a_queue(settings: Settings, clock: Clock | None = None) -> Iterator[Queue]:
    """A service over the settings' database."""
    clock = clock or Clock()
    app = create_app(settings, clock=clock)
    with (
        serving_in_background(app, settings) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=30) as client,
    ):
        # The framework makes its routes when they are first asked for; two services of one process
        # must not do so at once, as it silences warnings for the whole process meanwhile.
        assert client.get("/nowhere").status_code == 404
        yield Queue(client, clock, app)


def brought_to(queue: Queue, state: str, contradiction_id: str) -> None:
    """Opens a contradiction between beliefs of its own and brings it to a state."""
    sides = [f"{contradiction_id}-left", f"{contradiction_id}-right"]
    opened = queue.open(*sides, contradiction_id=contradiction_id)
    assert opened.status_code == 201, opened.text
    if state in ("investigating", "resolved", "scoped"):
        assert queue.move(contradiction_id, "investigating", **OWNED).status_code == 200
    if state not in ("candidate", "investigating"):
        moved = queue.move(contradiction_id, state, **content_of(state, sides))
        assert moved.status_code == 200, moved.text


def content_of(state: str, sides: list[str]) -> dict[str, Any]:
    """What a move to a state must say."""
    content: dict[str, dict[str, Any]] = {
        "candidate": {},
        "investigating": {"owner": "night", "next_action": "ask"},
        "resolved": {"kept": sides[0], "given_up": sides[1:], "evidence": ["e1"]},
        "scoped": {"scopes": {side: f"where {side} holds" for side in sides}},
        "expired": {},
    }
    return content[state]
