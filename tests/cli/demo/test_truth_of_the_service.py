"""Every ratio that the service answers against the truth of the simulator, on both databases."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from auditor.days import days_with_turns
from auditor.method import builtin_method
from auditor.run import Auditor, RunOptions
from cli.demo import Ratio, Simulation, TrueWindow, Truth, simulate
from cli.server import serving_in_background
from service.agents.queries import agent_called, zone_of
from service.app import create_app, system_clock
from service.db.database import Database
from service.settings import Settings

UNTIL = datetime(2026, 9, 28, tzinfo=UTC)
AGENT = "demo"
EVERY_TURN = RunOptions(sample_size=10_000)
# The windows: five weeks, and the last 30 days.
WINDOWS = 6


@dataclass(frozen=True)
class Served:
    """A service that holds a whole simulation, each of its turns audited."""

    client: httpx.Client
    truth: Truth
    turns: int
    drawn: int


def send(client: httpx.Client, simulation: Simulation) -> int:
    """Send all of it; the number of turns."""
    turns = 0
    for batch in simulation.batches():
        for path, items in (("/v1/turns", batch.turns), ("/v1/events", batch.events)):
            if items:
                answer = client.post(path, json=items)
                assert answer.status_code == httpx.codes.OK, answer.text
                assert answer.json()["accepted"] == len(items)
        turns += len(batch.turns)
    return turns


def audit_every_day(database: Database) -> int:
    """The number of turns read."""
    with database.read() as session:
        zone = zone_of(agent_called(session, AGENT))
        days = list(days_with_turns(session, AGENT, zone))
    auditor = Auditor(database, builtin_method(), system_clock, 1)
    runs = [auditor.audit_day(AGENT, day, EVERY_TURN).audit for day in days]
    assert {run.state for run in runs} == {"done"}
    return sum(run.population for run in runs)


@pytest.fixture
def served(settings: Settings, database: Database) -> Iterator[Served]:
    simulation = simulate(7, agent=AGENT, until=UNTIL, events=6_000)
    with (
        serving_in_background(create_app(settings), settings) as url,
        httpx.Client(base_url=url, trust_env=False, timeout=60) as client,
    ):
        turns = send(client, simulation)
        drawn = audit_every_day(database)
        yield Served(client, simulation.truth, turns, drawn)


def answered(client: httpx.Client, window: TrueWindow) -> dict[str, Any]:
    params = {
        "agent": AGENT,
        "from": window.start.isoformat(),
        "until": window.until.isoformat(),
    }
    answer = client.get("/v1/ratios", params=params)
    assert answer.status_code == httpx.codes.OK, answer.text
    figures: dict[str, Any] = answer.json()["ratios"]
    return figures


def differences(window: TrueWindow, figures: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Ratios whose counts are not the true ones: name, what was told, what is true."""
    found: list[tuple[Any, ...]] = []
    for ratio, true in window.ratios.items():
        if ratio is Ratio.UNSUPPORTED_ASSERTIONS:
            continue
        figure = figures[ratio]
        told = (figure["numerator"], figure["denominator"], figure["value"])
        expected = (true.numerator, true.denominator, pytest.approx(true.value))
        if told != expected:
            found.append((window.start.date(), ratio.value, told, expected))
    return found


def test_the_service_answers_the_true_counts_of_every_ratio_in_every_window(
    served: Served,
) -> None:
    assert served.drawn == served.turns
    assert len(served.truth.windows) == WINDOWS
    wrong: list[tuple[Any, ...]] = []
    for window in served.truth.windows:
        figures = answered(served.client, window)
        assert figures.keys() == set(Ratio)
        wrong += differences(window, figures)
        support = figures[Ratio.UNSUPPORTED_ASSERTIONS]
        assert (support["status"], support["value"]) == ("unavailable", None)
        assert support["reason"] == (
            "the built-in auditor cannot tell an inferred claim from an unsupported one"
        )
    assert wrong == []
