"""The readers over real transcripts, each count taken from the files a second, plainer way."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.importing.write_once_service import Item, ReadFile

TRANSCRIPTS = Path(__file__).parents[4] / "shared" / "data" / "transcripts"
TAU_BENCH = TRANSCRIPTS / "tau-bench" / "gpt-4o-airline.json"
FEW_SHOT = TRANSCRIPTS / "tau-bench" / "MockAirlineDomainEnv-few_shot.jsonl"
TRAJECTORIES = sorted((TRANSCRIPTS / "swe-agent").glob("*.traj"))

pytestmark = pytest.mark.skipif(
    not TAU_BENCH.exists(), reason=f"no transcripts at {TRANSCRIPTS}: nothing real to read"
)


def results_of(turns: list[Item]) -> list[object]:
    calls = [one["tool_calls"] for one in turns]
    return [call["result"] for group in calls for call in group]  # type: ignore[attr-defined]


def test_every_message_of_the_tau_bench_file_is_in_its_turn(read_file: ReadFile) -> None:
    turns, bad = read_file(str(TAU_BENCH))
    text = TAU_BENCH.read_text()
    assert bad == []
    assert len(turns) == len(re.findall(r'"role": "assistant"', text)) == 1698
    assert len({one["session_id"] for one in turns}) == len(json.loads(text)) == 120
    results = results_of(turns)
    assert len(results) == len(re.findall(r'"role": "tool"', text)) == 810
    spoken = [m["content"] for run in json.loads(text) for m in run["traj"] if m["content"]]
    heard = [one["content"] for turn in turns for one in turn["inputs"]]  # type: ignore[attr-defined]
    said = [turn["output"] for turn in turns if turn["output"]]
    # What no turn holds are the users' last words, after which the assistant did not speak.
    last = [run["traj"][-1] for run in json.loads(text)]
    unanswered = [m["content"] for m in last if m["role"] == "user"]
    assert sorted(map(str, spoken)) == sorted(
        str(one) for one in heard + said + results + unanswered if one
    )


def test_every_line_of_the_few_shot_file_is_in_its_turn(read_file: ReadFile) -> None:
    turns, bad = read_file(str(FEW_SHOT))
    displays = [
        json.loads(line)["messages_display"] for line in FEW_SHOT.read_text().split("\n") if line
    ]
    spoken = "\n".join(displays).split("\n")
    assert bad == []
    assert len(turns) == sum(line.startswith("assistant: ") for line in spoken) == 222
    assert len(results_of(turns)) == sum(line.startswith("tool: ") for line in spoken) == 105
    assert len({one["session_id"] for one in turns}) == len(displays) == 19


@pytest.mark.parametrize("path", TRAJECTORIES, ids=lambda path: path.stem[:40])
def test_every_step_of_a_trajectory_is_a_turn(path: Path, read_file: ReadFile) -> None:
    turns, bad = read_file(str(path))
    whole = json.loads(path.read_text())
    steps = whole["trajectory"]
    assert bad == []
    assert [one["output"] for one in turns] == [step["response"] for step in steps]
    assert results_of(turns) == [step["observation"] for step in steps]
    opening = [m["content"] for m in whole["history"][:2]]
    assert [one["content"] for one in turns[0]["inputs"]] == opening  # type: ignore[attr-defined]
    assert {one["session_id"] for one in turns} == {turns[0]["session_id"]}


def test_ten_trajectories_are_read_and_no_two_share_an_id(read_file: ReadFile) -> None:
    ids = [one["turn_id"] for path in TRAJECTORIES for one in read_file(str(path))[0]]
    assert len(TRAJECTORIES) == 10
    assert len(set(ids)) == len(ids) == 114
