"""From a turn as sent to a checked row."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scoring.labels import Label
from service import json_text
from service.checks import amount_fault, id_fault, stated_instant
from service.errors import Fault, Forbidden
from service.events.vocabulary import Flag
from service.instants import DAY
from service.principals import Principal
from service.settings import Settings
from service.turns.schemas import TurnIn, TurnRow

_ID_FIELDS = ("session_id", "turn_id", "worker", "model", "commit_sha")
_AMOUNTS = ("input_tokens", "output_tokens", "cost_usd", "latency_ms")
_LABELS = frozenset(Label)


@dataclass(frozen=True, slots=True)
class TurnIntake:
    """What a batch of turns is checked against."""

    principal: Principal
    settings: Settings
    now: int
    default_agent: Callable[[], str | None]
    skips: bool = False


def normalise_turn(
    item: TurnIn, intake: TurnIntake, index: int, *, repaired: bool = False
) -> TurnRow | list[Fault]:
    """A checked turn, or everything that is wrong with it."""
    faults: list[Fault] = []
    agent_id = item.agent_id if item.agent_id is not None else intake.default_agent()
    if agent_id is None:
        faults.append(Fault("/agent_id", "is missing: name the agent that did this"))
    elif fault := id_fault("agent_id", agent_id, intake.settings):
        faults.append(fault)
    for name in _ID_FIELDS:
        value = getattr(item, name)
        if value is not None and (fault := id_fault(name, value, intake.settings)):
            faults.append(fault)
    faults.extend(f for n in _AMOUNTS if (f := amount_fault(n, getattr(item, n))))
    ts = stated_instant(item.ts, intake.now, intake.settings, faults)
    payload: dict[str, Any] = {
        "inputs": item.inputs,
        "output": item.output,
        "retrieved": item.retrieved,
        "tool_calls": item.tool_calls,
    }
    _check_parts(item, faults)
    payload_text = json_text.encode(payload)
    _check_size(payload, payload_text, intake.settings, faults)
    if faults:
        return faults
    assert agent_id is not None  # noqa: S101 - said in `faults` otherwise
    try:
        intake.principal.require_agent(agent_id)
    except Forbidden as refusal:
        if not intake.skips:
            raise
        return [Fault("/agent_id", refusal.detail)]
    flags = [Flag.TEXT_REPAIRED] if repaired else []
    if ts > intake.now + DAY:
        flags.append(Flag.FUTURE_TIME)
    return TurnRow(
        agent_id, item.turn_id, ts, intake.now, item.session_id, item.worker, item.model,
        item.commit_sha, payload, payload_text, item.input_tokens, item.output_tokens,
        item.cost_usd, item.latency_ms, list(flags), index,
    )  # fmt: skip


def _check_parts(item: TurnIn, faults: list[Fault]) -> None:
    for place, message in enumerate(item.inputs):
        if not isinstance(message.get("role"), str):
            faults.append(Fault(f"/inputs/{place}/role", "is missing: user, system, operator, …"))
    for place, memory in enumerate(item.retrieved):
        if not isinstance(memory.get("id"), str):
            faults.append(Fault(f"/retrieved/{place}/id", "is missing: name the memory item"))
        label = memory.get("label")
        if label is not None and not (isinstance(label, str) and label in _LABELS):
            known = ", ".join(Label)
            faults.append(Fault(f"/retrieved/{place}/label", f"is no label: use one of {known}"))
    for place, call in enumerate(item.tool_calls):
        if not isinstance(call.get("name"), str):
            faults.append(Fault(f"/tool_calls/{place}/name", "is missing: name the tool"))


def _check_size(
    payload: dict[str, Any], text: str, settings: Settings, faults: list[Fault]
) -> None:
    if len(text) <= settings.max_string_chars and (
        text.count("{") + text.count("[") < settings.max_nesting
    ):
        return
    findings = json_text.Inspection(settings.max_nesting, settings.max_string_chars)
    for name, part in payload.items():
        json_text.inspect(part, f"/{name}", findings, depth=2)
    faults.extend(findings.faults)
