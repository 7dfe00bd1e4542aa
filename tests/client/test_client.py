from __future__ import annotations

import logging
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from doxa_client import Doxa, DoxaError, FlushResult, Rejection

from tests.client.recording_server import RecordingServer, Reply, problem


def test_nothing_is_sent_before_a_batch_is_full_or_flushed(server: RecordingServer) -> None:
    with Doxa(server.url, batch_size=3) as doxa:
        doxa.emit("x.note")
        doxa.emit("x.note")
        assert server.sizes == []
        doxa.emit("x.note")
        assert server.sizes == [3]
        doxa.emit("x.note")
        assert doxa.flush() == FlushResult(accepted=4, duplicates=0, rejected=(), unsent=0)
    assert server.sizes == [3, 1]


def test_events_and_turns_go_to_their_routes_skipping_bad_items(server: RecordingServer) -> None:
    with Doxa(server.url + "/", key="k-123") as doxa:
        doxa.emit("x.note")
        doxa.turn("done", session_id="s1")
        assert doxa.flush().accepted == 2
    assert [(request.path, request.query) for request in server.requests] == [
        ("/v1/events", "on_error=skip"),
        ("/v1/turns", "on_error=skip"),
    ]
    assert {request.headers["authorization"] for request in server.requests} == {"Bearer k-123"}


def test_a_service_behind_a_path_prefix_is_reached(server: RecordingServer) -> None:
    with Doxa(server.url + "/doxa") as doxa:
        doxa.emit("x.note")
    assert server.requests[0].path == "/doxa/v1/events"


def test_url_and_key_come_from_the_environment_when_not_given(
    server: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOXA_URL", server.url)
    monkeypatch.setenv("DOXA_API_KEY", "from-the-environment")
    with Doxa() as doxa:
        doxa.emit("x.note")
    assert server.requests[0].headers["authorization"] == "Bearer from-the-environment"
    monkeypatch.setenv("DOXA_API_KEY", "")
    with Doxa() as doxa:
        doxa.emit("x.note")
    assert "authorization" not in server.requests[1].headers


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "ftp://host", "https://"])
def test_a_url_that_is_no_http_address_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="address of a Doxa service"):
        Doxa(url)


def test_a_malformed_key_is_refused_without_being_shown() -> None:
    with pytest.raises(ValueError, match="API key") as refusal:
        Doxa(key="s3cret\n")
    assert "s3cret" not in str(refusal.value)


def test_an_empty_flush_sends_nothing(server: RecordingServer) -> None:
    with Doxa(server.url) as doxa:
        assert doxa.flush() == FlushResult(0, 0, (), 0)
    assert server.requests == []


def test_the_same_event_sent_twice_counts_as_a_duplicate(server: RecordingServer) -> None:
    with Doxa(server.url) as doxa:
        doxa.emit("x.note", event_id="e1")
        doxa.emit("x.note", event_id="e1")
        result = doxa.flush()
    assert (result.accepted, result.duplicates) == (1, 1)


def test_rejected_items_are_named_by_id_and_not_sent_again(
    server: RecordingServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.reject = lambda item: (
        ("/confidence", "must be at most 1") if item.get("confidence", 0) > 1 else None
    )
    with Doxa(server.url) as doxa:
        doxa.emit("x.note")
        bad = doxa.emit("x.note", confidence=1.5)
        result = doxa.flush()
        assert result.rejected == (Rejection(bad, "/confidence", "must be at most 1"),)
        assert (result.accepted, result.unsent) == (1, 0)
        assert doxa.flush() == FlushResult(0, 0, (), 0)
    assert server.sizes == [2]
    assert bad in caplog.text


def test_flush_reports_the_batches_that_went_by_themselves(server: RecordingServer) -> None:
    server.reject = lambda item: ("", "no") if item["event_id"] == "bad" else None
    with Doxa(server.url, batch_size=2) as doxa:
        doxa.emit("x.note", event_id="bad")
        doxa.emit("x.note")
        doxa.emit("x.note")
        result = doxa.flush()
    assert (result.accepted, [rejection.id for rejection in result.rejected]) == (2, ["bad"])


def test_leaving_the_context_flushes_and_closes(server: RecordingServer) -> None:
    with Doxa(server.url) as doxa:
        event_id = doxa.emit("x.note")
    assert event_id in server.stored
    with pytest.raises(RuntimeError, match="closed"):
        doxa.emit("x.note")
    assert doxa.close().unsent == 0


def test_an_exception_inside_the_context_is_not_hidden_by_a_refused_key(
    server: RecordingServer,
) -> None:
    server.plan(problem(401, "Unauthorized"))

    def run_agent() -> None:
        with Doxa(server.url) as doxa:
            doxa.emit("x.note")
            raise KeyError("the agent's own")

    with pytest.raises(KeyError, match="the agent's own"):
        run_agent()


def test_a_key_refused_at_the_end_of_the_context_raises(server: RecordingServer) -> None:
    server.plan(problem(401, "Unauthorized"))

    def run_agent() -> None:
        with Doxa(server.url) as doxa:
            doxa.emit("x.note")

    with pytest.raises(DoxaError, match="401 Unauthorized"):
        run_agent()


def test_what_is_unsent_at_close_is_said_to_be_lost(
    server: RecordingServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.judge = lambda request: Reply(503)
    doxa = Doxa(server.url, sleep=lambda seconds: None)
    doxa.emit("x.note")
    with caplog.at_level(logging.WARNING, logger="doxa_client"):
        assert doxa.close().unsent == 1
    assert "1 record(s) unsent: lost" in caplog.text


def test_threads_share_a_client_without_loss_or_doubling(server: RecordingServer) -> None:
    emitted: list[str] = []

    def work() -> None:
        ids = [doxa.emit("x.note") for _ in range(250)]
        emitted.extend(ids)

    with Doxa(server.url, batch_size=40) as doxa:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        accepted = sum(doxa.flush().accepted for _ in range(5))
        for thread in threads:
            thread.join()
        accepted += doxa.flush().accepted
    assert accepted == 2_000
    sent = [item["event_id"] for request in server.requests for item in request.items]
    assert len(sent) == len(set(sent)) == 2_000
    assert set(sent) == set(emitted) == set(server.stored)


def test_other_threads_go_on_buffering_while_one_sends(server: RecordingServer) -> None:
    sending, go_on = threading.Event(), threading.Event()

    def hold(seconds: float) -> None:
        sending.set()
        assert go_on.wait(10)

    server.plan(Reply(503))
    doxa = Doxa(server.url, batch_size=2, sleep=hold)
    doxa.emit("x.note")
    flusher = threading.Thread(target=doxa.flush)
    flusher.start()
    assert sending.wait(10)
    for _ in range(5):
        doxa.emit("x.note")
    go_on.set()
    flusher.join()
    doxa.close()
    assert len(server.stored) == 6


def run_script(body: str, url: str) -> subprocess.CompletedProcess[str]:
    script = f"import os\nfrom doxa_client import Doxa\ndoxa = Doxa({url!r})\n{body}"
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )


def test_a_process_that_ends_without_a_flush_makes_one_attempt(server: RecordingServer) -> None:
    run = run_script("doxa.emit('x.note', event_id='last')", server.url)
    assert (run.returncode, run.stderr) == (0, "")
    assert list(server.stored) == ["last"]


def test_a_process_that_ends_while_the_service_is_away_says_what_is_lost(
    server: RecordingServer,
) -> None:
    server.judge = lambda request: Reply(503)
    run = run_script("doxa.emit('x.note')\ndoxa.turn('done', session_id='s')", server.url)
    assert run.returncode == 0
    assert "2 record(s) unsent: lost" in run.stderr
    assert len(server.requests) == 1


def test_a_process_that_is_cut_off_loses_its_buffer(server: RecordingServer) -> None:
    run = run_script("doxa.emit('x.note')\nos._exit(9)", server.url)
    assert run.returncode == 9
    assert server.requests == []


def test_the_example_of_the_readme_runs(
    server: RecordingServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = Path(__file__).resolve().parents[2] / "client" / "README.md"
    example = readme.read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    monkeypatch.setenv("DOXA_URL", server.url)
    exec(compile(example, str(readme), "exec"), {"__name__": "readme"})
    assert [request.path for request in server.requests] == ["/v1/events", "/v1/turns"]
    assert "accepted=3" in capsys.readouterr().out
