"""`doxa keys` says what it did, and refuses what makes no key."""

import subprocess
from pathlib import Path

from tests.processes import ROOT, doxa, environment


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        doxa("keys", *arguments),
        cwd=ROOT,
        env=environment(data_dir=str(folder)),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_key_for_an_unknown_agent_says_that_it_registers_one(tmp_path: Path) -> None:
    first, second = (run(tmp_path, "create", "write", "--agent", "piper") for _ in range(2))
    assert "'piper' yet: it is registered now" in first.stderr
    assert "registered" not in second.stderr
    assert first.stdout.startswith("doxa_write_")
    assert first.stdout != second.stdout


def test_a_writing_key_needs_its_agent_and_no_other_takes_one(tmp_path: Path) -> None:
    for arguments in (["write"], ["read", "--agent", "piper"]):
        refused = run(tmp_path, "create", *arguments)
        assert refused.returncode == 2
        assert "--agent" in refused.stderr
        assert "Traceback" not in refused.stderr
