"""What a person is told to paste reaches the command letter by letter."""

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from dashboards.commands import audit_command, shell_word
from dashboards.showing import shown
from service.settings import Settings

NAMES = [
    "piper",
    "two words",
    "$(id)",
    "`id`",
    "it's",
    "a\\b",
    "-x",
    "\u202egnp",
    "é\x9b'\\\u200b!",
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here to ask")
def test_a_shell_reads_the_very_name(name: str) -> None:
    script = f"printf %s {shell_word(name)}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    # A locale without UTF-8 would write \u escapes as they stand.
    if "\\u" in script and b"\\u" in done.stdout:
        pytest.skip("bash has no UTF-8 locale here")
    assert done.stdout.decode() == name


@pytest.mark.parametrize("name", NAMES)
def test_nothing_invisible_stands_in_a_command(name: str) -> None:
    word = shell_word(name)
    assert shown(word) == word


def test_the_command_names_the_folder_only_where_it_is_not_the_usual_one(tmp_path: Path) -> None:
    assert audit_command("a", Settings()) == "doxa audit --agent a --all"
    elsewhere = audit_command("a", Settings(data_dir=tmp_path / "my data"))
    assert shlex.split(elsewhere)[-2:] == ["--data-dir", str(tmp_path / "my data")]


def test_the_command_never_shows_the_address_of_a_database() -> None:
    url = "postgresql://doxa:secret@db/doxa"
    assert audit_command("a", Settings(database_url=url)) == "doxa audit --agent a --all"
