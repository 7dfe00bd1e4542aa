"""Opening a file, a gzipped file or standard input, and taking it apart into JSON values."""

import gzip
import io
import sys
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from cli.importing.json_values import NotJSONError, parse_json, parse_json_at
from cli.importing.records import UnusableFileError

STANDARD_INPUT = "-"
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_WHITE_SPACE = " \t\r\n"
_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Source:
    """A readable input: its name, modification time in microseconds UTC, size in bytes if known.

    `packed` is gzip, told by its first bytes and not by its name.
    """

    name: str
    path: Path | None
    content: bytes | None
    modified_at: int
    size: int | None
    packed: bool = False

    def open(self) -> BinaryIO:
        """A binary stream over the (unpacked) content, from its beginning."""
        if self.path is None:
            return io.BytesIO(self.content or b"")
        if self.packed:
            return cast("BinaryIO", gzip.open(self.path, "rb"))
        return self.path.open("rb")


@dataclass(frozen=True, slots=True)
class Entry:
    """One JSON value of a source, or why it is none; `position` is in bytes read so far."""

    line: int
    position: int
    value: object = None
    problem: str | None = None


def find_source(name: str) -> Source:
    """The source behind a command-line argument; UnusableFileError says what is wrong with it."""
    if name == STANDARD_INPUT:
        content = sys.stdin.buffer.read()
        if content.startswith(_GZIP_MAGIC):
            content = _unpack(content)
        return Source("standard input", None, content, time.time_ns() // 1000, len(content))
    path = Path(name)
    try:
        status = path.stat()
        if path.is_dir():
            raise UnusableFileError("is a directory: name the files in it")
        with path.open("rb") as stream:
            packed = stream.read(2) == _GZIP_MAGIC
    except FileNotFoundError:
        raise UnusableFileError("no such file") from None
    except OSError as problem:
        raise UnusableFileError(f"cannot be read: {problem.strerror}") from None
    size = None if packed else status.st_size
    return Source(name, path, None, status.st_mtime_ns // 1000, size, packed)


def read_entries(source: Source) -> Iterator[Entry]:
    """The JSON values of a source: one a line, the items of one list, or one object.

    Lines are read one at a time. A list or object that spans the file is read whole; where it
    breaks off, the items before the break are still given and the break is the last entry.
    """
    try:
        with source.open() as stream:
            head = stream.read(_HEAD_BYTES)
            _check_is_text(head)
            stream.seek(0)
            if _starts_document(stream):
                yield from _document_entries(stream.read())
            else:
                yield from _line_entries(stream)
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise UnusableFileError(f"is a broken gzip file: {problem}") from None
    except OSError as problem:
        raise UnusableFileError(f"cannot be read: {problem.strerror}") from None


def _starts_document(stream: BinaryIO) -> bool:
    """Whether the content is one JSON value rather than one a line; leaves the stream at 0.

    A list is one document. An object that ends on its own line is JSONL (of one line, perhaps);
    an object that does not is one document if a JSON reader gets anywhere with it.
    """
    first = stream.readline()
    while first and not first.strip(b" \t\r\n" + _BYTE_ORDER_MARK):
        first = stream.readline()
    text = first.removeprefix(_BYTE_ORDER_MARK).strip()
    if text.startswith(b"[") or text == b"{":
        document = True
    else:
        try:
            parse_json(text.decode("utf-8", errors="replace"))
            document = False
        except NotJSONError:
            # A broken first line of JSONL is followed by lines that begin an object anew.
            following = stream.readline().strip()
            document = bool(following) and not following.startswith(b"{")
    stream.seek(0)
    return document


def _line_entries(stream: BinaryIO) -> Iterator[Entry]:
    position = 0
    for number, raw in enumerate(stream, start=1):
        position += len(raw)
        line = raw.removeprefix(_BYTE_ORDER_MARK) if number == 1 else raw
        if not line.strip():
            continue
        try:
            value = parse_json(line.rstrip().decode("utf-8"))
        except UnicodeDecodeError:
            yield Entry(number, position, problem="is not UTF-8 text")
        except NotJSONError as problem:
            yield Entry(number, position, problem=str(problem))
        else:
            yield Entry(number, position, value)


def _document_entries(content: bytes) -> Iterator[Entry]:
    try:
        text = content.removeprefix(_BYTE_ORDER_MARK).decode("utf-8")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        yield Entry(line, len(content), problem="is not UTF-8 text")
        return
    start = _skip(text, 0)
    try:
        if text[start] == "[":
            yield from _list_entries(text, start + 1)
        else:
            line = text.count("\n", 0, start) + 1
            value, end = parse_json_at(text, start)
            yield Entry(line, len(content), value)
            _refuse_rest(text, end)
    except NotJSONError as problem:
        yield Entry(problem.line, len(content), problem=str(problem))


def _list_entries(text: str, position: int) -> Iterator[Entry]:
    line, counted = 1, 0
    position = _skip(text, position)
    while text[position : position + 1] != "]":
        line += text.count("\n", counted, position)
        counted = position
        value, position = parse_json_at(text, position)
        yield Entry(line, position, value)
        position = _skip(text, position)
        if text[position : position + 1] == ",":
            position = _skip(text, position + 1)
        elif text[position : position + 1] != "]":
            raise NotJSONError(
                "the list breaks off here; what follows cannot be read",
                text.count("\n", 0, position) + 1,
            )
    _refuse_rest(text, position + 1)


def _refuse_rest(text: str, position: int) -> None:
    position = _skip(text, position)
    if position < len(text):
        line = text.count("\n", 0, position) + 1
        raise NotJSONError("something follows the end of the JSON document", line)


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _WHITE_SPACE:
        position += 1
    return position


def _check_is_text(head: bytes) -> None:
    if not head.strip():
        raise UnusableFileError("is empty")
    if b"\x00" in head:
        raise UnusableFileError("is a binary file")


def _unpack(content: bytes) -> bytes:
    try:
        return gzip.decompress(content)
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise UnusableFileError(f"is a broken gzip file: {problem}") from None
