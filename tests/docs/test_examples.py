"""The examples of the documentation run as they stand, and its links and tables hold."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest

from service.settings import Settings
from tests.processes import ROOT, environment, serving

SECONDS = 60
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"<!-- not run: \w[^>]* -->\s*\Z")
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, and whether the page says why it is not run."""

    language: str
    text: str
    line: int
    is_run: bool


def blocks_of(text: str) -> list[Block]:
    """The bash and Python blocks of a page, in their order."""
    return [
        Block(
            found[1],
            found[2],
            text.count("\n", 0, found.start()) + 1,
            NOT_RUN.search(text[: found.start()]) is None,
        )
        for found in FENCE.finditer(text)
        if found[1] in ("bash", "python")
    ]


def section(text: str, title: str) -> str:
    """A page from a heading of the second level to the next one."""
    _, _, rest = text.partition(f"\n## {title}\n")
    assert rest, f"there is no section {title!r}"
    return rest.partition("\n## ")[0]


def pages() -> Iterator[Path]:
    """Every Markdown file of the repository."""
    names = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.md"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    return (ROOT / name for name in names)


def run_all(text: str, folder: Path, least: int) -> None:
    """Runs a page's blocks one after another against one service, as a reader would."""
    (folder / ".venv").symlink_to(sys.prefix)
    data_dir = str(folder / "doxa-data")
    ran = 0
    with serving("--no-auditor", data_dir=data_dir) as service:
        settings = {"data_dir": data_dir, "url": service.url}
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        for block in blocks_of(text):
            if not block.is_run:
                continue
            command = (
                ["bash", "-e", "-o", "pipefail"] if block.language == "bash" else [sys.executable]
            )
            done = subprocess.run(
                [*command, "-"] if block.language == "python" else [*command, "-s"],
                input=block.text, cwd=folder, env=environment(**settings) | {"PATH": path},
                check=False, capture_output=True, text=True, timeout=SECONDS,
            )  # fmt: skip
            assert done.returncode == 0, (
                f"the block at line {block.line} ended with {done.returncode}:\n{block.text}\n"
                f"{done.stdout}\n{done.stderr}"
            )
            ran += 1
    assert ran >= least, f"only {ran} blocks ran"


def test_the_first_result_of_the_readme_is_had_as_it_says(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    run_all(section(text, "A first result in five minutes"), tmp_path, least=5)
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "piper" in report
    assert "<svg" in report


def test_every_recipe_runs_as_it_stands(tmp_path: Path) -> None:
    run_all((ROOT / "docs" / "api-recipes.md").read_text(encoding="utf-8"), tmp_path, least=15)


def test_a_block_is_left_out_only_where_the_page_says_why() -> None:
    left_out, run = "<!-- not run: because -->", "<!-- not run: -->"
    text = f"{left_out}\n```bash\nfalse\n```\n\n{run}\n```bash\ntrue\n```\n"
    assert [block.is_run for block in blocks_of(text)] == [False, True]


@pytest.mark.parametrize("page", list(pages()), ids=lambda page: str(page.relative_to(ROOT)))
def test_internal_links_resolve(page: Path) -> None:
    broken = []
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = unquote(target).partition("#")
        path = (page.parent / name).resolve() if name else page
        is_page = path.is_relative_to(ROOT) and path.exists()
        if not is_page or (anchor and anchor not in anchors_of(path)):
            broken.append(target)
    assert broken == []


def anchors_of(page: Path) -> set[str]:
    """The anchors that headings make."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in HEADING.findall(text))
    return {title.strip().replace(" ", "-") for title in plain}


def settings_table() -> str:
    """The table of docs/operations.md, made of the class."""
    rows = ["| variable | default | what it is |", "| --- | --- | --- |"]
    for name, field in Settings.model_fields.items():
        default = "" if field.default in (None, "") else f"`{_shown(field.default)}`"
        rows.append(f"| `DOXA_{name.upper()}` | {default} | {field.description} |")
    return "\n".join(rows) + "\n"


def _shown(value: object) -> str:
    return value.isoformat().replace("+00:00", "Z") if hasattr(value, "isoformat") else str(value)


def test_the_table_of_settings_is_that_of_the_class() -> None:
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- settings -->\n(.*?)<!-- /settings -->", text, re.DOTALL)
    assert found is not None
    assert found[1] == settings_table(), f"docs/operations.md should have:\n{settings_table()}"


def test_the_figures_are_all_explained() -> None:
    from service.ratios.figures import RatioName
    from service.reports.weekly import SPECIFICATIONS

    text = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    names = {str(name) for name in RatioName} | {one.name for one in SPECIFICATIONS}
    headings = set(re.findall(r"^### `(\w+)`", text, re.MULTILINE))
    assert headings == names | {"bypass_signature"}, "each figure has one heading of its name"
