import json
from collections.abc import Callable

import httpx
import pytest

from cli.importing.records import Record, RecordKind
from cli.importing.sending import (
    ATTEMPTS,
    BATCH_BYTES,
    BATCH_RECORDS,
    LONGEST_PAUSE_S,
    Outbox,
    ServiceUnavailableError,
    Tally,
)

Answer = Callable[[httpx.Request], httpx.Response]
ALL_IN = {"accepted": 1, "duplicates": 0, "rejected": []}


def record(number: int, *, derived: bool = False, **fields: object) -> Record:
    body: dict[str, object] = {"turn_id": f"t{number}", "output": "", **fields}
    return Record(RecordKind.TURN, body, "file", number, derived)


def send(answer: Answer, *records: Record) -> tuple[Tally, list[float]]:
    """Sends the records to a service that answers so; gives the tally and the pauses made."""
    tally, pauses = Tally(), list[float]()
    transport = httpx.MockTransport(answer)
    with httpx.Client(transport=transport, base_url="http://doxa") as client:
        outbox = Outbox(client, RecordKind.TURN, tally, pauses.append)
        for one in records:
            outbox.add(one)
        outbox.flush()
    return tally, pauses


def accept(request: httpx.Request) -> httpx.Response:
    count = len(json.loads(request.content))
    return httpx.Response(200, json={"accepted": count, "duplicates": 0, "rejected": []})


def test_batches_keep_both_limits() -> None:
    sizes: list[tuple[int, int]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sizes.append((len(json.loads(request.content)), len(request.content)))
        return accept(request)

    many = [record(number) for number in range(BATCH_RECORDS + 1)]
    large = [record(number, output="x" * (BATCH_BYTES // 3)) for number in range(4)]
    tally, _ = send(answer, *many)
    assert [count for count, _ in sizes] == [BATCH_RECORDS, 1]
    send(answer, *large)
    assert [count for count, _ in sizes[2:]] == [2, 2]
    assert all(size <= BATCH_BYTES + BATCH_RECORDS for _, size in sizes)
    assert tally.accepted == BATCH_RECORDS + 1


def test_nothing_is_posted_for_nothing() -> None:
    tally, _ = send(lambda request: pytest.fail(str(request.url)))
    assert tally == Tally()


def test_a_rejection_finds_its_line() -> None:
    rejected = [{"index": 1, "pointer": "/ts", "reason": "has no offset"}]
    answer = {"accepted": 2, "duplicates": 0, "rejected": rejected}
    tally, _ = send(lambda _: httpx.Response(200, json=answer), *map(record, (10, 11, 12)))
    assert (tally.accepted, tally.rejected) == (2, 1)
    assert [str(one) for one in tally.problems] == ["file:11: /ts: has no offset"]


def test_a_clash_over_an_id_of_our_own_making_means_it_is_there_already() -> None:
    rejected = [{"index": n, "pointer": "/turn_id", "reason": "is taken"} for n in (0, 1)]
    answer = {"accepted": 0, "duplicates": 0, "rejected": rejected}
    tally, _ = send(lambda _: httpx.Response(200, json=answer), record(1, derived=True), record(2))
    assert (tally.kept, tally.rejected) == (1, 1)
    assert [one.line for one in tally.problems] == [2]


def test_several_faults_of_one_item_count_it_once() -> None:
    rejected = [{"index": 0, "pointer": p, "reason": "is wrong"} for p in ("/ts", "/output")]
    answer = {"accepted": 0, "duplicates": 0, "rejected": rejected}
    tally, _ = send(lambda _: httpx.Response(200, json=answer), record(1))
    assert tally.rejected == 1


@pytest.mark.parametrize("status", [409, 422])
def test_items_named_by_a_problem_are_left_out_and_the_rest_is_sent_again(status: int) -> None:
    posted: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        posted.append(len(json.loads(request.content)))
        if len(posted) > 1:
            return accept(request)
        errors = [{"pointer": "/1/turn_id", "reason": "is taken"}]
        return httpx.Response(status, json={"title": "Refused", "errors": errors})

    tally, _ = send(answer, *map(record, (1, 2, 3)))
    assert posted == [3, 2]
    assert (tally.accepted, tally.rejected) == (2, 1)
    assert str(tally.problems[0]) == "file:2: /turn_id: is taken"


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_batch_refused_without_names_is_halved_until_the_culprit_stands_alone(
    status: int,
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if b"poison" in request.content:
            return httpx.Response(status, json={"title": "Refused", "detail": "too deep"})
        return accept(request)

    records = [record(number, output="poison" if number == 5 else "") for number in range(8)]
    tally, _ = send(answer, *records)
    assert (tally.accepted, tally.rejected) == (7, 1)
    assert str(tally.problems[0]) == f"file:5: answered {status}: Refused; too deep"


def test_a_busy_service_is_waited_for_as_long_as_it_says() -> None:
    answers = [
        httpx.Response(429, headers={"Retry-After": "7"}),
        httpx.Response(503, headers={"Retry-After": "86400"}),
        httpx.Response(503, headers={"Retry-After": "Mon, 01 Jan 2001 00:00:00 GMT"}),
        httpx.Response(503, headers={"Retry-After": "soon"}),
        httpx.Response(200, json=ALL_IN),
    ]
    tally, pauses = send(lambda _: answers.pop(0), record(1))
    assert tally.accepted == 1
    assert pauses == [7.0, LONGEST_PAUSE_S, 0.0, 8.0]


def test_a_service_that_stays_busy_is_given_up() -> None:
    pauses: list[float] = []
    transport = httpx.MockTransport(lambda _: httpx.Response(503, json={"title": "Full disk"}))
    with httpx.Client(transport=transport, base_url="http://doxa") as client:
        outbox = Outbox(client, RecordKind.TURN, Tally(), pauses.append)
        outbox.add(record(1))
        with pytest.raises(ServiceUnavailableError, match="Full disk, also at attempt"):
            outbox.flush()
    assert len(pauses) == ATTEMPTS - 1


def test_a_connection_that_breaks_is_tried_again() -> None:
    failures: list[Exception] = [httpx.ReadError("gone"), httpx.ReadTimeout("slow")]

    def answer(_: httpx.Request) -> httpx.Response:
        if failures:
            raise failures.pop()
        return httpx.Response(200, json=ALL_IN)

    tally, pauses = send(answer, record(1))
    assert (tally.accepted, pauses) == (1, [1.0, 2.0])


def test_a_service_that_is_not_there_is_not_waited_for() -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    with pytest.raises(ServiceUnavailableError, match="doxa serve"):
        send(answer, record(1))


@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_an_answer_about_the_caller_ends_the_import(status: int) -> None:
    with pytest.raises(ServiceUnavailableError, match=f"answered {status}: Key unknown"):
        send(lambda _: httpx.Response(status, json={"title": "Key unknown"}), record(1))


@pytest.mark.parametrize("answer", ["<html>", '["x"]', '{"ok": true}'])
def test_somebody_else_s_service_is_noticed(answer: str) -> None:
    with pytest.raises(ServiceUnavailableError, match="does not answer as Doxa does"):
        send(lambda _: httpx.Response(200, text=answer), record(1))


def test_a_number_that_json_cannot_say_stays_behind_alone() -> None:
    tally, _ = send(accept, record(1), record(2, cost_usd=float("inf")), record(3))
    assert (tally.accepted, tally.bad) == (2, 1)
    assert str(tally.problems[0]) == "file:2: holds a number that JSON cannot express"
