"""The queue against a small model of it, by random calls, on both databases."""

import itertools
from typing import Any

from hypothesis import HealthCheck, strategies
from hypothesis import settings as profile
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from service.instants import HOUR, format_instant
from service.settings import Settings
from tests.service.contradictions.queue import Queue, a_queue

STATES = ("candidate", "investigating", "resolved", "scoped", "expired")
NEXT = {
    "candidate": ("investigating", "expired"),
    "investigating": ("investigating", "resolved", "scoped", "expired"),
}
PAIRS = tuple(itertools.permutations(("b1", "b2", "b3"), 2))
AGENTS = itertools.count()


class Machine(RuleBasedStateMachine):
    """Each run is an agent of its own on one running service; `found` is the model."""

    queue: Queue

    @initialize()
    def begin(self) -> None:
        self.agent = f"agent-{next(AGENTS)}"
        self.found: list[dict[str, Any]] = []
        self.refused = 0

    def _call(self, path: str, **body: Any) -> Any:
        return self.queue.post(path, agent_id=self.agent, **body)

    def _pass_time(self) -> None:
        for one in self.found:
            ends = one["ends"]
            if one["state"] in NEXT and ends is not None and ends <= self.queue.clock.now:
                one["state"], one["closed_at"] = "expired", ends

    @rule(pair=strategies.sampled_from(PAIRS), hours=strategies.sampled_from((None, 1, 5)))
    def open(self, pair: tuple[str, str], hours: int | None) -> None:
        self._pass_time()
        ttl = {} if hours is None else {"ttl": f"{hours}h"}
        answer = self._call("/v1/contradictions", beliefs=list(pair), **ttl)
        same = [o for o in self.found if o["pair"] == set(pair) and o["state"] in NEXT]
        assert answer.status_code == (200 if same else 201)
        identity = answer.json()["contradiction_id"]
        if same:
            assert [o["id"] for o in same] == [identity]
            return
        now = self.queue.clock.now
        ends = None if hours is None else now + hours * HOUR
        self.found.append(
            {"id": identity, "pair": set(pair), "state": "candidate", "owner": None,
             "ends": ends, "closed_at": None, "tokens": 0}
        )  # fmt: skip

    @rule(
        which=strategies.integers(0, 3),
        state=strategies.sampled_from(STATES),
        owner=strategies.sampled_from(("day", "night")),
        expected=strategies.sampled_from((None, None, *STATES)),
    )
    def move(self, which: int, state: str, owner: str, expected: str | None) -> None:
        if not self.found:
            return
        self._pass_time()
        one = self.found[which % len(self.found)]
        sides = sorted(one["pair"])
        body: dict[str, Any] = {
            "investigating": {"owner": owner, "next_action": "ask"},
            "resolved": {"kept": sides[0], "given_up": sides[1:]},
            "scoped": {"scopes": dict.fromkeys(sides, "somewhere")},
        }.get(state, {})
        if expected is not None:
            body["expected_state"] = expected
        path = f"/v1/contradictions/{one['id']}/transitions"
        answer = self._call(path, state=state, cost_tokens=1, **body)
        is_handed_to_itself = one["state"] == state and owner == one["owner"]
        may = (
            state in NEXT.get(one["state"], ())
            and not is_handed_to_itself
            and expected in (None, one["state"])
        )
        assert answer.status_code == (200 if may else 409), answer.text
        if not may:
            self.refused += 1
            assert answer.json()["state"] == one["state"]
            return
        one["state"], one["tokens"] = state, one["tokens"] + 1
        if state == "investigating":
            one["owner"] = owner
        else:
            one["closed_at"] = self.queue.clock.now

    @rule(hours=strategies.integers(0, 3), is_noticed=strategies.booleans())
    def wait(self, hours: int, is_noticed: bool) -> None:  # noqa: FBT001
        self.queue.clock.now += hours * HOUR + 1
        if is_noticed:
            self.queue.upkeep().expire_due()

    @invariant()
    def it_is_as_the_model_says(self) -> None:
        if not getattr(self, "found", None):
            return
        self._pass_time()
        self.queue.upkeep().expire_due()
        items = self.queue.read("/v1/contradictions", agent=self.agent)["items"]
        told = {
            i["contradiction_id"]: (i["state"], i["owner"], i["closed_at"], i["cost_tokens"])
            for i in items
        }
        assert told == {
            o["id"]: (
                o["state"],
                o["owner"],
                None if o["closed_at"] is None else format_instant(o["closed_at"]),
                o["tokens"],
            )
            for o in self.found
        }

    def teardown(self) -> None:
        if self.found:
            kept = self.queue.events("ledger.refused", agent=self.agent, limit=1000)
            assert len(kept) == self.refused


def test_the_queue_does_what_a_small_model_of_it_does(settings: Settings) -> None:
    with a_queue(settings) as queue:
        machine = type("RunningMachine", (Machine,), {"queue": queue})
        run_machine(machine, settings=PROFILE)


PROFILE = profile(
    max_examples=30,
    stateful_step_count=14,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
