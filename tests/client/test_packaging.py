from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import doxa_client
import pytest

SOURCES = sorted((Path(__file__).resolve().parents[2] / "client" / "src").rglob("*.py"))


def imported_names(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(str(node.module))
    return names


def test_the_sources_are_found() -> None:
    assert {"client.py", "errors.py", "ids.py"} <= {path.name for path in SOURCES}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_module_is_python_3_9_and_evaluates_no_newer_annotation(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    assert "__future__" in imported_names(tree)
    keywords = [
        keyword.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for keyword in node.keywords
    ]
    assert "slots" not in keywords
    assert "kw_only" not in keywords
    assert "strict" not in keywords


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_module_imports_the_standard_library_and_httpx_alone(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    roots = {name.partition(".")[0] for name in imported_names(tree)}
    assert roots <= sys.stdlib_module_names | {"httpx", "doxa_client"}


def test_the_face_is_what_all_names() -> None:
    assert doxa_client.__all__ == ["Doxa", "DoxaError", "FlushResult", "Rejection"]
    module = importlib.import_module("doxa_client")
    assert all(hasattr(module, name) for name in doxa_client.__all__)
