"""Doxa's own JSONL: events and turns in the shapes of `POST /v1/events` and `POST /v1/turns`.

What the service itself adds to a row (its position, when it came, flags) is left out again, so
that what was exported can be sent once more.
"""

from collections.abc import Iterator

from cli.importing.identity import Reading, instant_text
from cli.importing.json_values import kind_of
from cli.importing.records import BadRecord, Record, RecordKind

NAME = "Doxa JSONL of events and turns"

_SET_BY_THE_SERVICE = frozenset({"seq", "log", "received_at", "flags"})


def recognises(value: object) -> bool:
    """Whether the value is an event or a turn."""
    return _kind(value) is not None


def read(value: object, line: int, reading: Reading) -> Iterator[Record | BadRecord]:
    """The one record of the value, under the given agent or else its own."""
    kind = _kind(value)
    if kind is None or not isinstance(value, dict):
        reason = f"is {kind_of(value)} that is neither an event nor a turn"
        yield BadRecord(reading.source, line, reason)
        return
    if value.get("log") == "audit":
        # Only the auditor, the operator and the triggers write there, and not by this way.
        yield BadRecord(reading.source, line, "stands in the audit log, which takes no imports")
        return
    body: dict[str, object] = {
        key: field
        for key, field in value.items()
        if field is not None and key not in _SET_BY_THE_SERVICE
    }
    if reading.agent_is_given or "agent_id" not in body:
        body["agent_id"] = reading.agent
    makes_id = False
    if "ts" not in body:
        # Without a time the server would take its own, and the event be new at each import.
        body["ts"] = instant_text(reading.next_instant())
        makes_id = kind is RecordKind.EVENT and "event_id" not in body
    if makes_id:
        body["event_id"] = reading.name_content("event", value)
    yield Record(kind, body, reading.source, line, derived=makes_id)


def _kind(value: object) -> RecordKind | None:
    if not isinstance(value, dict):
        return None
    if "event" in value:
        return RecordKind.EVENT
    return RecordKind.TURN if "turn_id" in value and "output" in value else None
