"""The Merkle tree of a log as far as appending needs it (RFC 6962, section 2.1)."""

from collections.abc import Iterable
from hashlib import sha256

HASH_BYTES = 32
EMPTY_ROOT = sha256(b"").digest()
_NODE = b"\x01"


class Frontier:
    """The roots of the full subtrees of a tree, from the left: O(log n) hashes say all of it."""

    __slots__ = ("_peaks", "size")

    def __init__(self, size: int = 0, packed: bytes = b"") -> None:
        """Raises ValueError unless `packed` holds a hash for each one bit of `size`."""
        if size < 0 or len(packed) != size.bit_count() * HASH_BYTES:
            raise ValueError(f"a tree of {size} leaves has no frontier of {len(packed)} bytes")
        self.size = size
        self._peaks = [
            packed[start : start + HASH_BYTES] for start in range(0, len(packed), HASH_BYTES)
        ]

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Appends leaf hashes in their order."""
        peaks, size = self._peaks, self.size
        for leaf in leaves:
            node, full = leaf, size
            while full & 1:
                node = sha256(_NODE + peaks.pop() + node).digest()
                full >>= 1
            peaks.append(node)
            size += 1
        self.size = size

    def root(self) -> bytes:
        """The tree's root; of an empty one the hash of nothing."""
        if not self._peaks:
            return EMPTY_ROOT
        root = self._peaks[-1]
        for peak in reversed(self._peaks[:-1]):
            root = sha256(_NODE + peak + root).digest()
        return root

    def packed(self) -> bytes:
        """The hashes one behind the other, 32 bytes each."""
        return b"".join(self._peaks)
