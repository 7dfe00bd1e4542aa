"""Seals: what the service wrote, as against what somebody wrote through another connection."""

import hmac
from hashlib import sha256

SEAL_BYTES = 16


class Sealer:
    """HMACs under a key that only the service holds."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, leaf_hash: bytes) -> bytes:
        """The seal of a row: the first 16 bytes of HMAC-SHA-256 over its leaf."""
        return hmac.digest(self._key, leaf_hash, sha256)[:SEAL_BYTES]

    def seal_head(
        self, agent_id: str, log: str, size: int, frontier: bytes, unsealed_until: int
    ) -> bytes:
        """The seal of a log's head: nobody else moves its length or its tree unseen."""
        fixed = f"head\0{log}\0{size}\0{unsealed_until}\0".encode()
        return hmac.digest(self._key, fixed + frontier + agent_id.encode(), sha256)[:SEAL_BYTES]

    def holds(self, seal: bytes | None, leaf_hash: bytes) -> bool:
        """Whether a seal is the one of this leaf."""
        return seal is not None and hmac.compare_digest(seal, self.seal(leaf_hash))
