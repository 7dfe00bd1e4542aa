"""What shadow inferences add to a commit: reads by the kind of event, never by their number."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event as sqlalchemy_event

from service.db.database import Database
from service.events.schemas import Event
from tests.service.factories import NOW, a_belief, an_event, post
from tests.service.inferences.acting import a_turn, an_outcome, store

# Tables that only a shadow inference, a resolution or their evidence is looked up in.
WATCHED = {
    "shadow_inferences", "inference_resolutions", "inference_contexts", "turns", "belief_versions",
    "predictions", "cog_events",
}  # fmt: skip
_READS = re.compile(r"^\s*SELECT\b.*?\bFROM\s+(\w+)", re.DOTALL | re.IGNORECASE)


@contextmanager
def reading(database: Database) -> Iterator[Counter[str]]:
    """Counts the reads of each watched table."""
    reads: Counter[str] = Counter()

    def note(_connection: Any, _cursor: Any, statement: str, *_others: Any) -> None:
        if (found := _READS.match(statement)) and found[1] in WATCHED:
            reads[found[1]] += 1

    sqlalchemy_event.listen(database.writing, "before_cursor_execute", note)
    try:
        yield reads
    finally:
        sqlalchemy_event.remove(database.writing, "before_cursor_execute", note)


def plain(n: int) -> Event:
    return an_event("evidence.retrieved", turn_id=f"t{n}", detail={"tool": "df"})


def gate(n: int) -> Event:
    return an_event("gate.decided", turn_id=f"t{n}", detail={"decision": "INFER"})


def known(n: int) -> Event:
    return a_belief(f"k{n}", "know", turn_id=f"t{n}", detail={"evidence": ["e1"]})


def bare(n: int) -> Event:
    return a_belief(f"b{n}", detail={"evidence": [{"id": "e", "text": "told"}]})


def placed(n: int) -> Event:
    return a_belief(f"p{n}", turn_id=f"t{n}")


def named(n: int) -> Event:
    return a_belief(f"n{n}", turn_id=f"t{n}", detail={"evidence": [f"e{n}", "e"]})


def told(n: int) -> Event:
    return an_outcome("self_belief", of=f"agent:x{n}")


COSTS: list[tuple[Callable[[int], Event], dict[str, int]]] = [
    (plain, {}),
    (gate, {}),
    (known, {}),
    (bare, {}),
    (placed, {"turns": 1}),
    (named, {"turns": 1, "belief_versions": 1, "cog_events": 1}),
    (told, {"shadow_inferences": 1}),
]


@pytest.mark.parametrize(("make", "cost"), COSTS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_kind_of_event_costs_the_same_reads_however_many_there_are(
    database: Database, make: Callable[[int], Event], cost: dict[str, int]
) -> None:
    # An agent's first commit looks whether its log is really empty.
    post(database, [an_event("x.first")])
    for batch in ([make(0)], [make(n) for n in range(1, 60)]):
        with reading(database) as reads:
            post(database, batch)
        assert dict(reads) == cost


def test_evidence_that_is_found_costs_one_read_of_its_place(database: Database) -> None:
    store(database, *(a_turn(f"t{n}") for n in range(40)))
    post(database, [a_belief("e0", "know", ts=NOW)])
    found = [
        a_belief(f"b{n}", turn_id=f"t{n}", detail={"evidence": ["e0", "df"]}) for n in range(40)
    ]
    with reading(database) as reads:
        post(database, found)
    assert dict(reads) == {"turns": 2, "belief_versions": 2}


def test_turns_without_inferences_cost_one_read_and_those_with_one_more(
    database: Database,
) -> None:
    turns = [a_turn(f"t{n}") for n in range(40)]
    post(database, [plain(n) for n in range(40)])
    with reading(database) as reads:
        store(database, *turns[:20])
    # The other is the look for turns that are there already.
    assert dict(reads) == {"cog_events": 1, "turns": 1}
    post(database, [named(n) for n in range(20, 40)])
    with reading(database) as reads:
        store(database, *turns[20:])
    assert dict(reads) == {"cog_events": 1, "turns": 1, "shadow_inferences": 1}
