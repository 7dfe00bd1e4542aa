"""How much of a claim stands in the context, and whether two texts make the same claim."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from auditor.text.normalise import (
    content_words,
    context_words,
    is_exact,
    is_negated,
)
from auditor.text.sentences import split_sentences

SUPPORT_THRESHOLD = 0.7
"""Least share of a claim's content words found in the context that makes it `in_context`."""

SAME_CLAIM_THRESHOLD = 0.8
"""Least share, both ways, of content words in common for two texts to make the same claim."""

MAX_PASSAGES = 3
"""How many passages a claim may draw on; unbounded, a long session would cover any claim."""

MAX_PASSAGE_CHARACTERS = 400

MAX_POSTINGS = 1_000
"""A word that stands in more passages than this finds only the first ones, to bound the work."""


@dataclass(frozen=True, slots=True)
class ContextPiece:
    """A message, memory item or tool result that the agent could read, named by `kind` and `id`."""

    kind: str
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of a context piece: `text` equals `piece.text[start:end]`."""

    piece: ContextPiece
    start: int
    end: int
    words: frozenset[str]

    @property
    def text(self) -> str:
        """The verbatim passage."""
        return self.piece.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Support:
    """What the context holds of a claim's content words.

    `missing` are those that the chosen passages lack, `absent_exact` the numbers, dates and
    identifiers that the whole context lacks.
    """

    score: float
    missing: frozenset[str]
    absent_exact: frozenset[str]
    passages: tuple[Passage, ...]


class ContextIndex:
    """The passages of a session's context by their words; pieces may be added turn by turn."""

    def __init__(self, pieces: Iterable[ContextPiece] = ()) -> None:
        self._passages: list[Passage] = []
        self._postings: defaultdict[str, list[int]] = defaultdict(list)
        self._known: set[frozenset[str]] = set()
        for piece in pieces:
            self.add(piece)

    def add(self, piece: ContextPiece) -> None:
        """Index one more piece, in time linear in its length."""
        for start, end in _passage_bounds(piece.text):
            words = context_words(piece.text[start:end])
            if words in self._known:
                continue  # said again in the same words: the first place is as good
            self._known.add(words)
            for word in words:
                postings = self._postings[word]
                if len(postings) < MAX_POSTINGS:
                    postings.append(len(self._passages))
            self._passages.append(Passage(piece, start, end, words))

    def support(self, words: frozenset[str]) -> Support:
        """Return the share of `words` held by the `MAX_PASSAGES` passages that hold most.

        Greedy cover: each next passage is the one that holds most of what is still missing, the
        earlier one between equals. No words at all give a score of 0.
        """
        missing = set(words)
        chosen: list[Passage] = []
        while missing and len(chosen) < MAX_PASSAGES:
            counts: Counter[int] = Counter()
            for word in missing:
                counts.update(self._postings.get(word, ()))
            if not counts:
                break
            best = min(counts, key=lambda index: (-counts[index], index))
            chosen.append(self._passages[best])
            missing -= self._passages[best].words
        score = 1 - len(missing) / len(words) if words else 0.0
        absent = frozenset(
            word for word in missing if is_exact(word) and word not in self._postings
        )
        return Support(score, frozenset(missing), absent, tuple(chosen))


def word_overlap_both_ways(first: str, second: str) -> float:
    """Return the smaller of the two shares of stemmed content words in common, between 0 and 1.

    0 when the texts differ in a number, a date or a negation, whatever else they share: "the 15th"
    and "the 16th", "allowed" and "not allowed" are never one claim.
    """
    return shared_both_ways(content_words(first), content_words(second))


def shared_both_ways(first: frozenset[str], second: frozenset[str]) -> float:
    """Return `word_overlap_both_ways` of two texts already turned into content words."""
    if not first or not second or is_negated(first) != is_negated(second):
        return 0.0
    if any(map(is_exact, first - second)) and any(map(is_exact, second - first)):
        return 0.0
    return len(first & second) / max(len(first), len(second))


class ClaimMemory:
    """The claims made so far in a session, for finding one that is made again."""

    def __init__(self) -> None:
        self._claims: list[frozenset[str]] = []
        self._known: set[frozenset[str]] = set()
        self._postings: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, words: frozenset[str]) -> None:
        """Remember a claim by its content words."""
        if words in self._known:
            return
        self._known.add(words)
        for word in words:
            self._postings[word].append(len(self._claims))
        self._claims.append(words)

    def holds(self, words: frozenset[str]) -> bool:
        """Tell whether the same claim was made before."""
        # Of any 20 % and one of the words the same claim shares at least one; ask the rarest.
        allowed_to_differ = math.floor((1 - SAME_CLAIM_THRESHOLD) * len(words) + 1e-9)
        rarest = sorted(words, key=lambda word: (len(self._postings.get(word, ())), word))
        candidates = {
            index
            for word in rarest[: allowed_to_differ + 1]
            for index in self._postings.get(word, ())
        }
        return any(
            shared_both_ways(words, self._claims[index]) >= SAME_CLAIM_THRESHOLD
            for index in candidates
        )


def _passage_bounds(text: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of the sentences of a text, long ones cut near `MAX_PASSAGE_CHARACTERS`."""
    for sentence in split_sentences(text):
        start = sentence.start
        while sentence.end - start > MAX_PASSAGE_CHARACTERS:
            limit = start + MAX_PASSAGE_CHARACTERS
            cut = max(text.rfind(mark, start + 1, limit) for mark in ("}", "\n", ",", " "))
            cut = cut + 1 if cut > start + MAX_PASSAGE_CHARACTERS // 2 else limit
            yield start, cut
            start = cut
        if start < sentence.end:
            yield start, sentence.end
