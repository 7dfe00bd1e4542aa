from service.ratios.figures import RatioName
from service.ratios.window import AsOf
from tests.service.ratios.record_builder import RecordBuilder, at
from tests.service.ratios.seeing import as_json, ratios, view


def _arrive_late(record: RecordBuilder) -> None:
    """Late events of the window and before it, new turns, and another audited turn."""
    record.events(
        [
            ("abduction.invoked", at(0, 1.5), {"turn_id": "t2"}),
            ("belief.created", at(0, 3), {"belief_id": "b9", "label_to": "infer"}),
            ("belief.created", at(-3), {"belief_id": "b1", "label_to": "know"}),
            ("belief.relabelled", at(1, 0.5), {"belief_id": "b1", "label_to": "know"}),
            ("contradiction.resolved", at(4), {"contradiction_id": "c5"}),
            ("contradiction.resolved", at(-9), {"contradiction_id": "c0"}),
            ("contradiction.created", at(-20), {"contradiction_id": "c7"}),
            ("belief.superseded", at(6), {"belief_id": "k1"}),
            ("belief.overwritten", at(6), {"belief_id": "b3"}),
            ("belief.overwrite_refused", at(6), {"belief_id": "b3", "log": "audit"}),
            ("discriminator.acted_on", at(6), {"detail": {"discriminator_id": "g3"}}),
            (
                "opportunity.detected",
                at(1),
                {"turn_id": "t1", "detail": {"source": "in_path"}},
            ),
        ]
    )
    record.turn("t9", at(0, 6), model="m9")
    record.audited("t3", at(0, 3), [{}, {"abducted": 1}], population=4, sample=3)


def test_late_arrivals_change_the_present_and_no_earlier_state(week: RecordBuilder) -> None:
    before = view(week.database)
    told = as_json(ratios(before, week.database))
    _arrive_late(week)
    assert as_json(ratios(before, week.database)) == told
    now = as_json(ratios(view(week.database), week.database))
    changed = {name for name in RatioName if now[name] != told[name]}
    # The built-in auditor judges no support, so there is nothing to change.
    assert changed == set(RatioName) - {RatioName.UNSUPPORTED_ASSERTIONS}


def test_every_length_of_the_logs_is_a_state_that_stays(week: RecordBuilder) -> None:
    whole = view(week.database)
    states = [
        AsOf(agent, audit)
        for agent in range(0, whole.as_of.agent + 1, 9)
        for audit in (0, 3, whole.as_of.audit)
    ]
    told = [as_json(ratios(view(week.database, as_of=state), week.database)) for state in states]
    _arrive_late(week)
    again = [as_json(ratios(view(week.database, as_of=state), week.database)) for state in states]
    assert again == told
    assert told[0][RatioName.LAUNDERING]["value"] is None
