"""Telling the formats apart, and reading a source in the one that it is in."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from cli.importing import chat, doxa_jsonl, swe_agent, tau_bench, tau_few_shot
from cli.importing.identity import Reading
from cli.importing.records import BadRecord, Record, UnusableFileError
from cli.importing.source import Entry, Source, read_entries

# Some first lines may be broken; a file without one that is understood among these is refused.
_ENTRIES_TO_LOOK_AT = 20


@dataclass(frozen=True, slots=True)
class Format:
    """A known format: how a person calls it, how a value of it is told, how one is read."""

    name: str
    recognises: Callable[[object], bool]
    read: Callable[[object, int, Reading], Iterator[Record | BadRecord]]


FORMATS = tuple(
    Format(module.NAME, module.recognises, module.read)
    for module in (doxa_jsonl, tau_bench, tau_few_shot, swe_agent, chat)
)


@dataclass(frozen=True, slots=True)
class Recognised:
    """A source with its format and its values, the first ones read already."""

    source: Source
    format: Format
    entries: Iterator[Entry]


def recognise(source: Source) -> Recognised:
    """Find the source's format; UnusableFileError names the known ones if it is in none."""
    entries = read_entries(source)
    head = list(islice(entries, _ENTRIES_TO_LOOK_AT))
    for entry in head:
        for known in FORMATS:
            if entry.problem is None and known.recognises(entry.value):
                return Recognised(source, known, chain(head, entries))
    raise UnusableFileError(f"{_describe(head)}. Known are: {', '.join(f.name for f in FORMATS)}")


def read_records(
    recognised: Recognised, reading: Reading
) -> Iterator[tuple[int, list[Record | BadRecord]]]:
    """What each value of the source holds, with the position in bytes that reading has reached."""
    for entry in recognised.entries:
        if entry.problem is not None:
            yield entry.position, [BadRecord(reading.source, entry.line, entry.problem)]
        else:
            yield entry.position, list(recognised.format.read(entry.value, entry.line, reading))


def _describe(head: list[Entry]) -> str:
    problem = next((entry for entry in head if entry.problem is not None), None)
    if problem is not None and all(entry.problem is not None for entry in head):
        return f"is in no known format: line {problem.line} {problem.problem}"
    return "is in no known format" if head else "holds no record"
