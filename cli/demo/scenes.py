"""What one turn is made of before anything is sent: readings, claims, and whether it abducts."""

from dataclasses import dataclass, field

from cli.demo.beliefs import Belief
from cli.demo.sessions import Session, number_of_claims
from cli.demo.story import Cause, Support, Topic, claim_text, draw_fields, pick
from cli.demo.world import Place, Record, World

LABEL_SHARES = ((0.6, "infer"), (0.88, "suspect"), (1.0, "guess"))
CONFIDENCES = {
    "infer": (0.86, 0.88, 0.9, 0.9, 0.92, 0.95),
    "suspect": (0.5, 0.6, 0.65, 0.7, 0.8),
    "guess": (0.2, 0.3, 0.4, 0.45),
}


@dataclass(slots=True)
class Reading:
    """A tool call's result, put in a sentence, and the evidence id it is filed under."""

    topic: Topic
    fields: dict[str, str | int]
    sentence: str
    memory: str
    evidence_id: str

    @property
    def arguments(self) -> Record:
        """What the tool was called with."""
        key, _ = self.topic.fields[0]
        return {key: self.fields[key]}

    @property
    def question(self) -> str:
        """What the tool was called for."""
        return self.topic.question.format_map(self.fields)


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


class SceneMaker:
    """Thinks up the next turn of a session."""

    def __init__(self, world: World) -> None:
        self._world = world

    def stage(self, session: Session) -> Scene:
        """The next turn: which tools are read, what is claimed, whether it abducts."""
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
