"""What a writer gets for a shadow inference: where it stands in its log, and its leaf."""

from collections.abc import Iterable

import msgspec


class Receipt(msgspec.Struct, omit_defaults=True):
    """The row's place in its log's Merkle tree, from 0, and its leaf in hex."""

    log: str
    index: int
    leaf_hash: str
    shadow_id: str
    agent_id: str | None = None


def receipts_of(placed: Iterable[tuple[str, int, bytes, str]]) -> list[Receipt]:
    """Receipts for rows of `shadow_inferences`, given as log, position, leaf and id."""
    return [
        Receipt(log, seq - 1, leaf_hash.hex(), shadow_id)
        for log, seq, leaf_hash, shadow_id in placed
    ]
