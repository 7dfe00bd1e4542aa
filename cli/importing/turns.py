"""From the steps of a session to turn records: ids, times, model."""

from collections.abc import Iterator, Sequence

from cli.importing.conversation import BadMessage, Step
from cli.importing.identity import Reading, instant_text, read_instant, step_id
from cli.importing.records import BadRecord, Record, RecordKind
from service.instants import SECOND, checked

_TIME_KEYS = ("timestamp", "created_at", "created")
_USAGE_FIELDS = {
    "prompt_tokens": "input_tokens",
    "input_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "output_tokens": "output_tokens",
}


def turn_records(
    steps: Sequence[Step | BadMessage],
    session_id: str,
    reading: Reading,
    line: int | None,
    *,
    started_at: int | None = None,
    model: str | None = None,
) -> Iterator[Record | BadRecord]:
    """One record a step. A step takes its own message's time; else, in a session whose start is
    known, the time one second after the step before; else the file's running clock.
    """
    before = None if started_at is None else started_at - SECOND
    for step in steps:
        if isinstance(step, BadMessage):
            yield BadRecord(reading.source, line, f"message {step.position} {step.reason}")
            continue
        try:
            own = find_instant(step.message)
            if own is None and before is None:
                instant = reading.next_instant()
            else:
                instant = before = own if own is not None else checked((before or 0) + SECOND)
        except ValueError as problem:
            yield BadRecord(reading.source, line, f"message {step.position}: {problem}")
            continue
        body = _turn_body(step, session_id, reading, model)
        body["ts"] = instant_text(instant)
        yield Record(RecordKind.TURN, body, reading.source, line, derived=True)
    if not any(isinstance(step, Step) for step in steps):
        yield BadRecord(reading.source, line, "holds no message of the assistant, so no turn")


def _turn_body(
    step: Step, session_id: str, reading: Reading, model: str | None
) -> dict[str, object]:
    """The fields of a step's turn, apart from its time."""
    return {
        "agent_id": reading.agent,
        "session_id": session_id,
        "turn_id": step_id(session_id, "m", step.position),
        "inputs": step.inputs,
        "tool_calls": step.tool_calls,
        "output": step.output,
        **_model_field(step.message.get("model"), model, reading.model),
        **read_usage(step.message.get("usage")),
    }


def find_instant(record: dict[str, object]) -> int | None:
    """Microseconds UTC of the record's own time, None without one; ValueError if it is no time."""
    for key in _TIME_KEYS:
        if record.get(key) is not None:
            try:
                return read_instant(record[key])
            except (TypeError, ValueError) as problem:
                raise ValueError(f"{key} {problem}") from None
    return None


def read_usage(usage: object) -> dict[str, object]:
    """Token counts of a `usage` object under the names that a turn has for them."""
    if not isinstance(usage, dict):
        return {}
    return {
        field: usage[key]
        for key, field in _USAGE_FIELDS.items()
        if isinstance(usage.get(key), int) and not isinstance(usage[key], bool)
    }


def _model_field(*candidates: object) -> dict[str, object]:
    for model in candidates:
        if isinstance(model, str) and model:
            return {"model": model}
    return {}
