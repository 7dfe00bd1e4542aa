"""docs/concepts.md says of events and flags exactly what the code does."""

import re
from pathlib import Path

from scoring.labels import INFER_FLOOR, SUSPECT_FLOOR, Label
from service.events.vocabulary import EXPECTATIONS, RESERVED, EventType, Flag, ResolutionSource
from service.inferences.outcomes import UNVERIFIABLE_AFTER
from service.instants import DAY

TEXT = (Path(__file__).parents[3] / "docs" / "concepts.md").read_text(encoding="utf-8")
HEAD = ["event", "emitted when", "must", "should", "scope"]


def section(name: str) -> list[list[str]]:
    """The cells of a table between two markers."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", TEXT, re.DOTALL)
    assert found, f"docs/concepts.md has no <!-- {name} --> section"
    return [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in found[1].splitlines()
    ]


def codes(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def test_the_table_of_events_is_that_of_the_vocabulary() -> None:
    rows = section("events")
    assert rows[0] == HEAD
    documented = [[row[0], *row[2:]] for row in rows[2:]]
    expected = [
        [
            f"`{event}`",
            codes(EXPECTATIONS[event].must),
            codes(EXPECTATIONS[event].should),
            codes((RESERVED[event],)) if event in RESERVED else "",
        ]
        for event in EventType
    ]
    assert documented == expected
    assert all(len(row) == len(HEAD) and row[1] for row in rows[2:])


def test_every_event_type_has_its_expectation() -> None:
    assert list(EXPECTATIONS) == list(EventType)


def test_every_flag_is_explained() -> None:
    rows = section("flags")
    assert [row[0] for row in rows] == [f"`{flag}`" for flag in Flag]
    assert all(row[1] for row in rows)


def test_labels_and_sources_stand_in_their_order() -> None:
    assert " > ".join(f"`{label}`" for label in Label) in TEXT
    places = [TEXT.index(f"| `{source}` |") for source in ResolutionSource]
    assert places == sorted(places)


def test_the_numbers_are_those_of_the_code() -> None:
    assert f"`infer` | not in evidence; probability ≥ {INFER_FLOOR}" in TEXT
    assert f"{SUSPECT_FLOOR} ≤ probability < {INFER_FLOOR}" in TEXT
    assert UNVERIFIABLE_AFTER == 30 * DAY
