"""Several services move the same contradiction at once, on both databases."""

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import httpx

from service.settings import Settings
from tests.service.contradictions.queue import OWNED, Queue, a_queue, brought_to, content_of

ROUNDS = 6


def at_once(calls: list[Callable[[], httpx.Response]]) -> list[httpx.Response]:
    """The answers of calls that all begin at the same moment."""
    barrier = threading.Barrier(len(calls))
    answers: list[httpx.Response] = []

    def run(call: Callable[[], httpx.Response]) -> None:
        barrier.wait()
        answers.append(call())

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == len(calls)
    return answers


def moves(queues: list[Queue], name: str, *wanted: tuple[str, dict[str, Any]]) -> list[Any]:
    return [
        lambda queue=queue, state=state, body=body: queue.move(name, state, **body)
        for queue in queues
        for state, body in wanted
    ]


def test_of_moves_at_once_one_wins_and_the_others_are_told_the_state(settings: Settings) -> None:
    with a_queue(settings) as first, a_queue(settings) as second:
        queues = [first, second]
        for number in range(ROUNDS):
            name = f"c{number}"
            brought_to(first, "investigating", name)
            sides = [f"{name}-left", f"{name}-right"]
            wanted = [(s, content_of(s, sides)) for s in ("resolved", "scoped", "expired")]
            answers = at_once(moves(queues, name, *wanted))
            assert Counter(a.status_code for a in answers) == {200: 1, 409: 5}
            won = next(a.json() for a in answers if a.status_code == 200)
            told = {a.json()["state"] for a in answers if a.status_code == 409}
            assert told == {won["state"]} == {first.contradiction(name)["state"]}
            events = first.read(f"/v1/contradictions/{name}")["events"]
            closing = [e for e in events if e["event"].split(".")[1] in told | {"expired"}]
            assert len(closing) == 1


def test_who_says_what_was_seen_takes_a_contradiction_from_nobody(settings: Settings) -> None:
    with a_queue(settings) as first, a_queue(settings) as second:
        for number in range(ROUNDS):
            name = f"c{number}"
            brought_to(first, "candidate", name)
            body = {"next_action": "ask", "expected_state": "candidate"}
            wanted = [("investigating", {"owner": f"owner {n}", **body}) for n in range(3)]
            answers = at_once(moves([first, second], name, *wanted))
            assert Counter(a.status_code for a in answers) == {200: 1, 409: 5}
            won = next(a.json() for a in answers if a.status_code == 200)
            assert first.contradiction(name)["owner"] == won["owner"]


def test_both_sides_of_a_pair_opened_at_once_are_one(settings: Settings) -> None:
    with a_queue(settings) as first, a_queue(settings) as second:
        for number in range(ROUNDS):
            left, right = f"{number}-left", f"{number}-right"
            answers = at_once(
                [
                    lambda q=queue, m=members: q.open(*m)  # type: ignore[misc]
                    for queue in (first, second)
                    for members in ((left, right), (right, left))
                ]
            )
            assert Counter(a.status_code for a in answers) == {201: 1, 200: 3}
            assert len({a.json()["contradiction_id"] for a in answers}) == 1


def test_a_version_that_has_passed_is_refused(settings: Settings) -> None:
    with a_queue(settings) as queue:
        brought_to(queue, "investigating", "c1")
        seen = queue.contradiction("c1")["version"]
        body = {**OWNED, "expected_version": seen}
        assert queue.move("c1", "investigating", **body | {"owner": "night"}).status_code == 200
        late = queue.move("c1", "investigating", **body | {"owner": "scanner"})
        assert (late.status_code, late.json()["owner"]) == (409, "night")
