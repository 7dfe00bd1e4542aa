import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import typer
from typer.testing import CliRunner, Result

from cli.importing import command
from cli.importing.command import DEFAULT_AGENT, ImportSummary, Position, import_files
from tests.cli.importing.write_once_service import WriteLines, WriteOnceService

SAID = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
CHAT = {"messages": SAID}
Invoke = Callable[..., Result]
EVENT = {
    "agent_id": "piper",
    "event": "x.ping",
    "event_id": "e1",
    "ts": "2026-10-03T12:00:00Z",
}


def run_import(
    client: httpx.Client, *files: str, agent: str | None = None, at: int | None = 0
) -> ImportSummary:
    return import_files(
        files, agent=agent, at=at, model=None, client=client, on_progress=lambda _: None
    )


def test_turns_and_events_go_to_their_own_collections(
    client: httpx.Client, service: WriteOnceService, write_lines: WriteLines
) -> None:
    turn = {"turn_id": "t1", "session_id": "s", "output": "ok", "ts": "2026-10-03T12:00:00Z"}
    summary = run_import(client, write_lines("a.jsonl", EVENT, turn, {**EVENT, "event_id": "e2"}))
    assert [(path, len(items)) for path, items in service.batches] == [
        ("/v1/turns", 1),
        ("/v1/events", 2),
    ]
    assert (summary.accepted, summary.exit_code) == (3, 0)
    assert summary.agents == ("piper", DEFAULT_AGENT)
    assert (summary.files[0].turns, summary.files[0].events) == (1, 2)


def test_importing_twice_changes_nothing(
    client: httpx.Client, service: WriteOnceService, write_lines: WriteLines
) -> None:
    path = write_lines("a.jsonl", CHAT, CHAT)
    first = run_import(client, path)
    stored = dict(service.rows)
    second = run_import(client, path)
    assert (first.accepted, first.duplicates) == (2, 0)
    assert (second.accepted, second.duplicates, second.exit_code) == (0, 2, 0)
    assert service.rows == stored


def test_a_copy_with_another_modification_time_changes_nothing(
    client: httpx.Client, service: WriteOnceService, write_lines: WriteLines
) -> None:
    run_import(client, write_lines("a.jsonl", CHAT), at=0)
    stored = dict(service.rows)
    again = run_import(client, write_lines("copy.jsonl", CHAT), at=99_000_000)
    assert (again.accepted, again.kept, again.rejected, again.exit_code) == (0, 1, 0, 0)
    assert service.rows == stored


def test_the_modification_time_is_the_default_start(
    client: httpx.Client, service: WriteOnceService, write_lines: WriteLines
) -> None:
    path = Path(write_lines("a.jsonl", CHAT, CHAT))
    os.utime(path, ns=(0, 1_700_000_000_123_456_789))
    run_import(client, str(path), at=None)
    assert [row["ts"] for row in service.rows.values()] == [
        "2023-11-14T22:13:20.123456Z",
        "2023-11-14T22:13:21.123456Z",
    ]


def test_a_refused_record_is_told_with_its_line_and_the_rest_goes_in(
    client: httpx.Client, write_lines: WriteLines
) -> None:
    refused = {"messages": [{"role": "assistant", "content": "refuse me"}]}
    path = write_lines("a.jsonl", CHAT, refused, "{", CHAT)
    summary = run_import(client, path)
    assert (summary.accepted, summary.rejected, summary.bad, summary.exit_code) == (2, 1, 1, 1)
    assert [one.line for one in summary.problems] == [3, 2]
    assert "/output: is refused" in str(summary.problems[1])


def test_a_file_of_no_known_format_does_not_stop_the_others(
    client: httpx.Client, write_lines: WriteLines
) -> None:
    license_text = write_lines("LICENSE", "Permission is hereby granted")
    summary = run_import(client, license_text, write_lines("a.jsonl", CHAT))
    assert (summary.accepted, summary.bad, summary.exit_code) == (1, 1, 1)
    assert [one.format is None for one in summary.files] == [True, False]


def test_a_large_file_is_sent_while_it_is_read(
    client: httpx.Client, service: WriteOnceService, write_lines: WriteLines
) -> None:
    path = write_lines("a.jsonl", *[CHAT] * 1200)
    sent_when: list[int] = []

    def watch(now: Position) -> None:
        if now.records == 1200:
            sent_when.append(len(service.batches))

    import_files([path], agent="a", at=0, model=None, client=client, on_progress=watch)
    assert sent_when == [2], "two full batches have left before the file is read to its end"
    assert len(service.rows) == 1200


def test_progress_ends_at_the_size_of_the_file(
    client: httpx.Client, write_lines: WriteLines
) -> None:
    path = write_lines("a.jsonl", CHAT, CHAT)
    seen: list[Position] = []
    import_files([path], agent="a", at=0, model=None, client=client, on_progress=seen.append)
    size = Path(path).stat().st_size
    assert seen[-1] == Position(path, size, size, 2)


@pytest.fixture
def invoke(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    @contextmanager
    def connect() -> Iterator[httpx.Client]:
        yield client

    monkeypatch.setattr(command, "connect", connect)
    app = typer.Typer()
    app.command("import")(command.import_command)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(app, list(arguments))

    return run


def test_the_account_is_for_a_person(invoke: Invoke, write_lines: WriteLines) -> None:
    path = write_lines("a.jsonl", CHAT, 7)
    result = invoke("--agent", "ada", path)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"{path}: OpenAI-style chat JSONL (messages): 1 turns, 0 events",
        "Agent ada: 1 accepted, 1 could not be read.",
    ]
    assert result.stderr.splitlines() == [f"{path}:2: messages is null, not a list"]


def test_only_the_first_problems_are_shown_and_the_rest_counted(
    invoke: Invoke, write_lines: WriteLines
) -> None:
    result = invoke(write_lines("a.jsonl", CHAT, *[7] * 30))
    assert len(result.stderr.splitlines()) == 21
    assert result.stderr.splitlines()[-1] == "… and 10 more (--json lists them)"


def test_the_account_is_for_a_machine(invoke: Invoke, write_lines: WriteLines) -> None:
    path = write_lines("a.jsonl", CHAT, 7)
    account = json.loads(invoke("--json", path).stdout)
    assert account["files"][0]["turns"] == account["accepted"] == account["bad"] == 1
    reason = "messages is null, not a list"
    assert account["problems"] == [{"source": path, "line": 2, "reason": reason}]


def test_model_and_start_can_be_given(
    invoke: Invoke, write_lines: WriteLines, service: WriteOnceService
) -> None:
    at = "2026-01-01T02:00:00+02:00"
    assert invoke("--model", "gpt-9", "--at", at, write_lines("a", CHAT)).exit_code == 0
    (turn,) = service.rows.values()
    assert (turn["model"], turn["ts"]) == ("gpt-9", "2026-01-01T00:00:00.000000Z")


@pytest.mark.parametrize("name", ["nowhere.json", "."])
def test_nothing_to_import_is_a_mistake_of_usage(invoke: Invoke, name: str) -> None:
    result = invoke(name)
    assert result.exit_code == 2
    assert name in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("at", ["2026-01-01T00:00:00", "yesterday"])
def test_a_start_without_offset_is_a_mistake_of_usage(invoke: Invoke, at: str) -> None:
    result = invoke("--at", at, "whatever")
    assert result.exit_code == 2
    assert "--at" in result.stderr


def test_a_service_that_is_not_there_has_its_own_exit_code(
    monkeypatch: pytest.MonkeyPatch, invoke: Invoke, write_lines: WriteLines
) -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    @contextmanager
    def connect() -> Iterator[httpx.Client]:
        with httpx.Client(transport=httpx.MockTransport(refuse), base_url="http://doxa") as client:
            yield client

    monkeypatch.setattr(command, "connect", connect)
    result = invoke(write_lines("a.jsonl", CHAT))
    assert result.exit_code == 3
    assert "cannot be reached" in result.stderr
