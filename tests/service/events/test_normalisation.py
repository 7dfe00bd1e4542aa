"""What of an event is refused, what is merely flagged, and which events are the same."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from service.errors import Fault, Forbidden
from service.events.normalise import Intake, normalise
from service.events.schemas import Event, EventIn
from service.events.vocabulary import EXPECTATIONS, RESERVED, Expectation
from service.instants import DAY, HOUR
from service.principals import LOCAL, Principal, Scope
from service.settings import Settings
from tests.service.factories import AGENT, NOW, an_event, checked

VALUES: dict[str, Any] = {"label_from": "infer", "label_to": "know", "confidence": 0.9}
DETAIL: dict[str, Any] = {"outcome": True, "source": "in_path"}
WRITER = Principal(frozenset({Scope.WRITE}), AGENT, "key")


def complete(event: str) -> dict[str, Any]:
    """An event of a type with everything that it must and should carry."""
    fields: dict[str, Any] = {"event": event, "detail": {}}
    expectation = EXPECTATIONS[event]
    for name in expectation.must + expectation.should:
        if name.startswith("detail."):
            key = name.removeprefix("detail.")
            fields["detail"][key] = DETAIL.get(key, "something")
        else:
            fields[name] = VALUES.get(name, "an-id")
    if event == "inference.outcome":
        fields["detail"]["source"] = "prediction"
    if event == "belief.created":
        fields["label_to"] = "know"
    return fields


def without(fields: dict[str, Any], name: str) -> dict[str, Any]:
    if name.startswith("detail."):
        key = name.removeprefix("detail.")
        return fields | {"detail": {k: v for k, v in fields["detail"].items() if k != key}}
    return {k: v for k, v in fields.items() if k != name}


def by(scope: Scope | None, fields: dict[str, Any], *, skips: bool = False) -> Event | list[Fault]:
    """The event as sent with a key of a scope, or without keys on this machine."""
    principal = LOCAL if scope is None else Principal(frozenset({scope}), None, "key")
    return normalise(
        EventIn(**fields),
        Intake(principal, Settings.model_validate({}), NOW, lambda: AGENT, skips=skips),
        0,
    )


def pointers(found: Event | list[Fault]) -> list[str]:
    assert isinstance(found, list), "it was taken"
    return [fault.pointer for fault in found]


MUST = [(event, name) for event, e in EXPECTATIONS.items() for name in e.must]
SHOULD = [(event, name) for event, e in EXPECTATIONS.items() for name in e.should]
# Any scope may say what is not reserved; these may say the rest.
VOICES = {event: Scope(scope) for event, scope in RESERVED.items()}


@pytest.mark.parametrize("event", EXPECTATIONS)
def test_an_event_with_all_that_is_expected_is_taken_without_a_flag(event: str) -> None:
    found = by(VOICES.get(event), complete(event))
    assert isinstance(found, Event)
    assert found.flags == []


@pytest.mark.parametrize(("event", "name"), MUST)
def test_a_field_that_must_be_there_is_missed_by_name(event: str, name: str) -> None:
    found = by(VOICES.get(event), without(complete(event), name))
    assert pointers(found) == ["/" + name.replace(".", "/")]


@pytest.mark.parametrize(("event", "name"), SHOULD)
def test_a_field_that_should_be_there_is_missed_by_a_flag(event: str, name: str) -> None:
    found = by(VOICES.get(event), without(complete(event), name))
    assert isinstance(found, Event)
    assert found.flags == ["incomplete"]


def test_a_null_is_a_field_that_is_missing() -> None:
    fields = complete("gate.decided") | {"detail": {"decision": None}}
    assert pointers(by(None, fields)) == ["/detail/decision"]


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"event": "belief.deleted"}, "/event"),
        ({"event": "x."}, "/event"),
        ({"event": ""}, "/event"),
        ({"label_to": "certain"}, "/label_to"),
        ({"label_from": "Know"}, "/label_from"),
        ({"confidence": 1.01}, "/confidence"),
        ({"confidence": -0.01}, "/confidence"),
        ({"confidence": float("nan")}, "/confidence"),
        ({"confidence": float("inf")}, "/confidence"),
        ({"worker": ""}, "/worker"),
        ({"session_id": "a\x00b"}, "/session_id"),
        ({"turn_id": "a\nb"}, "/turn_id"),
        ({"belief_id": "\ud800"}, "/belief_id"),
        ({"event_id": "x" * 257}, "/event_id"),
        ({"agent_id": "\x7f"}, "/agent_id"),
        ({"cost_tokens": -1}, "/cost_tokens"),
        ({"cost_tokens": 2**63}, "/cost_tokens"),
        ({"latency_ms": float("nan")}, "/latency_ms"),
        ({"detail": {"t": "x" * (2**20 + 1)}}, "/detail/t"),
    ],
)
def test_what_is_malformed_is_refused_by_its_pointer(fields: dict[str, Any], pointer: str) -> None:
    given: dict[str, Any] = {"event": "x.note"} | fields
    assert pointers(checked(**given)) == [pointer]


@pytest.mark.parametrize(
    ("event", "detail", "pointer"),
    [
        ("prediction.scored", {"prediction_id": "p", "outcome": 1}, "/detail/outcome"),
        ("prediction.scored", {"prediction_id": "p", "outcome": "true"}, "/detail/outcome"),
        ("prediction.made", {"prediction_id": 7}, "/detail/prediction_id"),
        ("prediction.made", {"prediction_id": "a\x00"}, "/detail/prediction_id"),
        (
            "inference.outcome",
            {"shadow_id": "agent:e", "outcome": True, "source": "hearsay"},
            "/detail/source",
        ),
    ],
)
def test_what_a_projection_reads_is_checked_also_inside_detail(
    event: str, detail: dict[str, Any], pointer: str
) -> None:
    assert pointers(checked(event=event, detail=detail)) == [pointer]


def test_everything_that_is_wrong_is_said_at_once() -> None:
    found = checked(event="gate.decided", confidence=2, worker="", label_to="sure")
    assert set(pointers(found)) == {
        "/worker",
        "/label_to",
        "/confidence",
        "/turn_id",
        "/detail/decision",
    }


def test_unknown_keys_of_detail_are_kept_with_numbers_of_any_size() -> None:
    detail = {"huge": 2**200, "neg": -(2**63) - 1, "small": 5e-324, "deep": [[{"a": None}]]}
    event = an_event("x.note", detail=detail)
    assert event.detail == detail
    assert event.detail_text == (
        f'{{"deep":[[{{"a":null}}]],"huge":{2**200},"neg":{-(2**63) - 1},"small":5e-324}}'
    )


def test_an_instant_without_an_offset_is_refused() -> None:
    naive = datetime(2026, 10, 3, 12)  # noqa: DTZ001
    assert pointers(by(None, {"event": "x.note", "ts": naive})) == ["/ts"]


@pytest.mark.parametrize(("offset_hours", "hour"), [(14, 2), (-12, 0), (0, 12), (5.5, 17)])
def test_an_offset_is_right_to_the_instant(offset_hours: float, hour: int) -> None:
    zone = timezone(timedelta(hours=offset_hours))
    ts = datetime(2026, 10, 3, 12, tzinfo=UTC).astimezone(zone)
    found = by(None, {"event": "x.note", "ts": ts})
    assert isinstance(found, Event)
    assert ts.hour == hour
    assert found.ts == NOW


@pytest.mark.parametrize("year", [1, 1969])
def test_an_event_older_than_the_retention_floor_is_refused(year: int) -> None:
    ts = datetime(year, 12, 31, tzinfo=UTC)
    assert pointers(by(None, {"event": "x.note", "ts": ts})) == ["/ts"]


@pytest.mark.parametrize(("ahead", "expected"), [(DAY, []), (DAY + 1, ["future_time"])])
def test_an_event_of_more_than_a_day_ahead_is_taken_as_told_and_flagged(
    ahead: int, expected: list[str]
) -> None:
    ts = datetime(2026, 10, 3, 12, tzinfo=UTC) + timedelta(microseconds=ahead)
    found = by(None, {"event": "x.note", "ts": ts})
    assert isinstance(found, Event)
    assert found.ts == NOW + ahead
    assert found.flags == expected


def test_without_a_time_it_is_the_servers_and_the_event_is_new_each_time() -> None:
    first, second = checked(event="x.note"), checked(event="x.note")
    assert isinstance(first, Event)
    assert isinstance(second, Event)
    assert first.ts == first.received_at
    assert first.event_id != second.event_id


def test_the_id_of_an_event_without_one_is_that_of_its_normalised_content() -> None:
    def id_of(**fields: Any) -> str:
        given: dict[str, Any] = {"event": "x.note", "ts": NOW, "confidence": 0.9} | fields
        found = checked(**given)
        assert isinstance(found, Event)
        return found.event_id

    alike = [id_of(), id_of(agent_id=AGENT), id_of(detail={}), id_of(detail=None)]
    assert len(set(alike)) == 1
    assert id_of(detail={"a": 1, "b": 2}) == id_of(detail={"b": 2, "a": 1})
    others = {
        id_of(ts=NOW + 1),
        id_of(confidence=0.91),
        id_of(worker="day"),
        id_of(agent_id="other"),
        id_of(detail={"a": 1}),
        id_of(detail={"a": True}),
        id_of(event="x.other"),
    }
    assert len(others) == 7
    assert alike[0] not in others


RESERVED_CONTENT: list[tuple[dict[str, Any], Scope]] = [
    (complete("belief.overwrite_refused"), Scope.AUDIT),
    (complete("ledger.refused"), Scope.AUDIT),
    (complete("operator.reported"), Scope.OPERATE),
    (complete("opportunity.detected") | {"detail": {"source": "auditor"}}, Scope.AUDIT),
    (
        complete("inference.outcome")
        | {"detail": {"shadow_id": "s", "outcome": True, "source": "operator_correction"}},
        Scope.OPERATE,
    ),
]


@pytest.mark.parametrize(("fields", "scope"), RESERVED_CONTENT)
def test_what_an_agent_may_not_say_is_forbidden_by_name(
    fields: dict[str, Any], scope: Scope
) -> None:
    assert isinstance(by(scope, fields), Event)
    for other in (None, *(set(Scope) - {scope})):
        with pytest.raises(Forbidden, match=fields["event"]):
            by(other, fields)
        assert pointers(by(other, fields, skips=True)) == ["/event"]


def test_a_writing_key_speaks_for_its_own_agent_alone() -> None:
    intake = Intake(WRITER, Settings.model_validate({}), NOW + HOUR, lambda: AGENT)
    assert isinstance(normalise(EventIn("x.note"), intake, 0), Event)
    with pytest.raises(Forbidden):
        normalise(EventIn("x.note", agent_id="other"), intake, 0)


def test_every_expectation_names_fields_that_events_have() -> None:
    columns = set(EventIn.__struct_fields__)
    for event, expectation in EXPECTATIONS.items():
        assert isinstance(expectation, Expectation)
        names = expectation.must + expectation.should
        assert {n for n in names if not n.startswith("detail.")} <= columns, event
        assert len(set(names)) == len(names), event
