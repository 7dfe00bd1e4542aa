"""τ-bench results: a list of `{"task_id", "trial", "traj": [messages], "reward", "info"}`.

The file does not say which model ran; its name often does, and is not taken for proof.
"""

import re
from collections.abc import Iterator

from cli.importing.conversation import read_steps
from cli.importing.identity import Reading
from cli.importing.json_values import kind_of
from cli.importing.records import BadRecord, Record
from cli.importing.turns import turn_records

NAME = "τ-bench trajectories"

# An id goes into addresses and has a limited length; the digest alone would do.
_FIT_FOR_AN_ID = re.compile(r"[\w.]{1,40}", re.ASCII)


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
    names = [str(part) for part in (task, trial) if part is not None]
    prefix = "-".join(["tau", *(name for name in names if _FIT_FOR_AN_ID.fullmatch(name))])
    session_id = reading.name_content(prefix, content)
    yield from turn_records(read_steps(messages), session_id, reading, line)
