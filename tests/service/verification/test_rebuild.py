"""What is folded anew is what is stored, and whatever was changed behind the service is named."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, func, insert, select, update

import triggers
from service.db.database import Database
from service.events.schemas import Event
from service.events.vocabulary import Log
from service.instants import SECOND
from service.models import (
    Belief,
    BeliefSupport,
    BeliefVersion,
    CogEvent,
    Contradiction,
    InferenceResolution,
    Prediction,
    ShadowInference,
)
from service.models.record import Record
from service.settings import Settings
from service.verification.comparing import Kind
from service.verification.rebuild import (
    COMPARED,
    Comparison,
    compare_projections,
    repair_projections,
)
from tests.service.factories import AGENT, NOW, a_belief, a_client, an_event, post, row_of


def rebuilt(database: Database, **options: Any) -> Comparison:
    """Everything folded anew beside the live tables."""
    return compare_projections(database.reading, lambda _events: None, **options)


def a_history() -> list[Event]:
    """Events of every projection, some of them late."""
    made = {"prediction_id": "p1", "statement": "it will rain", "due_at": "2026-10-05T00:00:00Z"}
    return [
        a_belief("b1", confidence=0.9, event_id="e1", turn_id="t1",
                 detail={"evidence": ["m1"], "justifications": [["b0"]]}),
        a_belief("b0", "know"),
        an_event("belief.relabelled", belief_id="b1", label_to="suspect", label_from="infer"),
        an_event("belief.relabelled", belief_id="b1", label_to="guess", ts=1),
        an_event("belief.overwritten", belief_id="b0", detail={"content": "something else"}),
        an_event("belief.superseded", belief_id="b0", detail={"superseded_by": "b1"}),
        an_event("contradiction.created", contradiction_id="c1", detail={"beliefs": ["b0", "b1"]}),
        an_event("contradiction.investigated", contradiction_id="c1", detail={"owner": "day"}),
        an_event("contradiction.resolved", contradiction_id="c1", detail={"resolution": "kept b1"}),
        an_event("prediction.made", confidence=0.7, belief_id="b1", detail=made),
        an_event("prediction.scored", detail={"prediction_id": "p1", "outcome": True}),
        an_event("assertion.made", turn_id="t1", confidence=0.6,
                 detail={"statement": "it rains", "evidence": ["m1", "b0"]}),
        an_event("inference.outcome", log=Log.AUDIT, detail={
            "shadow_id": "agent:e1", "outcome": False, "source": "self_belief"}),
    ]  # fmt: skip


def a_recorded_history(database: Database, settings: Settings) -> None:
    """The history, with its turn before and after what rests on it."""
    turn = {
        "agent_id": AGENT, "session_id": "s1", "turn_id": "t1", "ts": "2026-10-03T12:00:00Z",
        "commit_sha": "abc", "retrieved": [{"id": "m1", "content": "the disk is at 99 %"}],
        "output": "it is full",
    }  # fmt: skip
    history = a_history()
    post(database, history[:1])
    with a_client(settings) as client:
        assert client.post("/v1/turns", json=turn).status_code == 200
        late = {**turn, "turn_id": "t2", "session_id": "s2"}
        assert client.post("/v1/turns", json=late).status_code == 200
    post(database, history[1:])


def test_what_was_recorded_is_what_its_events_give(database: Database, settings: Settings) -> None:
    a_recorded_history(database, settings)
    found = rebuilt(database)
    assert found.differences == []
    assert set(found.rows) == {str(table.name) for table in COMPARED}
    assert all(found.rows.values()), found.rows
    # The second shadow inference took the memory's text from the turn that was there before it.
    with database.read() as session:
        held = session.scalars(select(ShadowInference.evidence).order_by(ShadowInference.seq)).all()
    assert sum("99 %" in (text or "") for text in held) == 1


def test_one_agent_can_be_looked_at_alone(database: Database) -> None:
    post(database, [a_belief("b1"), a_belief("b1", agent_id="other")])
    change(database, Belief, {"label": "know"}, Belief.agent_id == "other")
    assert rebuilt(database, agent_id=AGENT).difference_count == 0
    assert rebuilt(database, agent_id="other").difference_count == 1


def change(
    database: Database, model: type[Record], values: dict[str, Any], *conditions: Any
) -> None:
    """An UPDATE behind the service's back; what refuses it on a write-once table is removed."""
    name = model.__tablename__
    with database.write() as session:
        if name in triggers.tables():
            triggers.remove(session.connection(), name)
        done = session.execute(update(model).where(*conditions).values(values))
        assert done.rowcount == 1, "the tampering did not happen"  # type: ignore[attr-defined]


TAMPERED: Sequence[tuple[type[Record], dict[str, Any], str]] = (
    (Belief, {"label": "know"}, "b1"),
    (Belief, {"needs_rederivation": 1}, "b1"),
    (BeliefVersion, {"content": "what was never said"}, "b1"),
    (BeliefSupport, {"supporter_id": "b9"}, "b0"),
    (Contradiction, {"state": "candidate"}, "c1"),
    (Prediction, {"outcome": 0}, "p1"),
    (ShadowInference, {"confidence": 0.1}, "agent:e1"),
    (ShadowInference, {"evidence": '["m2"]'}, "agent:e1"),
    (InferenceResolution, {"outcome": 1}, ""),
)


@pytest.mark.parametrize(("model", "values", "key"), TAMPERED, ids=lambda one: str(one)[:40])
def test_a_changed_row_is_named_with_its_column(
    database: Database, model: type[Record], values: dict[str, Any], key: str
) -> None:
    post(database, a_history()[:1] + a_history()[4:5] + a_history()[6:])
    column = next(iter(values))
    place = list(model.__table__.primary_key)[1]
    named = place == key if key else InferenceResolution.source == "self_belief"
    change(database, model, values, named)
    found = rebuilt(database)
    about = [one for one in found.differences if one.table == model.__tablename__]
    assert about == found.differences
    if model is BeliefSupport:
        assert {one.kind for one in about} == {Kind.FOREIGN, Kind.MISSING}
    else:
        (one,) = about
        assert set(one.columns) == {column}
        assert one.columns[column][0] == values[column]
        assert column in str(one)
        assert key in str(one)


def test_a_deleted_row_and_a_foreign_one_are_named(database: Database) -> None:
    post(database, [a_belief("b1"), a_belief("b2")])
    with database.write() as session:
        stolen = dict(session.execute(select(*Belief.__table__.columns)).first()._mapping)  # type: ignore[union-attr]
        session.execute(delete(Belief).where(Belief.belief_id == "b2"))
        session.execute(insert(Belief).values(stolen | {"belief_id": "b3"}))
    kinds = {one.key["belief_id"]: one.kind for one in rebuilt(database).differences}
    assert kinds == {"b2": Kind.MISSING, "b3": Kind.FOREIGN}


def test_writing_puts_right_what_is_not_write_once_and_nothing_else(
    database: Database, settings: Settings
) -> None:
    a_recorded_history(database, settings)
    whole = {table.name: rows_of(database, table) for table in COMPARED}
    with database.write() as session:
        session.execute(update(Belief).values(label="know"))
        session.execute(delete(Contradiction))
        session.execute(update(Prediction).values(outcome=0))
        session.execute(insert(BeliefSupport).values(
            agent_id=AGENT, supporter_id="b1", belief_id="b1"))  # fmt: skip
    change(database, BeliefVersion, {"content": "forged"}, BeliefVersion.belief_id == "b1")
    found = repair_projections(database, lambda _events: None)
    assert (found.difference_count, found.repaired, found.remaining) == (5, 4, 1)
    after = rebuilt(database)
    assert [one.table for one in after.differences] == ["belief_versions"]
    changed = {
        name
        for name, rows in whole.items()
        if rows_of(database, Record.metadata.tables[name]) != rows
    }
    assert changed == {"belief_versions"}


def rows_of(database: Database, table: Any) -> list[tuple[Any, ...]]:
    with database.read() as session:
        return [tuple(r) for r in session.execute(select(table).order_by(*table.primary_key))]


def test_an_event_that_no_fold_can_take_is_named_and_the_rest_compared(database: Database) -> None:
    post(database, [*a_history()[9:11], a_belief("b7")])
    change(database, CogEvent, {"detail": "{}"}, CogEvent.event == "prediction.scored")
    change(database, CogEvent, {"detail": "{ no json"}, CogEvent.belief_id == "b7")
    found = rebuilt(database)
    by_table: dict[str, int] = {}
    for one in found.differences:
        by_table[one.table] = by_table.get(one.table, 0) + 1
    assert by_table["cog_events"] == 2
    assert by_table["beliefs"] == 1
    assert by_table["predictions"] == 1


def test_more_rows_than_a_page_are_all_compared(database: Database) -> None:
    post(database, [a_belief(f"b{number}") for number in range(1_203)])
    change(database, Belief, {"label": "know"}, Belief.belief_id == "b999")
    found = rebuilt(database)
    assert found.rows["beliefs"] == 1_203
    assert [one.key["belief_id"] for one in found.differences] == ["b999"]


SUBJECTS = st.sampled_from(["b1", "b2", "b3"])
INSTANTS = st.integers(0, 6).map(lambda number: NOW + number * SECOND)
LABELS = st.sampled_from(["know", "remember", "infer", "suspect", "guess"])


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from([
        "belief.created", "belief.relabelled", "belief.superseded", "belief.overwritten",
        "belief.challenged", "belief.invalidated", "contradiction.created",
        "contradiction.investigated", "contradiction.resolved", "contradiction.expired",
        "prediction.made", "prediction.scored", "assertion.made", "inference.outcome",
    ]))  # fmt: skip
    told: dict[str, Any] = {"event": kind, "ts": draw(INSTANTS), "detail": {}}
    area = kind.split(".")[0]
    subject = draw(SUBJECTS)
    if area == "belief":
        told["belief_id"] = subject
        if kind in ("belief.created", "belief.relabelled"):
            told["label_to"] = draw(LABELS)
            told["detail"]["justifications"] = [[draw(SUBJECTS)]]
            told["detail"]["evidence"] = [draw(SUBJECTS)]
        if kind in ("belief.created", "belief.overwritten"):
            told["detail"]["content"] = draw(st.text(max_size=5))
        if kind == "belief.superseded":
            told["detail"]["superseded_by"] = draw(SUBJECTS)
        if kind == "belief.created" and draw(st.booleans()):
            told["detail"]["adds_evidence"] = True
    elif area == "contradiction":
        told |= {"contradiction_id": subject, "cost_tokens": draw(st.integers(0, 9))}
        told["detail"] = {"beliefs": ["b1", subject], "owner": draw(SUBJECTS), "resolution": "x"}
    elif area == "prediction":
        told["detail"] = {"prediction_id": subject, "outcome": draw(st.booleans())}
        told["belief_id"] = draw(st.none() | SUBJECTS)
    elif area == "assertion":
        told |= {"turn_id": "t1", "confidence": 0.5}
        told["detail"] = {"statement": "x", "evidence": [subject]}
    else:
        number = draw(st.integers(0, 5))
        told["detail"] = {
            "shadow_id": f"agent:h{number}", "outcome": draw(st.booleans()),
            "source": draw(st.sampled_from(["self_belief", "tool_result"])),
        }  # fmt: skip
    return told


@settings(
    max_examples=12, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@given(st.lists(st.lists(events(), min_size=1, max_size=6), min_size=1, max_size=5))
def test_in_whatever_order_events_came_they_give_what_is_stored(
    database: Database, batches: list[list[dict[str, Any]]]
) -> None:
    number = 0
    agent = f"agent-{row_count(database)}"
    for batch in batches:
        told = []
        for fields in batch:
            told.append(an_event(agent_id=agent, **fields | {"event_id": f"h{number}"}))
            number += 1
        post(database, told)
    found = rebuilt(database, agent_id=agent)
    assert found.differences == []
    assert found.events >= number


def row_count(database: Database) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(CogEvent)) or 0


def test_the_comparison_reads_only(database: Database, settings: Settings) -> None:
    a_recorded_history(database, settings)
    change(database, Belief, {"label": "know"}, Belief.belief_id == "b1")
    rebuilt(database)
    assert row_of(database, Belief, AGENT, "b1")["label"] == "know"
    assert json.loads(json.dumps(rebuilt(database).rows))["beliefs"] == 2
