"""What the simulated agent talks about: a home server and the chores of a small business.

The words of claims (effects and causes) never stand in a context (questions, tool results, memory,
hints), and restatements use nearly only words of their context. A test holds both, because they
make "inferred" and "restated" facts of the text and not only of the simulator's notes.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

Item = TypeVar("Item")

ClaimKey = tuple[str, int, int]
"""A claim by its topic's name and the indices of its effect and its cause."""


class Support(StrEnum):
    """How far the context of a turn bears out a claim made in it (spec 3.1)."""

    SUPPORTED = "supported"
    WEAK = "weak"
    UNSUPPORTED = "unsupported"
    CONTRADICTED = "contradicted"


@dataclass(frozen=True, slots=True)
class Cause:
    """A because-clause and the three notes that would support, hint at or contradict it."""

    clause: str
    supporting: str
    weak: str
    contradicting: str

    def hint(self, support: Support) -> str | None:
        """The note a context holds when a claim of this cause is so supported, if any."""
        if support is Support.SUPPORTED:
            return self.supporting
        if support is Support.WEAK:
            return self.weak
        return self.contradicting if support is Support.CONTRADICTED else None


@dataclass(frozen=True, slots=True)
class Topic:
    """One chore: a question, a tool with its result fields, a memory, and claims to be made."""

    name: str
    category: str
    tool: str
    question: str
    fields: tuple[tuple[str, Sequence[str | int]], ...]
    restatement: str
    memory: str
    effects: tuple[str, str]
    causes: tuple[Cause, Cause, Cause]


def pick(rng: random.Random, pool: Sequence[Item]) -> Item:
    """One item of `pool`, uniformly; several times faster than `Random.choice`."""
    return pool[int(rng.random() * len(pool))]


def draw_fields(rng: random.Random, topic: Topic) -> dict[str, str | int]:
    """A tool result of the topic."""
    return {key: pick(rng, pool) for key, pool in topic.fields}


def claim_text(topic: Topic, effect: int, cause: int) -> str:
    """The sentence that asserts an effect and its supposed cause."""
    clause = topic.effects[effect]
    return f"{clause[0].upper()}{clause[1:]} because {topic.causes[cause].clause}."
