"""No ring of imports, imports for types and those inside functions included.

One form may lead back: a method that imports a function and returns what that makes of ``self``, or of its class.
"""

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
    """The names of the ``known`` modules that a file imports, anywhere in it but in methods that are doors."""
    tree = ast.parse(path.read_text())
    shown = {id(part) for method in ast.walk(tree) if is_door(method) for part in ast.walk(method)}
    for node in (node for node in ast.walk(tree) if id(node) not in shown):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in known else node.module


def is_door(node: ast.AST) -> bool:
    """Whether a method is nothing but ``from module import function`` and ``return function(self, ...)``, or of cls."""
    if not isinstance(node, ast.FunctionDef):
        return False
    match node.body if ast.get_docstring(node) is None else node.body[1:]:
        case [ast.ImportFrom(names=[alias]), ast.Return(value=ast.Call(func=ast.Name(id=name), args=[first, *_]))]:
            return alias.name == name and isinstance(first, ast.Name) and first.id in ("self", "cls")
    return False


@pytest.mark.parametrize(
    ("returned", "door"), [("f(self, 1)", True), ("f(cls, 1)", True), ("f(self.part)", False), ("f(1)", False)]
)
def test_only_a_method_that_hands_itself_over_may_lead_back(returned: str, door: bool) -> None:
    (method,) = ast.parse(f"def m(self):\n    from module import f\n    return {returned}").body
    assert is_door(method) == door


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
