"""Cut an output into sentences whose offsets point exactly into the original text."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from auditor.text.stop_words import words_of

MAX_SENTENCE_CHARACTERS = 2_000
"""Longer runs without an end of sentence are cut at white space, so that a quote stays readable."""


class Layout(StrEnum):
    """What the text around a sentence is laid out as."""

    PROSE = "prose"
    LIST_ITEM = "list_item"
    HEADING = "heading"
    TABLE_ROW = "table_row"
    CODE = "code"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence; `text` equals `original[start:end]`."""

    text: str
    start: int
    end: int
    layout: Layout = Layout.PROSE


@dataclass(frozen=True, slots=True)
class _Block:
    """A run of lines with one layout, as offsets into the original."""

    start: int
    end: int
    layout: Layout


# Every quantifier is possessive or bounded: no pattern here can backtrack over a long line.
# A line with the empty lines after it.
_LINE = re.compile(r"[^\n]*+\n++|[^\n]++")
_FENCE = re.compile(r"[ \t]*+(`{3,}+|~{3,}+)")
_HEADING = re.compile(r"[ \t]{0,3}+#{1,6}+[ \t]++")
_BOLD_LINE = re.compile(r"[ \t]*+(?:\*\*|__)[^*_\n]{1,120}+(?:\*\*|__):?+[ \t]*+$")
_LIST_MARKER = re.compile(
    r"[ \t]*+(?:>[ \t]?+)*+"
    r"(?:(?:[-*+•‣◦\u2013]|\d{1,3}+[.)]|[a-z][.)]|[A-Z]\)|\(\d{1,3}+\))[ \t]++)"
    r"(?:\[[ xX]\][ \t]++)?+"
)
_QUOTE_MARKER = re.compile(r"[ \t]*+(?:>[ \t]?+)++")
_JSON_LINE = re.compile(
    r"\s*+(?:[{}\[\]]++,?+\s*+$|\"[^\"\n]{0,200}+\"\s*+:|[{\[]\s*+[\"{\[]|[}\]]\s*+,)"
)
_TAG_LINE = re.compile(
    r"[ \t]*+<(command|code|pre|tool|tool_call|function_calls|function|script|json|"
    r"bash)\b[^>\n]{0,200}+>"
)
_WORD_CHARACTER = re.compile(r"[^\W_]")
_STOP = re.compile(
    # Latin, Arabic, Urdu and Devanagari stops want white space after them, ideographic ones do not.
    r"[.!?\u2026\u061f\u06d4\u0964]++[\"'\u201d\u2019\u00bb)\]*_`]*+(?=\s|$)"
    r"|[\u3002\uff01\uff1f\uff61]++[\u300d\u300f\u201d\u2019\uff09]*+"
)
# "Done.Next" and "(b).I" are two sentences; "file.py", "3.5" and "e.g.Foo" are none.
_GLUED_STOP = re.compile(r"(?<=[a-z)`\"'][.!?])(?=[A-Z][a-z]*+[ ,'\u2019])")
_LAST_TOKEN = re.compile(r"[^\s(\[\"'\u201c\u2018*_`]++\Z")

_NEVER_LAST = words_of(
    """
    mr mrs ms dr prof st sr jr rev gen col capt lt sgt hon gov pres fig figs nos vol vs cf eq
    approx est al refs dept e.g i.e eg ie viz mt
    """
)
"""Abbreviations that a sentence does not end with: what follows belongs to them."""
_SOMETIMES_LAST = words_of(
    """
    etc inc ltd co corp a.m p.m am pm u.s u.k u.n e.u d.c b.c a.d jan feb mar apr jun jul aug sep
    sept oct nov dec mon tue tues wed thu thur thurs fri sat sun ave blvd rd min max hr hrs sq sec
    ft
    """
)
"""Abbreviations that end a sentence only before a capitalised word."""


def split_sentences(text: str) -> list[Sentence]:
    """Return the sentences in order; every letter or digit outside list markers is in one."""
    return [
        sentence
        for block in _blocks(text)
        for start, end in _cut(text, block)
        if (sentence := _trimmed(text, start, end, block.layout)) is not None
    ]


def _blocks(text: str) -> Iterator[_Block]:
    """Yield runs of lines: code whole, wrapped prose joined, everything else line by line."""
    lines = [(match.start(), match.end()) for match in _LINE.finditer(text)]
    index = 0
    while index < len(lines):
        start, end = lines[index]
        last = _code_end(text, lines, index)
        if last is not None:
            yield _Block(start, lines[last][1], Layout.CODE)
            index = last + 1
            continue
        line = text[start:end]
        layout, offset = _line_layout(line)
        index += 1
        while (
            layout in (Layout.PROSE, Layout.LIST_ITEM)
            and index < len(lines)
            and _continues(text, lines[index - 1], lines[index])
        ):
            end = lines[index][1]
            index += 1
        yield _Block(start + offset, end, layout)


def _code_end(text: str, lines: list[tuple[int, int]], index: int) -> int | None:
    """Return the index of the last line of the code block that begins at `index`, or None."""
    line = text[lines[index][0] : lines[index][1]]
    fence = _FENCE.match(line)
    if fence is not None:
        # As in CommonMark, a fence that is never closed runs to the end.
        marker = fence.group(1)
        for later in range(index + 1, len(lines)):
            closing = text[lines[later][0] : lines[later][1]].strip()
            if closing.startswith(marker) and not closing.strip(marker[0]):
                return later
        return len(lines) - 1
    tag = _TAG_LINE.match(line)
    if tag is not None:
        closing = f"</{tag.group(1)}"
        for later in range(index, len(lines)):
            if text.find(closing, lines[later][0], lines[later][1]) >= 0:
                return later
        return len(lines) - 1
    last = index
    while last < len(lines) and _JSON_LINE.match(text, lines[last][0], lines[last][1]):
        last += 1
    return last - 1 if last > index else None


def _line_layout(line: str) -> tuple[Layout, int]:
    """Return the layout of a line and how many characters of marker come before its text."""
    stripped = line.strip()
    heading = _HEADING.match(line)
    if heading is not None:
        return Layout.HEADING, heading.end()
    if stripped.startswith("|") or stripped.count(" | ") >= 2:
        return Layout.TABLE_ROW, 0
    marker = _LIST_MARKER.match(line)
    if marker is not None:
        return Layout.LIST_ITEM, marker.end()
    if _BOLD_LINE.match(line.rstrip()):
        return Layout.HEADING, 0
    quoted = _QUOTE_MARKER.match(line)
    return Layout.PROSE, quoted.end() if quoted is not None else 0


def _continues(text: str, line: tuple[int, int], following: tuple[int, int]) -> bool:
    """Tell whether a line break is a wrap: no stop before it, a small letter after it."""
    before = text[max(line[0], line[1] - 80) : line[1]].rstrip()
    after = text[following[0] : following[0] + 80].lstrip(" \t")
    return (
        line[1] - line[0] > 40
        and text[line[1] - 2 : line[1]] != "\n\n"
        and bool(before)
        and before[-1] not in ".!?:;|\u3002\uff01\uff1f"
        and after[:1].islower()
        and _LIST_MARKER.match(after) is None
    )


def _cut(text: str, block: _Block) -> Iterator[tuple[int, int]]:
    """Yield the offsets of a block's sentences, each at most `MAX_SENTENCE_CHARACTERS` long."""
    if block.layout is Layout.CODE:
        # A code block is one piece for the reader; only its size is bounded.
        yield from _bounded(text, block.start, block.end)
        return
    start = block.start
    for end in _stops(text, block):
        yield from _bounded(text, start, end)
        start = end
    yield from _bounded(text, start, block.end)


def _stops(text: str, block: _Block) -> Iterator[int]:
    """Yield where sentences of a block end, in order."""
    if block.layout in (Layout.HEADING, Layout.TABLE_ROW):
        return
    glued = _GLUED_STOP.finditer(text, block.start, block.end)
    next_glued = next(glued, None)
    for match in _STOP.finditer(text, block.start, block.end):
        while next_glued is not None and next_glued.start() < match.start():
            yield next_glued.start()
            next_glued = next(glued, None)
        if match.group()[0] != "." or _ends_sentence(text, match, block):
            yield match.end()
    while next_glued is not None:
        yield next_glued.start()
        next_glued = next(glued, None)


def _ends_sentence(text: str, stop: re.Match[str], block: _Block) -> bool:
    """Tell a full stop from an abbreviation's, an initial's or a list number's."""
    following = text[stop.end() : stop.end() + 40].lstrip()
    if stop.end() >= block.end or not following:
        return True
    if following[0].islower() and stop.group().startswith(".."):
        return False
    before = _LAST_TOKEN.search(text[max(block.start, stop.start() - 20) : stop.start()])
    if before is None:
        return True
    last = before.group().casefold()
    if last in _NEVER_LAST or (len(last) == 1 and last.isalpha() and last != "i"):
        return False
    if last == "no" and following[0].isdecimal():
        return False
    if last in _SOMETIMES_LAST:
        return following[0].isupper() and following[1:2].islower()
    numbers_the_block = (
        last.isdecimal()
        and len(last) <= 2
        and stop.start() - block.start < 20
        and not text[block.start : stop.start() - len(last)].strip()
    )
    return not numbers_the_block


def _bounded(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield `[start, end)` in pieces of bounded length, cut at white space where there is some."""
    while end - start > MAX_SENTENCE_CHARACTERS:
        limit = start + MAX_SENTENCE_CHARACTERS
        space = max(text.rfind(" ", start + 1, limit), text.rfind("\n", start + 1, limit))
        cut = space if space > start else limit
        yield start, cut
        start = cut
    yield start, end


def _trimmed(text: str, start: int, end: int, layout: Layout) -> Sentence | None:
    """Return the sentence without outer white space, or None when it holds no letter or digit."""
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    piece = piece.strip()
    if _WORD_CHARACTER.search(piece) is None:
        return None
    return Sentence(piece, start, start + len(piece), layout)
