"""Beliefs as their events tell of them: recorded as told, with a flag on what is odd."""

from typing import Any

import pytest
from sqlalchemy import select

from service.db.database import Database
from service.events.schemas import Event
from service.instants import HOUR, SECOND
from service.models import Belief, BeliefVersion, CogEvent
from tests.service.factories import AGENT, NOW, a_belief, an_event, flags_of, post, row_of

LAST = ("last_ts", "last_log", "last_seq")


def belief(database: Database, belief_id: str = "b1") -> dict[str, Any]:
    return row_of(database, Belief, AGENT, belief_id)


def versions(database: Database, belief_id: str = "b1") -> list[tuple[str, str | None]]:
    with database.read() as session:
        rows = session.execute(
            select(BeliefVersion.kind, BeliefVersion.content)
            .where(BeliefVersion.agent_id == AGENT, BeliefVersion.belief_id == belief_id)
            .order_by(BeliefVersion.ts, BeliefVersion.seq)
        )
        return [(kind, content) for kind, content in rows]


def content(database: Database, belief_id: str = "b1") -> str | None:
    row = belief(database, belief_id)
    with database.read() as session:
        return session.scalars(
            select(BeliefVersion.content).where(
                BeliefVersion.agent_id == AGENT,
                BeliefVersion.log == row["content_log"],
                BeliefVersion.seq == row["content_seq"],
            )
        ).one()


def relabelled(label: str, **fields: Any) -> Event:
    detail = {"detail": {"sources": ["e1"]}}
    return an_event("belief.relabelled", belief_id="b1", label_to=label, **(detail | fields))


def superseded(successor: str, belief_id: str = "b1", **fields: Any) -> Event:
    detail = {"superseded_by": successor}
    return an_event("belief.superseded", belief_id=belief_id, detail=detail, **fields)


def overwritten(**fields: Any) -> Event:
    return an_event("belief.overwritten", belief_id="b1", **fields)


def test_a_complete_creation_is_recorded_without_a_flag(database: Database) -> None:
    created = a_belief(
        "b1",
        confidence=0.9,
        session_id="s1",
        turn_id="t1",
        detail={
            "evidence": [{"id": "e1"}],
            "justifications": [["b0"]],
            "valid_from": "2026-10-01T02:00:00+02:00",
        },
    )
    post(database, [created])
    row = belief(database)
    assert flags_of(database, created) == []
    assert (row["created_at"], row["writer"], row["turn_id"]) == (created.ts, "day", "t1")
    assert (row["label"], row["created_label"], row["confidence"]) == ("infer", "infer", 0.9)
    assert row["evidence"] == '[{"id":"e1"}]'
    assert row["justifications"] == '[["b0"]]'
    assert row["valid_from"] == 1_790_812_800_000_000  # 2026-10-01T00:00:00Z
    assert content(database) == "what b1 says"


def test_a_relabel_before_its_creation_is_flagged_and_counts_once_both_are_there(
    database: Database,
) -> None:
    created, later = a_belief("b1"), relabelled("remember", label_from="infer")
    post(database, [later])
    assert flags_of(database, later) == ["unknown_subject"]
    assert belief(database)["created_at"] is None
    post(database, [created])
    row = belief(database)
    assert (row["created_label"], row["label"]) == ("infer", "remember")
    assert flags_of(database, created) == []


def test_a_wrong_label_from_is_flagged_and_the_move_is_taken_as_told(database: Database) -> None:
    created = a_belief("b1")
    wrong = relabelled("know", label_from="guess")
    right = relabelled("remember", label_from="know")
    post(database, [created, wrong, right])
    assert flags_of(database, wrong) == ["wrong_label_from"]
    assert flags_of(database, right) == []
    assert belief(database)["label"] == "remember"


def test_a_relabel_that_changes_nothing_is_flagged(database: Database) -> None:
    created = a_belief("b1", confidence=0.9)
    same = relabelled("infer", label_from="infer")
    surer = relabelled("infer", label_from="infer", confidence=0.95)
    post(database, [created, same, surer])
    assert flags_of(database, same) == ["unexpected_move"]
    assert flags_of(database, surer) == []


def test_a_change_of_confidence_alone_changes_nothing_else(database: Database) -> None:
    post(database, [a_belief("b1", confidence=0.9, detail={"evidence": ["e1"]})])
    before = belief(database)
    post(database, [relabelled("infer", label_from="infer", confidence=0.95)])
    after = belief(database)
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"confidence", "last_ts", "last_seq"}
    assert after["confidence"] == 0.95
    assert versions(database) == [("created", "what b1 says")]


def test_an_unlabelled_belief_is_recorded_without_a_label_and_flagged(database: Database) -> None:
    created = a_belief("b1", None)
    post(database, [created])
    assert flags_of(database, created) == ["unlabelled"]
    assert belief(database)["label"] is None


def test_a_creation_without_author_content_and_category_is_flagged_incomplete(
    database: Database,
) -> None:
    created = an_event("belief.created", belief_id="b1", label_to="know")
    post(database, [created])
    assert flags_of(database, created) == ["incomplete"]
    assert versions(database) == []
    assert belief(database)["content_seq"] is None


@pytest.mark.parametrize(
    ("label", "confidence", "expected"),
    [
        ("infer", 0.4, ["label_confidence_mismatch"]),
        ("infer", 0.85, []),
        ("suspect", 0.85, ["label_confidence_mismatch"]),
        ("guess", 0.5, ["label_confidence_mismatch"]),
        ("know", 0.1, []),
    ],
)
def test_a_label_that_contradicts_its_confidence_is_recorded_as_told_and_flagged(
    database: Database, label: str, confidence: float, expected: list[str]
) -> None:
    created = a_belief("b1", label, confidence=confidence)
    post(database, [created])
    assert flags_of(database, created) == expected
    assert belief(database)["label"] == label
    assert belief(database)["confidence"] == confidence


def test_supersession_leaves_author_times_and_content_of_the_old_belief_alone(
    database: Database,
) -> None:
    post(database, [a_belief("b1", confidence=0.9, turn_id="t1")])
    before = belief(database)
    move = superseded("b2")
    post(database, [move, a_belief("b2", worker="night")])
    after = belief(database)
    changed = {name for name in after if after[name] != before[name]}
    assert changed == {"status", "superseded_by", "superseded_at", "last_ts", "last_seq"}
    assert (after["status"], after["superseded_by"]) == ("superseded", "b2")
    assert after["superseded_at"] == move.ts
    assert belief(database, "b2")["status"] == "active"


@pytest.mark.parametrize(
    "late",
    [
        relabelled("know", label_from="infer", confidence=1.0),
        superseded("b3"),
        overwritten(detail={"content": "something else"}, label_to="know"),
        an_event("belief.invalidated", belief_id="b1", detail={"cause": "b0"}),
    ],
    ids=lambda event: event.event,
)
def test_a_move_of_a_superseded_belief_is_flagged_and_changes_nothing(
    database: Database, late: Event
) -> None:
    last = NOW + 100 * HOUR
    post(database, [a_belief("b1", ts=last), superseded("b2", ts=last + 1)])
    before = belief(database)
    late.ts = last + 2
    post(database, [late])
    after = belief(database)
    assert flags_of(database, late) == ["subject_closed"]
    assert {n: v for n, v in after.items() if n not in LAST} == {
        n: v for n, v in before.items() if n not in LAST
    }
    assert content(database) == "what b1 says"


def test_a_move_that_arrives_late_but_happened_before_the_supersession_counts(
    database: Database,
) -> None:
    created, move, closing = a_belief("b1"), relabelled("know"), superseded("b2")
    post(database, [created, closing])
    post(database, [move])
    assert "subject_closed" not in flags_of(database, move)
    assert belief(database)["label"] == "know"
    assert belief(database)["status"] == "superseded"


def test_a_belief_that_supersedes_itself_is_flagged_and_stays_active(database: Database) -> None:
    created, circle = a_belief("b1"), superseded("b1")
    post(database, [created, circle])
    assert flags_of(database, circle) == ["circular"]
    assert belief(database)["status"] == "active"
    assert belief(database)["superseded_by"] is None


def test_two_beliefs_that_supersede_each_other_are_recorded_as_told(database: Database) -> None:
    post(database, [a_belief("b1"), a_belief("b2"), superseded("b2"), superseded("b1", "b2")])
    assert belief(database)["superseded_by"] == "b2"
    assert belief(database, "b2")["superseded_by"] == "b1"


def test_an_overwrite_keeps_what_stood_there_before(database: Database) -> None:
    post(database, [a_belief("b1", detail={"content": "the 15th"})])
    post(database, [overwritten(detail={"content": "the 16th"})])
    assert versions(database) == [("created", "the 15th"), ("overwritten", "the 16th")]
    assert content(database) == "the 16th"
    assert belief(database)["overwrites"] == 1


def test_an_overwrite_that_happened_earlier_does_not_become_the_current_content(
    database: Database,
) -> None:
    first = overwritten(detail={"content": "earlier"}, ts=NOW + 2 * SECOND)
    second = overwritten(detail={"content": "later"}, ts=NOW + 3 * SECOND)
    post(database, [a_belief("b1", ts=NOW), second])
    post(database, [first])
    assert content(database) == "later"
    assert belief(database)["overwrites"] == 2


def test_a_belief_that_vanished_without_supersession_keeps_its_last_content(
    database: Database,
) -> None:
    post(database, [a_belief("b1"), overwritten()])
    assert belief(database)["overwrites"] == 1
    assert content(database) == "what b1 says"


def test_a_belief_created_twice_keeps_the_first_and_flags_the_second(database: Database) -> None:
    first = a_belief("b1", confidence=0.9)
    second = a_belief("b1", "guess", worker="night", detail={"content": "another"})
    post(database, [first])
    before = belief(database)
    post(database, [second])
    after = belief(database)
    assert flags_of(database, second) == ["already_created"]
    assert {n: v for n, v in after.items() if n not in LAST} == {
        n: v for n, v in before.items() if n not in LAST
    }
    assert content(database) == "what b1 says"
    assert versions(database) == [("created", "what b1 says"), ("created", "another")]


def test_the_earliest_creation_is_the_one_that_counts_even_when_it_arrives_last(
    database: Database,
) -> None:
    early, late = a_belief("b1", "suspect"), a_belief("b1", "infer", worker="night")
    post(database, [late])
    post(database, [early])
    row = belief(database)
    assert (row["created_at"], row["writer"], row["label"]) == (early.ts, "day", "suspect")


def test_a_nul_in_content_stays_in_the_event_and_shows_as_replaced(database: Database) -> None:
    created = a_belief("b1", detail={"content": "be\x00fore", "category": "a\x00b", "k\x00": 1})
    post(database, [created])
    with database.read() as session:
        detail = session.scalars(select(CogEvent.detail)).one()
    assert detail == '{"category":"a\\u0000b","content":"be\\u0000fore","k\\u0000":1}'
    assert content(database) == "be\ufffdfore"
    assert belief(database)["category"] == "a\ufffdb"


def test_content_that_is_no_text_is_shown_as_json(database: Database) -> None:
    post(database, [a_belief("b1", detail={"content": {"disk": 2**70, "full": True}})])
    assert content(database) == '{"disk":1180591620717411303424,"full":true}'


@pytest.mark.parametrize(("label", "expected"), [("infer", "suspect"), ("guess", "guess")])
def test_an_invalidated_belief_becomes_a_suspect_and_a_guess_stays_one(
    database: Database, label: str, expected: str
) -> None:
    created = a_belief("b1", label)
    fallen = an_event("belief.invalidated", belief_id="b1", detail={"cause": "b0"})
    post(database, [created, fallen])
    row = belief(database)
    assert (row["label"], row["created_label"]) == (expected, label)
    assert row["needs_rederivation"] == 1


def test_challenges_are_counted_from_the_first_also_of_a_superseded_belief(
    database: Database,
) -> None:
    challenges = [
        an_event("belief.challenged", belief_id="b1", detail={"by": "tool_result"}, ts=NOW + i)
        for i in (5, 3, 9)
    ]
    post(database, [a_belief("b1", ts=NOW), superseded("b2", ts=NOW + 4)])
    for challenge in challenges:
        post(database, [challenge])
    row = belief(database)
    assert (row["challenges"], row["challenged_at"]) == (3, NOW + 3)
    assert [flags_of(database, challenge) for challenge in challenges] == [[], [], []]


def test_the_same_batch_twice_adds_nothing(database: Database) -> None:
    batch = [a_belief("b1"), relabelled("know"), overwritten(detail={"content": "new"})]
    assert post(database, batch).accepted == 3
    before = (belief(database), versions(database))
    again = post(database, batch)
    assert (again.accepted, again.duplicates) == (0, 3)
    assert (belief(database), versions(database)) == before
