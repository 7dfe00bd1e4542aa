"""Sessions: who talks, about what, for how many turns, under which model and commit."""

from dataclasses import dataclass, field

from cli.demo.plan import CONSOLIDATION, DUSK, HOUR_US, MODEL_AFTER, MODEL_BEFORE, SCANNER
from cli.demo.story import ClaimKey, Support, Topic, pick
from cli.demo.topics import TOPICS
from cli.demo.world import World

TURNS_AT_LEAST = 3
TURNS_AT_MOST = 12

# Mean claims of a turn, by worker: the evening loop talks most freely, the scanner hardly.
CLAIM_CHANCES = {DUSK: (0.42, 0.86), SCANNER: (0.72, 0.96), CONSOLIDATION: (0.75, 0.97)}
CLAIM_CHANCES_OF_OTHERS = (0.52, 0.90)


@dataclass(slots=True, eq=False)
class Session:
    """A conversation in progress; `said` holds its claims, each made for the first time once."""

    session_id: str
    worker: str
    model: str
    topics: tuple[Topic, ...]
    turns_left: int
    sent: bool
    said: dict[ClaimKey, str] = field(default_factory=dict)
    supports: dict[tuple[str, int], Support] = field(default_factory=dict)
    open_decision: tuple[str, str] | None = None


def open_session(world: World, worker: str, *, may_send: int) -> Session:
    """A new session of `worker`; its transcript is sent when `may_send` turns are enough for it."""
    rng = world.rng
    span = TURNS_AT_MOST - TURNS_AT_LEAST + 1
    turns = TURNS_AT_LEAST + int(rng.random() * span)
    if worker in (SCANNER, CONSOLIDATION):
        turns = TURNS_AT_LEAST + int(rng.random() * 4)
    model = MODEL_AFTER if worker in world.plan.new_model_workers else MODEL_BEFORE
    topics = tuple({pick(rng, TOPICS).name: None for _ in range(3)})
    chosen = tuple(topic for topic in TOPICS if topic.name in topics)
    return Session(world.new_id("s"), worker, model, chosen, turns, sent=turns <= may_send)


def number_of_claims(world: World, worker: str) -> int:
    """None, one or two claims for the next turn."""
    none, one = CLAIM_CHANCES.get(worker, CLAIM_CHANCES_OF_OTHERS)
    fate = world.rng.random()
    return 0 if fate < none else 1 if fate < one else 2


def pause_us(world: World, worker: str) -> int:
    """Time until the session's next turn, in microseconds: minutes, less for the scanner."""
    minutes = 0.3 if worker == SCANNER else 0.6
    return int((minutes + 4 * minutes * world.rng.random()) * HOUR_US / 60)
