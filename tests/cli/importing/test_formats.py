"""Each format on small data of its own."""

import json
from pathlib import Path
from typing import Any

import pytest

from cli.importing.formats import FORMATS, read_records, recognise
from cli.importing.identity import Reading
from cli.importing.records import Record, UnusableFileError
from cli.importing.source import find_source
from cli.importing.tau_few_shot import UNNAMED_TOOL
from tests.cli.importing.write_once_service import ReadFile, WriteLines

TALK = [
    {"role": "system", "content": "You sell tickets."},
    {"role": "user", "content": "Where is train 7?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c", "function": {"name": "find_train", "arguments": '{"number": 7}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c", "content": "platform 2"},
    {"role": "assistant", "content": "On platform 2."},
]
SYSTEM, TASK = {"role": "system", "content": "a shell"}, {"role": "user", "content": "fix it"}


def trajectory(**changes: object) -> dict[str, Any]:
    """A run of two steps in the older form of SWE-agent: text actions, `state` a JSON text."""
    look, done = "Let me look.\n```\ncat a.py\n```", "Done.\n```\nsubmit\n```"
    seen = "1: x\n\n(Open file: a.py)\n(Current directory: /r)\nbash-$"
    return {
        "environment": "main",
        "trajectory": [
            {
                "action": "cat a.py\n",
                "observation": "1: x\n",
                "response": look,
                "state": '{"open_file": "n/a"}',
                "thought": "Let me look.\n",
            },
            {
                "action": "submit\n",
                "observation": "",
                "response": done,
                "state": '{"open_file": "a.py"}',
                "thought": "Done.\n",
            },
        ],
        "history": [
            SYSTEM,
            TASK,
            {"role": "assistant", "content": look, "agent": "primary"},
            {"role": "user", "content": seen, "agent": "primary"},
            {"role": "assistant", "content": done, "agent": "primary"},
        ],
        "info": {"model_stats": {"tokens_sent": 0}},
        **changes,
    }


def test_tau_bench_gives_a_turn_for_each_message_of_the_assistant(
    tmp_path: Path, read_file: ReadFile
) -> None:
    path = tmp_path / "gpt-9-trains.json"
    path.write_text(json.dumps([{"task_id": 4, "trial": 1, "reward": 1.0, "traj": TALK}]))
    (asked, answered), bad = read_file(str(path), at=5_000_000)
    assert bad == []
    assert asked["inputs"] == TALK[:2]
    assert asked["output"] == ""
    assert asked["tool_calls"] == [
        {"name": "find_train", "arguments": {"number": 7}, "result": "platform 2"}
    ]
    assert (answered["output"], answered["inputs"]) == ("On platform 2.", [])
    assert str(asked["session_id"]).startswith("tau-4-1-")
    assert asked["session_id"] == answered["session_id"]
    assert [asked["ts"], answered["ts"]] == [
        "1970-01-01T00:00:05.000000Z",
        "1970-01-01T00:00:06.000000Z",
    ]
    assert "model" not in asked, "the name of a file proves nothing"


def test_the_model_given_by_hand_fills_in_and_never_overrides(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    path = write_lines("a", {"messages": TALK}, {"messages": TALK, "model": "told"})
    turns, _ = read_file(path, model="given")
    assert [one["model"] for one in turns] == ["given", "given", "told", "told"]


def test_sessions_without_times_follow_one_another(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    turns, _ = read_file(write_lines("a", {"messages": TALK}, {"messages": [*TALK, TALK[-1]]}))
    assert [str(one["ts"])[17:19] for one in turns] == ["00", "01", "02", "03", "04"]


def test_few_shot_text_is_split_by_speaker(write_lines: WriteLines, read_file: ReadFile) -> None:
    display = (
        "user: hello\nwith a second line: yes\nassistant: None\ntool: found\ntool: found more\n"
        "assistant: Here.\nNote: two lines.\nuser: thanks\nassistant: One moment.\ntool: moved"
    )
    turns, bad = read_file(write_lines("a.jsonl", {"messages_display": display}))
    assert bad == []
    assert turns[0]["inputs"] == [{"role": "user", "content": "hello\nwith a second line: yes"}]
    assert [one["output"] for one in turns] == ["", "Here.\nNote: two lines.", "One moment."]
    assert turns[0]["tool_calls"] == [
        {"name": UNNAMED_TOOL, "arguments": None, "result": "found"},
        {"name": UNNAMED_TOOL, "arguments": None, "result": "found more"},
    ]
    assert turns[1]["tool_calls"] == []
    assert turns[2]["tool_calls"] == [{"name": UNNAMED_TOOL, "arguments": None, "result": "moved"}]


@pytest.mark.parametrize("indent", [None, 2])
def test_swe_agent_steps_hold_their_command_and_its_result(
    tmp_path: Path, read_file: ReadFile, indent: int | None
) -> None:
    path = tmp_path / "a.traj"
    path.write_text(json.dumps(trajectory(), indent=indent))
    (first, second), bad = read_file(str(path))
    assert bad == []
    assert first["inputs"] == [SYSTEM, TASK]
    assert first["output"] == "Let me look.\n```\ncat a.py\n```"
    assert first["tool_calls"] == [
        {"name": "cat", "arguments": {"command": "cat a.py"}, "result": "1: x\n"}
    ]
    assert first["worker"] == "primary"
    # The observation is the first step's result; what the environment added to it is new.
    assert second["inputs"] == [
        {"role": "user", "content": "(Open file: a.py)\n(Current directory: /r)\nbash-$"}
    ]


def test_swe_agent_function_calls_keep_name_and_arguments(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    call = {"id": "c", "function": {"name": "open", "arguments": '{"path": "a.py"}'}}
    step = {
        "action": 'open "a.py"',
        "observation": "1: x",
        "response": "I open it.",
        "thought": "I open it.",
        "state": {"open_file": "n/a", "working_dir": "/r"},
        "execution_time": 0.1,
        "messages": [],
    }
    history = [
        SYSTEM,
        {"role": "user", "content": "a demonstration", "is_demo": True},
        {"role": "assistant", "content": "I open it.", "is_demo": True},
        TASK,
        {"role": "assistant", "content": "I open it.", "tool_calls": [call], "agent": "main"},
        {"role": "tool", "content": "1: x", "tool_call_ids": ["c"]},
    ]
    path = write_lines("a.traj", trajectory(trajectory=[step], history=history))
    (turn,), bad = read_file(path)
    assert bad == []
    assert turn["tool_calls"] == [{"name": "open", "arguments": {"path": "a.py"}, "result": "1: x"}]
    assert [one["content"] for one in turn["inputs"]] == [  # type: ignore[attr-defined]
        "a shell",
        "a demonstration",
        "I open it.",
        "fix it",
    ]


def test_swe_agent_without_a_history_takes_the_first_query(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    whole = trajectory()
    whole["trajectory"][0]["query"] = [SYSTEM, TASK]
    (first, second), _ = read_file(write_lines("a.traj", {**whole, "history": []}))
    assert first["inputs"] == [SYSTEM, TASK]
    assert second["inputs"] == []


def test_swe_agent_tells_the_task_once_though_the_history_lacks_the_first_step(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    whole = trajectory()
    del whole["history"][2:4]
    (first, second), _ = read_file(write_lines("a.traj", whole))
    assert first["inputs"] == [SYSTEM, TASK]
    assert second["inputs"] == []


def test_the_answer_to_a_step_without_a_command_is_input_of_the_next(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    steps = trajectory()["trajectory"]
    steps[0] |= {"action": "", "observation": "No command found."}
    path = write_lines("a.traj", trajectory(trajectory=steps, history=[SYSTEM, TASK]))
    (first, second), _ = read_file(path)
    assert first["tool_calls"] == []
    assert second["inputs"] == [{"role": "user", "content": "No command found."}]


@pytest.mark.parametrize(("tokens", "model"), [(0, None), (120, "gpt-9")])
def test_a_configured_model_counts_only_if_it_was_asked(
    write_lines: WriteLines, read_file: ReadFile, tokens: int, model: str | None
) -> None:
    whole = trajectory(
        info={"model_stats": {"tokens_sent": tokens}},
        replay_config={"agent": {"model": {"name": "gpt-9"}}},
    )
    turns, _ = read_file(write_lines("a.traj", whole))
    assert [one.get("model") for one in turns] == [model, model]


def test_a_broken_step_is_named_and_the_others_are_read(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    steps = trajectory()["trajectory"]
    path = write_lines("a.traj", trajectory(trajectory=[steps[0], 5, {"state": {}}, steps[1]]))
    turns, bad = read_file(path)
    assert [str(one["turn_id"])[-6:] for one in turns] == [".s0000", ".s0003"]
    assert [str(one) for one in bad] == [
        f"{path}:1: step 1 is a number, not an object",
        f"{path}:1: step 2 has no response, thought or action",
    ]


def test_a_chat_takes_its_own_time_model_and_usage(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    one_answer = {
        "messages": [TALK[1], TALK[4]],
        "model": "gpt-9",
        "created": 1_700_000_000,
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
    }
    two_answers = {**one_answer, "messages": TALK}
    (single, first, second), bad = read_file(write_lines("a.jsonl", one_answer, two_answers))
    assert bad == []
    assert (single["model"], single["input_tokens"], single["output_tokens"]) == ("gpt-9", 12, 3)
    assert single["ts"] == first["ts"] == "2023-11-14T22:13:20.000000Z"
    assert second["ts"] == "2023-11-14T22:13:21.000000Z"
    assert "input_tokens" not in first, "the usage of two answers cannot be told apart"


@pytest.mark.parametrize(
    "times",
    [
        {"timestamp": "2023-11-14T23:13:20+01:00"},
        {"created_at": 1_700_000_000_000},
        {"metadata": {"timestamp": 1_700_000_000.0}},
    ],
)
def test_a_time_is_read_in_the_usual_forms(
    write_lines: WriteLines, read_file: ReadFile, times: dict[str, object]
) -> None:
    (turn, _), bad = read_file(write_lines("a.jsonl", {"messages": TALK, **times}))
    assert (turn["ts"], bad) == ("2023-11-14T22:13:20.000000Z", [])


@pytest.mark.parametrize(
    ("time", "reason"),
    [
        ("2023-11-14T23:13:20", "has no offset"),
        ("2026-09-31T00:00:00Z", "day is out of range"),
        (True, "is neither a number nor a text"),
        (1e300, "lies outside the years"),
        (float("nan"), "NaN"),
        (10**400, "is not finite"),
    ],
)
def test_a_time_that_is_none_makes_the_record_bad(
    write_lines: WriteLines, read_file: ReadFile, time: object, reason: str
) -> None:
    path = write_lines("a.jsonl", {"messages": TALK}, {"messages": TALK, "timestamp": time})
    turns, (bad,) = read_file(path)
    assert len(turns) == 2
    assert bad.line == 2
    assert reason in bad.reason


def test_steps_that_run_beyond_the_last_year_are_bad(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    last = {"messages": TALK, "timestamp": "9999-12-31T23:59:59.5Z"}
    turns, (bad,) = read_file(write_lines("a.jsonl", last))
    assert len(turns) == 1
    assert bad.reason == "message 4: lies outside the years 0001 to 9999 in UTC"


def test_times_of_the_messages_come_before_that_of_the_chat(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    dated = {"role": "assistant", "content": "7", "timestamp": "2024-01-01T00:00:00Z"}
    messages = [TALK[1], dated, TALK[4]]
    turns, _ = read_file(write_lines("a.jsonl", {"messages": messages, "created": 0}))
    assert [one["ts"] for one in turns] == [
        "2024-01-01T00:00:00.000000Z",
        "2024-01-01T00:00:01.000000Z",
    ]


def test_doxa_lines_go_on_as_they_are_less_what_the_service_added(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    event = {
        "agent_id": "piper",
        "event": "belief.created",
        "event_id": "e1",
        "ts": "2026-10-03T12:00:00Z",
        "belief_id": "b1",
        "confidence": 0.9,
        "detail": {"content": "the disk is full", "seq": None},
    }
    turn = {"turn_id": "t1", "session_id": "s", "output": "ok", "ts": "2026-10-03T12:00:01Z"}
    added = {"log": "agent", "seq": 3, "received_at": "2026-10-03T12:00:02Z", "flags": ["x"]}
    path = write_lines("a.jsonl", {**event, **added, "worker": None}, {**turn, **added})
    bodies, bad = read_file(path, agent_is_given=False)
    assert bad == []
    assert bodies == [event, {**turn, "agent_id": "ada"}]
    assert read_file(path)[0][0]["agent_id"] == "ada", "a given agent comes before the file's"


def test_doxa_events_without_time_or_id_get_stable_ones(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    event = {"event": "x.ping", "detail": {"n": 1}}
    path = write_lines("a.jsonl", event, event)
    (first, second), _ = read_file(path)
    assert first["event_id"] != second["event_id"]
    assert read_file(path)[0] == [first, second]


def test_a_doxa_id_of_its_own_is_never_taken_for_one_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"event": "x.a", "event_id": "e"}\n{"event": "x.a"}\n')
    reading = Reading(source="a", at=0, agent="ada")
    entries = read_records(recognise(find_source(str(path))), reading)
    records = [one for _, found in entries for one in found]
    assert [isinstance(one, Record) and one.derived for one in records] == [False, True]


def test_the_audit_log_takes_no_imports(write_lines: WriteLines, read_file: ReadFile) -> None:
    event = {"event": "opportunity.detected", "log": "audit"}
    bodies, (bad,) = read_file(write_lines("a.jsonl", event))
    assert bodies == []
    assert "audit log" in bad.reason


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"messages": 7}, "messages is a number, not a list"),
        ({"messages": []}, "holds no message of the assistant, so no turn"),
        ({"messages": [TALK[1]]}, "holds no message of the assistant, so no turn"),
        ([1], "messages is null, not a list"),
        ("[1", "is not JSON: Expecting ',' delimiter at column 3"),
        ('{"messages": [', "is not JSON: Expecting value at column 15"),
    ],
)
def test_a_bad_line_is_reported_and_the_rest_is_read(
    write_lines: WriteLines, read_file: ReadFile, value: object, reason: str
) -> None:
    path = write_lines("a.jsonl", {"messages": TALK}, value, {"messages": TALK})
    turns, bad = read_file(path)
    assert len(turns) == 4
    assert [str(one) for one in bad] == [f"{path}:2: {reason}"]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"task_id": 1, "traj": "x"}, "traj is a text, not a list of messages"),
        (None, "traj is null, not a list of messages"),
    ],
)
def test_a_bad_tau_bench_record_is_reported_with_its_line(
    tmp_path: Path, read_file: ReadFile, record: object, reason: str
) -> None:
    path = tmp_path / "a.json"
    good = {"task_id": 0, "trial": 0, "traj": TALK}
    text = f"[\n{json.dumps(good)},\n{json.dumps(record)},\n{json.dumps(good)}\n]"
    path.write_text(text)
    turns, bad = read_file(str(path))
    assert len(turns) == 4
    assert [str(one) for one in bad] == [f"{path}:3: {reason}"]


def test_a_bad_few_shot_line_is_reported(write_lines: WriteLines, read_file: ReadFile) -> None:
    _, (bad,) = read_file(write_lines("a.jsonl", {"messages_display": 3}))
    assert bad.reason == "messages_display is a number, not a text"


@pytest.mark.parametrize("text", ['{"something": "else"}', "7", "[]", "prose\nand more"])
def test_an_unknown_file_is_refused_with_the_known_formats(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a"
    path.write_text(text)
    with pytest.raises(UnusableFileError) as refusal:
        recognise(find_source(str(path)))
    assert all(known.name in str(refusal.value) for known in FORMATS)


def test_a_first_line_that_is_broken_does_not_hide_the_format(
    write_lines: WriteLines, read_file: ReadFile
) -> None:
    turns, bad = read_file(write_lines("a.jsonl", '{"messages": [', {"messages": TALK}))
    assert (len(turns), [one.line for one in bad]) == (2, [1])
