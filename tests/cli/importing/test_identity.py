import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.importing.json_values import content_digest
from tests.cli.importing.write_once_service import ReadFile, WriteLines

SAID = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def ids(turns: list[dict[str, object]]) -> list[object]:
    return [(one["session_id"], one["turn_id"]) for one in turns]


def test_reading_twice_or_from_another_path_gives_the_same_ids(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    values = [{"messages": SAID}, {"messages": [*SAID, *SAID]}]
    once = ids(read_file(write_lines("a.jsonl", *values), at=0)[0])
    assert ids(read_file(write_lines("a.jsonl", *values), at=0)[0]) == once
    assert ids(read_file(write_lines("renamed.json", *values), at=99)[0]) == once


def test_the_layout_of_a_file_does_not_enter_the_ids(tmp_path: Path, read_file: ReadFile) -> None:
    records = [{"task_id": 0, "trial": 0, "traj": SAID}]
    (tmp_path / "a").write_text(json.dumps(records))
    (tmp_path / "b").write_text(json.dumps(records, indent=1, sort_keys=True))
    assert ids(read_file(str(tmp_path / "a"))[0]) == ids(read_file(str(tmp_path / "b"))[0])


def test_a_task_of_the_same_number_with_other_content_is_another_session(
    tmp_path: Path, read_file: ReadFile
) -> None:
    for name, answer in (("a", "yes"), ("b", "no")):
        talk = [SAID[0], {"role": "assistant", "content": answer}]
        (tmp_path / name).write_text(json.dumps([{"task_id": 3, "trial": 0, "traj": talk}]))
    first, second = (ids(read_file(str(tmp_path / name))[0]) for name in "ab")
    assert not set(first) & set(second)


@pytest.mark.parametrize("task", ["x" * 5000, "a/b", "\x00", {"id": 1}, None])
def test_a_task_that_is_no_name_stays_out_of_the_id(
    tmp_path: Path, read_file: ReadFile, task: object
) -> None:
    (tmp_path / "a").write_text(json.dumps([{"task_id": task, "trial": 2, "traj": SAID}]))
    (turn,), _ = read_file(str(tmp_path / "a"))
    assert re.fullmatch(r"tau-2-[0-9a-f]{16}", str(turn["session_id"]))


def test_a_run_scored_anew_is_the_same_session(tmp_path: Path, read_file: ReadFile) -> None:
    for name, reward in (("a", 0.0), ("b", 1.0)):
        record = {"task_id": 3, "trial": 0, "traj": SAID, "reward": reward}
        (tmp_path / name).write_text(json.dumps([record]))
    assert ids(read_file(str(tmp_path / "a"))[0]) == ids(read_file(str(tmp_path / "b"))[0])


def test_the_same_record_twice_in_a_file_is_two_sessions(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    turns, _ = read_file(write_lines("a.jsonl", {"messages": SAID}, {"messages": SAID}))
    assert len(set(ids(turns))) == 2


def test_lines_added_to_a_file_leave_the_ids_before_them(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    values = [{"messages": SAID}, {"messages": SAID}]
    before = ids(read_file(write_lines("a.jsonl", *values))[0])
    after = ids(read_file(write_lines("a.jsonl", *values, {"messages": [*SAID, *SAID]}))[0])
    assert after[: len(before)] == before


@given(value=json_values)
def test_a_digest_survives_writing_and_reading(value: object) -> None:
    assert content_digest(json.loads(json.dumps(value))) == content_digest(value)


@pytest.mark.parametrize("text", ["\ud800", "\x00", "😀"])
def test_odd_characters_have_a_digest(text: str) -> None:
    assert content_digest(text) != content_digest("")
