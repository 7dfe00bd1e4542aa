"""Checkpoints follow the logs, and stop where a row is not Doxa's."""

import threading
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import pytest

from service.trust.checkpoints import (
    Checkpointer,
    Pair,
    Standing,
    append_note,
    file_of,
    last_note,
    notes_in,
)
from service.trust.notes import read_note
from service.trust.signing import Signer, signer_of

PIPER = ("piper", "agent")


class Logs:
    """Logs as a database would tell of them, and what was asked."""

    def __init__(self) -> None:
        self.standing: dict[Pair, Standing] = {}
        self.asked: list[tuple[int, list[range]]] = []

    def grow(self, size: int, pair: Pair = PIPER, fault: str | None = None) -> None:
        self.standing[pair] = Standing(size, sha256(str(size).encode()).digest(), fault)

    def sizes(self) -> Mapping[Pair, int]:
        return {pair: standing.size for pair, standing in self.standing.items()}

    def look(self, agent_id: str, log: str, since: int, own: Sequence[range]) -> Standing | None:
        self.asked.append((since, list(own)))
        return self.standing.get((agent_id, log))


@pytest.fixture(scope="session")
def signer(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return signer_of(tmp_path_factory.mktemp("signer"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "checkpoints"


def sizes_in(folder: Path, pair: Pair = PIPER) -> list[int]:
    path = file_of(folder, *pair)
    return [read_note(text).checkpoint.size for text in notes_in(path, path.stat().st_size)]


def test_a_round_notes_once_what_grew_often(signer: Signer, folder: Path) -> None:
    logs = Logs()
    checkpointer = Checkpointer(folder, signer, logs)
    for size in (10, 20, 30):
        checkpointer.offer(*PIPER, size, began=size - 10)
    logs.grow(30)
    checkpointer.note_now(sweep=False)
    checkpointer.note_now(sweep=False)
    assert sizes_in(folder) == [30]
    assert logs.asked == [(0, [range(30)])]
    assert checkpointer.notes == 1


def test_what_others_wrote_between_is_left_to_be_read(signer: Signer, folder: Path) -> None:
    logs = Logs()
    checkpointer = Checkpointer(folder, signer, logs)
    checkpointer.offer(*PIPER, 10, began=0)
    checkpointer.offer(*PIPER, 30, began=15)
    logs.grow(30)
    checkpointer.note_now()
    assert logs.asked == [(0, [range(10), range(15, 30)])]


def test_a_sweep_finds_what_nobody_offered(signer: Signer, folder: Path) -> None:
    logs = Logs()
    logs.grow(7)
    Checkpointer(folder, signer, logs).note_now()
    assert sizes_in(folder) == [7]


def test_the_thread_writes_by_itself_and_the_last_note_at_the_stop(
    signer: Signer, folder: Path
) -> None:
    logs = Logs()
    checkpointer = Checkpointer(folder, signer, logs, interval=3600)
    checkpointer.start()
    checkpointer.offer(*PIPER, 5, began=0)
    logs.grow(5)
    checkpointer.close()
    assert sizes_in(folder)[-1] == 5
    assert "doxa-checkpoints" not in {thread.name for thread in threading.enumerate()}


def test_a_fault_stops_the_notes_of_its_log_alone(signer: Signer, folder: Path) -> None:
    logs = Logs()
    checkpointer = Checkpointer(folder, signer, logs)
    logs.grow(5, fault="the row at position 4 was not written by Doxa")
    logs.grow(6, ("other", "agent"))
    checkpointer.note_now()
    logs.grow(9)
    checkpointer.note_now()
    assert not file_of(folder, *PIPER).exists()
    assert sizes_in(folder, ("other", "agent")) == [6]
    (alarm,) = checkpointer.alarms()
    assert (alarm.agent_id, alarm.log) == PIPER
    assert "position 4" in alarm.reason


@pytest.mark.parametrize("size", [8, None])
def test_a_log_shorter_than_before_is_an_alarm_also_after_a_restart(
    signer: Signer, folder: Path, size: int | None
) -> None:
    logs = Logs()
    logs.grow(10)
    Checkpointer(folder, signer, logs).note_now()
    logs.standing.clear()
    if size is not None:
        logs.grow(size)
    again = Checkpointer(folder, signer, logs)
    again.note_now()
    (alarm,) = again.alarms()
    assert "it held 10 rows" in alarm.reason
    assert sizes_in(folder) == [10]


def test_other_rows_at_the_size_that_was_signed_are_an_alarm(signer: Signer, folder: Path) -> None:
    logs = Logs()
    logs.grow(10)
    checkpointer = Checkpointer(folder, signer, logs)
    checkpointer.note_now()
    logs.standing[PIPER] = Standing(10, b"x" * 32)
    checkpointer.offer(*PIPER, 10)
    checkpointer.note_now()
    assert "are not those that were signed" in checkpointer.alarms()[0].reason


def test_a_folder_that_takes_nothing_is_said_and_tried_again(signer: Signer, folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    logs = Logs()
    checkpointer = Checkpointer(folder, signer, logs)
    checkpointer.offer(*PIPER, 5, began=0)
    logs.grow(5)
    checkpointer.note_now(sweep=False)
    assert checkpointer.failures == 1
    assert checkpointer.problem is not None
    assert str(folder) in checkpointer.problem
    assert checkpointer.alarms() == []
    folder.unlink()
    checkpointer.note_now(sweep=False)
    assert sizes_in(folder) == [5]
    assert checkpointer.problem is None


def test_files_have_safe_and_different_names(tmp_path: Path) -> None:
    agents = [
        "piper",
        "Piper",
        "..",
        ".",
        "a/b",
        "a%2Fb",
        "a.b",
        "x" * 300,
        "x" * 301,
        "\U0001f600",
    ]
    names = {file_of(tmp_path, agent, "agent").name.lower() for agent in agents}
    assert len(names) == len(agents)
    for name in names:
        assert "/" not in name
        assert len(name) < 200
        assert not name.startswith(".")


@pytest.mark.parametrize(
    "torn", ["doxa/pi", "doxa/piper/agent\n12\nAAAA\n", "doxa/x\n1\nAA\n\n\u2014 d"]
)
def test_a_torn_note_at_the_end_is_stepped_over(tmp_path: Path, torn: str, signer: Signer) -> None:
    logs = Logs()
    logs.grow(4)
    Checkpointer(tmp_path, signer, logs).note_now()
    path = file_of(tmp_path, *PIPER)
    with path.open("a") as file:
        file.write(torn)
    found = last_note(path)
    assert found is not None
    assert found.checkpoint.size == 4
    logs.grow(6)
    Checkpointer(tmp_path, signer, logs).note_now()
    found = last_note(path)
    assert found is not None
    assert found.checkpoint.size == 6


def test_many_at_once_add_whole_notes(tmp_path: Path) -> None:
    path = tmp_path / "one.notes"
    note = "doxa/x\n1\nAAAA\n\n\u2014 doxa AAAA\n"
    threads = [threading.Thread(target=append_note, args=(path, note)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(notes_in(path, path.stat().st_size)) == [note] * 20
