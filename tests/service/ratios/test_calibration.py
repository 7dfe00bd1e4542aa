import pytest

from scoring.figures import Status
from service.instants import DAY
from service.ratios.calibration import Calibration, read_calibration
from service.ratios.window import View
from tests.service.ratios.record_builder import NEXT_MONDAY, RecordBuilder, at
from tests.service.ratios.seeing import view


def _read(record: RecordBuilder, seen: View | None = None) -> Calibration:
    with record.database.read() as session:
        return read_calibration(session, seen or view(record.database))


def _infer(record: RecordBuilder, belief: str, confidence: float | None, ts: int = at(0)) -> str:
    """A belief with its shadow inference; the id of the latter."""
    record.event(
        "belief.created", ts, belief_id=belief, label_to="infer", confidence=confidence,
        detail={"content": belief},
    )  # fmt: skip
    return f"agent:{record.last_event_id}"


def _resolve(
    record: RecordBuilder, shadow: str, ts: int, *, outcome: bool, source: str = "self_belief"
) -> None:
    detail = {"shadow_id": shadow, "outcome": outcome, "source": source, "evidence": ["call 1"]}
    record.event("inference.outcome", ts, detail=detail)


def test_pairs_are_scored_as_spec_2_4_says(record: RecordBuilder) -> None:
    for number, (confidence, outcome) in enumerate([(0.9, True), (0.9, False), (0.6, True)]):
        shadow = _infer(record, f"b{number}", confidence)
        _resolve(record, shadow, at(1), outcome=outcome)
    body = _read(record).as_json()
    assert body["n"] == 3
    assert body["brier"]["value"] == pytest.approx((0.01 + 0.81 + 0.16) / 3)
    assert body["ece"]["value"] == pytest.approx(2 / 3 * 0.4 + 1 / 3 * 0.4)
    assert body["ece"]["status"] == Status.INCONCLUSIVE
    assert body["ece_if_calibrated"]["p95"] > 0.08
    assert [one["n"] for one in body["bins"]] == [0, 0, 0, 0, 0, 0, 1, 0, 0, 2]


def test_without_a_pair_there_is_a_reason_and_no_score(record: RecordBuilder) -> None:
    _resolve(record, _infer(record, "b1", None), at(1), outcome=True)
    body = _read(record).as_json()
    assert (body["n"], body["bins"], body["ece_if_calibrated"]) == (0, [], None)
    for name in ("brier", "ece"):
        assert body[name]["value"] is None
        assert body[name]["status"] == Status.UNAVAILABLE
        assert body[name]["reason"]


def test_a_belief_and_its_assertion_are_one_claim_with_the_confidence_first_stated(
    record: RecordBuilder,
) -> None:
    shadow = _infer(record, "b1", 0.9)
    record.event(
        "assertion.made", at(0, 1), turn_id="t", belief_id="b1", confidence=0.5,
        detail={"statement": "b1"},
    )  # fmt: skip
    _resolve(record, f"agent:{record.last_event_id}", at(1), outcome=True)
    _resolve(record, shadow, at(2), outcome=True)
    (pair,) = _read(record).pairs
    assert (pair.confidence, pair.outcome, pair.is_disputed) == (0.9, True, False)


def test_the_best_source_is_believed_and_equals_that_disagree_are_disputed(
    record: RecordBuilder,
) -> None:
    ranked, disputed = _infer(record, "b1", 0.9), _infer(record, "b2", 0.9)
    _resolve(record, ranked, at(1), outcome=True, source="operator_correction")
    _resolve(record, ranked, at(2), outcome=False)
    _resolve(record, disputed, at(1), outcome=True)
    _resolve(record, disputed, at(2), outcome=False)
    assert [(one.outcome, one.is_disputed) for one in _read(record).pairs] == [
        (True, False), (False, True),
    ]  # fmt: skip


def test_a_claim_counts_in_the_window_of_its_resolution_and_stays_as_it_was(
    record: RecordBuilder,
) -> None:
    shadow = _infer(record, "b1", 0.9, at(-40))
    _resolve(record, shadow, at(1), outcome=True)
    seen = view(record.database)
    told = _read(record, seen).as_json()
    assert told["n"] == 1
    _resolve(record, shadow, at(2), outcome=False, source="operator_correction")
    assert _read(record, seen).as_json() == told
    assert _read(record).pairs[0].outcome is False
    later = view(record.database, start=NEXT_MONDAY, until=NEXT_MONDAY + 7 * DAY)
    assert _read(record, later).pairs == ()
    assert _read(record, later).brier.previous == pytest.approx(0.81)
