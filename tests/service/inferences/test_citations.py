"""A resolution counts for the source it names only when what it cites is really recorded."""

import json
from typing import Any

import pytest
from sqlalchemy import select

from service.db.database import Database
from service.events.schemas import Event
from service.events.vocabulary import Log
from service.instants import SECOND
from service.models import CogEvent
from tests.service.factories import AGENT, NOW, a_belief, an_event, flags_of, post
from tests.service.inferences.acting import a_turn, an_outcome, resolutions, store


def a_prediction(name: str, *, scored: bool | None = None, **fields: Any) -> list[Event]:
    """A prediction made at NOW and, if told, scored a second later."""
    made = an_event("prediction.made", ts=NOW, detail={"prediction_id": name}, **fields)
    if scored is None:
        return [made]
    detail = {"prediction_id": name, "outcome": scored}
    return [made, an_event("prediction.scored", ts=NOW + SECOND, detail=detail)]


def a_record(database: Database) -> None:
    """All that the citations below name, the inference `agent:b-1` of belief `b1` included."""
    store(database, a_turn(), a_turn("t2", agent_id="other"))
    evidence: dict[str, list[Any]] = {
        "k-call": [{"turn_id": "t1", "tool_call": "df"}],
        "k-own-turn": ["call-1"],
        "k-observed": [{"event_id": "seen"}],
        "k-named": ["e-7"],
        "k-bare": [],
        "k-forged": [{"turn_id": "t1", "tool_call": 9}, "nothing"],
        "k-old": [{"turn_id": "t1", "tool_call": "df"}],
    }
    knows = [
        a_belief(name, "know", turn_id="t1", detail={"evidence": cited})
        for name, cited in evidence.items()
    ]
    detail = {"evidence": evidence["k-call"]}
    weak = a_belief("k-weak", "remember", turn_id="t1", detail=detail)
    seen = {"tool": "df", "evidence_id": "e-7"}
    observed = an_event("evidence.retrieved", event_id="seen", turn_id="t1", detail=seen)
    post(database, [a_belief("b1", event_id="b-1"), observed, *knows, weak])
    post(database, [an_event("belief.superseded", belief_id="k-old")])
    predictions = [
        a_prediction("p-true", scored=True),
        a_prediction("p-false", scored=False),
        a_prediction("p-open"),
        a_prediction("p-other", scored=True, belief_id="b9"),
        a_prediction("p-foreign", scored=True, agent_id="other"),
    ]
    late = an_event("prediction.made", ts=NOW + 2 * SECOND, detail={"prediction_id": "p-late"})
    early = {"prediction_id": "p-late", "outcome": True}
    scored = an_event("prediction.scored", ts=NOW + SECOND, detail=early)
    post(database, [*(event for one in predictions for event in one), scored, late])


# Source, what it cites, and whether that proves it.
CASES: list[tuple[str, Any, bool]] = [
    ("tool_result", {"turn_id": "t1", "tool_call": 0}, True),
    ("tool_result", {"turn_id": "t1", "tool_call": "du"}, True),
    ("tool_result", [{"turn_id": "t1", "tool_call": "call-1"}], True),
    ("tool_result", None, False),
    ("tool_result", [], False),
    ("tool_result", "df says so", False),
    ("tool_result", {"turn_id": "t1"}, False),
    ("tool_result", {"turn_id": "t1", "tool_call": 2}, False),
    ("tool_result", {"turn_id": "t1", "tool_call": -1}, False),
    ("tool_result", {"turn_id": "t1", "tool_call": True}, False),
    ("tool_result", {"turn_id": "t1", "tool_call": "rm"}, False),
    ("tool_result", {"turn_id": "t9", "tool_call": 0}, False),
    ("tool_result", {"turn_id": "t2", "tool_call": 0}, False),
    ("tool_result", {"turn_id": "\x00", "tool_call": 0}, False),
    ("tool_result", [{"turn_id": "t1", "tool_call": n} for n in (0, 9)], False),
    ("tool_result", [{"turn_id": "t1", "tool_call": 0}] * 51, False),
    ("prediction", {"prediction_id": "p-true"}, True),
    ("prediction", ["p-true"], True),
    ("prediction", {"prediction_id": "p-false"}, False),
    ("prediction", {"prediction_id": "p-open"}, False),
    ("prediction", {"prediction_id": "p-late"}, False),
    ("prediction", {"prediction_id": "p-other"}, False),
    ("prediction", {"prediction_id": "p-foreign"}, False),
    ("prediction", {"prediction_id": "none"}, False),
    ("prediction", None, False),
    ("know_belief", {"belief_id": "k-call"}, True),
    ("know_belief", {"belief_id": "k-own-turn"}, True),
    ("know_belief", {"belief_id": "k-observed"}, True),
    ("know_belief", ["k-named"], True),
    ("know_belief", {"belief_id": "k-bare"}, False),
    ("know_belief", {"belief_id": "k-forged"}, False),
    ("know_belief", {"belief_id": "k-old"}, False),
    ("know_belief", {"belief_id": "k-weak"}, False),
    ("know_belief", {"belief_id": "b1"}, False),
    ("know_belief", {"belief_id": "none"}, False),
    ("know_belief", {"turn_id": "t1", "tool_call": 0}, False),
    ("self_belief", None, True),
    ("self_belief", {"odd": [1, None]}, True),
]


@pytest.mark.parametrize("is_one_batch", [True, False])
def test_what_a_reported_outcome_cannot_prove_is_only_the_agents_word(
    database: Database, *, is_one_batch: bool
) -> None:
    a_record(database)
    sent = [an_outcome(source, evidence) for source, evidence, _ in CASES]
    for batch in [sent] if is_one_batch else [[one] for one in sent[::3]]:
        post(database, batch)
    told = CASES if is_one_batch else CASES[::3]
    assert resolutions(database) == [
        (source if proves else "self_belief", True) for source, _, proves in told
    ]
    for event, (_, cited, proves) in zip(sent if is_one_batch else sent[::3], told, strict=True):
        assert flags_of(database, event) == ([] if proves else ["unevidenced"]), cited


@pytest.mark.parametrize("cited", ["seen", "e-7", "df"])
def test_a_know_belief_of_the_same_commit_proves_as_one_before_it(
    database: Database, cited: str
) -> None:
    store(database, a_turn())
    detail = {"tool": "df", "evidence_id": "e-7"}
    seen = an_event("evidence.retrieved", event_id="seen", turn_id="t1", detail=detail)
    know = a_belief("k1", "know", turn_id="t1", detail={"evidence": [cited]})
    told = an_outcome("know_belief", {"belief_id": "k1"})
    post(database, [told, know, seen, a_belief("b1", event_id="b-1")])
    assert resolutions(database) == [("know_belief", True)]


@pytest.mark.parametrize("source", ["tool_result", "know_belief"])
def test_proof_that_comes_with_the_turn_counts_from_then_on(
    database: Database, source: str
) -> None:
    know = a_belief("k1", "know", turn_id="t1", detail={"evidence": ["df"]})
    cited = {"turn_id": "t1", "tool_call": "df", "belief_id": "k1"}
    told = an_outcome(source, cited, turn_id="t1", outcome=False)
    forged = an_outcome("tool_result", {"turn_id": "t1", "tool_call": "rm"}, turn_id="t1")
    post(database, [a_belief("b1", event_id="b-1"), know, told, forged])
    before = [("self_belief", False), ("self_belief", True)]
    assert resolutions(database) == before
    for _ in range(2):
        store(database, a_turn())
        assert resolutions(database) == [*before, (source, False)]
    with database.read() as session:
        proven = session.scalars(
            select(CogEvent).where(CogEvent.event_id.startswith("auto:"))
        ).one()
        assert (proven.ts, proven.flags) == (told.ts, None)
        assert json.loads(proven.detail or "")["proves"] == told.event_id


def test_the_audit_log_is_no_observation_of_the_agents(database: Database) -> None:
    seen = an_event("evidence.retrieved", event_id="seen", detail={"tool": "df"}, log=Log.AUDIT)
    post(database, [seen, a_belief("b1", event_id="b-1")])
    know = a_belief("k1", "know", detail={"evidence": ["seen"]})
    post(database, [know, an_outcome("know_belief", {"belief_id": "k1"})])
    assert resolutions(database) == [("self_belief", True)]


def test_a_prediction_made_about_another_inference_proves_nothing_of_this_one(
    database: Database,
) -> None:
    beliefs = [a_belief(f"b{n}", event_id=f"b-{n}") for n in (1, 2)]
    made = {"prediction_id": "p1", "shadow_id": "agent:b-2"}
    scored = {"prediction_id": "p1", "outcome": True}
    post(database, [*beliefs, an_event("prediction.made", ts=NOW, detail=made)])
    post(database, [an_event("prediction.scored", ts=NOW + SECOND, detail=scored)])
    post(database, [an_outcome("prediction", "p1"), an_outcome("prediction", "p1", of="agent:b-2")])
    assert resolutions(database, "agent:b-1") == [("self_belief", True)]
    # One by itself, when the prediction was scored, and the one that was sent.
    assert resolutions(database, "agent:b-2") == [("prediction", True)] * 2


def test_an_agent_is_held_to_its_own_record(database: Database) -> None:
    store(database, a_turn())
    post(database, [a_belief("b1", event_id="b-1", agent_id="other")])
    cited = {"turn_id": "t1", "tool_call": 0}
    detail = {"shadow_id": "agent:b-1", "outcome": True, "source": "tool_result"}
    sent = [
        an_event("inference.outcome", agent_id=agent, detail=detail | {"evidence": cited})
        for agent in ("other", AGENT)
    ]
    post(database, sent)
    assert flags_of(database, sent[0]) == ["unevidenced"]
    assert flags_of(database, sent[1]) == ["unknown_subject"]
