"""Predictions and their outcomes, ground truth for inferences, and discriminators."""

from collections.abc import Callable
from functools import partial

from cli.demo.beliefs import Belief, BeliefKeeper
from cli.demo.plan import DAY, HOUR_US, SECOND_US
from cli.demo.story import pick
from cli.demo.truth import Ratio, Tallies, instant
from cli.demo.world import Place, Record, World

STATED = (0.7, 0.8, 0.9, 0.9, 0.95)
# How much truer the agent sounds than it is: at 0.9 it is right 72 times of a hundred.
OVERCONFIDENCE = 0.18
TRUE_SHARE = {"infer": 0.72, "suspect": 0.58, "guess": 0.35}
SCORED_SHARE = 0.85


class Forecaster:
    """Makes dated claims and lets their outcomes arrive."""

    def __init__(
        self, world: World, beliefs: BeliefKeeper, shadow_id_of: Callable[[str], str]
    ) -> None:
        self._world = world
        self._beliefs = beliefs
        self._shadow_id_of = shadow_id_of

    def predict(self, place: Place, statement: str, belief: Belief | None) -> None:
        """Emit `prediction.made`, and plan its score; some are never scored and go overdue."""
        world, rng = self._world, self._world.rng
        prediction_id = world.new_id("p")
        stated = pick(rng, STATED)
        hours = 20 + int(rng.random() * 120)
        # Whole seconds, as a person would give a date.
        due = (world.now // SECOND_US) * SECOND_US + hours * HOUR_US
        detail: Record = {
            "prediction_id": prediction_id,
            "statement": f"In {hours} hours this will still hold: {statement}",
            "due": instant(due).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        links = {} if belief is None else {"belief_id": belief.belief_id}
        world.emit("prediction.made", place, detail, **links, confidence=stated)
        if world.chance(SCORED_SHARE):
            outcome = world.chance(stated - OVERCONFIDENCE)
            score = partial(self._score, prediction_id, belief, outcome=outcome)
            world.later(due + int(rng.random() * 12 * HOUR_US), score)

    def _score(self, prediction_id: str, belief: Belief | None, *, outcome: bool) -> None:
        world = self._world
        detail: Record = {"prediction_id": prediction_id, "outcome": outcome}
        world.emit("prediction.scored", world.place_of(DAY), detail)
        if not outcome and belief is not None and not belief.superseded and world.chance(0.5):
            self._beliefs.challenge(belief, "prediction_miss")

    def await_outcome(self, place: Place, event_id: str, label: str) -> None:
        """Let ground truth arrive for the inference of the event, more often than not late."""
        world, rng = self._world, self._world.rng
        if not world.chance(0.4):
            return
        outcome = world.chance(TRUE_SHARE[label])
        due = world.now + int((2 + 150 * rng.random()) * HOUR_US)
        shadow_id = self._shadow_id_of(event_id)
        world.later(due, partial(self._resolve, place, shadow_id, outcome=outcome))

    def _resolve(self, place: Place, shadow_id: str, *, outcome: bool) -> None:
        world = self._world
        fate = world.rng.random()
        source = "tool_result" if fate < 0.6 else "know_belief" if fate < 0.8 else "self_belief"
        detail: Record = {"shadow_id": shadow_id, "outcome": outcome, "source": source}
        if source != "self_belief":
            detail["evidence"] = {"turn_id": place.turn_id, "tool_call": 0}
        world.emit("inference.outcome", world.place_of(DAY), detail)

    def discriminate(self, place: Place, observation: str) -> str:
        """Propose an observation that would decide between hypotheses; by habit it is fetched."""
        world, rng = self._world, self._world.rng
        discriminator_id = world.new_id("d")
        detail: Record = {"discriminator_id": discriminator_id, "observation": observation}
        world.emit("discriminator.generated", place, detail)
        tallies = world.keeper.expect(Ratio.DISCRIMINATOR_FOLLOW_THROUGH)
        if world.chance(0.1):
            # Proposed twice: distinct ids count, not events.
            world.emit("discriminator.generated", place, dict(detail))
        if world.chance(world.plan.followed_through):
            due = world.now + int(40 * rng.random() * HOUR_US)
            world.later(due, partial(self._act_on, discriminator_id, tallies))
        return discriminator_id

    def _act_on(self, discriminator_id: str, tallies: Tallies) -> None:
        world = self._world
        detail: Record = {"discriminator_id": discriminator_id}
        place = world.place_of(DAY)
        world.emit("discriminator.acted_on", place, detail)
        world.keeper.credit(Ratio.DISCRIMINATOR_FOLLOW_THROUGH, tallies, world.now)
        if world.chance(0.1):
            world.emit("discriminator.acted_on", place, dict(detail))
