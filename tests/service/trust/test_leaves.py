"""A leaf can be computed by a stranger from the documented text."""

import json
from hashlib import sha256

import pytest

from service.trust.leaves import LeafEncoder, payload_hash

COLUMNS = ("agent_id", "log", "text", "confidence", "payload", "payload_salt", "count")
SALT = bytes(range(16))
ENCODER = LeafEncoder("things", COLUMNS, {"payload": "payload_salt"}, {"confidence"})
ROW = ("piper", "agent", "naïve \u0000 \U0001f600", 1.0, '{"a":1}', SALT, None)


def by_hand(**changed: object) -> bytes:
    fields = {
        "agent_id": "piper", "log": "agent", "text": ROW[2], "confidence": 1.0, "table": "things",
        "payload_hash": sha256(SALT + b'{"a":1}').hexdigest(),
    } | changed  # fmt: skip
    text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(b"\x00" + text.encode()).digest()


def test_a_leaf_is_the_hash_of_the_documented_text() -> None:
    assert ENCODER.leaf_hash(ROW) == by_hand()


@pytest.mark.parametrize("place", [0, 1, 2, 3, 4, 5])
def test_every_field_enters(place: int) -> None:
    changed: list[object] = [*ROW]
    changed[place] = {3: 0.5, 5: bytes(16)}.get(place, "other")
    assert ENCODER.leaf_hash(changed) != ENCODER.leaf_hash(ROW)


@pytest.mark.parametrize(("given", "stored"), [(1, 1.0), (0, 0.0), (-0.0, 0.0)])
def test_a_float_hashes_as_it_is_read_back(given: float, stored: float) -> None:
    assert ENCODER.leaf_hash((*ROW[:3], given, *ROW[4:])) == by_hand(confidence=stored)


def test_null_and_a_value_differ() -> None:
    assert ENCODER.leaf_hash((*ROW[:-1], 0)) == by_hand(count=0) != ENCODER.leaf_hash(ROW)


def test_a_removed_payload_leaves_the_leaf_as_it_was() -> None:
    removed = (*ROW[:4], None, None, None)
    assert ENCODER.leaf_hash(removed, payload_hash(SALT, '{"a":1}')) == ENCODER.leaf_hash(ROW)
    assert ENCODER.leaf_hash(removed) != ENCODER.leaf_hash(ROW)


def test_a_salt_that_has_swallowed_its_payload_hashes_otherwise() -> None:
    swallowed = (*ROW[:4], "", SALT + b'{"a":1}', None)
    assert payload_hash(SALT + b'{"a":1}', "") == payload_hash(SALT, '{"a":1}')
    assert ENCODER.leaf_hash(swallowed) != ENCODER.leaf_hash(ROW)
    assert ENCODER.leaf_hash((*ROW[:5], None, None)) != ENCODER.leaf_hash(ROW)
