from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx
import pytest
from doxa_client import Doxa, DoxaError, Rejection
from doxa_client.delivery import ATTEMPTS, BACKOFF_START_S, read_retry_after

from tests.client.recording_server import RecordingServer, Reply, Request, problem


@pytest.mark.parametrize(
    "trouble",
    [Reply(503), Reply(429), Reply(500), Reply(502, "<html>"), Reply(close=True)],
    ids=["503", "429", "500", "502 page", "closed connection"],
)
def test_a_passing_trouble_is_tried_again(
    server: RecordingServer, pauses: list[float], trouble: Reply
) -> None:
    server.plan(trouble, trouble)
    with Doxa(server.url, sleep=pauses.append) as doxa:
        event_id = doxa.emit("x.note")
        result = doxa.flush()
    assert (result.accepted, result.unsent, result.unsent_reason) == (1, 0, None)
    assert [request.items[0]["event_id"] for request in server.requests] == [event_id] * 3
    assert len(pauses) == 2


def test_an_answer_lost_after_the_commit_does_not_double_the_event(
    server: RecordingServer, pauses: list[float]
) -> None:
    server.plan(Reply(close=True, store_first=True))
    with Doxa(server.url, sleep=pauses.append) as doxa:
        doxa.emit("x.note")
        result = doxa.flush()
    assert (result.accepted, result.duplicates) == (0, 1)
    assert len(server.stored) == 1


def test_pauses_grow_under_a_doubling_ceiling_and_attempts_are_bounded(
    server: RecordingServer, pauses: list[float]
) -> None:
    server.judge = lambda request: Reply(503)
    doxa = Doxa(server.url, sleep=pauses.append)
    doxa._buffers._delivery._jitter = lambda: 1.0
    doxa.emit("x.note")
    assert doxa.flush().unsent == 1
    assert len(server.requests) == ATTEMPTS
    assert pauses == [BACKOFF_START_S * 2**attempt for attempt in range(ATTEMPTS - 1)]
    server.judge = lambda request: None
    doxa.close()


def test_pauses_are_jittered(server: RecordingServer, pauses: list[float]) -> None:
    server.plan(*[Reply(503)] * 2 * ATTEMPTS)
    with Doxa(server.url, sleep=pauses.append) as doxa:
        doxa.emit("x.note")
        assert [doxa.flush().unsent, doxa.flush().unsent] == [1, 1]
    assert len(set(pauses)) == len(pauses) == 8
    assert all(0 <= pause <= BACKOFF_START_S * 2 ** (ATTEMPTS - 2) for pause in pauses)


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_in_seconds_is_waited_for_in_full(
    server: RecordingServer, pauses: list[float], status: int
) -> None:
    server.plan(Reply(status, headers={"Retry-After": "30"}))
    with Doxa(server.url, sleep=pauses.append) as doxa:
        doxa.emit("x.note")
        assert doxa.flush().accepted == 1
    assert len(pauses) == 1
    assert 30 <= pauses[0] <= 30 + BACKOFF_START_S


def test_retry_after_as_a_date_is_waited_for(server: RecordingServer, pauses: list[float]) -> None:
    until = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    server.plan(Reply(503, headers={"Retry-After": until}))
    with Doxa(server.url, sleep=pauses.append) as doxa:
        doxa.emit("x.note")
        assert doxa.flush().accepted == 1
    assert 15 <= pauses[0] <= 20 + BACKOFF_START_S


@pytest.mark.parametrize("value", ["soon", "-5", "nan", "1e9", "", "²"])
def test_a_retry_after_that_makes_no_sense_is_ignored(value: str) -> None:
    response = httpx.Response(503, headers=[(b"Retry-After", value.encode("latin-1"))])
    assert read_retry_after(response) is None


def test_a_retry_after_beyond_patience_ends_the_flush_at_once(
    server: RecordingServer, pauses: list[float]
) -> None:
    server.plan(Reply(503, headers={"Retry-After": "3600"}))
    with Doxa(server.url, sleep=pauses.append) as doxa:
        doxa.emit("x.note")
        assert doxa.flush().unsent == 1
        assert pauses == []
        assert doxa.flush().accepted == 1


def test_what_could_not_be_sent_goes_with_the_next_flush_in_order(
    server: RecordingServer, pauses: list[float]
) -> None:
    server.plan(*[Reply(503)] * ATTEMPTS)
    with Doxa(server.url, sleep=pauses.append) as doxa:
        ids = [doxa.emit("x.note"), doxa.emit("x.note")]
        doxa.turn("done", session_id="s1", turn_id="t1")
        first = doxa.flush()
        assert (first.accepted, first.unsent) == (0, 3)
        assert first.unsent_reason is not None
        assert "503" in first.unsent_reason
        ids.append(doxa.emit("x.note"))
        second = doxa.flush()
        assert (second.accepted, second.unsent) == (4, 0)
    assert list(server.stored) == [*ids, "t1"]


def test_a_service_that_is_not_there_leaves_everything_buffered(pauses: list[float]) -> None:
    gone = RecordingServer()
    gone.stop()
    doxa = Doxa(gone.url, sleep=pauses.append)
    doxa.emit("x.note")
    result = doxa.flush()
    assert result.unsent == 1
    assert result.unsent_reason is not None
    assert "ConnectError" in result.unsent_reason
    doxa.close()


def test_a_service_that_never_answers_is_given_up_after_the_timeout(
    server: RecordingServer, pauses: list[float]
) -> None:
    def time_out(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("no answer", request=request)

    doxa = Doxa(server.url, transport=httpx.MockTransport(time_out), sleep=pauses.append)
    doxa.emit("x.note")
    assert "ReadTimeout" in str(doxa.flush().unsent_reason)
    assert len(pauses) == ATTEMPTS - 1
    doxa.close()


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_raises_with_the_problem_and_keeps_the_buffer(
    server: RecordingServer, pauses: list[float], status: int
) -> None:
    server.plan(problem(status, "No such key", "make one with `doxa keys`"))
    with Doxa(server.url, key="old", batch_size=2, sleep=pauses.append) as doxa:
        event_id = doxa.emit("x.note")
        with pytest.raises(DoxaError) as refusal:
            doxa.flush()
        assert (refusal.value.status, refusal.value.title) == (status, "No such key")
        assert refusal.value.detail == "make one with `doxa keys`"
        assert refusal.value.problem_type == f"/problems/{status}"
        assert str(refusal.value) == f"{status} No such key: make one with `doxa keys`"
        assert pauses == []
        doxa.key = "new"
        assert doxa.flush().accepted == 1
    assert server.requests[-1].headers["authorization"] == "Bearer new"
    assert list(server.stored) == [event_id]


def test_a_key_refused_in_mid_run_does_not_stop_the_agent(
    server: RecordingServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.judge = lambda request: (
        problem(401, "Unauthorized") if request.headers["authorization"] == "Bearer old" else None
    )
    with Doxa(server.url, key="old", batch_size=2) as doxa:
        ids = [doxa.emit("x.note") for _ in range(5)]
        assert "401 Unauthorized" in caplog.text
        with pytest.raises(DoxaError):
            doxa.flush()
        doxa.key = "new"
        assert doxa.flush().accepted == 5
    assert list(server.stored) == ids


def test_a_service_that_is_away_is_not_asked_at_every_event(
    server: RecordingServer, pauses: list[float]
) -> None:
    server.judge = lambda request: Reply(503)
    doxa = Doxa(server.url, batch_size=10, sleep=pauses.append)
    for _ in range(35):
        doxa.emit("x.note")
    assert len(server.requests) == 3 * ATTEMPTS
    server.judge = lambda request: None
    assert doxa.flush().accepted == 35
    doxa.close()


def limit_to(count: int) -> Any:
    def judge(request: Request) -> Reply | None:
        too_large = len(request.items) > count
        return problem(413, "Content Too Large", "the limit is 1 MiB") if too_large else None

    return judge


def test_a_batch_that_is_too_large_is_halved_until_it_fits(server: RecordingServer) -> None:
    server.judge = limit_to(3)
    with Doxa(server.url) as doxa:
        ids = [doxa.emit("x.note") for _ in range(20)]
        result = doxa.flush()
    assert (result.accepted, result.rejected, result.unsent) == (20, (), 0)
    assert list(server.stored) == ids
    assert server.sizes[:4] == [20, 10, 5, 2]


def test_one_record_that_is_too_large_is_named_and_stops_no_other(server: RecordingServer) -> None:
    def judge(request: Request) -> Reply | None:
        giant = any(len(item["output"]) > 1_000 for item in request.items)
        return problem(413, "Content Too Large", "the limit is 1 MiB") if giant else None

    server.judge = judge
    with Doxa(server.url) as doxa:
        for number in range(9):
            doxa.turn("x" * (2_000 if number == 4 else 10), session_id="s", turn_id=f"t{number}")
        result = doxa.flush()
    assert result.rejected == (Rejection("t4", "", "413 Content Too Large: the limit is 1 MiB"),)
    assert (result.accepted, result.unsent) == (8, 0)
    assert list(server.stored) == [f"t{number}" for number in range(9) if number != 4]


def test_a_limit_that_answers_before_reading_the_body_is_understood(
    server: RecordingServer, pauses: list[float]
) -> None:
    unread = Reply(413, {"title": "Content Too Large"}, unread=True)
    server.plan(unread)
    with Doxa(server.url, sleep=pauses.append) as doxa:
        for number in range(4):
            doxa.turn("x" * 900_000, session_id="s", turn_id=f"t{number}")
        assert doxa.flush().unsent == 0
    assert sorted(server.stored) == ["t0", "t1", "t2", "t3"]


def test_batches_end_at_a_number_of_bytes_too(server: RecordingServer) -> None:
    with Doxa(server.url) as doxa:
        for _ in range(10):
            doxa.turn("x" * 1_000_000, session_id="s")
        assert doxa.flush().accepted == 10
    assert server.sizes == [4, 4, 2]


@pytest.mark.parametrize("status", [400, 409, 422])
def test_a_body_refused_as_a_whole_loses_only_the_item_at_fault(
    server: RecordingServer, status: int
) -> None:
    def judge(request: Request) -> Reply | None:
        for index, item in enumerate(request.items):
            if item["event"] == "bad.event":
                errors = [{"pointer": f"/{index}/event", "reason": "unknown event"}]
                return problem(status, "Refused", errors=errors)
        return None

    server.judge = judge
    with Doxa(server.url) as doxa:
        ids = [doxa.emit("bad.event" if number == 11 else "x.note") for number in range(16)]
        result = doxa.flush()
    assert result.rejected == (Rejection(ids[11], "/event", "unknown event"),)
    assert (result.accepted, result.unsent) == (15, 0)
    assert list(server.stored) == ids[:11] + ids[12:]


def test_an_event_that_the_key_may_not_say_does_not_hold_up_the_others(
    server: RecordingServer,
) -> None:
    def judge(request: Request) -> Reply | None:
        for index, item in enumerate(request.items):
            if item["event"] == "operator.reported":
                errors = [{"pointer": f"/{index}/event", "reason": "needs the operate scope"}]
                return problem(403, "Forbidden", errors=errors)
        return None

    server.judge = judge
    with Doxa(server.url) as doxa:
        doxa.emit("x.note")
        forbidden = doxa.emit("operator.reported", detail={"text": "wrong"})
        doxa.emit("x.note")
        result = doxa.flush()
    assert result.rejected == (Rejection(forbidden, "/event", "needs the operate scope"),)
    assert (result.accepted, result.unsent) == (2, 0)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(404, "<html>not here</html>"),
        Reply(307, headers={"Location": "https://elsewhere.example/"}),
        Reply(200, "<html>welcome</html>"),
        Reply(200, {"ok": True}),
        Reply(200, {"accepted": 0, "duplicates": 0, "rejected": [{"index": 9, "reason": "?"}]}),
        Reply(200, {"accepted": 0, "duplicates": 0, "rejected": [{"index": -1, "reason": "?"}]}),
    ],
    ids=["404", "redirect", "page", "other json", "index too large", "index below zero"],
)
def test_an_answer_that_is_not_doxas_raises_and_keeps_the_buffer(
    server: RecordingServer, reply: Reply
) -> None:
    server.plan(reply)
    with Doxa(server.url.replace("http://", "http://user:pass@")) as doxa:
        doxa.emit("x.note")
        with pytest.raises(DoxaError, match="check the URL") as refusal:
            doxa.flush()
        assert "pass" not in str(refusal.value)
        assert doxa.flush().accepted == 1


def test_what_was_stored_before_a_refusal_is_told_by_the_next_flush(
    server: RecordingServer,
) -> None:
    with Doxa(server.url) as doxa:
        doxa.emit("x.note")
        doxa.turn("done", session_id="s1")
        server.judge = lambda request: (
            problem(401, "Unauthorized") if request.path == "/v1/turns" else None
        )
        with pytest.raises(DoxaError):
            doxa.flush()
        server.judge = lambda request: None
        assert doxa.flush().accepted == 2
