import sys
from pathlib import Path

import pytest

from tests.faults import shim


@pytest.fixture(scope="session")
def shim_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled shim; skips where it cannot be made."""
    command = shim.compiler()
    if command is None or not sys.platform.startswith("linux"):
        pytest.skip("faults are put in by a C shim: this needs Linux and a C compiler (cc)")
    return shim.build(tmp_path_factory.mktemp("shim"), command)


@pytest.fixture
def faults(
    shim_library: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> shim.Shim:
    """A shim that children of this test are loaded with."""
    folder = tmp_path_factory.mktemp("faults")
    made = shim.Shim(shim_library, folder / "trigger", folder / "log")
    for name, value in made.variables.items():
        monkeypatch.setenv(name, value)
    return made
