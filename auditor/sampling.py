"""The draw: stratified by worker, reproducible from a secret seed, unpredictable without it."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence

from scoring.sampling import allocate
from service.audits.records import DrawnTurn

SEED_BYTES = 32


def new_seed() -> bytes:
    """A fresh secret; who knows it can say which turns are drawn."""
    return secrets.token_bytes(SEED_BYTES)


def draw(strata: Mapping[str, Sequence[str]], size: int, seed: bytes) -> dict[str, list[str]]:
    """The turn ids drawn from each stratum, in the order of HMAC-SHA256(seed, turn id).

    Whatever order the turns are given in, the same seed draws the same ones.
    """
    shares = allocate({key: len(strata[key]) for key in sorted(strata)}, size)
    return {
        key: sorted(strata[key], key=lambda turn_id: _rank(seed, turn_id))[: shares[key]]
        for key in sorted(strata)
    }


def in_reading_order(
    drawn: Mapping[str, Sequence[str]],
    populations: Mapping[str, int],
    places: Mapping[str, tuple[str, int, int]],
    seed: bytes,
) -> list[DrawnTurn]:
    """The sample as it is read: whole sessions in a random order, each from its first turn on.

    `places` gives the session, instant and log position of each drawn turn. A session's context
    is then built once; and a run that ends early has read a random part of the sessions, whose
    order does not depend on how many of their turns were drawn.
    """
    stratum_of = {turn_id: key for key, turns in drawn.items() for turn_id in turns}

    def order(turn_id: str) -> tuple[bytes, str, int, int]:
        session_id, ts, seq = places[turn_id]
        return _rank(seed, f"session:{session_id}"), session_id, ts, seq

    return [
        DrawnTurn(
            turn_id=turn_id,
            position=position,
            stratum=stratum_of[turn_id],
            stratum_population=populations[stratum_of[turn_id]],
            stratum_sample=len(drawn[stratum_of[turn_id]]),
        )
        for position, turn_id in enumerate(sorted(stratum_of, key=order), start=1)
    ]


def _rank(seed: bytes, text: str) -> bytes:
    return hmac.new(seed, text.encode(), hashlib.sha256).digest()
