"""The transcript of a turn in its wire shape, and the truth about it."""

from cli.demo.scenes import Reading, Scene
from cli.demo.truth import ClaimTruth, TurnTruth
from cli.demo.world import Record, World


def transcript(world: World, scene: Scene, commit_sha: str) -> Record:
    """The turn as `POST /v1/turns` takes it: readings restated, then the claims."""
    rng, session = world.rng, scene.session
    hints = [hint for claim in scene.claims if (hint := claim.cause.hint(claim.support))]
    retrieved = [(reading.memory, "remember") for reading in scene.readings]
    retrieved += [(hint, "know") for hint in hints]
    sentences = [reading.sentence for reading in scene.readings]
    if world.chance(0.4):
        sentences.append(scene.readings[0].memory)
    sentences += [claim.text for claim in scene.claims]
    memory_id = f"m-{scene.readings[0].evidence_id}"
    return {
        "agent_id": world.agent,
        "session_id": session.session_id,
        "turn_id": scene.place.turn_id,
        "ts": world.timestamp(),
        "worker": session.worker,
        "model": session.model,
        "commit_sha": commit_sha,
        "inputs": [{"role": "user", "content": reading.question} for reading in scene.readings],
        "retrieved": [
            {"id": f"{memory_id}-{number}", "content": content, "label": label}
            for number, (content, label) in enumerate(retrieved)
        ],
        "tool_calls": [_tool_call(reading) for reading in scene.readings],
        "output": " ".join(sentences),
        "input_tokens": 600 + int(rng.random() * 2400),
        "output_tokens": 12 * len(sentences) + int(rng.random() * 40),
        "cost_usd": round(0.002 + rng.random() * 0.02, 5),
        "latency_ms": 400 + int(rng.random() * 5000),
    }


def turn_truth(scene: Scene) -> TurnTruth:
    """What an auditor without error would find in the turn."""
    claims = (
        ClaimTruth(claim.text, claim.support, claim.recorded, claim.repeated)
        for claim in scene.claims
    )
    session_id = scene.session.session_id
    return TurnTruth(scene.place.turn_id or "", session_id, scene.abducted, tuple(claims))


def _tool_call(reading: Reading) -> Record:
    return {
        "name": reading.topic.tool,
        "arguments": reading.arguments,
        "result": reading.fields,
    }
