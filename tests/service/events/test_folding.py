"""The projections are the same whatever order and batches the events arrive in."""

import itertools
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Table, select

from scoring.labels import Label
from service.db.database import Database
from service.events.schemas import Event
from service.events.vocabulary import EventType, Log
from service.instants import SECOND
from service.models import (
    Belief,
    BeliefVersion,
    Contradiction,
    InferenceResolution,
    Prediction,
    ShadowInference,
)
from tests.service.factories import NOW, a_belief, an_event, post

Sent = tuple[str, dict[str, Any]]
_AGENTS = itertools.count(1)
_MODELS = (Belief, BeliefVersion, Contradiction, Prediction, ShadowInference, InferenceResolution)
# Where a row stands in its log differs from run to run, and the agent in its leaf.
_PLACES = {"agent_id", "seq", "last_seq", "content_seq", "leaf_hash", "seal"}

labels = st.sampled_from([str(label) for label in Label])
confidences = st.none() | st.sampled_from([0.0, 0.4, 0.9, 1.0])
contents = st.sampled_from(["yes", "no", "nul \x00 inside", None])
belief_ids = st.sampled_from(["b1", "b2"])
BELIEF_TYPES = (
    EventType.BELIEF_CREATED,
    EventType.BELIEF_RELABELLED,
    EventType.BELIEF_SUPERSEDED,
    EventType.BELIEF_OVERWRITTEN,
    EventType.BELIEF_CHALLENGED,
    EventType.BELIEF_INVALIDATED,
)
CONTRADICTION_TYPES = (
    EventType.CONTRADICTION_CREATED,
    EventType.CONTRADICTION_INVESTIGATED,
    EventType.CONTRADICTION_RESOLVED,
    EventType.CONTRADICTION_SCOPED,
    EventType.CONTRADICTION_EXPIRED,
)


@st.composite
def belief_event(draw: st.DrawFn) -> Sent:
    detail: dict[str, Any] = {"content": draw(contents), "superseded_by": draw(belief_ids)}
    return draw(st.sampled_from(BELIEF_TYPES)), {
        "belief_id": draw(belief_ids),
        "label_from": draw(st.none() | labels),
        "label_to": draw(labels),
        "confidence": draw(confidences),
        "worker": draw(st.sampled_from(["day", "night"])),
        "detail": detail,
        "log": draw(st.sampled_from(Log)),
    }


@st.composite
def contradiction_event(draw: st.DrawFn) -> Sent:
    detail = {
        "beliefs": ["b1", "b2"],
        "owner": draw(st.sampled_from(["day", "night", None])),
        "priority": draw(st.integers(0, 6)),
        "ttl": draw(st.sampled_from(["P2D", "soon", None])),
        "resolution": draw(st.sampled_from([{"kind": "resolved", "kept": "b1"}, "b1", None])),
    }
    return draw(st.sampled_from(CONTRADICTION_TYPES)), {
        "contradiction_id": draw(st.sampled_from(["c1", "c2"])),
        "cost_tokens": draw(st.none() | st.integers(0, 2**63 - 1)),
        "detail": detail,
    }


@st.composite
def prediction_event(draw: st.DrawFn) -> Sent:
    event = draw(st.sampled_from([EventType.PREDICTION_MADE, EventType.PREDICTION_SCORED]))
    detail = {
        "prediction_id": draw(st.sampled_from(["p1", "p2"])),
        "statement": draw(contents),
        "due_at": draw(st.sampled_from(["2026-10-04T00:00:00Z", "tomorrow", None])),
        "outcome": draw(st.booleans()),
    }
    return event, {"confidence": draw(confidences), "detail": detail}


@st.composite
def inference_event(draw: st.DrawFn) -> Sent:
    if draw(st.booleans()):
        return EventType.ASSERTION_MADE, {"turn_id": "t1", "detail": {"statement": "so it is"}}
    detail = {"shadow_id": "agent:id-0", "outcome": draw(st.booleans()), "source": "prediction"}
    return EventType.INFERENCE_OUTCOME, {"detail": detail}


sent_events = st.lists(
    belief_event() | contradiction_event() | prediction_event() | inference_event(),
    min_size=1,
    max_size=12,
)


def table_rows(database: Database, agent_id: str) -> dict[str, list[dict[str, Any]]]:
    """All projected rows of an agent, without their places; pointers to content are followed."""
    found: dict[str, list[dict[str, Any]]] = {}
    with database.read() as session:
        contents = {
            (row.belief_id, row.log, row.seq): row.content
            for row in session.scalars(
                select(BeliefVersion).where(BeliefVersion.agent_id == agent_id)
            )
        }
        for model in _MODELS:
            table: Table = model.__table__  # type: ignore[assignment]
            rows = session.execute(select(*table.columns).where(table.c.agent_id == agent_id))
            found[table.name] = [_placeless(dict(row._mapping), contents) for row in rows]
            found[table.name].sort(key=repr)
    return found


def _placeless(row: dict[str, Any], contents: dict[Any, str | None]) -> dict[str, Any]:
    if "content_log" in row:
        row["now"] = contents.get((row["belief_id"], row["content_log"], row["content_seq"]))
    return {name: value for name, value in row.items() if name not in _PLACES}


def of_agent(agent_id: str, sent: list[Sent]) -> list[Event]:
    return [
        an_event(event, agent_id=agent_id, event_id=f"id-{i}", ts=NOW + i * SECOND, **fields)
        for i, (event, fields) in enumerate(sent)
    ]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(sent=sent_events, data=st.data())
def test_every_order_of_arrival_and_every_split_into_batches_gives_the_same_rows(
    database: Database, sent: list[Sent], data: st.DataObject
) -> None:
    number = next(_AGENTS)
    at_once, apart = f"at-once-{number}", f"apart-{number}"
    post(database, of_agent(at_once, sent))
    arriving = data.draw(st.permutations(of_agent(apart, sent)))
    while arriving:
        size = data.draw(st.integers(1, len(arriving)))
        post(database, arriving[:size])
        arriving = arriving[size:]
    assert table_rows(database, apart) == table_rows(database, at_once)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(sent=sent_events, data=st.data())
def test_what_is_sent_again_alone_or_among_new_events_changes_no_row(
    database: Database, sent: list[Sent], data: st.DataObject
) -> None:
    number = next(_AGENTS)
    once, again = f"once-{number}", f"again-{number}"
    post(database, of_agent(once, sent))
    events = of_agent(again, sent)
    first = data.draw(st.integers(0, len(events)))
    post(database, events[:first])
    answer = post(database, [*events, *events])
    assert answer.accepted == len(events) - first
    assert answer.duplicates == len(events) + first
    assert post(database, events).duplicates == len(events)
    assert table_rows(database, again) == table_rows(database, once)


def test_many_late_subjects_in_one_batch_are_all_folded_anew(database: Database) -> None:
    made = [a_belief(f"b{i}", ts=NOW) for i in range(1_200)]
    relabels = [
        an_event("belief.relabelled", belief_id=f"b{i}", label_to="guess", ts=NOW + SECOND)
        for i in range(1_200)
    ]
    post(database, relabels)
    post(database, made)
    with database.read() as session:
        rows = session.execute(select(Belief.created_label, Belief.label)).all()
    assert [tuple(row) for row in rows] == [("infer", "guess")] * 1_200


def test_equal_instants_are_folded_in_the_order_of_arrival(database: Database) -> None:
    post(database, [a_belief("b1", ts=NOW)])
    for label in ("suspect", "guess", "infer", "suspect"):
        post(
            database,
            [an_event("belief.relabelled", belief_id="b1", label_to=label, ts=NOW)],
        )
    with database.read() as session:
        belief = session.get(Belief, ("piper", "b1"))
        assert belief is not None
        assert belief.label == "suspect"
