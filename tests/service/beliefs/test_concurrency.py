"""Several processes move one ledger: never two heads, never a lost write, on both databases."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from service.db.database import Database
from service.models import Belief
from service.settings import Settings
from tests.processes import serving
from tests.service.factories import AGENT

ROUNDS = 8


@pytest.fixture
def clients(settings: Settings, database_url: str) -> Iterator[list[httpx.Client]]:
    """One client each of two processes over one database."""
    given = {"data_dir": str(settings.data_dir), "database_url": database_url}
    with ExitStack() as stack:
        services = [stack.enter_context(serving("--no-auditor", **given)) for _ in range(2)]
        yield [
            stack.enter_context(httpx.Client(base_url=one.url, trust_env=False, timeout=30))
            for one in services
        ]


def at_once(calls: list[Callable[[], httpx.Response]]) -> list[httpx.Response]:
    """The answers of calls that begin together, in their order."""
    gate = threading.Barrier(len(calls))
    answers: dict[int, httpx.Response] = {}

    def run(place: int, call: Callable[[], httpx.Response]) -> None:
        gate.wait()
        answers[place] = call()

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [answers[place] for place in range(len(calls))]


def belief(name: str, **fields: Any) -> dict[str, Any]:
    return {"agent_id": AGENT, "belief_id": name, "label": "infer", "content": name} | fields


def post(client: httpx.Client, path: str, body: Any) -> Callable[[], httpx.Response]:
    return lambda: client.post(f"/v1/beliefs{path}", json=body)


def test_two_processes_move_one_ledger(database: Database, clients: list[httpx.Client]) -> None:
    clients[0].post("/v1/beliefs", json=belief("head")).raise_for_status()
    _one_wins_and_the_other_learns_the_head(clients)
    _batches_in_opposite_order_do_not_block_each_other(clients)
    _no_evidence_is_lost(clients)
    with database.read() as session:
        rows = session.execute(select(Belief.belief_id, Belief.status, Belief.superseded_by)).all()
    heads = [row.belief_id for row in rows if row.status == "active" and "head" in row.belief_id]
    assert len(heads) == 1
    assert sum(row.superseded_by is not None for row in rows) == ROUNDS


def _one_wins_and_the_other_learns_the_head(clients: list[httpx.Client]) -> None:
    current = "head"
    for number in range(ROUNDS):
        names = [f"head {number} by {place}" for place in range(2)]
        answers = at_once(
            [
                post(client, f"/{current}/supersede", belief(name))
                for client, name in zip(clients, names, strict=True)
            ]
        )
        assert sorted(answer.status_code for answer in answers) == [200, 409]
        place = next(n for n, answer in enumerate(answers) if answer.status_code == 200)
        loser = answers[1 - place].json()
        assert (loser["rule"], loser["head"]) == ("superseded", names[place])
        current = names[place]


def _batches_in_opposite_order_do_not_block_each_other(clients: list[httpx.Client]) -> None:
    names = [f"b{n}" for n in range(20)]
    for number in range(ROUNDS):

        def batch(place: int, order: list[str], number: int = number) -> list[dict[str, Any]]:
            return [
                belief(name, evidence=[f"e{number}-{place}"]) | {"agent_id": agent}
                for name in order
                for agent in (("x", "y") if place else ("y", "x"))
            ]

        answers = at_once(
            [
                post(clients[0], "", batch(0, names)),
                post(clients[1], "", batch(1, names[::-1])),
                post(clients[0], "", batch(2, names[::-1])),
            ]
        )
        assert [answer.status_code for answer in answers] == [200] * 3


def _no_evidence_is_lost(clients: list[httpx.Client]) -> None:
    for agent in "xy":
        answer = clients[0].get("/v1/beliefs/b7", params={"agent": agent}).json()
        expected = {f"e{number}-{place}" for number in range(ROUNDS) for place in range(3)}
        assert set(answer["belief"]["evidence"]) == expected
        assert len(answer["events"]) == ROUNDS * 3
