"""SWE-agent `.traj`: one object with `trajectory` (the steps) and `history` (all messages).

The steps are the record. The history adds what a step does not hold: the system prompt, the task
and demonstrations before the first step, what the environment said besides a step's observation
(open file, folder), and the arguments of a function call.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from cli.importing.conversation import MalformedMessageError, content_text, read_tool_calls
from cli.importing.identity import Reading, instant_text, step_id
from cli.importing.json_values import kind_of
from cli.importing.records import BadRecord, Record, RecordKind

NAME = "SWE-agent .traj"


def recognises(value: object) -> bool:
    """Whether the value is one trajectory."""
    return isinstance(value, dict) and "trajectory" in value


def read(value: object, line: int, reading: Reading) -> Iterator[Record | BadRecord]:
    """The turns of one trajectory; its session is a digest of steps and history."""
    steps = value.get("trajectory") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not isinstance(steps, list):
        yield BadRecord(reading.source, line, f"trajectory is {kind_of(steps)}, not a list")
        return
    if not steps:
        yield BadRecord(reading.source, line, "trajectory holds no step, so no turn")
    trail = _Trail(_find_history(value, steps))
    session_id = reading.name_content("swe-agent", [steps, value.get("history")])
    model = _model_that_answered(value) or reading.model
    for position, step in enumerate(steps):
        try:
            fields = _read_step(step, trail)
            ts = instant_text(reading.next_instant())
        except ValueError as problem:
            yield BadRecord(reading.source, line, f"step {position} {problem}")
            continue
        body: dict[str, object] = {
            "agent_id": reading.agent,
            "session_id": session_id,
            "turn_id": step_id(session_id, "s", position),
            "ts": ts,
            **({} if model is None else {"model": model}),
            **fields,
        }
        yield Record(RecordKind.TURN, body, reading.source, line, derived=True)


@dataclass(slots=True)
class _Trail:
    """The history, walked beside the steps, and what the step before left to be told.

    `observed` is the last observation where a tool call holds it, `unplaced` where none does
    (the answer to a step without a command). `worker` is who wrote the last step found.
    """

    history: list[dict[str, object]]
    position: int = 0
    observed: str = ""
    unplaced: str = ""
    worker: object = None

    def recall(self, output: str) -> tuple[dict[str, object], list[dict[str, object]]]:
        """The history's message of a step, found forward by its text, and those just before it."""
        for index in range(self.position, len(self.history)):
            message = self.history[index]
            if _is_own(message) and content_text(message.get("content")).strip() == output.strip():
                before = self._messages_before(index)
                self.position = index + 1
                self.worker = message.get("agent")
                return message, before
        if self.position:
            return {}, []
        own = (index for index, message in enumerate(self.history) if _is_own(message))
        self.position = next(own, len(self.history))
        return {}, self.history[: self.position]

    def _messages_before(self, index: int) -> list[dict[str, object]]:
        start = index
        while start > self.position and not _is_own(self.history[start - 1]):
            start -= 1
        return self.history[start:index]

    def new_inputs(self, before: list[dict[str, object]]) -> list[dict[str, object]]:
        """The messages before a step, less the observation that the step before already holds."""
        inputs: list[dict[str, object]] = []
        for message in before:
            content = content_text(message.get("content"))
            if (seen := self.observed.strip()) and seen in content:
                content = content.replace(seen, "", 1).strip()
            if content:
                inputs.append({"role": message["role"], "content": content})
        if self.unplaced and not any(self.unplaced in str(one["content"]) for one in inputs):
            inputs.append({"role": "user", "content": self.unplaced})
        return inputs


def _is_own(message: dict[str, object]) -> bool:
    """Whether the agent wrote the message in this run; demonstrations are shown to it."""
    return message["role"] == "assistant" and not message.get("is_demo")


def _find_history(value: dict[str, object], steps: list[object]) -> list[dict[str, object]]:
    """The well-formed messages of the history, or else of what the first step was asked with."""
    first = steps[0] if steps and isinstance(steps[0], dict) else {}
    history = value.get("history") or first.get("query") or first.get("messages")
    messages = history if isinstance(history, list) else []
    return [one for one in messages if _is_message(one)]


def _is_message(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("role"), str):
        return False
    return isinstance(value.get("content"), (str, list, type(None)))


def _read_step(step: object, trail: _Trail) -> dict[str, object]:
    """The fields of a step's turn that come from the step and its history."""
    if not isinstance(step, dict):
        raise MalformedMessageError(f"is {kind_of(step)}, not an object")
    if not step.keys() & {"response", "thought", "action"}:
        raise MalformedMessageError("has no response, thought or action")
    thought, action = content_text(step.get("thought")), content_text(step.get("action"))
    output = content_text(step.get("response")) or "\n".join(filter(None, (thought, action)))
    observation = content_text(step.get("observation"))
    message, before = trail.recall(output)
    inputs = trail.new_inputs(before)
    tool_calls = [call for _, call in read_tool_calls(message)] or _command_call(action)
    if tool_calls:
        tool_calls[0]["result"] = observation
    trail.observed = observation if tool_calls else ""
    trail.unplaced = "" if tool_calls else observation.strip()
    worker = trail.worker if isinstance(trail.worker, str) and trail.worker else None
    return {
        **({} if worker is None else {"worker": worker}),
        "inputs": inputs,
        "tool_calls": tool_calls,
        "output": output,
    }


def _command_call(action: str) -> list[dict[str, object]]:
    """A shell command as a tool call: its first word is the tool."""
    command = action.strip()
    return [{"name": command.split()[0], "arguments": {"command": command}}] if command else []


def _model_that_answered(value: dict[str, object]) -> str | None:
    """The configured model, if the statistics show that it was asked.

    A replay of recorded or human actions carries a configuration too, and no token went to it.
    """
    tokens = _descend(value, "info", "model_stats", "tokens_sent")
    model = _descend(value, "replay_config", "agent", "model", "name")
    asked = isinstance(tokens, (int, float)) and tokens > 0
    return model if asked and isinstance(model, str) and model else None


def _descend(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
