"""Turn a text into the set of words that two texts are compared by."""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from threading import Lock

from snowballstemmer.english_stemmer import EnglishStemmer

from auditor.text.stop_words import MONTHS, NEGATIONS, NUMBER_WORDS, STOP_WORDS

NEGATED = "not:"
"""Prefix of a content word that stands under a negation: "not allowed" gives "not:allow"."""

_MAX_STEMMED_CHARACTERS = 40
_stemmer = EnglishStemmer()
_stemmer_lock = Lock()  # the stemmer keeps its word in itself, so two threads must not share a call

_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + ")"
_NO_WORD_AFTER = r"(?![^\W_])"
_GAP = r"[ \t]{1,3}+"
_UNITS = "|".join(
    # The longest first: a possessive group takes the first that fits and does not come back.
    (
        *("hours", "kgs", "lbs", "usd", "eur", "sec", "hrs", "mins", "min", "kg", "mg", "lb", "oz"),
        *("km", "cm", "mm", "mi", "ft", "kb", "mb", "gb", "tb", "ms", "hr", "g", "m", "k", "x"),
        *("s", "h"),
    )
)

# Bounded or possessive throughout, so that a megabyte of digits costs a megabyte of steps.
_TOKEN = re.compile(
    rf"""
    (?P<iso>(?<!\d)(?P<iso_year>\d{{4}})-(?P<iso_month>\d{{2}})-(?P<iso_day>\d{{2}})(?!\d)(?:t(?=\d))?+)
  | (?P<month_first>(?<![^\W_])(?P<mf_month>{_MONTH})\.?{_GAP}(?P<mf_day>\d{{1,2}})(?:st|nd|rd|th)?+
        {_NO_WORD_AFTER}(?:,?[ \t]{{0,3}}(?P<mf_year>(?:1|2)\d{{3}}){_NO_WORD_AFTER})?+)
  | (?P<day_first>(?<![\d.,:/-])(?P<df_day>\d{{1,2}})(?:st|nd|rd|th)?+{_GAP}(?:of{_GAP})?
        (?P<df_month>{_MONTH})
        {_NO_WORD_AFTER}\.?(?:,?[ \t]{{0,3}}(?P<df_year>(?:1|2)\d{{3}}){_NO_WORD_AFTER})?+)
  | (?P<month_year>(?<![^\W_])(?P<my_month>{_MONTH})\.?,?{_GAP}
        (?P<my_year>(?:1|2)\d{{3}}){_NO_WORD_AFTER})
  | (?P<slashed>(?<![\d/])(?P<sl_a>\d{{1,2}})/(?P<sl_b>\d{{1,2}})/(?P<sl_year>\d{{4}})(?![\d/]))
  | (?P<clock>(?<![\d:])(?P<hour>\d{{1,2}}):(?P<minute>\d{{2}})(?::\d{{2}}(?:\.\d{{1,9}})?)?+
        (?![\d:])(?:[ \t]?(?P<half>[ap])\.?m\b)?+)
  | (?P<hour_only>(?<![\d.,:])(?P<ho_hour>\d{{1,2}})[ \t]?(?P<ho_half>[ap])\.?m\b)
  | (?P<number>(?:\d{{1,3}}(?:,\d{{3}}){{1,6}}+(?:\.\d++)?+|\d++(?:\.\d++){{0,5}}+)
        (?:st|nd|rd|th)?+(?:(?P<unit>{_UNITS}))?+{_NO_WORD_AFTER})
  | (?P<word>[^\W_]++)
    """,
    re.VERBOSE,
)
_CONTRACTED_NOT = re.compile(r"[ ]?n['\u2019]t\b|\bcannot\b")
_CLAUSE_END = re.compile(r"[,;:.!?()\[\]{}\"\n|]")
# A JSON member that says no: `"insurance": "no"` supports "no insurance".
_DENIED_KEY = re.compile(
    r'"([A-Za-z_]{1,60}+)"\s{0,3}+:\s{0,3}+'
    r'(?:"no(?:ne)?"|false|null|0(?![\d.])|\[\s{0,9}+\])'
)
# People name a card or an account by its last four digits.
_ENDING_IN = re.compile(r"\bending (?:in|with) (?=\d)")
_LONG_NUMBER = re.compile(r"[0-9]{7,}+")
# A link to a line of code names the line: `fields.py#L1474`.
_LINE_ANCHOR = re.compile(r"#L([0-9]{1,7})")
_CAMEL_CASE = re.compile(r"\b[A-Z]?+[a-z]++(?:[A-Z][a-z]++)++")
_CAMEL_PIECE = re.compile(r"[A-Z]?[a-z]++")
# Scripts written without spaces: compared by pairs of neighbouring characters.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]++")


def content_words(text: str) -> frozenset[str]:
    """Return the stemmed content words of a text; numbers, dates and times as comparable words.

    Words of one or more letters are case-folded (NFKC) and stemmed (Snowball English); `$1,200.00`
    gives `1200`, `15th` gives `15`, `May 20th, 2024` and `2024-05-20` both give `date:05-20` and
    `2024`, `6 pm` gives `18:00`; names such as `flight_number` give their parts.
    """
    return frozenset(_words(_fold(text)))


def context_words(text: str) -> frozenset[str]:
    """Return the content words of evidence and what they imply, as parts of names do."""
    words = set(_words(_fold(text)))
    words.update(f"month:{word[5:7]}" for word in tuple(words) if word.startswith("date:"))
    for name in _CAMEL_CASE.finditer(text):
        words.update(stem(piece.casefold()) for piece in _CAMEL_PIECE.findall(name.group()))
    words.update(run[-4:] for run in _LONG_NUMBER.findall(text))
    words.update(_LINE_ANCHOR.findall(text))
    for member in _DENIED_KEY.finditer(text):
        words.update(NEGATED + word for word in content_words(member.group(1)))
    return frozenset(words)


def is_exact(word: str) -> bool:
    """Tell whether a word is a number, a date or an identifier with a digit: right or wrong."""
    return any(character.isdecimal() for character in word)


def is_negated(words: frozenset[str]) -> bool:
    """Tell whether any word of a text stands under a negation."""
    return any(word.startswith(NEGATED) for word in words)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return the Snowball English stem of a case-folded word; very long words stay as they are."""
    if len(word) > _MAX_STEMMED_CHARACTERS or not word.isascii():
        return word
    with _stemmer_lock:
        return str(_stemmer.stemWord(word))


def _fold(text: str) -> str:
    """Return the text in one Unicode form and case, negations spelled out, digits as ASCII."""
    folded = text if text.isascii() else unicodedata.normalize("NFKC", text)
    folded = _CONTRACTED_NOT.sub(" not", folded.casefold())
    folded = _ENDING_IN.sub(" ", folded)
    if folded.isascii():
        return folded
    return "".join(
        str(unicodedata.decimal(character)) if character.isdecimal() else character
        for character in folded
    )


def _words(folded: str) -> Iterator[str]:
    """Yield the words of a folded text in order; the one after a negation is marked as negated."""
    negated = False
    position = 0
    for match in _TOKEN.finditer(folded):
        if negated and _CLAUSE_END.search(folded, position, match.start()):
            yield NEGATED
            negated = False
        position = match.end()
        if match["word"] is None:
            yield from _exact_words(match)
            negated = False
            continue
        for word in _plain_words(match["word"]):
            if word in NEGATIONS:
                negated = True
            elif word not in STOP_WORDS:
                stemmed = NUMBER_WORDS.get(word) or stem(word)
                yield NEGATED + stemmed if negated else stemmed
                negated = False
    if negated:
        yield NEGATED


def _plain_words(token: str) -> Iterator[str]:
    """Yield a token, or its pairs of neighbouring characters in a script written without spaces."""
    if token.isascii():
        yield token
        return
    position = 0
    for run in _UNSPACED.finditer(token):
        if run.start() > position:
            yield token[position : run.start()]
        characters = run.group()
        yield from (characters[i : i + 2] for i in range(max(1, len(characters) - 1)))
        position = run.end()
    if position < len(token):
        yield token[position:]


def _exact_words(match: re.Match[str]) -> Iterator[str]:
    """Yield the comparable words of a date, a clock time or a number."""
    found = match.groupdict()
    if found["iso"]:
        yield from _date(found["iso_month"], found["iso_day"], found["iso_year"])
    elif found["month_first"]:
        yield from _date(MONTHS[found["mf_month"]], found["mf_day"], found["mf_year"])
    elif found["day_first"]:
        yield from _date(MONTHS[found["df_month"]], found["df_day"], found["df_year"])
    elif found["month_year"]:
        yield f"month:{MONTHS[found['my_month']]}"
        yield found["my_year"]
    elif found["slashed"]:
        first, second = found["sl_a"], found["sl_b"]
        month, day = (second, first) if int(first) > 12 else (first, second)
        yield from _date(month, day, found["sl_year"])
    elif found["clock"]:
        yield _clock(int(found["hour"]), found["minute"], found["half"])
    elif found["hour_only"]:
        yield _clock(int(found["ho_hour"]), "00", found["ho_half"])
    else:
        yield from _number(found["number"], found["unit"])


def _date(month: str, day: str, year: str | None) -> Iterator[str]:
    """Yield a day of the year and, where given, the year."""
    yield f"date:{int(month):02d}-{int(day):02d}"
    if year:
        yield year


def _clock(hour: int, minute: str, half: str | None) -> str:
    """Return a clock time on 24 hours."""
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return f"{hour:02d}:{minute}"


def _number(token: str, unit: str | None) -> Iterator[str]:
    """Yield a number without separators, ordinal ending and superfluous zeros, then its unit."""
    digits = token.removesuffix(unit or "").rstrip("stndrh").replace(",", "")
    if digits.count(".") == 1:
        digits = digits.rstrip("0").rstrip(".")
    yield re.sub(r"^0+(?=\d)", "", digits)
    if unit:
        yield stem(unit)
