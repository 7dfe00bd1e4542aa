"""OpenAI-style chat JSONL: `{"messages": […]}` a line, each line a session of its own.

Beside the messages a line may hold `model`, `usage`, and a time (`timestamp`, `created_at` or
`created`, as Unix seconds, milliseconds or RFC 3339), also inside `metadata`.
"""

from collections.abc import Iterator

from cli.importing.conversation import Step, read_steps
from cli.importing.identity import Reading
from cli.importing.json_values import kind_of
from cli.importing.records import BadRecord, Record
from cli.importing.turns import find_instant, read_usage, turn_records

NAME = "OpenAI-style chat JSONL (messages)"


def recognises(value: object) -> bool:
    """Whether the value is one conversation."""
    return isinstance(value, dict) and "messages" in value and "event" not in value


def read(value: object, line: int, reading: Reading) -> Iterator[Record | BadRecord]:
    """The turns of one conversation; its session is a digest of the whole line."""
    messages = value.get("messages") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(messages, list):
        yield BadRecord(reading.source, line, f"messages is {kind_of(messages)}, not a list")
        return
    metadata = value.get("metadata")
    about = metadata if isinstance(metadata, dict) else {}
    try:
        started_at = find_instant(value)
        if started_at is None:
            started_at = find_instant(about)
    except ValueError as problem:
        yield BadRecord(reading.source, line, str(problem))
        return
    steps = read_steps(messages)
    # The usage of a line is that of its one answer; of several answers it cannot be told apart.
    answers = sum(isinstance(step, Step) for step in steps)
    usage = read_usage(value.get("usage")) if answers == 1 else {}
    model = value.get("model") or about.get("model")
    for record in turn_records(
        steps,
        reading.name_content("chat", value),
        reading,
        line,
        started_at=started_at,
        model=model if isinstance(model, str) else None,
    ):
        if isinstance(record, Record):
            record.body.update(usage)
        yield record
