"""The rules of the house that a test can hold: ARCHITECTURE.md says why."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml

from service.db.schema import expected_revision
from tests.processes import ROOT, environment

PACKAGES = ("auditor", "cli", "dashboards", "migrations", "scoring", "service", "triggers")
AREAS = (
    "agents", "events", "changes", "turns", "redactions", "beliefs", "contradictions",
    "predictions", "inferences", "audits", "hand_checks", "ratios", "reports", "verification",
)  # fmt: skip
AREA_FILES = {"operations.py", "queries.py", "endpoints.py", "schemas.py", "projection.py"}
SOURCES = sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
EVERYTHING = [*SOURCES, *(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
EVERYTHING += [*(ROOT / "client").rglob("*.py")]


def test_there_is_something_to_look_at() -> None:
    assert len(SOURCES) > 100


@pytest.mark.parametrize("path", EVERYTHING, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_is_longer_than_500_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 500


def test_no_function_is_longer_than_40_lines_of_code_and_no_class_than_200() -> None:
    too_long = []
    for path in SOURCES:
        if path.parent.name == "versions":
            continue  # a revision lists what it makes, in one breath
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                limit = 200 if isinstance(node, ast.ClassDef) else 40
                body = node.body[1:] if ast.get_docstring(node) else node.body
                length = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                if length > limit:
                    too_long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name} {length}")
    assert too_long == []


def test_nobody_asks_which_database_it_is_outside_the_database_folder() -> None:
    asking = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if re.search(r"\bdialect\b", path.read_text()) and "db" not in path.relative_to(ROOT).parts
    ]
    assert asking == []


def test_nothing_commits_below_the_edge() -> None:
    committing = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        if re.search(r"\.commit\(\)", path.read_text())
    ]
    assert committing == []


def test_no_sql_stands_in_strings_outside_the_database_folder() -> None:
    statement = re.compile(r"\b(SELECT\s.+\sFROM|INSERT INTO|DELETE FROM|UPDATE\s+\w+\s+SET)\b")
    found = []
    for path in SOURCES:
        if {"db", "migrations"} & set(path.relative_to(ROOT).parts):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Constant)
                and isinstance(node.value, str)
                and statement.search(node.value)
            ):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == []


def test_the_areas_of_the_service_hold_files_of_the_same_names() -> None:
    for area in AREAS:
        names = {path.name for path in (ROOT / "service" / area).glob("*.py")}
        assert names & AREA_FILES, area
    assert "endpoints.py" in {p.name for p in (ROOT / "service" / "audits").iterdir()}


def test_no_module_hides_behind_a_name_that_says_nothing() -> None:
    nameless = {"utils", "helpers", "common", "misc", "manager", "base"}
    assert [p for p in EVERYTHING if p.stem in nameless] == []


def test_no_type_checking_import_looks_up() -> None:
    assert [p for p in SOURCES if "TYPE_CHECKING" in p.read_text()] == []


def test_trigger_files_come_in_pairs() -> None:
    names = {
        dialect: {path.name for path in (ROOT / "triggers" / dialect).glob("*.sql")}
        for dialect in ("sqlite", "postgresql")
    }
    assert names["sqlite"] == names["postgresql"]


def test_no_other_distribution_owns_our_names() -> None:
    owners = packages_distributions()
    for package in PACKAGES:
        assert set(owners.get(package, ["doxa"])) == {"doxa"}, package


def test_the_wheel_holds_the_packages_and_nothing_else() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert sorted(wheel) == sorted(PACKAGES)
    assert all((ROOT / package / "py.typed").exists() for package in PACKAGES)
    assert "Private :: Do Not Upload" in project["project"]["classifiers"]


@pytest.mark.parametrize("name", ["runtime.txt", "dev.txt"])
def test_requirements_pin_versions_and_hashes_and_name_no_address(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text()
    pins = [line for line in text.splitlines() if line and not line.startswith(("#", " "))]
    assert pins
    assert all(re.match(r"[a-z0-9._-]+==[^ ]+", pin) for pin in pins)
    assert text.count("--hash=sha256:") >= len(pins)
    assert "://" not in text
    assert "file:" not in text


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for given, name in (
        (project["project"]["dependencies"], "runtime.txt"),
        (project["dependency-groups"]["dev"], "dev.txt"),
    ):
        pinned = set(
            re.findall(r"^([a-z0-9._-]+)==", (ROOT / "requirements" / name).read_text(), re.M)
        )
        if name == "dev.txt":
            runtime = (ROOT / "requirements" / "runtime.txt").read_text()
            pinned |= set(re.findall(r"^([a-z0-9._-]+)==", runtime, re.M))
        for requirement in given:
            match = re.match(r"[A-Za-z0-9._-]+", requirement)
            assert match is not None
            assert match[0].lower() in pinned, requirement


def imported_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"],
        cwd=ROOT, env=environment(), capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return set(done.stdout.splitlines())


HEAVY = {"scipy", "sklearn", "statsmodels", "pandas", "altair", "vl_convert"}


def test_the_command_and_the_server_start_without_anything_heavy() -> None:
    command = imported_by("import cli.main")
    assert HEAVY.isdisjoint(command)
    assert {"fastapi", "numpy", "httpx"}.isdisjoint(command)
    assert "sqlalchemy" not in command
    server = imported_by("import cli.serving, cli.composition, service.app, auditor")
    assert "service.app" in server
    assert HEAVY.isdisjoint(server)


def test_compose_runs_the_service_the_auditor_and_postgresql() -> None:
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    assert set(compose["services"]) == {"migrate", "service", "auditor", "postgres"}
    for name, service in compose["services"].items():
        assert set(service) <= {
            "image", "build", "command", "environment", "ports", "volumes", "depends_on",
            "healthcheck", "restart", "stop_grace_period", "user",
        }, name  # fmt: skip
        for needed in service.get("depends_on", {}):
            assert needed in compose["services"]
        for mount in service.get("volumes", []):
            assert mount.split(":")[0] in compose["volumes"]
    published = compose["services"]["service"]["ports"]
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_make_help_explains_every_target() -> None:
    shown = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    ).stdout
    for target in ("run", "test", "check", "bench", "demo", "test-long"):
        assert re.search(rf"make {target}\s+\S", shown), target


def test_nothing_committed_names_a_registry_or_a_machine() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=30
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout")
    pattern = re.compile(r"index[-]url|://[^ ]*/simple[/]|://registry[.]|/roo[t]/|/wor[k]/")
    mine = Path(__file__).relative_to(ROOT)
    bad = []
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if Path(name) == mine or not path.is_file():
            continue
        if pattern.search(path.read_text(errors="replace")):
            bad.append(name)
    assert bad == []
    assert not {"uv.lock", "poetry.lock"} & set(listed.stdout.split())


def test_the_newest_revision_is_known() -> None:
    assert re.fullmatch(r"\d{4}", expected_revision())
