"""One turn: its transcript and its events, in the order they happen."""

from functools import partial

from cli.demo.beliefs import Belief, BeliefKeeper, Write
from cli.demo.contradictions import ContradictionKeeper
from cli.demo.forecasts import Forecaster
from cli.demo.perception import Perception
from cli.demo.plan import CONSOLIDATION, SCANNER, commit_sha
from cli.demo.scenes import Claim, Scene, SceneMaker
from cli.demo.sessions import Session, pause_us
from cli.demo.story import pick
from cli.demo.transcripts import transcript, turn_truth
from cli.demo.world import Record, World

ACTIONS = ["accept", "verify", "retry", "continue", "terminate", "escalate"]


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
        self._scenes = SceneMaker(world)
        self._perception = Perception(world)
        self._beliefs = beliefs
        self._contradictions = contradictions
        self._forecaster = forecaster
        self._commits = tuple(commit_sha(seed, week) for week in range(world.weeks))

    def take(self, session: Session) -> None:
        """One turn of the session now, and the next one planned."""
        world = self._world
        scene = self._scenes.stage(session)
        world.places[session.worker] = scene.place
        if session.sent:
            self._send(scene)
        self._perception.look(scene)
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

    def _send(self, scene: Scene) -> None:
        """Append the transcript and its truth."""
        world = self._world
        world.turns.append(transcript(world, scene, self._commits[world.week]))
        truth = turn_truth(scene)
        world.turn_truths.append(truth)
        world.keeper.turn(truth)

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
