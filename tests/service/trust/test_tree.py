"""The frontier says the same as a whole tree of another's making."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymerkle import InmemoryTree

from service.trust.tree import EMPTY_ROOT, Frontier


def leaf(data: bytes) -> bytes:
    return sha256(b"\x00" + data).digest()


@given(st.lists(st.binary(max_size=8), max_size=70), st.integers(0, 70))
def test_the_root_is_that_of_the_reference_tree_however_it_was_cut(
    entries: list[bytes], cut: int
) -> None:
    reference = InmemoryTree(algorithm="sha256")
    for entry in entries:
        reference.append_entry(entry)
    first = Frontier()
    first.extend(leaf(entry) for entry in entries[:cut])
    resumed = Frontier(first.size, first.packed())
    resumed.extend(leaf(entry) for entry in entries[cut:])
    assert resumed.size == len(entries)
    assert resumed.root() == (reference.get_root() if entries else EMPTY_ROOT)


def test_a_frontier_that_does_not_fit_its_size_is_refused() -> None:
    with pytest.raises(ValueError, match="3 leaves"):
        Frontier(3, b"\0" * 32)
