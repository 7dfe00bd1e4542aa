"""The leaf of a row: SHA-256 over its fields as JSON, which a stranger can compute again.

The text is one JSON object, keys in the order of their code points, no spaces, nulls left out,
characters beyond ASCII as they are. It holds the row's columns by name but for its position, its
leaf and its seal; `table` is the name of its table. Whole numbers are written in decimal, floats in
the shortest form that reads back as the same double (1.0, 0.1, 1e300; no negative zero), bytes in
base64. A payload enters as `<column>_hash`, in hex, so that it can be removed and the leaf still be
computed. (RFC 6962, section 2.1: a leaf is hashed behind a zero byte.)
"""

from collections.abc import Container, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

# Given when a row is placed, or computed from the others.
UNHASHED = frozenset({"seq", "leaf_hash", "seal"})
SALT_BYTES = 16
_LEAF = b"\x00"
_encode = msgspec.json.Encoder().encode


def payload_hash(salt: bytes, payload: str) -> bytes:
    """SHA-256 of a salt of 16 bytes and the payload: without it no short secret can be guessed."""
    return sha256(salt + payload.encode()).digest()


class LeafEncoder:
    """Hashes the rows of one table, given without their `seq`, `leaf_hash` and `seal`."""

    def __init__(
        self,
        table: str,
        columns: Sequence[str],
        payloads: Mapping[str, str],
        reals: Container[str] = (),
    ) -> None:
        """`columns` in the order of the rows; `payloads` from payload to the column of its salt.

        `reals` are the columns of floats: a whole number there is read back as a float.
        """
        places = {name: place for place, name in enumerate(columns)}
        self._payloads = [
            (f"{name}_hash", places[name], places[salt]) for name, salt in payloads.items()
        ]
        hidden = {*payloads, *payloads.values(), *UNHASHED}
        named = [(name, place) for name, place in places.items() if name not in hidden]
        named += [("table", -1), *((name, -1) for name, _, _ in self._payloads)]
        self._fields = sorted(named)
        self._reals = [(name, place) for name, place in named if name in reals]
        self._table = table

    def leaf_hash(self, row: Sequence[Any], removed: bytes | None = None) -> bytes:
        """The row's leaf; `removed` is the payload's hash where the payload itself is gone."""
        hashes: dict[str, str] = {"table": self._table}
        for name, payload, salt in self._payloads:
            if row[payload] is not None:
                # A longer salt could swallow the beginning of the payload, and hash the same.
                is_salt = row[salt] is not None and len(row[salt]) == SALT_BYTES
                hashes[name] = payload_hash(row[salt], row[payload]).hex() if is_salt else "no salt"
            elif removed is not None:
                hashes[name] = removed.hex()
        fields = {
            name: value
            for name, place in self._fields
            if (value := row[place] if place >= 0 else hashes.get(name)) is not None
        }
        for name, place in self._reals:
            if (value := row[place]) is not None:
                fields[name] = value + 0.0
        return sha256(_LEAF + _encode(fields)).digest()
