"""τ-bench results: a list of `{"task_id", "trial", "traj": [messages], "reward", "info"}`.

The file does not say which model ran; its name often does, and is not taken for proof.
"""

from collections.abc import Iterator

from cli.importing.conversation import read_steps
from cli.importing.identity import Reading
from cli.importing.json_values import kind_of
from cli.importing.records import BadRecord, Record
from cli.importing.turns import turn_records

NAME = "τ-bench trajectories"


def recognises(value: object) -> bool:
    """Whether the value is one τ-bench result."""
    return isinstance(value, dict) and "traj" in value and ("task_id" in value or "trial" in value)


def read(value: object, line: int, reading: Reading) -> Iterator[Record | BadRecord]:
    """The turns of one result; its session is task, trial and a digest of what was said.

    Reward and cost do not enter the digest: a run that is scored anew is the same session.
    """
    if not isinstance(value, dict) or not isinstance(value.get("traj"), list):
        found = kind_of(value.get("traj") if isinstance(value, dict) else value)
        yield BadRecord(reading.source, line, f"traj is {found}, not a list of messages")
        return
    task, trial, messages = value.get("task_id"), value.get("trial"), value["traj"]
    content = {"task_id": task, "trial": trial, "traj": messages}
    prefix = "-".join(str(part) for part in ("tau", task, trial) if isinstance(part, int | str))
    session_id = reading.name_content(prefix, content)
    yield from turn_records(read_steps(messages), session_id, reading, line)
