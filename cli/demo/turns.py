"""One turn: its transcript, its events in the order they happen, and the truth about its claims."""

from dataclasses import dataclass, field
from functools import partial

from cli.demo.beliefs import Belief, BeliefKeeper, Write
from cli.demo.contradictions import ContradictionKeeper
from cli.demo.forecasts import Forecaster
from cli.demo.plan import CONSOLIDATION, SCANNER, commit_sha
from cli.demo.sessions import Session, number_of_claims, pause_us
from cli.demo.story import Cause, Support, Topic, claim_text, draw_fields, pick
from cli.demo.truth import ClaimTruth, TurnTruth
from cli.demo.world import Place, Record, World

LABEL_SHARES = ((0.6, "infer"), (0.88, "suspect"), (1.0, "guess"))
CONFIDENCES = {
    "infer": (0.86, 0.88, 0.9, 0.9, 0.92, 0.95),
    "suspect": (0.5, 0.6, 0.65, 0.7, 0.8),
    "guess": (0.2, 0.3, 0.4, 0.45),
}
GATES = ("KNOW", "RETRIEVE", "INFER", "ASK", "TEST", "ABSTAIN")
ACTIONS = ["accept", "verify", "retry", "continue", "terminate", "escalate"]
SIGNALS = ("grounding_hit", "grounding_miss", "proposed_correction", "tool_error", "hedge")


@dataclass(slots=True)
class Reading:
    """A tool call's result, put in a sentence, and the evidence id it is filed under."""

    topic: Topic
    fields: dict[str, str | int]
    sentence: str
    memory: str
    evidence_id: str


@dataclass(slots=True)
class Claim:
    """A claim about to be made: as the agent holds it and as it really stands."""

    text: str
    topic: Topic
    cause: Cause
    support: Support
    label: str
    confidence: float
    recorded: bool
    repeated: bool = False


@dataclass(slots=True)
class Scene:
    """All that one turn is made of before anything is sent."""

    place: Place
    session: Session
    readings: list[Reading]
    claims: list[Claim]
    abducted: bool
    evidence: list[str] = field(default_factory=list)
    fact: Belief | None = None


class TurnMaker:
    """Lets a session take its turns, one after the other."""

    def __init__(
        self,
        world: World,
        seed: int,
        beliefs: BeliefKeeper,
        contradictions: ContradictionKeeper,
        forecaster: Forecaster,
    ) -> None:
        self._world = world
        self._beliefs = beliefs
        self._contradictions = contradictions
        self._forecaster = forecaster
        self._commits = tuple(commit_sha(seed, week) for week in range(world.weeks))

    def take(self, session: Session) -> None:
        """One turn of the session now, and the next one planned."""
        world = self._world
        scene = self._stage(session)
        world.places[session.worker] = scene.place
        if session.sent:
            self._send(scene)
        self._look(scene)
        if scene.abducted:
            self._abduce(scene)
        self._note(scene)
        for claim in scene.claims:
            self._assert(scene, claim)
        self._review(scene)
        self._decide(scene)
        session.turns_left -= 1
        world.turns_to_come -= 1
        if session.turns_left > 0:
            world.later(world.now + pause_us(world, session.worker), partial(self.take, session))

    def _stage(self, session: Session) -> Scene:
        world, rng = self._world, self._world.rng
        topic = pick(rng, session.topics)
        readings = [self._read(topic)]
        if world.chance(0.45):
            readings.append(self._read(pick(rng, session.topics)))
        claims = self._think(session, topic)
        plan = world.plan
        fresh = any(not claim.repeated for claim in claims)
        place = Place(session.worker, session.session_id, world.new_id("t"))
        abducted = world.chance(plan.abduction if fresh else 0.004)
        return Scene(place, session, readings, claims, abducted)

    def _read(self, topic: Topic) -> Reading:
        fields = draw_fields(self._world.rng, topic)
        return Reading(
            topic,
            fields,
            topic.restatement.format_map(fields),
            topic.memory.format_map(fields),
            self._world.new_id("e"),
        )

    def _think(self, session: Session, topic: Topic) -> list[Claim]:
        """The turn's claims: new in the session and of different effect and cause; or one again."""
        world, rng = self._world, self._world.rng
        claims: list[Claim] = []
        if session.said and world.chance(0.06):
            key = pick(rng, tuple(session.said))
            origin = next(topic for topic in session.topics if topic.name == key[0])
            again = self._hold(session, session.said[key], origin, key[2])
            again.recorded, again.repeated = False, True
            return [again]
        effect, cause = int(rng.random() * 2), int(rng.random() * 3)
        for _ in range(number_of_claims(world, session.worker)):
            key = (topic.name, effect, cause)
            if key not in session.said:
                text = claim_text(topic, effect, cause)
                session.said[key] = text
                claims.append(self._hold(session, text, topic, cause))
            effect, cause = 1 - effect, (cause + 1) % 3
        return claims

    def _hold(self, session: Session, text: str, topic: Topic, cause: int) -> Claim:
        world, rng = self._world, self._world.rng
        plan = world.plan
        fate = rng.random()
        support = next(kind for end, kind in plan.support if fate <= end)
        # The notes stay in the session's context, so one cause has one support all through it.
        support = session.supports.setdefault((topic.name, cause), support)
        fate = rng.random()
        label = next(name for end, name in LABEL_SHARES if fate <= end)
        confidence = pick(rng, CONFIDENCES[label])
        if world.chance(0.02):
            # Label and confidence at odds, a fault to be flagged.
            confidence = 0.4 if label == "infer" else 0.9
        recorded = world.chance(plan.recorded)
        return Claim(text, topic, topic.causes[cause], support, label, confidence, recorded)

    def _send(self, scene: Scene) -> None:
        """Append the transcript and its truth."""
        world, rng, session = self._world, self._world.rng, scene.session
        hints = [hint for claim in scene.claims if (hint := claim.cause.hint(claim.support))]
        retrieved = [(reading.memory, "remember") for reading in scene.readings]
        retrieved += [(hint, "know") for hint in hints]
        sentences = [reading.sentence for reading in scene.readings]
        if world.chance(0.4):
            sentences.append(scene.readings[0].memory)
        sentences += [claim.text for claim in scene.claims]
        main = scene.readings[0]
        record: Record = {
            "agent_id": world.agent,
            "session_id": session.session_id,
            "turn_id": scene.place.turn_id,
            "ts": world.timestamp(),
            "worker": session.worker,
            "model": session.model,
            "commit_sha": self._commits[world.week],
            "inputs": [
                {"role": "user", "content": reading.topic.question.format_map(reading.fields)}
                for reading in scene.readings
            ],
            "retrieved": [
                {"id": f"m-{main.evidence_id}-{number}", "content": content, "label": label}
                for number, (content, label) in enumerate(retrieved)
            ],
            "tool_calls": [_tool_call(reading) for reading in scene.readings],
            "output": " ".join(sentences),
            "input_tokens": 600 + int(rng.random() * 2400),
            "output_tokens": 12 * len(sentences) + int(rng.random() * 40),
            "cost_usd": round(0.002 + rng.random() * 0.02, 5),
            "latency_ms": 400 + int(rng.random() * 5000),
        }
        world.turns.append(record)
        truth = TurnTruth(
            str(scene.place.turn_id),
            session.session_id,
            scene.abducted,
            tuple(
                ClaimTruth(claim.text, claim.support, claim.recorded, claim.repeated)
                for claim in scene.claims
            ),
        )
        world.turn_truths.append(truth)
        world.keeper.turn(truth)

    def _look(self, scene: Scene) -> None:
        """Opportunities, gates, evidence and signals, before anything is said."""
        world, rng, place = self._world, self._world.rng, scene.place
        for claim in scene.claims:
            if world.chance(0.6):
                detail: Record = {"source": "in_path", "category": claim.topic.category}
                world.emit("opportunity.detected", place, detail)
        if scene.claims or world.chance(0.35):
            decision = "INFER" if scene.claims and world.chance(0.7) else pick(rng, GATES)
            reading = scene.readings[0]
            detail = {
                "decision": decision,
                "question": reading.topic.question.format_map(reading.fields),
                "reason": f"asked about {reading.topic.name}, {len(scene.readings)} tools at hand",
                "scores": {gate: round(rng.random(), 3) for gate in GATES[:4]},
            }
            world.emit("gate.decided", place, detail)
        for reading in scene.readings:
            self._retrieve(place, reading, from_memory=False)
            self._retrieve(place, reading, from_memory=True)
            scene.evidence.append(reading.evidence_id)
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
                "query": reading.topic.question.format_map(reading.fields),
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
                "arguments": _arguments(reading),
                "result": reading.fields,
                "text": reading.sentence,
            }
        latency_ms = 3 + int(self._world.rng.random() * 900)
        self._world.emit("evidence.retrieved", place, detail, latency_ms=latency_ms)

    def _abduce(self, scene: Scene) -> None:
        """The hypothesis machinery: enter, write alternatives, propose an observation, leave."""
        world, place = self._world, scene.place
        topic = scene.readings[0].topic
        hypotheses = [cause.clause for cause in topic.causes]
        observation = f"read {topic.tool} once more"
        detail: Record = {
            "reason": topic.category,
            "n_hypotheses": len(hypotheses),
            "discriminator": observation,
        }
        world.emit("abduction.invoked", place, detail)
        detail = {"n": len(hypotheses), "hypotheses": hypotheses}
        world.emit("hypotheses.generated", place, detail)
        discriminator_id = self._forecaster.discriminate(place, observation)
        detail = {"n_hypotheses": len(hypotheses), "discriminator": discriminator_id}
        tokens = 300 + int(world.rng.random() * 1500)
        world.emit("abduction.completed", place, detail, cost_tokens=tokens)

    def _assert(self, scene: Scene, claim: Claim) -> None:
        """A claim leaves the agent: with its event mostly, with a ledger write as is its habit."""
        world, place = self._world, scene.place
        belief: Belief | None = None
        if claim.recorded:
            write = Write(
                claim.text,
                claim.topic.category,
                claim.label,
                claim.confidence,
                scene.evidence[:1],
                scene.fact,
            )
            belief = self._beliefs.write(place, write, abducted=scene.abducted)
            if belief.label is not None:
                self._forecaster.await_outcome(place, belief.event_id, claim.label)
        if not world.chance(0.85):
            return
        detail: Record = {
            "statement": claim.text,
            "category": claim.topic.category,
            "evidence": scene.evidence[:2],
        }
        links = {} if belief is None else {"belief_id": belief.belief_id}
        event_id = world.emit("assertion.made", place, detail, **links, confidence=claim.confidence)
        if belief is None:
            self._forecaster.await_outcome(place, event_id, claim.label)

    def _note(self, scene: Scene) -> None:
        """What was read goes into the ledger, now and then."""
        world, reading = self._world, scene.readings[0]
        if not world.chance(0.3):
            return
        label, confidence = ("know", 0.97) if world.chance(0.6) else ("remember", 0.9)
        write = Write(
            reading.sentence, reading.topic.category, label, confidence, scene.evidence[:1]
        )
        scene.fact = self._beliefs.write(scene.place, write, abducted=scene.abducted)

    def _review(self, scene: Scene) -> None:
        """Contradictions found, predictions made, summaries written."""
        world, place = self._world, scene.place
        if world.chance(0.15 if scene.session.worker == SCANNER else 0.035):
            self._contradictions.detect(place)
        if world.chance(0.06):
            self._forecaster.predict(place, scene.readings[0].sentence, scene.fact)
        if scene.session.worker == CONSOLIDATION:
            self._summarise(scene)

    def _summarise(self, scene: Scene) -> None:
        """A summary of recent beliefs, whose label should be the weakest of theirs."""
        world = self._world
        labels = [belief.label for belief in list(self._beliefs.recent)[-12:] if belief.label]
        if not labels:
            return
        counts = {label: labels.count(label) for label in sorted(set(labels))}
        order = ("know", "remember", "infer", "suspect", "guess")
        weakest = max(counts, key=order.index)
        stated = "remember" if world.chance(world.plan.summary_too_strong) else weakest
        detail: Record = {
            "summary_id": world.new_id("m"),
            "labels_in": counts,
            "labels_out": {stated: 1},
            "text": f"{len(labels)} notes about {scene.readings[0].topic.name} merged",
        }
        world.emit("summary.written", scene.place, detail)

    def _decide(self, scene: Scene) -> None:
        """The outcome of the session's last decision, and the next one."""
        world, rng, session = self._world, self._world.rng, scene.session
        if session.open_decision is not None and world.chance(0.5):
            decision_id, action = session.open_decision
            outcome = "good" if world.chance(0.8) else "bad"
            detail: Record = {"decision_id": decision_id, "action": action, "outcome": outcome}
            detail["note"] = f"seen one turn later, by {session.worker} itself"
            world.emit("decision.recorded", scene.place, detail)
        decision_id, action = world.new_id("n"), pick(rng, ACTIONS)
        session.open_decision = (decision_id, action)
        why = f"after {len(scene.readings)} readings of {scene.readings[0].topic.name}"
        detail = {
            "decision_id": decision_id,
            "action": action,
            "reason": f"{why}, the last of which says: {scene.readings[-1].sentence}",
            "considered": ACTIONS[:3],
        }
        tokens = 40 + int(rng.random() * 900)
        cost_usd = round(tokens * 0.000004, 6)
        latency_ms = 200 + int(world.rng.random() * 3000)
        world.emit(
            "decision.recorded",
            scene.place,
            detail,
            cost_tokens=tokens,
            cost_usd=cost_usd,
            latency_ms=latency_ms,
        )


def _tool_call(reading: Reading) -> Record:
    return {
        "name": reading.topic.tool,
        "arguments": _arguments(reading),
        "result": reading.fields,
    }


def _arguments(reading: Reading) -> Record:
    key, _ = reading.topic.fields[0]
    return {key: reading.fields[key]}
