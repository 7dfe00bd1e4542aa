from auditor.linking import Link, find_write, is_asserted, read_record
from service.db.database import Database
from tests.service.factories import AGENT, a_belief, an_event, post

CLAIM = "The broker lost its lease because the clock jumped."
OTHER = "Seven customers were charged twice in March."


def test_a_write_is_linked_by_its_words_and_the_score_is_kept(database: Database) -> None:
    post(
        database,
        [
            a_belief("b1", turn_id="t1", detail={"content": OTHER}),
            a_belief("b2", "suspect", turn_id="t1", detail={"content": CLAIM}),
            a_belief("b3", turn_id="another", detail={"content": CLAIM}),
        ],
    )
    with database.read() as session:
        record = read_record(session, AGENT, "t1")
    assert find_write(CLAIM, record) == Link("b2", "suspect", 1.0)
    link = find_write("The broker lost its lease because the clock jumped forward.", record)
    assert link is not None
    assert link.belief_id == "b2"
    assert 0.8 <= link.score < 1
    assert find_write("The lease of the flat ends in May.", record) is None


def test_a_write_is_linked_by_the_id_that_the_assertion_names(database: Database) -> None:
    post(
        database,
        [
            a_belief("b1", turn_id="t1", detail={"content": "see ticket"}),
            a_belief("b2", turn_id="t1", detail={"content": CLAIM}),
            an_event("assertion.made", turn_id="t1", belief_id="b1", detail={"statement": CLAIM}),
        ],
    )
    with database.read() as session:
        record = read_record(session, AGENT, "t1")
    assert find_write(CLAIM, record) == Link("b1", "infer", 1.0)
    assert is_asserted(CLAIM, record)
    assert not is_asserted(OTHER, record)


def test_a_relabel_counts_as_a_write_of_what_the_belief_says(database: Database) -> None:
    post(database, [a_belief("b1", turn_id="t0", detail={"content": CLAIM})])
    relabel = an_event("belief.relabelled", turn_id="t1", belief_id="b1", label_to="guess")
    post(database, [relabel])
    with database.read() as session:
        record = read_record(session, AGENT, "t1")
    assert find_write(CLAIM, record) == Link("b1", "guess", 1.0)


def test_an_assertion_that_names_a_belief_without_a_write_is_no_link(database: Database) -> None:
    made = an_event("assertion.made", turn_id="t1", belief_id="b9", detail={"statement": CLAIM})
    post(database, [made])
    with database.read() as session:
        record = read_record(session, AGENT, "t1")
    assert find_write(CLAIM, record) is None
    assert is_asserted(CLAIM, record)


def test_the_machinery_of_the_turn_is_seen_and_no_other_turns(database: Database) -> None:
    post(
        database,
        [
            an_event("abduction.invoked", turn_id="t1"),
            an_event("gate.decided", turn_id="t1", detail={"decision": "INFER"}),
            an_event("evidence.retrieved", turn_id="t1", detail={"tool": "df"}),
            an_event("gate.decided", turn_id="t2", detail={"decision": "ASK"}),
        ],
    )
    with database.read() as session:
        first, second, third = (read_record(session, AGENT, t) for t in ("t1", "t2", "t3"))
    assert (first.abducted, first.gated, first.gate_decision, first.looked) == (
        True,
        True,
        "INFER",
        True,
    )
    assert (second.abducted, second.gate_decision, second.looked) == (False, "ASK", False)
    assert not third.gated
