"""Leaf and seal of an event, computed before it is placed, so that another process can do it."""

import json
import os
from collections.abc import Iterable

from service.events.schemas import Event
from service.trust.leaves import SALT_BYTES, LeafEncoder
from service.trust.seals import Sealer

# The columns of `cog_events` but for position, leaf and seal; a test holds the model to it. Spelt
# out because the process that reads batches does not load the models.
TOLD = (
    "agent_id", "log", "event_id", "ts", "received_at", "session_id", "turn_id", "worker", "event",
    "belief_id", "contradiction_id", "label_from", "label_to", "confidence", "detail",
    "detail_salt", "cost_tokens", "cost_usd", "latency_ms", "flags",
)  # fmt: skip
ENCODER = LeafEncoder(
    "cog_events", TOLD, {"detail": "detail_salt"}, {"confidence", "cost_usd", "latency_ms"}
)


def commit_to(events: Iterable[Event], sealer: Sealer) -> None:
    """Gives events their salt, leaf and seal; those that have a leaf keep it."""
    fresh = [event for event in events if event.leaf_hash is None]
    salts = os.urandom(SALT_BYTES * len(fresh))
    for i, event in enumerate(fresh):
        event.detail_salt = salts[SALT_BYTES * i : SALT_BYTES * (i + 1)]
        _seal(event, sealer)


def commit_anew(event: Event, sealer: Sealer) -> None:
    """Gives leaf and seal again after the fold of its subject has noted something odd."""
    _seal(event, sealer)


def flags_text(event: Event) -> str | None:
    """All that was odd, as it is stored."""
    if not (event.flags or event.noted):
        return None
    return json.dumps(list(dict.fromkeys([*event.flags, *event.noted])), separators=(",", ":"))


def _seal(e: Event, sealer: Sealer) -> None:
    e.leaf_hash = ENCODER.leaf_hash(
        (
            e.agent_id, e.log, e.event_id, e.ts, e.received_at, e.session_id, e.turn_id, e.worker,
            e.event, e.belief_id, e.contradiction_id, e.label_from, e.label_to, e.confidence,
            e.detail_text, e.detail_salt, e.cost_tokens, e.cost_usd, e.latency_ms, flags_text(e),
        )
    )  # fmt: skip
    e.seal = sealer.seal(e.leaf_hash)
