"""Shadow inferences: written down with the event, before the outcome, once."""

import json
from typing import Any

import pytest
from sqlalchemy import func, select

from scoring.labels import INFERENTIAL, Label
from service.db.database import Database
from service.events.schemas import Event
from service.events.vocabulary import Log
from service.models import CogEvent, InferenceResolution, LogHead, ShadowInference
from tests.service.factories import AGENT, a_belief, an_event, flags_of, post, row_of


def shadows(database: Database) -> list[str]:
    with database.read() as session:
        found = select(ShadowInference.shadow_id).order_by(ShadowInference.seq)
        return list(session.scalars(found))


def outcome(source: str, **detail: Any) -> Event:
    given = {"shadow_id": "agent:b-1", "outcome": True, "source": source} | detail
    return an_event("inference.outcome", detail=given)


def resolution(database: Database, event: Event) -> dict[str, Any]:
    return row_of(database, InferenceResolution, AGENT, f"agent:{event.event_id}")


@pytest.mark.parametrize("label", [*Label, None])
def test_a_write_leaves_a_shadow_inference_only_when_its_label_goes_beyond_the_evidence(
    database: Database, label: Label | None
) -> None:
    post(database, [a_belief("b1", label, event_id="b-1")])
    assert shadows(database) == (["agent:b-1"] if label in INFERENTIAL else [])


def test_a_shadow_inference_keeps_what_was_believed_and_on_which_evidence(
    database: Database,
) -> None:
    evidence = [{"id": "e1", "text": "df says 97%"}]
    created = a_belief(
        "b1",
        confidence=0.9,
        turn_id="t1",
        session_id="s1",
        event_id="b-1",
        detail={
            "evidence": evidence,
            "alternatives": ["a quota"],
            "gate_decision": "INFER",
            "commit_sha": "0a1b2c3",
        },
    )
    post(database, [created])
    row = row_of(database, ShadowInference, AGENT, "agent:b-1")
    assert (row["log"], row["source"], row["event_id"]) == ("agent", "agent", "b-1")
    assert (row["statement"], row["category"]) == ("what b1 says", "system state")
    assert (row["label"], row["confidence"], row["belief_id"]) == ("infer", 0.9, "b1")
    assert json.loads(row["evidence"]) == evidence
    assert json.loads(row["alternatives"]) == ["a quota"]
    assert (row["gate_decision"], row["commit_sha"]) == ("INFER", "0a1b2c3")
    assert (row["turn_id"], row["session_id"], row["worker"]) == ("t1", "s1", "day")
    assert row["ts"] == created.ts


def test_an_assertion_leaves_a_shadow_inference_whatever_its_label(database: Database) -> None:
    asserted = [
        an_event("assertion.made", turn_id="t1", event_id=f"a-{n}", label_to=label,
                 detail={"statement": f"claim {n}", "content": "not this"})
        for n, label in enumerate(["know", None])
    ]  # fmt: skip
    post(database, asserted)
    assert shadows(database) == ["agent:a-0", "agent:a-1"]
    assert row_of(database, ShadowInference, AGENT, "agent:a-0")["statement"] == "claim 0"


def test_a_statement_that_is_null_falls_back_to_the_content(database: Database) -> None:
    detail = {"statement": None, "content": "the disk is full"}
    post(database, [a_belief("b1", event_id="b-1", detail=detail)])
    row = row_of(database, ShadowInference, AGENT, "agent:b-1")
    assert row["statement"] == "the disk is full"


def test_a_nul_in_a_statement_is_replaced_and_stays_in_its_evidence(database: Database) -> None:
    detail = {"content": "a\x00b", "evidence": ["e\x00"], "gate_decision": "\x00"}
    post(database, [a_belief("b1", event_id="b-1", detail=detail)])
    row = row_of(database, ShadowInference, AGENT, "agent:b-1")
    assert (row["statement"], row["gate_decision"]) == ("a\ufffdb", "\ufffd")
    assert row["evidence"] == '["e\\u0000"]'


def test_a_relabel_to_infer_leaves_none(database: Database) -> None:
    moved = an_event("belief.relabelled", belief_id="b1", label_to="infer")
    post(database, [a_belief("b1", "know"), moved])
    assert shadows(database) == []


def test_shadows_and_events_share_the_positions_of_their_log_without_a_gap(
    database: Database,
) -> None:
    for log in Log:
        post(database, [a_belief(f"b{n}-{log}", log=log) for n in range(5)])
    with database.read() as session:
        for log in Log:
            taken = [
                *session.scalars(select(CogEvent.seq).where(CogEvent.log == log)),
                *session.scalars(select(ShadowInference.seq).where(ShadowInference.log == log)),
            ]
            assert sorted(taken) == list(range(1, 11))
            assert session.get_one(LogHead, (AGENT, log)).size == 10


def test_the_same_batch_twice_writes_each_row_once(database: Database) -> None:
    batch = [a_belief("b1", event_id="b-1"), outcome("prediction")]
    post(database, batch)
    before = row_of(database, ShadowInference, AGENT, "agent:b-1")
    assert post(database, batch).duplicates == 2
    with database.read() as session:
        for model in (ShadowInference, InferenceResolution):
            assert session.scalar(select(func.count()).select_from(model)) == 1
        assert session.scalar(select(LogHead.size)) == 4
    assert row_of(database, ShadowInference, AGENT, "agent:b-1") == before


def test_a_resolution_of_nothing_that_is_recorded_is_kept_and_flagged(database: Database) -> None:
    early = outcome("self_belief", outcome=False)
    post(database, [early])
    assert flags_of(database, early) == ["unknown_subject"]
    post(database, [a_belief("b1", event_id="b-1")])
    row = resolution(database, early)
    assert (row["shadow_id"], row["outcome"], row["resolved_at"]) == ("agent:b-1", 0, early.ts)


def test_a_resolution_in_the_batch_of_its_inference_knows_it(database: Database) -> None:
    resolving = outcome("self_belief")
    post(database, [resolving, a_belief("b1", event_id="b-1")])
    assert flags_of(database, resolving) == []
