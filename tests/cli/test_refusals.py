"""What stands in the way of starting is said in one line, with what to do."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.processes import ROOT, doxa, environment

COMMANDS = (["migrate"], ["serve", "--port", "0"], ["ratios"], ["keys", "list"], ["audit"])


def run(arguments: list[str], **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        doxa(*arguments), cwd=ROOT, env=environment(port="1", **settings), capture_output=True,
        text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
@pytest.mark.parametrize(
    "url", ["mysql://a/b", "nonsense", "sqlite://", "postgresql+asyncpg://h/x"]
)
def test_a_database_url_that_cannot_be_opened(arguments: list[str], url: str) -> None:
    done = run(arguments, database_url=url)
    assert done.returncode in (2, 3), done.stderr
    assert "Traceback" not in done.stderr
    assert "DOXA_DATABASE_URL" in done.stderr


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_a_data_folder_that_is_a_file_or_holds_rubbish(
    arguments: list[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "rubbish").mkdir()
    (tmp_path / "rubbish" / "doxa.db").write_bytes(os.urandom(50_000))
    for folder in ("file", "rubbish"):
        done = run(arguments, data_dir=str(tmp_path / folder))
        assert done.returncode in (2, 3), done.stderr
        assert "Traceback" not in done.stderr
        assert "DOXA_DATA_DIR" in done.stderr


@pytest.mark.parametrize("key", ["ü", "a\nb"])
def test_a_key_that_is_none_is_not_shown(key: str) -> None:
    done = run(["ratios"], api_key=key, url="http://127.0.0.1:1")
    assert done.returncode == 2
    assert "DOXA_API_KEY" in done.stderr
    assert key not in done.stderr
