"""What a writer gets for a shadow inference: where it stands in its log, and its leaf."""

import msgspec


class Receipt(msgspec.Struct, omit_defaults=True):
    """The row's place in its log's Merkle tree, from 0, and its leaf in hex."""

    log: str
    index: int
    leaf_hash: str
    shadow_id: str
    agent_id: str | None = None


def receipt_of(log: str, seq: int, leaf_hash: bytes, shadow_id: str) -> Receipt:
    """The receipt for a row of `shadow_inferences`."""
    return Receipt(log, seq - 1, leaf_hash.hex(), shadow_id)
