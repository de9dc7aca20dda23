"""No ring of imports, imports for types and those inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def modules(package: str) -> dict[str, Path]:
    """The modules of a package by their dotted names."""
    found = {}
    for path in (ROOT / package).rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path, known: dict[str, Path]) -> Iterator[str]:
    """The names of the ``known`` modules that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in known else node.module


@pytest.mark.parametrize("package", ["qsim", "measure", "calibrate"])
def test_no_ring_of_imports(package: str) -> None:
    known = modules(package)
    graph = {
        name: {other for other in imported(path, known) if other in known} - {name} for name, path in known.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as ring:
        pytest.fail(f"a ring of imports: {' -> '.join(reversed(ring.args[1]))}")
