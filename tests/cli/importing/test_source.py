import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from cli.importing.records import UnusableFileError
from cli.importing.source import Entry, find_source, read_entries


def entries_of(path: Path, content: bytes) -> list[Entry]:
    path.write_bytes(content)
    return list(read_entries(find_source(str(path))))


def test_lines_are_numbered_as_an_editor_does(tmp_path: Path) -> None:
    entries = entries_of(tmp_path / "a", b'\xef\xbb\xbf{"a": 1}\r\n\n{"a": 2}\nbroken\n{"a": 3}')
    assert [(one.line, one.value) for one in entries if one.problem is None] == [
        (1, {"a": 1}),
        (3, {"a": 2}),
        (5, {"a": 3}),
    ]
    assert [(one.line, one.problem) for one in entries if one.problem] == [
        (4, "is not JSON: Expecting value at column 1")
    ]


def test_a_line_that_is_no_utf8_does_not_stop_the_rest(tmp_path: Path) -> None:
    entries = entries_of(tmp_path / "a", b'{"a": 1}\n{"a": "\xff"}\n{"a": 3}\n')
    assert [one.problem for one in entries] == [None, "is not UTF-8 text", None]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_list_gives_its_items_with_their_lines(tmp_path: Path, indent: int | None) -> None:
    content = json.dumps([{"a": 1}, {"a": 2}], indent=indent).encode()
    entries = entries_of(tmp_path / "a", content)
    assert [one.value for one in entries] == [{"a": 1}, {"a": 2}]
    assert [one.line for one in entries] == ([1, 1] if indent is None else [2, 5])


def test_a_list_that_breaks_off_gives_what_stands_before(tmp_path: Path) -> None:
    whole = json.dumps([{"a": 1}, {"a": 2}], indent=2).encode()
    entries = entries_of(tmp_path / "a", whole[:-8])
    assert entries[0].value == {"a": 1}
    assert entries[1].problem is not None
    assert (len(entries), entries[1].line) == (2, 6)


def test_something_after_the_document_is_reported(tmp_path: Path) -> None:
    entries = entries_of(tmp_path / "a", b'[{"a": 1}]\ntrailing')
    assert [one.problem for one in entries] == [
        None,
        "something follows the end of the JSON document",
    ]
    assert entries[1].line == 2


def test_an_object_over_many_lines_is_one_document(tmp_path: Path) -> None:
    value = {"a": [{"b": 1}], "c": {}}
    (entry,) = entries_of(tmp_path / "a", json.dumps(value, indent=4).encode())
    assert (entry.line, entry.value) == (1, value)


def test_a_broken_first_line_leaves_jsonl_jsonl(tmp_path: Path) -> None:
    entries = entries_of(tmp_path / "a", b'{"a": \n{"a": 2}\n')
    assert [one.value for one in entries] == [None, {"a": 2}]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "9" * 5000])
def test_extreme_json_is_a_bad_entry_and_no_crash(tmp_path: Path, text: str) -> None:
    (entry,) = entries_of(tmp_path / "a", text.encode())
    assert entry.problem


def test_gzip_is_told_by_content_and_reads_the_same(tmp_path: Path) -> None:
    content = b'{"a": 1}\n{"a": 2}\n'
    plain = entries_of(tmp_path / "plain", content)
    assert entries_of(tmp_path / "packed", gzip.compress(content)) == plain


def test_a_truncated_gzip_says_so(tmp_path: Path) -> None:
    packed = gzip.compress(b'{"a": 1}\n' * 1000)
    with pytest.raises(UnusableFileError, match="broken gzip"):
        entries_of(tmp_path / "a.gz", packed[: len(packed) // 2])


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "is empty"), (b" \n\n", "is empty"), (b"\x7fELF\x00\x01", "is a binary file")],
)
def test_content_without_text_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(UnusableFileError, match=reason):
        entries_of(tmp_path / "a", content)


def test_a_missing_file_and_a_directory_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(UnusableFileError, match="no such file"):
        find_source(str(tmp_path / "nowhere"))
    with pytest.raises(UnusableFileError, match="is a directory"):
        find_source(str(tmp_path))


def test_a_path_through_a_file_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("{}")
    with pytest.raises(UnusableFileError, match="cannot be read: Not a directory"):
        find_source(str(tmp_path / "file" / "inner"))


@pytest.mark.parametrize("packed", [False, True])
def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:  # noqa: FBT001
    content = b'{"a": 1}\n'
    stream = io.TextIOWrapper(io.BytesIO(gzip.compress(content) if packed else content))
    monkeypatch.setattr(sys, "stdin", stream)
    (entry,) = read_entries(find_source("-"))
    assert entry.value == {"a": 1}
