"""What decides a claim by naming it resolves it in the same transaction."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import func, select

from service.db.database import Database
from service.events.schemas import Event
from service.events.vocabulary import Log
from service.inferences.automatic import MAX_RESOLVED
from service.instants import SECOND
from service.models import CogEvent, InferenceContext, LogHead
from tests.service.factories import NOW, a_belief, an_event, flags_of, post
from tests.service.inferences.acting import a_turn, resolutions, store

CLAIM = a_belief("b1", event_id="b-1", ts=NOW)


def made(
    ts: int = NOW, *, event_id: str = "made", belief_id: str | None = None, **told: Any
) -> Event:
    detail = {"prediction_id": "p1"} | told
    return an_event("prediction.made", ts=ts, event_id=event_id, belief_id=belief_id, detail=detail)


def scored(ts: int = NOW + SECOND, *, outcome: bool = True, **told: Any) -> Event:
    detail = {"prediction_id": "p1", "outcome": outcome} | told
    return an_event("prediction.scored", ts=ts, event_id=f"scored-{ts}", detail=detail)


LINKS: list[dict[str, Any]] = [
    {"belief_id": "b1"},
    {"shadow_id": "agent:b-1"},
    {"belief_id": "b1", "shadow_id": "agent:b-1"},
]


@pytest.mark.parametrize("outcome", [True, False])
@pytest.mark.parametrize("link", LINKS)
def test_a_scored_prediction_resolves_the_claim_it_was_made_about(
    database: Database, link: dict[str, Any], *, outcome: bool
) -> None:
    post(database, [CLAIM, made(**link)])
    assert resolutions(database) == []
    post(database, [scored(outcome=outcome)])
    assert resolutions(database) == [("prediction", outcome)]
    with database.read() as session:
        (told,) = session.scalars(
            select(CogEvent).where(CogEvent.event == "inference.outcome")
        ).all()
        assert (told.ts, told.log, told.flags) == (NOW + SECOND, "agent", None)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (0, 2, 1)])
@pytest.mark.parametrize("is_one_batch", [True, False])
def test_the_order_of_making_and_score_does_not_matter_once_the_claim_is_there(
    database: Database, order: tuple[int, ...], *, is_one_batch: bool
) -> None:
    told = [CLAIM, made(belief_id="b1"), scored()]
    arriving = [told[n] for n in order]
    if is_one_batch:
        post(database, arriving)
    else:
        post(database, [CLAIM])
        for event in arriving:
            if event is not CLAIM:
                post(database, [event])
    assert resolutions(database) == [("prediction", True)]


def test_what_was_predicted_after_the_fact_resolves_nothing(database: Database) -> None:
    post(database, [CLAIM, scored(NOW), made(NOW + 1, belief_id="b1")])
    assert resolutions(database) == []


def test_a_second_score_resolves_nothing_and_an_earlier_one_stands_beside_it(
    database: Database,
) -> None:
    post(database, [CLAIM, made(belief_id="b1"), scored(NOW + 5 * SECOND)])
    post(database, [scored(NOW + 9 * SECOND, outcome=False)])
    assert resolutions(database) == [("prediction", True)]
    post(database, [scored(NOW + SECOND, outcome=False)])
    assert resolutions(database) == [("prediction", True), ("prediction", False)]


def test_the_first_link_of_a_prediction_counts(database: Database) -> None:
    other = a_belief("b2", event_id="b-2")
    post(database, [CLAIM, other, made(shadow_id="agent:b-1")])
    for n in range(2):
        post(database, [made(NOW + 1, event_id=f"again-{n}", shadow_id="agent:b-2")])
    post(database, [scored(shadow_id="agent:b-2")])
    assert resolutions(database, "agent:b-1") == [("prediction", True)]
    assert resolutions(database, "agent:b-2") == []
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(InferenceContext)) == 1


def test_a_score_may_name_the_claim_of_a_prediction_that_names_none(database: Database) -> None:
    post(database, [CLAIM, made(), scored(shadow_id="agent:b-1")])
    assert resolutions(database) == [("prediction", True)]


def test_a_prediction_about_nothing_recorded_resolves_nothing(database: Database) -> None:
    odd = ["\x00", "x" * 300, 7, None, ["agent:b-1"]]
    for n, link in enumerate(odd):
        detail = {"prediction_id": f"p{n}", "shadow_id": link, "belief_id": link}
        post(database, [CLAIM, an_event("prediction.made", ts=NOW, detail=detail)])
        post(database, [scored(prediction_id=f"p{n}", ts=NOW + n + 1)])
    assert resolutions(database) == []


def corrected(**told: Any) -> Event:
    belief_id = told.pop("belief", None)
    detail = {"text": "that is wrong", "outcome": False} | told
    # As a key of scope operate writes it: the log of what is said about the agent.
    event = an_event("x.operator", log=Log.AUDIT, belief_id=belief_id, detail=detail)
    event.event = "operator.reported"
    return event


@pytest.mark.parametrize(
    "link", [{"shadow_id": "agent:b-1"}, {"belief_id": "b1"}, {"belief": "b1"}]
)
def test_an_operators_report_that_names_a_claim_corrects_it(
    database: Database, link: dict[str, Any]
) -> None:
    post(database, [CLAIM, a_belief("b2")])
    post(database, [corrected(**link)])
    assert resolutions(database) == [("operator_correction", False)]
    assert resolutions(database, "agent:b-1") == [("operator_correction", False)]


@pytest.mark.parametrize("told", [{}, {"shadow_id": "agent:b-1", "outcome": "no"}])
def test_a_report_that_names_no_claim_or_no_outcome_resolves_nothing(
    database: Database, told: dict[str, Any]
) -> None:
    post(database, [CLAIM, corrected(**told)])
    assert resolutions(database) == []


def know(**told: Any) -> Event:
    return a_belief("k1", "know", event_id="k-1", turn_id="t1", detail=told)


CITED = {"evidence": [{"turn_id": "t1", "tool_call": "df"}]}
KNOWN: list[tuple[dict[str, Any], bool | None]] = [
    ({"resolves": "agent:b-1", "outcome": True}, True),
    ({"resolves": "b1", "outcome": False}, False),
    ({"resolves": ["b1", "agent:b-1"], "outcome": False}, False),
    ({"supersedes": "b1", "claim": "contradicting"}, False),
    ({"supersedes": "b1", "claim": "same"}, True),
    ({"supersedes": "b1"}, None),
    ({"supersedes": "b1", "claim": ["same"]}, None),
    ({"outcome": True}, None),
    ({"resolves": "what b1 says", "outcome": True}, None),
    ({"resolves": [None, 7, "\x00"], "outcome": True}, None),
]


@pytest.mark.parametrize(("told", "outcome"), KNOWN)
def test_a_know_belief_resolves_the_claim_it_names_when_it_says_how(
    database: Database, told: dict[str, Any], *, outcome: bool | None
) -> None:
    store(database, a_turn())
    post(database, [CLAIM])
    post(database, [know(**CITED, **told)])
    assert resolutions(database) == ([] if outcome is None else [("know_belief", outcome)])


def test_a_know_belief_that_cites_nothing_stored_is_only_the_agents_word(
    database: Database,
) -> None:
    post(database, [CLAIM])
    post(database, [know(**CITED, resolves="b1", outcome=True)])
    assert resolutions(database) == [("self_belief", True)]
    with database.read() as session:
        event_id = select(CogEvent.event_id).where(CogEvent.event == "inference.outcome")
        derived = an_event("x.same", event_id=session.scalars(event_id).one())
    assert flags_of(database, derived) == ["unevidenced"]


def test_every_inference_of_the_belief_is_resolved_up_to_the_limit(database: Database) -> None:
    said = [
        an_event("assertion.made", turn_id="t", belief_id="b1", detail={"statement": f"{n}"})
        for n in range(MAX_RESOLVED + 5)
    ]
    post(database, [CLAIM, *said, made(belief_id="b1"), scored()])
    assert len(resolutions(database)) == MAX_RESOLVED
    assert resolutions(database, "agent:b-1") == [("prediction", True)]


def test_what_the_agent_says_resolves_nothing_that_was_written_about_it(
    database: Database,
) -> None:
    audited = a_belief("b1", event_id="b-1", log=Log.AUDIT, ts=NOW)
    post(database, [audited, made(belief_id="b1"), scored(shadow_id="audit:b-1")])
    assert resolutions(database) == []
    post(database, [corrected(shadow_id="audit:b-1")])
    assert resolutions(database, "audit:b-1") == [("operator_correction", False)]


def test_the_same_events_again_resolve_nothing_twice(database: Database) -> None:
    told = [CLAIM, made(belief_id="b1"), scored(), corrected(belief_id="b1")]
    post(database, told)
    with database.read() as session:
        sizes = session.execute(select(LogHead.log, LogHead.size).order_by(LogHead.log)).all()
    again = an_event("x.other")
    assert post(database, [again, *told]).duplicates == 4
    assert sorted(resolutions(database)) == [("operator_correction", False), ("prediction", True)]
    with database.read() as session:
        later = session.execute(select(LogHead.log, LogHead.size).order_by(LogHead.log)).all()
    assert [(log, size) for log, size in later] == [
        (log, size + (log == "agent")) for log, size in sizes
    ]


def test_an_agent_that_takes_the_id_beforehand_does_not_keep_the_outcome_out(
    database: Database,
) -> None:
    post(database, [CLAIM, made(belief_id="b1")])
    post(database, [CLAIM, scored()])
    with database.read() as session:
        event_id = session.scalars(
            select(CogEvent.event_id).where(CogEvent.event == "inference.outcome")
        ).one()
    mine = {"prediction_id": "p1"}
    claim = a_belief("b1", event_id="b-1", ts=NOW, agent_id="other")
    predicted = an_event("prediction.made", ts=NOW, belief_id="b1", detail=mine, agent_id="other")
    post(database, [claim, predicted, an_event("x.taken", event_id=event_id, agent_id="other")])
    score = an_event(
        "prediction.scored", ts=NOW + SECOND, event_id=f"scored-{NOW + SECOND}",
        detail=mine | {"outcome": False}, agent_id="other",
    )  # fmt: skip
    post(database, [score])
    assert sorted(resolutions(database)) == [("prediction", False), ("prediction", True)]


def test_two_writers_of_one_event_resolve_its_claim_once(database: Database) -> None:
    """Each of the eight has a writer and a connection of its own, as processes have."""
    post(database, [CLAIM, made(belief_id="b1")])
    score = scored()
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: post(database, [score]), range(8)))
    assert sorted((one.accepted, one.duplicates) for one in answers) == [(0, 1)] * 7 + [(1, 0)]
    assert resolutions(database) == [("prediction", True)]
