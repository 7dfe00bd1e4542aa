from typing import Any

from auditor.ledger_rules import examine_ledger
from service.db.database import Database
from service.events.schemas import Event
from service.instants import DAY, HOUR
from tests.service.factories import AGENT, NOW, a_belief, an_event, post


def relabel(belief_id: str, label: str, **fields: Any) -> Event:
    return an_event("belief.relabelled", belief_id=belief_id, label_to=label, turn_id="t", **fields)


def examine(database: Database, events: list[Event]) -> dict[str, Any]:
    post(database, events)
    with database.read() as session:
        return examine_ledger(session, AGENT, NOW - DAY, NOW + DAY)


def names(found: dict[str, Any]) -> dict[str, int]:
    return {
        rule: count
        for rule, count in found.items()
        if isinstance(count, int) and count and rule != "examined"
    }


def test_laundering_is_a_strong_label_without_a_know_source(database: Database) -> None:
    created = [a_belief(f"b{n}", turn_id="t") for n in (1, 2, 3)]
    remembered = a_belief("b4", "remember", turn_id="t")
    bad = relabel("b1", "remember")
    found = examine(
        database,
        [
            *created,
            remembered,
            bad,
            relabel("b2", "know", detail={"sources": [{"id": "e1", "label": "know"}]}),
            relabel("b3", "guess"),
            relabel("b4", "know"),
        ],
    )
    assert names(found) == {"laundering": 1}
    assert found["examples"] == {"laundering": [bad.event_id]}
    assert found["examined"] == 8


def test_what_a_belief_was_is_read_from_its_events_not_from_the_relabel(
    database: Database,
) -> None:
    found = examine(
        database, [a_belief("b1", turn_id="t"), relabel("b1", "know", label_from="remember")]
    )
    assert names(found) == {"laundering": 1}


def test_a_source_that_the_record_knows_otherwise_is_no_know_source(database: Database) -> None:
    sources = {"sources": [{"id": "b2", "label": "know"}]}
    found = examine(
        database,
        [
            a_belief("b1", turn_id="t"),
            a_belief("b2", "guess", turn_id="t"),
            relabel("b1", "know", detail=sources),
        ],
    )
    assert names(found) == {"laundering": 1}


def test_a_belief_known_by_its_id_alone_is_a_know_source(database: Database) -> None:
    found = examine(
        database,
        [
            a_belief("b1", turn_id="t"),
            a_belief("b2", "know", turn_id="t"),
            relabel("b1", "know", detail={"sources": ["b2"]}),
        ],
    )
    assert names(found) == {}


def test_a_belief_stronger_than_all_it_rests_on_breaks_the_weakest_label(
    database: Database,
) -> None:
    base = [
        a_belief("i", "infer", turn_id="t"),
        a_belief("s", "suspect", turn_id="t"),
        a_belief("k", "know", turn_id="t"),
    ]

    def rests_on(name: str, label: str, *groups: list[str]) -> Event:
        return a_belief(name, label, turn_id="t", detail={"justifications": list(groups)})

    bad = rests_on("x1", "infer", ["i", "s"])
    found = examine(
        database,
        [
            *base,
            bad,
            rests_on("x2", "infer", ["s"], ["i"]),
            rests_on("x3", "know", ["e17"], ["s"]),
            rests_on("x4", "suspect", ["i", "s", "k"]),
        ],
    )
    assert names(found) == {"weakest_label": 1}
    assert found["examples"] == {"weakest_label": [bad.event_id]}


def test_odd_writes_are_counted_and_other_days_are_not(database: Database) -> None:
    found = examine(
        database,
        [
            a_belief("b1", None, turn_id="t"),
            a_belief("b2"),
            a_belief("b3", turn_id="t", confidence=0.4),
            a_belief("b4", None, ts=NOW - DAY - HOUR),
            an_event("belief.challenged", belief_id="b1"),
        ],
    )
    assert names(found) == {"unlabelled": 1, "without_turn": 1, "label_confidence_mismatch": 1}
    assert found["examined"] == 4
