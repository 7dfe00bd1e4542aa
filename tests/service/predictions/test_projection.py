"""Predictions as their events tell of them: the first making and the first scoring count."""

from typing import Any

from service.db.database import Database
from service.events.schemas import Event
from service.instants import DAY, parse_instant
from service.models import Prediction
from tests.service.factories import AGENT, NOW, an_event, flags_of, post, row_of


def made(at: int = 0, *, confidence: float | None = 0.8, **detail: Any) -> Event:
    given = {"prediction_id": "p1", "statement": "it will hold"} | detail
    return an_event("prediction.made", ts=NOW + at, confidence=confidence, detail=given)


def scored(at: int = DAY, *, outcome: bool = True) -> Event:
    detail = {"prediction_id": "p1", "outcome": outcome}
    return an_event("prediction.scored", ts=NOW + at, detail=detail)


def prediction(database: Database) -> dict[str, Any]:
    return row_of(database, Prediction, AGENT, "p1")


def test_a_prediction_is_made_and_scored_without_a_flag(database: Database) -> None:
    events = [made(due_at="2026-10-04T14:00:00+02:00", belief_id="b1"), scored(outcome=False)]
    post(database, events)
    row = prediction(database)
    assert [flags_of(database, event) for event in events] == [[], []]
    assert row["due_at"] == parse_instant("2026-10-04T12:00:00Z")
    assert (row["statement"], row["confidence"], row["belief_id"]) == ("it will hold", 0.8, "b1")
    assert (row["made_at"], row["scored_at"], row["outcome"]) == (NOW, NOW + DAY, 0)


def test_a_score_that_arrives_before_the_making_is_flagged_and_kept(database: Database) -> None:
    early = scored()
    post(database, [early])
    assert flags_of(database, early) == ["unknown_subject"]
    post(database, [made()])
    row = prediction(database)
    assert (row["made_at"], row["scored_at"], row["outcome"]) == (NOW, NOW + DAY, 1)


def test_a_score_that_happened_before_the_making_is_flagged(database: Database) -> None:
    early = scored(-5)
    post(database, [made()])
    post(database, [early])
    assert flags_of(database, early) == ["unknown_subject"]


def test_only_the_first_score_counts_and_the_second_is_flagged(database: Database) -> None:
    second = scored(2 * DAY, outcome=False)
    post(database, [made(), scored()])
    post(database, [second])
    assert flags_of(database, second) == ["subject_closed"]
    assert prediction(database)["outcome"] == 1


def test_an_earlier_score_that_arrives_late_is_the_one_that_counts(database: Database) -> None:
    post(database, [made(), scored(2 * DAY)])
    first = scored(DAY, outcome=False)
    post(database, [first])
    assert flags_of(database, first) == []
    assert prediction(database)["outcome"] == 0
    assert prediction(database)["scored_at"] == NOW + DAY


def test_a_prediction_made_twice_keeps_the_first_and_flags_the_second(database: Database) -> None:
    second = made(5, confidence=0.99, statement="it will not")
    post(database, [made()])
    post(database, [second])
    assert flags_of(database, second) == ["already_created"]
    assert prediction(database)["confidence"] == 0.8
    assert prediction(database)["statement"] == "it will hold"


def test_a_prediction_without_a_probability_is_flagged_incomplete(database: Database) -> None:
    event = made(confidence=None)
    post(database, [event])
    assert flags_of(database, event) == ["incomplete"]
    assert prediction(database)["confidence"] is None


def test_a_due_date_that_is_no_instant_is_none(database: Database) -> None:
    post(database, [made(due_at="2026-10-04T12:00:00")])
    assert prediction(database)["due_at"] is None


def test_a_nul_in_what_is_shown_is_replaced(database: Database) -> None:
    post(database, [made(statement="a\x00b", belief_id="b\x00", due_at="\x00")])
    assert prediction(database)["statement"] == "a\ufffdb"
    assert prediction(database)["belief_id"] == "b\ufffd"


def test_the_same_batch_twice_adds_nothing(database: Database) -> None:
    batch = [made(), scored()]
    post(database, batch)
    before = prediction(database)
    assert post(database, batch).duplicates == 2
    assert prediction(database) == before
