"""The truth of the simulator against a second count, made from the emitted records alone."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.demo import Ratio, Simulation, TrueRatio, TrueWindow, simulate
from cli.demo.story import claim_text
from cli.demo.topics import TOPICS
from tests.cli.demo.wording import content_words, context_of

UNTIL = datetime(2026, 9, 28, tzinfo=UTC)
Wire = dict[str, Any]
CAUSES = {
    claim_text(topic, effect, cause): topic.causes[cause]
    for topic in TOPICS
    for effect in range(2)
    for cause in range(3)
}


@dataclass
class Read:
    """A simulation read to its end: all of it at once, as only a test may."""

    simulation: Simulation
    events: list[Wire]
    turns: list[Wire]

    def windows(self) -> tuple[TrueWindow, ...]:
        return self.simulation.truth.windows


def read(seed: int, **options: Any) -> Read:
    simulation = simulate(seed, until=UNTIL, **options)
    events: list[Wire] = []
    turns: list[Wire] = []
    for batch in simulation.batches():
        events.extend(batch.events)
        turns.extend(batch.turns)
    return Read(simulation, events, turns)


@pytest.fixture(
    scope="module",
    params=[(1, {}), (2, {"events": 9_000, "weeks": 3}), (3, {"events": 40_000, "turns": 500})],
    ids=["five weeks", "three weeks", "few transcripts"],
)
def whole(request: pytest.FixtureRequest) -> Read:
    seed, options = request.param
    odd = (UNTIL - timedelta(days=11, hours=5), UNTIL - timedelta(days=2, minutes=7))
    return read(seed, windows=[odd], **options)


def when(record: Wire) -> datetime:
    return datetime.fromisoformat(record["ts"])


def of_type(events: list[Wire], *names: str) -> Iterator[Wire]:
    return (event for event in events if event["event"] in names)


def inside(window: TrueWindow, record: Wire) -> bool:
    return window.start <= when(record) < window.until


def counted(numerator: int, denominator: int) -> TrueRatio:
    return TrueRatio(numerator, denominator, numerator / denominator if denominator else None)


def abducted_turns(events: list[Wire]) -> set[str]:
    return {event["turn_id"] for event in of_type(events, "abduction.invoked")}


@dataclass
class Finding:
    """An inferential sentence, found by its words: nothing of it stands in its context."""

    turn: Wire
    text: str
    context: list[str]


def findings(turns: list[Wire]) -> list[Finding]:
    found: list[Finding] = []
    contexts: dict[str, list[str]] = defaultdict(list)
    said: dict[str, set[str]] = defaultdict(set)
    for turn in turns:
        session = turn["session_id"]
        contexts[session] += context_of(turn)
        known = content_words(" ".join(contexts[session]))
        for sentence in turn["output"].rstrip(".").split(". "):
            words = content_words(sentence)
            text = f"{sentence}."
            if len(words & known) < len(words) / 2 and text not in said[session]:
                said[session].add(text)
                found.append(Finding(turn, text, list(contexts[session])))
    return found


def count_engagement(data: Read, window: TrueWindow) -> TrueRatio:
    abducted = abducted_turns(data.events)
    found = [one for one in findings(data.turns) if inside(window, one.turn)]
    return counted(sum(one.turn["turn_id"] in abducted for one in found), len(found))


def count_unrecorded(data: Read, window: TrueWindow) -> TrueRatio:
    written = {
        (event.get("turn_id"), event["detail"]["content"])
        for event in of_type(data.events, "belief.created")
    }
    found = [one for one in findings(data.turns) if inside(window, one.turn)]
    missing = sum((one.turn["turn_id"], one.text) not in written for one in found)
    return counted(missing, len(found))


def count_unsupported(data: Read, window: TrueWindow) -> TrueRatio:
    found = [one for one in findings(data.turns) if inside(window, one.turn)]
    borne_out = sum(
        CAUSES[one.text].supporting in one.context or CAUSES[one.text].weak in one.context
        for one in found
    )
    return counted(len(found) - borne_out, len(found))


def inferred(data: Read, window: TrueWindow) -> list[Wire]:
    return [
        event
        for event in of_type(data.events, "belief.created")
        if event.get("label_to") == "infer" and inside(window, event)
    ]


def count_infer_without_abduction(data: Read, window: TrueWindow) -> TrueRatio:
    abducted = abducted_turns(data.events)
    created = inferred(data, window)
    return counted(sum(event.get("turn_id") not in abducted for event in created), len(created))


def count_laundering(data: Read, window: TrueWindow) -> TrueRatio:
    laundered = {
        event["belief_id"]
        for event in of_type(data.events, "belief.relabelled")
        if event["label_to"] in ("remember", "know")
        and when(event) < window.until
        and not any(source["label"] == "know" for source in event["detail"]["sources"])
    }
    created = inferred(data, window)
    return counted(sum(event["belief_id"] in laundered for event in created), len(created))


def contradiction_states(data: Read, until: datetime) -> dict[str, tuple[datetime, str]]:
    """Detection and state at `until`; the first terminal move stands."""
    states: dict[str, tuple[datetime, str]] = {}
    for event in data.events:
        name, _, move = event["event"].partition(".")
        if name != "contradiction" or when(event) >= until:
            continue
        if move == "created":
            states[event["contradiction_id"]] = (when(event), "candidate")
            continue
        detected, state = states[event["contradiction_id"]]
        if state in ("candidate", "investigated"):
            kind = event["detail"].get("resolution", move)
            states[event["contradiction_id"]] = (detected, kind)
    return states


def count_contradiction_resolution(data: Read, window: TrueWindow) -> TrueRatio:
    states = [
        state
        for detected, state in contradiction_states(data, window.until).values()
        if window.start <= detected and state != "not_a_contradiction"
    ]
    return counted(sum(state in ("resolved", "scoped") for state in states), len(states))


def count_contradiction_age(data: Read, window: TrueWindow) -> TrueRatio:
    ages = [
        (window.until - detected) / timedelta(days=1)
        for detected, state in contradiction_states(data, window.until).values()
        if state in ("candidate", "investigated")
    ]
    return TrueRatio(None, len(ages), statistics.median(ages) if ages else None)


def count_revision(data: Read, window: TrueWindow) -> TrueRatio:
    first: dict[str, datetime] = {}
    for event in of_type(data.events, "belief.challenged"):
        if inside(window, event):
            first.setdefault(event["belief_id"], when(event))
    revised = {
        event["belief_id"]
        for event in of_type(data.events, "belief.superseded")
        if event["belief_id"] in first and first[event["belief_id"]] <= when(event) < window.until
    }
    return counted(len(revised), len(first))


def count_silent_overwrites(data: Read, window: TrueWindow) -> TrueRatio:
    names = [event["event"] for event in data.events if inside(window, event)]
    overwritten = names.count("belief.overwritten")
    return counted(overwritten, overwritten + names.count("belief.superseded"))


def count_follow_through(data: Read, window: TrueWindow) -> TrueRatio:
    generated = {
        event["detail"]["discriminator_id"]
        for event in of_type(data.events, "discriminator.generated")
        if inside(window, event)
    }
    acted_on = {
        event["detail"]["discriminator_id"]
        for event in of_type(data.events, "discriminator.acted_on")
        if when(event) < window.until
    }
    return counted(len(generated & acted_on), len(generated))


SECOND_COUNT: dict[Ratio, Callable[[Read, TrueWindow], TrueRatio]] = {
    Ratio.ABDUCTION_ENGAGEMENT: count_engagement,
    Ratio.UNRECORDED_ASSERTIONS: count_unrecorded,
    Ratio.INFER_WITHOUT_ABDUCTION: count_infer_without_abduction,
    Ratio.LAUNDERING: count_laundering,
    Ratio.CONTRADICTION_RESOLUTION: count_contradiction_resolution,
    Ratio.CONTRADICTION_AGE: count_contradiction_age,
    Ratio.REVISION: count_revision,
    Ratio.SILENT_OVERWRITES: count_silent_overwrites,
    Ratio.UNSUPPORTED_ASSERTIONS: count_unsupported,
    Ratio.DISCRIMINATOR_FOLLOW_THROUGH: count_follow_through,
}


def test_every_ratio_has_a_second_count() -> None:
    assert set(SECOND_COUNT) == set(Ratio)


@pytest.mark.parametrize("ratio", list(Ratio))
def test_truth_equals_a_second_count_of_the_emitted_records(whole: Read, ratio: Ratio) -> None:
    for window in whole.windows():
        expected = SECOND_COUNT[ratio](whole, window)
        told = window.ratios[ratio]
        assert (told.numerator, told.denominator) == (expected.numerator, expected.denominator)
        assert told.value == pytest.approx(expected.value)


def test_truth_counts_the_turns_whose_transcripts_were_sent(whole: Read) -> None:
    for window in whole.windows():
        assert window.turns == sum(inside(window, turn) for turn in whole.turns)


def test_windows_are_the_weeks_the_last_30_days_and_those_asked_for() -> None:
    asked = (UNTIL - timedelta(days=3), UNTIL - timedelta(days=1))
    data = read(5, events=2_000, weeks=2, windows=[asked])
    truth = data.simulation.truth
    for start, until in (
        asked,
        (UNTIL - timedelta(days=14), UNTIL - timedelta(days=7)),
        (UNTIL - timedelta(days=7), UNTIL),
        (UNTIL - timedelta(days=30), UNTIL),
    ):
        assert truth.window(start, until).until == until
    with pytest.raises(KeyError, match="was not counted"):
        truth.window(UNTIL - timedelta(days=1), UNTIL)


def test_the_truth_of_an_unread_stream_is_refused() -> None:
    with pytest.raises(RuntimeError, match="read to its end"):
        _ = simulate(1, until=UNTIL).truth


def test_the_traps_of_the_definitions_really_occur() -> None:
    """Without them a wrong reading of a definition would count the same."""
    data = read(1, events=60_000)
    window = data.simulation.truth.window(UNTIL - timedelta(days=30), UNTIL)
    challenged = [event["belief_id"] for event in of_type(data.events, "belief.challenged")]
    assert len(set(challenged)) < len(challenged)
    superseded = {
        event["belief_id"]: when(event) for event in of_type(data.events, "belief.superseded")
    }
    assert any(
        when(event) > superseded.get(event["belief_id"], UNTIL)
        for event in of_type(data.events, "belief.challenged")
    )
    generated = [
        e["detail"]["discriminator_id"] for e in of_type(data.events, "discriminator.generated")
    ]
    assert len(set(generated)) < len(generated)
    sources = [event["detail"]["sources"] for event in of_type(data.events, "belief.relabelled")]
    assert any(source["label"] == "know" for group in sources for source in group)
    assert any(source["label"] == "infer" for group in sources for source in group)
    states = [state for _, state in contradiction_states(data, UNTIL).values()]
    assert {"resolved", "scoped", "expired", "not_a_contradiction", "candidate"} <= set(states)
    assert any("turn_id" not in event for event in inferred(data, window))
    claims = [sentence for turn in data.turns for sentence in turn["output"].split(". ")]
    assert len(findings(data.turns)) < sum(" because " in sentence for sentence in claims)


def test_the_story_shows_in_the_weekly_truth() -> None:
    simulation = simulate(7, until=UNTIL, events=60_000)
    for _ in simulation.batches():
        pass
    weeks = [
        simulation.truth.window(UNTIL - timedelta(weeks=back), UNTIL - timedelta(weeks=back - 1))
        for back in range(5, 0, -1)
    ]

    def values(ratio: Ratio) -> list[float]:
        return [value for week in weeks if (value := week.ratios[ratio].value) is not None]

    engagement = values(Ratio.ABDUCTION_ENGAGEMENT)
    assert max(engagement[:2]) < 0.05 < 0.08 < engagement[4]
    assert values(Ratio.REVISION)[0] < 0.2 < 0.4 < values(Ratio.REVISION)[4]
    # A week has some 200 beliefs that can be laundered, too few to tell 0.10 from 0.14.
    before = [week.ratios[Ratio.LAUNDERING] for week in weeks[:3]]
    laundered = sum(ratio.numerator or 0 for ratio in before)
    assert laundered / sum(ratio.denominator for ratio in before) > 0.1
    assert values(Ratio.LAUNDERING)[4] < 0.06
    overwrites = values(Ratio.SILENT_OVERWRITES)
    assert [value > 0 for value in overwrites] == [False, True, True, False, False]
    ages = values(Ratio.CONTRADICTION_AGE)
    assert ages[0] < ages[1] < ages[2]
    assert (
        values(Ratio.CONTRADICTION_RESOLUTION)[0] < 0.2 < values(Ratio.CONTRADICTION_RESOLUTION)[4]
    )


def test_the_gate_comes_in_the_third_week_and_stands_before_more_inferences_each_week() -> None:
    data = read(7, events=60_000)
    gated = {event["turn_id"] for event in of_type(data.events, "gate.decided")}
    found = findings(data.turns)
    shares = []
    for back in range(5, 0, -1):
        window = data.simulation.truth.window(
            UNTIL - timedelta(weeks=back), UNTIL - timedelta(weeks=back - 1)
        )
        inferential = {one.turn["turn_id"] for one in found if inside(window, one.turn)}
        shares.append(len(inferential & gated) / len(inferential))
    # 500 inferential turns a week and more: four standard errors are below 0.09.
    assert shares == [0, 0, *(pytest.approx(share, abs=0.09) for share in (0.15, 0.35, 0.50))]
