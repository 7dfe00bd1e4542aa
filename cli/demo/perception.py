"""What the agent sees in a turn before it speaks: opportunities, gates, evidence, signals."""

from cli.demo.plan import CONSOLIDATION
from cli.demo.scenes import Reading, Scene
from cli.demo.story import pick
from cli.demo.world import Place, Record, World

GATES = ("KNOW", "RETRIEVE", "INFER", "ASK", "TEST", "ABSTAIN")
SIGNALS = ("grounding_hit", "grounding_miss", "proposed_correction", "tool_error", "hedge")
# A tool is often asked a second time, to see whether it still says the same.
ASKED_AGAIN = 0.45


class Perception:
    """Emits the events of looking."""

    def __init__(self, world: World) -> None:
        self._world = world

    def look(self, scene: Scene) -> None:
        """Opportunities, gates, evidence and signals, before anything is said."""
        world, rng, place = self._world, self._world.rng, scene.place
        for claim in scene.claims:
            if world.chance(0.6):
                detail: Record = {"source": "in_path", "category": claim.topic.category}
                world.emit("opportunity.detected", place, detail)
        if world.chance(world.plan.gated):
            decision = "INFER" if scene.claims and world.chance(0.7) else pick(rng, GATES)
            reading = scene.readings[0]
            detail = {
                "decision": decision,
                "question": reading.question,
                "reason": f"asked about {reading.topic.name}, {len(scene.readings)} tools at hand",
                "scores": {gate: round(rng.random(), 3) for gate in GATES[:4]},
            }
            world.emit("gate.decided", place, detail)
        for reading in scene.readings:
            self._retrieve(place, reading, from_memory=False)
            self._retrieve(place, reading, from_memory=True)
            scene.evidence.append(reading.evidence_id)
        if world.chance(ASKED_AGAIN):
            self._retrieve(place, scene.readings[0], from_memory=False)
        for _ in range(1 + world.chance(0.3)):
            detail = {
                "signal": pick(rng, SIGNALS),
                "strength": round(rng.random(), 3),
                "on": scene.readings[-1].sentence,
                "category": reading.topic.category,
                "evidence": scene.evidence,
            }
            world.emit("signal.observed", place, detail)

    def _retrieve(self, place: Place, reading: Reading, *, from_memory: bool) -> None:
        detail: Record
        if from_memory:
            detail = {
                "tool": "memory",
                "evidence_id": f"m-{reading.evidence_id}-0",
                "channel": "memory",
                "reliability": 0.7,
                "query": reading.question,
                "text": reading.memory,
                "written_by": CONSOLIDATION,
                "category": reading.topic.category,
                "age_days": 1 + int(self._world.rng.random() * 300),
                "score": round(0.5 + 0.5 * self._world.rng.random(), 3),
            }
        else:
            detail = {
                "tool": reading.topic.tool,
                "evidence_id": reading.evidence_id,
                "channel": "tool",
                "reliability": 0.95,
                "purpose": f"asked by {place.worker} about {reading.topic.name}",
                "arguments": reading.arguments,
                "result": reading.fields,
                "text": reading.sentence,
            }
        latency_ms = 3 + int(self._world.rng.random() * 900)
        self._world.emit("evidence.retrieved", place, detail, latency_ms=latency_ms)
