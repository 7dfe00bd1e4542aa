"""A ledger over HTTP, and what it is asked and told in the tests."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from sqlalchemy import select

from service.db.database import Database
from service.models import CogEvent
from service.settings import Settings
from tests.service.factories import AGENT, a_client


@dataclass(frozen=True, slots=True)
class LedgerClient:
    """The calls of the ledger; an answer that is not the expected one shows its body."""

    http: httpx.Client
    database: Database

    def call(self, path: str, body: Any, status: int = 200, *, key: str | None = None) -> Any:
        headers = {} if key is None else {"Idempotency-Key": key}
        answer = self.http.post(f"/v1/beliefs{path}", json=body, headers=headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    def write(self, belief_id: str, label: str | None = "infer", **fields: Any) -> Any:
        body = {"agent_id": AGENT, "belief_id": belief_id, "label": label, "worker": "day"}
        content = {"content": f"what {belief_id} says", "category": "system state"}
        status = fields.pop("status", 200)
        return self.call("", {**body, **content, **fields}, status)

    def move(self, belief_id: str, name: str, /, **fields: Any) -> Any:
        status = fields.pop("status", 200)
        path = f"/{quote(belief_id, safe='')}/{name}"
        return self.call(path, {"agent_id": AGENT, **fields}, status)

    def supersede(self, belief_id: str, by: str, /, **fields: Any) -> Any:
        given = {"belief_id": by, "label": "infer", "content": f"what {by} says"} | fields
        return self.move(belief_id, "supersede", worker="day", **given)

    def read(self, belief_id: str) -> Any:
        answer = self.http.get(f"/v1/beliefs/{quote(belief_id, safe='')}", params={"agent": AGENT})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def belief(self, belief_id: str) -> Any:
        return self.read(belief_id)["belief"]

    def events(self, log: str = "agent") -> list[Any]:
        """(event, belief_id, detail) of all events of a log, in their order."""
        with self.database.read() as session:
            rows = session.execute(
                select(CogEvent.event, CogEvent.belief_id, CogEvent.detail)
                .where(CogEvent.log == log)
                .order_by(CogEvent.seq)
            )
            return [(event, name, json.loads(detail or "{}")) for event, name, detail in rows]

    def refusals(self) -> list[tuple[str, str]]:
        """(rule, belief_id) of what was recorded as refused."""
        return [
            (detail["rule"], name)
            for event, name, detail in self.events("audit")
            if event == "ledger.refused"
        ]


@pytest.fixture
def ledger(settings: Settings, database: Database) -> Iterator[LedgerClient]:
    """The ledger of a real server, on each database."""
    with a_client(settings) as client:
        yield LedgerClient(client, database)
