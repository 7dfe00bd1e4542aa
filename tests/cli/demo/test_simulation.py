import json
import re
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

import cli.demo
from cli.demo import simulate

UNTIL = datetime(2026, 9, 28, tzinfo=UTC)
EVENT_FIELDS = frozenset(
    re.findall(
        r"\S+",
        "agent_id ts event event_id session_id turn_id worker belief_id contradiction_id "
        "label_from label_to confidence detail cost_tokens cost_usd latency_ms",
    )
)
TURN_FIELDS = frozenset(
    re.findall(
        r"\S+",
        "agent_id session_id turn_id ts worker model commit_sha inputs retrieved tool_calls output "
        "input_tokens output_tokens cost_usd latency_ms",
    )
)
LABELS = {"know", "remember", "infer", "suspect", "guess"}
# Must and should of spec 1.3; what stands in brackets may be missing as a simulated fault.
REQUIRED = {
    "opportunity.detected": "turn_id detail.source",
    "gate.decided": "turn_id detail.decision",
    "assertion.made": "turn_id detail.statement confidence detail.evidence",
    "abduction.invoked": "turn_id detail.n_hypotheses detail.discriminator",
    "abduction.completed": "turn_id detail.n_hypotheses detail.discriminator",
    "hypotheses.generated": "turn_id detail.n",
    "discriminator.generated": "detail.discriminator_id",
    "discriminator.acted_on": "detail.discriminator_id",
    "evidence.retrieved": "detail.tool",
    "belief.created": "belief_id worker detail.content [label_to] [detail.category]",
    "belief.relabelled": "belief_id label_to label_from detail.sources",
    "belief.superseded": "belief_id detail.superseded_by",
    "belief.overwritten": "belief_id",
    "belief.challenged": "belief_id detail.by",
    "belief.invalidated": "belief_id detail.cause",
    "contradiction.created": "contradiction_id detail.beliefs",
    "contradiction.investigated": "contradiction_id detail.owner",
    "contradiction.resolved": "contradiction_id detail.owner detail.resolution",
    "contradiction.scoped": "contradiction_id detail.owner detail.resolution",
    "contradiction.expired": "contradiction_id",
    "prediction.made": "detail.prediction_id confidence",
    "prediction.scored": "detail.prediction_id detail.outcome",
    "inference.outcome": "detail.shadow_id detail.outcome detail.source",
    "summary.written": "detail.labels_in detail.labels_out",
    "signal.observed": "turn_id detail.signal",
    "decision.recorded": "detail.decision_id detail.action",
    "flag.changed": "detail.flag detail.state",
    "x.heartbeat": "",
}
# Five weeks of 30,000 events, read once for the tests of shape.
DEMO = [
    (batch.turns, batch.events)
    for batch in simulate(7, until=UNTIL, shadow_id_of=lambda event_id: f"of {event_id}").batches()
]
EVENTS: list[dict[str, Any]] = [event for _, events in DEMO for event in events]
TURNS: list[dict[str, Any]] = [turn for turns, _ in DEMO for turn in turns]


def wire_bytes(**options: Any) -> bytes:
    seed = options.pop("seed", 3)
    simulation = simulate(seed, until=options.pop("until", UNTIL), events=3_000, **options)
    lines = ([batch.turns, batch.events] for batch in simulation.batches())
    return "\n".join(map(json.dumps, lines)).encode()


def test_the_same_seed_gives_the_same_bytes() -> None:
    assert wire_bytes() == wire_bytes()


def test_one_simulation_can_be_read_twice() -> None:
    simulation = simulate(3, until=UNTIL, events=2_000)
    first, truth = list(simulation.batches()), simulation.truth
    assert first == list(simulation.batches())
    assert truth == simulation.truth


@pytest.mark.parametrize(
    "options",
    [{"seed": 4}, {"until": UNTIL + timedelta(days=1)}, {"weeks": 4}, {"turns": 50}],
    ids=lambda options: next(iter(options)),
)
def test_other_settings_share_no_id(options: dict[str, Any]) -> None:
    def ids(data: bytes) -> set[bytes]:
        return set(re.findall(rb'"(?:event|turn|belief)_id": ("[^"]+")', data))

    one, other = ids(wire_bytes()), ids(wire_bytes(**options))
    assert one
    assert other
    assert not one & other


def test_the_same_instant_in_another_zone_is_the_same_simulation() -> None:
    tokyo = UNTIL.astimezone(timezone(timedelta(hours=9)))
    assert wire_bytes(until=tokyo) == wire_bytes()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("events", [1_000, 7_000, 25_000])
def test_the_stream_holds_exactly_the_events_asked_for(seed: int, events: int) -> None:
    batches = simulate(seed, until=UNTIL, events=events).batches()
    assert sum(len(batch.events) for batch in batches) == events


@pytest.mark.parametrize("turns", [0, 40, 700])
def test_no_more_transcripts_are_sent_than_allowed_and_each_week_has_some(turns: int) -> None:
    simulation = simulate(1, until=UNTIL, events=20_000, turns=turns)
    sent = sum(len(batch.turns) for batch in simulation.batches())
    assert 0.8 * turns - 12 <= sent <= turns
    if turns == 700:
        weeks = [
            window
            for window in simulation.truth.windows
            if window.until - window.start < timedelta(8)
        ]
        assert all(window.turns > 50 for window in weeks)


def test_event_ids_and_times_rise_strictly_and_stay_inside_the_weeks() -> None:
    ids = [event["event_id"] for event in EVENTS]
    times = [event["ts"] for event in EVENTS]
    assert ids == sorted(set(ids))
    assert times == sorted(set(times))
    turn_times = [turn["ts"] for turn in TURNS]
    assert turn_times == sorted(turn_times)
    assert times[0] >= (UNTIL - timedelta(weeks=5)).strftime("%Y-%m-%dT%H:%M:%S")
    assert times[-1] < UNTIL.strftime("%Y-%m-%dT%H:%M:%S")


def test_no_turn_has_events_on_both_sides_of_a_week_s_edge() -> None:
    first_of_turn: dict[str, str] = {}
    for turn in TURNS:
        first_of_turn[turn["turn_id"]] = turn["ts"]
    for event in EVENTS:
        if event["event"] in ("assertion.made", "abduction.invoked", "gate.decided"):
            began = datetime.fromisoformat(first_of_turn[event["turn_id"]])
            week = (UNTIL - began) // timedelta(weeks=1)
            assert (UNTIL - datetime.fromisoformat(event["ts"])) // timedelta(weeks=1) == week


def present(event: dict[str, Any], field: str) -> bool:
    if field.startswith("detail."):
        return event["detail"].get(field.removeprefix("detail.")) is not None
    return event.get(field) is not None


def test_every_event_has_what_its_type_must_and_should_have() -> None:
    for event in EVENTS:
        assert event.keys() <= EVENT_FIELDS
        for field in REQUIRED[event["event"]].split():
            assert field.startswith("[") or present(event, field), (field, event)
        assert {event.get("label_from"), event.get("label_to")} <= {None, *LABELS}
        assert 0 <= event.get("confidence", 0) <= 1
        assert datetime.fromisoformat(event["ts"]).tzinfo is not None


def test_every_event_type_that_an_agent_may_send_occurs() -> None:
    assert {event["event"] for event in EVENTS} == set(REQUIRED)


def test_the_faults_that_are_meant_occur() -> None:
    created = [event for event in EVENTS if event["event"] == "belief.created"]
    unlabelled = {event["worker"] for event in created if "label_to" not in event}
    assert unlabelled == {"dusk"}
    assert any("category" not in event["detail"] for event in created)
    assert any(e.get("label_to") == "infer" and e["confidence"] < 0.85 for e in created)
    made = {e["detail"]["prediction_id"] for e in EVENTS if e["event"] == "prediction.made"}
    scored = {e["detail"]["prediction_id"] for e in EVENTS if e["event"] == "prediction.scored"}
    assert scored < made
    order = ["know", "remember", "infer", "suspect", "guess"]
    stronger = 0
    for event in EVENTS:
        if event["event"] == "summary.written":
            weakest = max(event["detail"]["labels_in"], key=order.index)
            strongest = min(event["detail"]["labels_out"], key=order.index)
            stronger += order.index(strongest) < order.index(weakest)
    assert stronger


def test_stated_probabilities_exceed_the_share_that_comes_true() -> None:
    stated: list[float] = []
    outcomes: list[bool] = []
    probabilities: dict[str, float] = {}
    for batch in simulate(2, until=UNTIL, events=60_000).batches():
        for event in batch.events:
            detail: Any = event["detail"]
            if event["event"] == "prediction.made":
                confidence: Any = event["confidence"]
                probabilities[detail["prediction_id"]] = confidence
            elif event["event"] == "prediction.scored":
                stated.append(probabilities[detail["prediction_id"]])
                outcomes.append(detail["outcome"])
    assert sum(stated) / len(stated) > sum(outcomes) / len(outcomes) + 0.08


def test_outcomes_name_the_shadow_of_a_belief_or_an_assertion() -> None:
    origins = {
        f"of {event['event_id']}"
        for event in EVENTS
        if event["event"] in ("belief.created", "assertion.made")
    }
    shadows = [e["detail"]["shadow_id"] for e in EVENTS if e["event"] == "inference.outcome"]
    assert shadows
    assert set(shadows) <= origins
    assert len(set(shadows)) == len(shadows)


def test_turns_have_the_wire_shape_and_sessions_three_to_twelve_of_them() -> None:
    lengths = Counter(turn["session_id"] for turn in TURNS)
    for turn in TURNS:
        assert turn.keys() == TURN_FIELDS
        assert all(message.keys() == {"role", "content"} for message in turn["inputs"])
        assert all(item.keys() == {"id", "content", "label"} for item in turn["retrieved"])
        assert all(call.keys() == {"name", "arguments", "result"} for call in turn["tool_calls"])
        assert re.fullmatch(r"[0-9a-f]{40}", turn["commit_sha"])
    assert len({turn["turn_id"] for turn in TURNS}) == len(TURNS)
    assert max(lengths.values()) <= 12
    assert min(lengths.values()) >= 3


def test_models_change_over_time_and_the_commit_every_week() -> None:
    commits: dict[int, set[str]] = defaultdict(set)
    models: dict[int, set[str]] = defaultdict(set)
    for turn in TURNS:
        week = (datetime.fromisoformat(turn["ts"]) - UNTIL) // timedelta(weeks=1)
        commits[week].add(turn["commit_sha"])
        models[week].add(turn["model"])
    assert len(commits) == 5
    assert all(len(shas) == 1 for shas in commits.values())
    assert len(set.union(*commits.values())) == 5
    assert models[min(models)] != models[max(models)]
    assert len(set.union(*models.values())) == 2


def table_of_mix() -> Iterator[tuple[str, float]]:
    for name, share in re.findall(r"`([a-z.x_]+)` \| ([0-9.]+)", cli.demo.__doc__ or ""):
        yield name, float(share)


@pytest.mark.parametrize("events", [30_000, 120_000])
def test_the_documented_mix_holds_at_any_size(events: int) -> None:
    mix: Counter[str] = Counter()
    for batch in simulate(11, until=UNTIL, events=events).batches():
        mix.update(str(event["event"]) for event in batch.events)
    told = dict(table_of_mix())
    assert len(told) >= 25
    for name, share in told.items():
        assert 100 * mix[name] / events == pytest.approx(share, rel=0.15, abs=0.15), name
    assert sum(told.values()) == pytest.approx(100, abs=1)


def test_an_event_has_about_470_bytes_of_json() -> None:
    size = sum(len(json.dumps(event)) for event in EVENTS) / len(EVENTS)
    assert 440 <= size <= 500


def traced_peak(events: int) -> int:
    tracemalloc.start()
    try:
        for batch in simulate(5, until=UNTIL, events=events).batches():
            del batch
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_hold_the_stream() -> None:
    # 50,000 events are some 20 MiB as JSON and far more as objects.
    small, large = traced_peak(10_000), traced_peak(50_000)
    assert large < 8 * 2**20
    assert large < 2.5 * small


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"until": datetime(2026, 9, 28)}, "no offset"),  # noqa: DTZ001
        ({"events": 10}, "1000 at least"),
        ({"weeks": 0}, "one at least"),
    ],
)
def test_impossible_settings_are_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        simulate(1, **{"until": UNTIL, **options})
