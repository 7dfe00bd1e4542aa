"""Evidence is kept as it stood, and what comes later stands beside it."""

import json
from typing import Any

import pytest

from service.db.database import Database
from service.events.vocabulary import Log
from service.inferences.evidence import MAX_ITEMS, MAX_TEXT_CHARS
from service.instants import SECOND
from service.models import ShadowInference
from tests.service.factories import AGENT, NOW, a_belief, an_event, post, row_of
from tests.service.inferences.acting import a_turn, contexts, evidence_of, store


def inferred(*evidence: Any, **fields: Any) -> Any:
    """A belief `b-1` inferred from evidence."""
    return a_belief("b1", event_id="b-1", detail={"evidence": list(evidence)}, **fields)


FROM_B0 = {"id": "b0", "text": "what b0 says", "from": "beliefs/b0"}


def test_a_belief_named_as_evidence_is_kept_in_its_words_of_then(database: Database) -> None:
    post(database, [a_belief("b0", "know")])
    post(database, [inferred("b0", {"id": "b0", "channel": "memory"}, "nothing-known")])
    post(database, [an_event("belief.overwritten", belief_id="b0", detail={"content": "new"})])
    assert evidence_of(database, "agent:b-1") == [
        FROM_B0,
        FROM_B0 | {"channel": "memory"},
        "nothing-known",
    ]


@pytest.mark.parametrize("is_one_batch", [True, False])
def test_the_words_are_those_before_the_inference_however_the_events_are_batched(
    database: Database, *, is_one_batch: bool
) -> None:
    told = [
        a_belief("b0", "know", ts=NOW),
        an_event("belief.overwritten", belief_id="b0", ts=NOW + 1, detail={"content": "second"}),
        inferred("b0", ts=NOW + 2),
        an_event("belief.overwritten", belief_id="b0", ts=NOW + 3, detail={"content": "third"}),
    ]
    for batch in [told] if is_one_batch else [[one] for one in told]:
        post(database, batch)
    assert evidence_of(database, "agent:b-1") == [FROM_B0 | {"text": "second"}]


def test_words_of_later_are_not_taken_for_those_of_then(database: Database) -> None:
    post(database, [a_belief("b0", "know", ts=NOW + SECOND)])
    post(database, [inferred("b0", ts=NOW)])
    assert evidence_of(database, "agent:b-1") == ["b0"]


def test_a_second_creation_does_not_change_what_a_belief_said(database: Database) -> None:
    again = a_belief("b0", "know", ts=NOW + 1, detail={"content": "other"})
    post(database, [a_belief("b0", "know", ts=NOW), again, inferred("b0", ts=NOW + 2)])
    assert evidence_of(database, "agent:b-1") == [FROM_B0]


def test_what_an_operator_put_into_a_belief_does_not_come_back_to_the_agent(
    database: Database,
) -> None:
    post(database, [a_belief("b0", "know", log=Log.AUDIT)])
    post(database, [inferred("b0")])
    assert evidence_of(database, "agent:b-1") == ["b0"]


def test_a_text_that_was_sent_is_kept_whole_and_as_it_came(database: Database) -> None:
    post(database, [a_belief("b0", "know")])
    sent = [{"id": "b0", "text": "x" * (MAX_TEXT_CHARS + 1)}, {"id": "b0", "quote": ""}, 7, None]
    post(database, [inferred(*sent)])
    assert evidence_of(database, "agent:b-1") == sent


def test_a_long_text_is_cut_and_says_so(database: Database) -> None:
    post(database, [a_belief("b0", "know", detail={"content": "é" * (MAX_TEXT_CHARS + 1)})])
    post(database, [inferred("b0")])
    (item,) = evidence_of(database, "agent:b-1")
    assert (item["text"], item["truncated"]) == ("é" * MAX_TEXT_CHARS, True)


def test_of_very_many_items_the_first_fifty_are_looked_up(database: Database) -> None:
    post(database, [a_belief("b0", "know")])
    post(database, [inferred(*["b0"] * (MAX_ITEMS + 1))])
    assert evidence_of(database, "agent:b-1") == [FROM_B0] * MAX_ITEMS + ["b0"]


CALL = {"text": "97 % used", "from": "turns/t1/tool_calls/0"}
# What is named, and what a stored turn tells of it.
IN_A_TURN: list[tuple[Any, Any]] = [
    ("call-1", {"id": "call-1"} | CALL),
    ("df", {"id": "df"} | CALL),
    ({"turn_id": "t1", "tool_call": 0}, {"turn_id": "t1", "tool_call": 0} | CALL),
    ({"turn_id": "t1", "tool_call": "df"}, {"turn_id": "t1", "tool_call": "df"} | CALL),
    ("du", {"id": "du", "text": '{"used":4}', "from": "turns/t1/tool_calls/1"}),
    ("m1", {"id": "m1", "text": "backups run at two", "from": "turns/t1/retrieved/0"}),
    ({"turn_id": "t1", "tool_call": 2}, None),
    ({"turn_id": "t1", "tool_call": True}, None),
    ({"turn_id": "other", "tool_call": 0}, None),
    ("", None),
    ("e\x00", None),
    ("x" * 300, None),
    ({"id": {"odd": 1}}, None),
]


def test_what_a_turn_holds_is_found_whether_it_comes_before_or_after(database: Database) -> None:
    named = [name for name, _ in IN_A_TURN]
    store(database, a_turn())
    post(database, [inferred(*named, turn_id="t1")])
    told = [name if found is None else found for name, found in IN_A_TURN]
    assert evidence_of(database, "agent:b-1") == told
    assert contexts(database, "agent:b-1") == []

    late = a_belief("b2", event_id="b-2", turn_id="t2", detail={"evidence": ["call-1", "?"]})
    post(database, [late])
    store(database, a_turn("t2"))
    assert evidence_of(database, "agent:b-2") == ["call-1", "?"]
    (companion,) = contexts(database, "agent:b-2")
    found = {"id": "call-1", "text": "97 % used", "from": "turns/t2/tool_calls/0"}
    assert json.loads(companion["evidence"]) == [found]


def retrieved(event_id: str, evidence_id: str, turn_id: str = "t1", **detail: Any) -> Any:
    told = {"tool": "df", "evidence_id": evidence_id} | detail
    return an_event("evidence.retrieved", event_id=event_id, turn_id=turn_id, detail=told)


@pytest.mark.parametrize("is_one_batch", [True, False])
def test_what_the_agent_said_that_it_retrieved_in_the_turn_is_kept(
    database: Database, *, is_one_batch: bool
) -> None:
    told = [
        retrieved("r-1", "e1", text="first"),
        retrieved("r-2", "e1", result={"used": 97}),
        retrieved("r-3", "e2", turn_id="t2", text="of another turn"),
        retrieved("r-4", "e4"),
        an_event("evidence.retrieved", event_id="r-5", turn_id="t1", log=Log.AUDIT,
                 detail={"evidence_id": "e5", "text": "not the agent's"}),
        inferred("e1", "r-1", "e2", "e3", "e4", "e5", turn_id="t1"),
        retrieved("r-6", "e3", text="too late"),
    ]  # fmt: skip
    for batch in [told] if is_one_batch else [[one] for one in told]:
        post(database, batch)
    assert evidence_of(database, "agent:b-1") == [
        {"id": "e1", "text": '{"used":97}', "from": "events/r-2"},
        {"id": "r-1", "text": "first", "from": "events/r-1"},
        "e2", "e3", "e4", "e5",
    ]  # fmt: skip


def test_a_name_that_two_tool_calls_bear_tells_neither(database: Database) -> None:
    calls = [{"name": "df", "result": "first"}, {"name": "df", "result": "second"}]
    store(database, a_turn(tool_calls=calls))
    post(database, [inferred("df", {"turn_id": "t1", "tool_call": 1}, turn_id="t1")])
    kept = evidence_of(database, "agent:b-1")
    assert kept[0] == "df"
    assert kept[1]["text"] == "second"


def test_a_turn_stored_before_lends_its_session_and_commit_to_the_snapshot(
    database: Database,
) -> None:
    store(database, a_turn())
    post(database, [inferred(turn_id="t1")])
    row = row_of(database, ShadowInference, AGENT, "agent:b-1")
    assert (row["session_id"], row["commit_sha"]) == ("s1", "0a1b2c3")
    assert contexts(database, "agent:b-1") == []


def test_what_the_event_says_itself_is_not_replaced_by_its_turn(database: Database) -> None:
    store(database, a_turn())
    detail = {"commit_sha": "mine", "gate_decision": "TEST"}
    told = a_belief("b1", event_id="b-1", turn_id="t1", session_id="s9", detail=detail)
    post(database, [an_event("gate.decided", turn_id="t1", ts=NOW, detail={"decision": "ASK"})])
    post(database, [told])
    row = row_of(database, ShadowInference, AGENT, "agent:b-1")
    assert (row["session_id"], row["commit_sha"], row["gate_decision"]) == ("s9", "mine", "TEST")


def test_a_turn_that_comes_later_leaves_companions_of_what_it_tells(database: Database) -> None:
    gate = an_event("gate.decided", turn_id="t1", ts=NOW, detail={"decision": "INFER"})
    after = an_event("gate.decided", turn_id="t1", ts=NOW + 2, detail={"decision": "ASK"})
    said = an_event(
        "assertion.made", turn_id="t1", ts=NOW + 1, event_id="a-1", detail={"statement": "so"}
    )
    known = a_belief("b2", "know", turn_id="t1", event_id="b-2")
    post(database, [gate, said, after, known])
    before = row_of(database, ShadowInference, AGENT, "agent:a-1")
    store(database, a_turn())
    of_turn, of_gate = contexts(database, "agent:a-1")
    assert (of_turn["kind"], of_turn["turn_id"], of_turn["session_id"], of_turn["commit_sha"]) == (
        "turn", "t1", "s1", "0a1b2c3",
    )  # fmt: skip
    assert of_turn["evidence"] is None
    assert of_gate["kind"] == "gate"
    assert json.loads(of_gate["evidence"]) == {"decision": "INFER", "event_id": gate.event_id}
    assert row_of(database, ShadowInference, AGENT, "agent:a-1") == before
    assert contexts(database, "agent:b-2") == []


def test_a_turn_sent_again_leaves_no_second_companion(database: Database) -> None:
    post(database, [inferred(turn_id="t1")])
    for _ in range(2):
        store(database, a_turn())
    assert len(contexts(database, "agent:b-1")) == 1


def test_a_turn_that_tells_nothing_new_leaves_no_companion(database: Database) -> None:
    post(database, [inferred(turn_id="t1", session_id="s1")])
    store(database, a_turn(commit_sha=None))
    assert contexts(database, "agent:b-1") == []


def test_an_assertion_that_names_its_belief_in_detail_is_the_same_claim(
    database: Database,
) -> None:
    detail = {"statement": "so", "belief_id": "b1"}
    post(database, [an_event("assertion.made", turn_id="t1", event_id="a-1", detail=detail)])
    assert row_of(database, ShadowInference, AGENT, "agent:a-1")["belief_id"] == "b1"
