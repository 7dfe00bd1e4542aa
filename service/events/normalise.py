"""From an event as sent to a checked row: the rules of each type, flags for what is merely odd."""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scoring.labels import Label, label_confidence_mismatch
from service import json_text
from service.checks import amount_fault, id_fault, stated_instant
from service.errors import Fault, Forbidden
from service.events.schemas import Event, EventIn
from service.events.vocabulary import (
    EXPECTATIONS,
    OWN_TYPE_PREFIX,
    RESERVED,
    EventType,
    Flag,
    Log,
    OpportunitySource,
    ResolutionSource,
)
from service.instants import DAY
from service.principals import Principal, Scope
from service.settings import Settings

_LABELS = frozenset(Label)
# Ids that stand in `detail`, by the one type of event that a projection reads them from.
_DETAIL_IDS: dict[str, str] = {
    EventType.PREDICTION_MADE: "prediction_id",
    EventType.PREDICTION_SCORED: "prediction_id",
    EventType.INFERENCE_OUTCOME: "shadow_id",
    EventType.DISCRIMINATOR_GENERATED: "discriminator_id",
    EventType.DISCRIMINATOR_ACTED_ON: "discriminator_id",
    EventType.DECISION_RECORDED: "decision_id",
    EventType.BELIEF_SUPERSEDED: "superseded_by",
}
# A shadow inference is called by its log and its event, whose id alone may have the full length.
_SHADOW_PREFIX = "agent:"
_DETAIL_PREFIX = "detail."
_PROJECTED_DETAIL = frozenset({*_DETAIL_IDS.values(), "source", "outcome"})
_RESERVED = frozenset({*RESERVED, EventType.OPPORTUNITY_DETECTED, EventType.INFERENCE_OUTCOME})


@dataclass(frozen=True, slots=True)
class _Rule:
    """An expectation, split once into columns and keys of `detail`: every event is held to it."""

    must: tuple[str, ...]
    must_detail: tuple[str, ...]
    should: tuple[str, ...]
    should_detail: tuple[str, ...]


def _split(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return (
        tuple(name for name in names if not name.startswith(_DETAIL_PREFIX)),
        tuple(
            name.removeprefix(_DETAIL_PREFIX) for name in names if name.startswith(_DETAIL_PREFIX)
        ),
    )


_RULES = {
    str(event): _Rule(*_split(expected.must), *_split(expected.should))
    for event, expected in EXPECTATIONS.items()
}


@dataclass(frozen=True, slots=True)
class Intake:
    """What a batch of events is checked against."""

    principal: Principal
    settings: Settings
    now: int
    default_agent: Callable[[], str | None]
    log: Log = Log.AGENT
    # With on_error=skip even what the key may not say holds up nothing else.
    skips: bool = False


def normalise(
    item: EventIn, intake: Intake, index: int, *, repaired: bool = False
) -> Event | list[Fault]:
    """A checked event, or all that is wrong with it; Forbidden for what the key may not say."""
    faults: list[Fault] = []
    agent_id = item.agent_id if item.agent_id is not None else intake.default_agent()
    if agent_id is None:
        faults.append(Fault("/agent_id", "is missing: name the agent that did this"))
    elif fault := id_fault("agent_id", agent_id, intake.settings):
        faults.append(fault)
    _check_fields(item, intake.settings, faults)
    ts = stated_instant(item.ts, intake.now, intake.settings, faults)
    detail = item.detail or {}
    detail_text = json_text.encode(detail) if detail else "{}"
    _check_size(detail, detail_text, intake.settings, faults)
    flags = _check_type(item, detail, intake.settings, faults)
    if faults:
        return faults
    assert agent_id is not None  # noqa: S101 - said in `faults` otherwise
    try:
        intake.principal.require_agent(agent_id)
        if item.event in _RESERVED:
            _check_voice(item, detail, intake)
    except Forbidden as refusal:
        if not intake.skips:
            raise
        return [Fault("/event", refusal.detail)]
    if repaired:
        flags.append(Flag.TEXT_REPAIRED)
    if ts > intake.now + DAY:
        flags.append(Flag.FUTURE_TIME)
    event = Event(
        agent_id, intake.log, item.event_id or "", ts, intake.now, item.event,
        item.session_id, item.turn_id, item.worker, item.belief_id, item.contradiction_id,
        item.label_from, item.label_to, item.confidence, detail, detail_text,
        item.cost_tokens, item.cost_usd, item.latency_ms, flags, index,
    )  # fmt: skip
    if not event.event_id:
        event.event_id = _derived_id(event) if item.ts is not None else secrets.token_hex(16)
    return event


def content(event: Event) -> tuple[Any, ...]:
    """The fields that make two events the same; detail apart, as it is compared by value."""
    return (
        event.agent_id, event.log, event.ts, event.session_id, event.turn_id, event.worker,
        event.event, event.belief_id, event.contradiction_id, event.label_from, event.label_to,
        event.confidence, event.cost_tokens, event.cost_usd, event.latency_ms,
    )  # fmt: skip


def _derived_id(event: Event) -> str:
    digest = hashlib.sha256(json_text.encode([*content(event), event.detail]).encode())
    return f"sha256:{digest.hexdigest()[:40]}"


def _check_fields(item: EventIn, settings: Settings, faults: list[Fault]) -> None:
    longest = settings.max_id_chars
    for name, value in (
        ("event_id", item.event_id),
        ("session_id", item.session_id),
        ("turn_id", item.turn_id),
        ("worker", item.worker),
        ("belief_id", item.belief_id),
        ("contradiction_id", item.contradiction_id),
    ):
        # The first three tests are `id_fault`'s own fast path, without the call.
        if (
            value is not None
            and not (value.isprintable() and 0 < len(value) <= longest)
            and (fault := id_fault(name, value, settings))
        ):
            faults.append(fault)
    for name, label in (("label_from", item.label_from), ("label_to", item.label_to)):
        if label is not None and label not in _LABELS:
            known = ", ".join(Label)
            faults.append(Fault(f"/{name}", f"{label[:40]!r} is no label: use one of {known}"))
    if item.confidence is not None and not 0 <= item.confidence <= 1:
        faults.append(Fault("/confidence", "lies outside [0, 1]: send a probability"))
    for name, amount in (
        ("cost_tokens", item.cost_tokens),
        ("cost_usd", item.cost_usd),
        ("latency_ms", item.latency_ms),
    ):
        if amount is not None and (fault := amount_fault(name, amount)):
            faults.append(fault)


def _check_size(detail: dict[str, Any], text: str, settings: Settings, faults: list[Fault]) -> None:
    # The whole is an upper bound for its strings, and the count of brackets one for its depth.
    if len(text) <= settings.max_string_chars and (
        text.count("{") + text.count("[") < settings.max_nesting
    ):
        return
    findings = json_text.Inspection(settings.max_nesting, settings.max_string_chars)
    json_text.inspect(detail, "/detail", findings, depth=2)
    faults.extend(findings.faults)


def _check_type(
    item: EventIn, detail: dict[str, Any], settings: Settings, faults: list[Fault]
) -> list[str]:
    rule = _RULES.get(item.event)
    if rule is None:
        if not item.event.startswith(OWN_TYPE_PREFIX) or len(item.event) <= len(OWN_TYPE_PREFIX):
            faults.append(
                Fault(
                    "/event",
                    f"{item.event[:60]!r} is no event type: see the list in docs/concepts.md, or "
                    f"begin a type of your own with {OWN_TYPE_PREFIX!r}",
                )
            )
        elif fault := id_fault("event", item.event, settings):
            faults.append(fault)
        return []
    if rule.must or rule.must_detail:
        _check_musts(item, detail, rule, faults)
    if not _PROJECTED_DETAIL.isdisjoint(detail):
        _check_detail(item.event, detail, settings, faults)
    flags: list[str] = []
    if None in map(detail.get, rule.should_detail) or (
        rule.should and any(getattr(item, name) is None for name in rule.should)
    ):
        flags.append(Flag.INCOMPLETE)
    if item.label_to is None:
        if item.event == EventType.BELIEF_CREATED:
            flags.append(Flag.UNLABELLED)
    elif not faults and label_confidence_mismatch(Label(item.label_to), item.confidence):
        flags.append(Flag.LABEL_CONFIDENCE_MISMATCH)
    return flags


def _check_musts(item: EventIn, detail: dict[str, Any], rule: _Rule, faults: list[Fault]) -> None:
    missing = [f"/{name}" for name in rule.must if getattr(item, name) is None]
    missing += [f"/detail/{name}" for name in rule.must_detail if detail.get(name) is None]
    faults.extend(Fault(place, f"is missing: {item.event} must carry it") for place in missing)


def _check_detail(
    event: str, detail: dict[str, Any], settings: Settings, faults: list[Fault]
) -> None:
    """Types of the keys that projections and figures read; every other key is kept unread."""
    name = _DETAIL_IDS.get(event)
    if name is not None and (value := detail.get(name)) is not None:
        if not isinstance(value, str):
            faults.append(Fault(f"/detail/{name}", "is no id: send a text"))
        elif fault := id_fault(f"detail/{name}", value.removeprefix(_SHADOW_PREFIX), settings):
            faults.append(fault)
    source = detail.get("source")
    if event == EventType.OPPORTUNITY_DETECTED and source is not None:
        _check_choice("/detail/source", source, OpportunitySource, faults)
    if event == EventType.INFERENCE_OUTCOME and source is not None:
        _check_choice("/detail/source", source, ResolutionSource, faults)
    if event in (EventType.PREDICTION_SCORED, EventType.INFERENCE_OUTCOME):
        outcome = detail.get("outcome")
        if outcome is not None and not isinstance(outcome, bool):
            faults.append(Fault("/detail/outcome", "must be true or false"))


def _check_choice(
    pointer: str,
    value: object,
    choices: type[OpportunitySource] | type[ResolutionSource],
    faults: list[Fault],
) -> None:
    if value not in [str(choice) for choice in choices]:
        faults.append(Fault(pointer, f"must be one of {', '.join(choices)}"))


def _check_voice(item: EventIn, detail: dict[str, Any], intake: Intake) -> None:
    """Keeps an agent from writing what only its auditor or its operator may say."""
    scopes = intake.principal.scopes if not intake.principal.is_local else frozenset()
    needed = RESERVED.get(item.event)
    if item.event == EventType.OPPORTUNITY_DETECTED:
        needed = Scope.AUDIT if detail.get("source") == OpportunitySource.AUDITOR else None
    if item.event == EventType.INFERENCE_OUTCOME:
        outranking = detail.get("source") == ResolutionSource.OPERATOR_CORRECTION
        needed = Scope.OPERATE if outranking else None
    if needed is not None and needed not in scopes:
        raise Forbidden(
            f"{item.event} with this content is not for an agent to say: it needs a key with scope "
            f"{needed}.",
            errors=(Fault("/event", f"needs scope {needed}"),),
        )
