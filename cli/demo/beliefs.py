"""The life of a belief after it was written: relabelled, overwritten, challenged, superseded."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from cli.demo.plan import CONSOLIDATION, DAY, DAY_US, HOUR_US, SCANNER
from cli.demo.story import pick
from cli.demo.truth import Ratio, Tallies, Tally
from cli.demo.world import Place, Record, World

STRONG = ("remember", "know")
CHECKED = "Checked again after"
CHALLENGERS = ("scan", "prediction_miss", "tool_result", "operator_correction")


@dataclass(slots=True, eq=False)
class Belief:
    """A written belief while something may still happen to it."""

    belief_id: str
    content: str
    category: str
    label: str | None
    worker: str
    event_id: str
    inferred_in: Tallies
    superseded: bool = False
    laundered: bool = False
    challenged_in: list[Tally] = field(default_factory=list)
    dependants: list["Belief"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Write:
    """What a worker writes into its ledger."""

    content: str
    category: str
    label: str
    confidence: float
    evidence: Sequence[str]
    rests_on: Belief | None = None


class BeliefKeeper:
    """Writes beliefs and plans their later life."""

    def __init__(self, world: World) -> None:
        self._world = world
        # Recent ones, to be contradicted by newer readings or summed up by consolidation.
        self.recent: deque[Belief] = deque(maxlen=64)

    def write(self, place: Place, write: Write, *, abducted: bool) -> Belief:
        """Emit `belief.created` and plan what becomes of the belief."""
        world = self._world
        belief_id = world.new_id("b")
        label: str | None = write.label
        if place.worker == "dusk" and world.chance(world.plan.unlabelled):
            label = None
        detail: Record = {"content": write.content, "category": write.category}
        if world.chance(0.01):
            del detail["category"]
        detail["evidence"] = [
            {"id": item, "channel": "tool", "source": place.worker, "reliability": 0.9}
            for item in write.evidence
        ]
        if write.rests_on is not None:
            detail["justifications"] = [[write.rests_on.belief_id]]
        labels = {} if label is None else {"label_to": label}
        event_id = world.emit(
            "belief.created",
            place,
            detail,
            belief_id=belief_id,
            **labels,
            confidence=write.confidence,
        )
        inferred_in: Tallies = ()
        if label == "infer":
            inferred_in = world.keeper.expect(Ratio.INFER_WITHOUT_ABDUCTION, hit=not abducted)
            world.keeper.expect(Ratio.LAUNDERING)
        belief = Belief(
            belief_id, write.content, write.category, label, place.worker, event_id, inferred_in
        )
        if write.rests_on is not None:
            write.rests_on.dependants.append(belief)
        self.recent.append(belief)
        self._plan_life(belief)
        return belief

    def _plan_life(self, belief: Belief) -> None:
        world, plan = self._world, self._world.plan
        night = self._next_night()
        if belief.label == "infer":
            fate = world.rng.random()
            if fate < plan.laundered:
                world.later(night, partial(self._relabel, belief, "remember", sourced=False))
                if world.chance(0.15):
                    again = partial(self._relabel, belief, "know", sourced=False)
                    world.later(night + DAY_US, again)
            elif fate < plan.laundered + 0.08:
                world.later(night, partial(self._relabel, belief, "know", sourced=True))
            elif fate < plan.laundered + 0.14:
                world.later(night, partial(self._relabel, belief, "suspect", sourced=False))
        if world.chance(plan.overwritten):
            world.later(night, partial(self._overwrite, belief))
        fate = world.rng.random()
        if fate < 0.16:
            world.later(self._after(1, 40), partial(self.challenge, belief))
        elif fate < 0.22:
            world.later(self._after(2, 60), partial(self._replace, belief, "a newer reading"))

    def _after(self, least_hours: float, most_hours: float) -> int:
        hours = least_hours + (most_hours - least_hours) * self._world.rng.random()
        return self._world.now + int(hours * HOUR_US)

    def _next_night(self) -> int:
        """An instant between two and four o'clock of the coming night."""
        world = self._world
        midnight = (world.now // DAY_US + 1) * DAY_US
        return midnight + 2 * HOUR_US + int(world.rng.random() * 1.9 * HOUR_US)

    def _relabel(self, belief: Belief, label: str, *, sourced: bool) -> None:
        if belief.superseded:
            return
        world = self._world
        sources: list[Record] = []
        if sourced:
            sources = [{"id": world.new_id("e"), "label": "know", "channel": "tool"}]
        elif world.chance(0.5) and self.recent:
            sources = [{"id": pick(world.rng, self.recent).belief_id, "label": "infer"}]
        # A relabel that misremembers what the label was is one of the agent's faults.
        label_from = "suspect" if world.chance(0.02) else (belief.label or "infer")
        worker = CONSOLIDATION if not sourced else DAY
        world.emit(
            "belief.relabelled",
            world.place_of(worker),
            {"sources": sources, "reason": f"seen again by {worker}"},
            belief_id=belief.belief_id,
            label_from=label_from,
            label_to=label,
        )
        belief.label = label
        if label in STRONG and not sourced and not belief.laundered:
            belief.laundered = True
            world.keeper.credit(Ratio.LAUNDERING, belief.inferred_in, world.now)

    def _overwrite(self, belief: Belief) -> None:
        world = self._world
        if belief.superseded or not world.plan.overwritten:
            return
        content = f"{belief.content.rstrip('.')}, merged by {CONSOLIDATION} with two older notes."
        world.emit(
            "belief.overwritten",
            world.place_of(CONSOLIDATION),
            {"content": content, "previous_content": belief.content},
            belief_id=belief.belief_id,
        )
        belief.content = content
        world.keeper.expect(Ratio.SILENT_OVERWRITES, hit=True)

    def challenge(self, belief: Belief, by: str | None = None) -> None:
        """Emit `belief.challenged`; by the week's habit the belief is later replaced."""
        world = self._world
        by = by or pick(world.rng, CHALLENGERS)
        worker = SCANNER if by == "scan" else DAY
        detail: Record = {"by": by, "note": f"does not fit: {belief.content}"}
        world.emit("belief.challenged", world.place_of(worker), detail, belief_id=belief.belief_id)
        for tally in world.keeper.active:
            if tally not in belief.challenged_in:
                belief.challenged_in.append(tally)
                tally.denominators[Ratio.REVISION] += 1
        # What was superseded before is not revised by a late scan hit, and not challenged again:
        # which challenge was the first then matters to nobody's count.
        if belief.superseded:
            return
        if world.chance(world.plan.revised):
            world.later(self._after(0.2, 30), partial(self._replace, belief, f"challenge by {by}"))
        elif world.chance(0.3):
            world.later(self._after(4, 90), partial(self.challenge, belief))

    def _replace(self, belief: Belief, reason: str) -> None:
        """Write a successor, supersede the belief, and let what rested on it alone fall."""
        if belief.superseded:
            return
        world = self._world
        place = world.place_of(DAY)
        content = belief.content
        if not content.startswith(CHECKED):
            content = f"{CHECKED} {reason}: {content}"
        write = Write(content, belief.category, "know", 0.97, (world.new_id("e"),))
        successor = self.write(place, write, abducted=False)
        world.emit(
            "belief.superseded",
            place,
            {"superseded_by": successor.belief_id, "reason": reason},
            belief_id=belief.belief_id,
        )
        belief.superseded = True
        world.keeper.expect(Ratio.SILENT_OVERWRITES)
        world.keeper.credit(Ratio.REVISION, belief.challenged_in, world.now)
        if not belief.challenged_in and world.chance(0.2):
            world.later(self._after(5, 50), partial(self.challenge, belief, "scan"))
        for dependant in belief.dependants:
            if not dependant.superseded and dependant.label is not None:
                self._invalidate(dependant, belief)

    def _invalidate(self, belief: Belief, cause: Belief) -> None:
        label_from = belief.label
        if label_from != "guess":
            belief.label = "suspect"
        self._world.emit(
            "belief.invalidated",
            self._world.place_of(CONSOLIDATION),
            {"cause": cause.belief_id},
            belief_id=belief.belief_id,
            label_from=label_from,
            label_to=belief.label,
        )
