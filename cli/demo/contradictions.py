"""The life of a contradiction: a candidate until somebody owns it, or until its time is up."""

from dataclasses import dataclass
from functools import partial

from cli.demo.beliefs import Belief, BeliefKeeper
from cli.demo.plan import DAY_US, HOUR_US, SCANNER, WEEK_US, plan_of
from cli.demo.story import pick
from cli.demo.truth import Ratio, Tallies
from cli.demo.world import Place, Record, World

TTL_DAYS = 21
NEXT_ACTIONS = ("retrieve", "ask", "test", "accept_both_with_scopes")
# Bounds what must be remembered for the median age of the open ones.
OPEN_AT_MOST = 60_000


@dataclass(slots=True, eq=False)
class Contradiction:
    """An open contradiction; `expires` in microseconds since 1970, None without a ttl."""

    contradiction_id: str
    beliefs: tuple[Belief, Belief]
    detected_in: Tallies
    expires: int | None
    closed: bool = False


class ContradictionKeeper:
    """Detects contradictions and plans who closes them, and how."""

    def __init__(self, world: World, beliefs: BeliefKeeper) -> None:
        self._world = world
        self._beliefs = beliefs
        first = next((week for week in range(world.weeks) if self._owner_in(week)), None)
        self._owner_begins = None if first is None else world.start + first * WEEK_US

    def _owner_in(self, week: int) -> str | None:
        return plan_of(week, self._world.weeks).owner

    def detect(self, place: Place) -> None:
        """Find two recent beliefs at odds."""
        world, recent = self._world, self._beliefs.recent
        if len(recent) < 8 or len(world.keeper.open_since) >= OPEN_AT_MOST:
            return
        first, second = pick(world.rng, recent), pick(world.rng, recent)
        if first is second:
            return
        contradiction_id = world.new_id("c")
        expires_in = TTL_DAYS if world.chance(0.7) else None
        detail: Record = {
            "beliefs": [first.belief_id, second.belief_id],
            "detector": place.worker,
            "priority": 1 + int(world.rng.random() * 5),
        }
        if expires_in is not None:
            detail["ttl"] = f"P{expires_in}D"
        world.emit("contradiction.created", place, detail, contradiction_id=contradiction_id)
        tallies = world.keeper.expect(Ratio.CONTRADICTION_RESOLUTION)
        world.keeper.open_since[contradiction_id] = world.now
        expires = None if expires_in is None else world.now + expires_in * DAY_US
        self._plan_life(Contradiction(contradiction_id, (first, second), tallies, expires))

    def _plan_life(self, found: Contradiction) -> None:
        world = self._world
        if found.expires is not None:
            world.later(found.expires, partial(self._expire, found))
        begins = self._owner_begins
        if begins is not None and world.now >= begins:
            if world.chance(0.95):
                after = (1 + 35 * world.rng.random()) * HOUR_US
                world.later(world.now + int(after), partial(self._investigate, found))
            return
        if world.chance(0.08):
            # Nobody owns it and nobody looked: the known way to cheat.
            after = (2 + 50 * world.rng.random()) * HOUR_US
            world.later(world.now + int(after), partial(self._resolve, found, evidenced=False))
        elif begins is not None and world.chance(0.85):
            after = (0.2 + 5 * world.rng.random()) * DAY_US
            world.later(begins + int(after), partial(self._investigate, found))

    def _investigate(self, found: Contradiction) -> None:
        if found.closed:
            return
        world, rng = self._world, self._world.rng
        owner = world.plan.owner or SCANNER
        detail: Record = {"owner": owner, "next_action": pick(rng, NEXT_ACTIONS)}
        world.emit(
            "contradiction.investigated",
            world.place_of(owner),
            detail,
            contradiction_id=found.contradiction_id,
            cost_tokens=200 + int(rng.random() * 1800),
        )
        due = world.now + int((0.5 + 40 * rng.random()) * HOUR_US)
        fate = rng.random()
        if fate < 0.68:
            world.later(due, partial(self._resolve, found, evidenced=True))
        elif fate < 0.88:
            world.later(due, partial(self._scope, found))
        elif fate < 0.96:
            world.later(due, partial(self._dismiss, found))

    def _resolve(self, found: Contradiction, *, evidenced: bool) -> None:
        kept, given_up = (belief.belief_id for belief in found.beliefs)
        outcome: Record = {"resolution": "resolved", "kept": kept, "given_up": [given_up]}
        if evidenced:
            outcome["evidence"] = [self._world.new_id("e")]
        self._close(found, "contradiction.resolved", outcome, settled=True)

    def _scope(self, found: Contradiction) -> None:
        first, second = (belief.belief_id for belief in found.beliefs)
        scopes = {first: "on working days", second: "at night and on weekends"}
        outcome: Record = {"resolution": "scoped", "scopes": scopes}
        self._close(found, "contradiction.scoped", outcome, settled=True)

    def _dismiss(self, found: Contradiction) -> None:
        if found.closed:
            return
        outcome: Record = {
            "resolution": "not_a_contradiction",
            "note": "both can be true",
            "evidence": [self._world.new_id("e")],
        }
        self._close(found, "contradiction.resolved", outcome, settled=False)
        self._world.keeper.withdraw(
            Ratio.CONTRADICTION_RESOLUTION, found.detected_in, self._world.now
        )

    def _close(self, found: Contradiction, event: str, outcome: Record, *, settled: bool) -> None:
        if found.closed:
            return
        world = self._world
        owner = world.plan.owner or SCANNER
        world.emit(
            event,
            world.place_of(owner),
            {"owner": owner, **outcome},
            contradiction_id=found.contradiction_id,
            cost_tokens=100 + int(world.rng.random() * 900),
        )
        self._forget(found)
        if settled:
            world.keeper.credit(Ratio.CONTRADICTION_RESOLUTION, found.detected_in, world.now)

    def _expire(self, found: Contradiction) -> None:
        if found.closed:
            return
        world = self._world
        world.emit(
            "contradiction.expired",
            world.place_of(SCANNER),
            {"reason": f"open for {TTL_DAYS} days"},
            contradiction_id=found.contradiction_id,
        )
        self._forget(found)
        if world.chance(0.1):
            # A move out of a terminal state, which changes nothing and is to be flagged.
            late = partial(self._resolve_too_late, found)
            world.later(world.now + int(30 * world.rng.random() * HOUR_US), late)

    def _resolve_too_late(self, found: Contradiction) -> None:
        self._world.emit(
            "contradiction.resolved",
            self._world.place_of(SCANNER),
            {"owner": SCANNER, "resolution": "resolved", "kept": found.beliefs[0].belief_id},
            contradiction_id=found.contradiction_id,
        )

    def _forget(self, found: Contradiction) -> None:
        found.closed = True
        del self._world.keeper.open_since[found.contradiction_id]
