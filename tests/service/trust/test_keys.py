"""Keys are made once, whole, and for their owner's eyes only."""

import threading
from pathlib import Path

import pytest

from service.errors import ConfigurationError
from service.trust.keys import SEAL_KEY_FILE, seal_key
from service.trust.seals import Sealer


def test_a_key_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    folder = tmp_path / "keys"
    assert seal_key(folder) == seal_key(folder)
    assert (folder / SEAL_KEY_FILE).stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


def test_many_at_once_make_one_key(tmp_path: Path) -> None:
    found: list[bytes] = []
    threads = [threading.Thread(target=lambda: found.append(seal_key(tmp_path))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert len(set(found)) == 1
    assert [path.name for path in tmp_path.iterdir()] == [SEAL_KEY_FILE]


def test_a_damaged_key_is_named(tmp_path: Path) -> None:
    (tmp_path / SEAL_KEY_FILE).write_text("abc")
    with pytest.raises(ConfigurationError, match=r"seal\.key holds no key"):
        seal_key(tmp_path)


def test_a_seal_holds_for_its_leaf_alone() -> None:
    sealer = Sealer(b"k" * 32)
    assert sealer.holds(sealer.seal(b"leaf"), b"leaf")
    assert not sealer.holds(sealer.seal(b"leaf"), b"another")
    assert not sealer.holds(None, b"leaf")
    assert not Sealer(b"x" * 32).holds(sealer.seal(b"leaf"), b"leaf")
