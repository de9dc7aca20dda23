"""The map of the code: its folders, what each is for, and the road of the data, written from the code itself."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("qsim", "measure", "calibrate")

ROAD = (
    ("measure.load", "what a tool wrote becomes a sweep"),
    ("measure.audit", "the sweep is checked, one law after the other"),
    ("calibrate.points_of", "one curve of it, repeats averaged, as arrays"),
    ("calibrate.fit", "a device model is calibrated on the points"),
    ("calibrate.predict", "the fit says what other loads will give"),
    ("calibrate.compare", "all of these, with points held out, and what is missed"),
)
"""The steps from bytes to residuals: the public function of each, and what it does."""

HEAD = """\
# How the code is laid out

The tables are written from the code by `make docs`, as are the outputs shown on other pages; the tables of other pages
are written by hand. How to add a law, a formula, a model, a load, a format or a command:
[contributing](contributing.md).

Imports go one way: `calibrate` (the bridge) -> `measure` (the hardware) -> `qsim` (the theory). `lint-imports` holds
that, and the order of the folders inside each package: what shows results imports what computes them, never the
reverse.

## The road of the data

Each step takes values and gives values. Nothing goes back to disk for what a step before it read.
"""


def architecture() -> str:
    """The whole page."""
    parts = [HEAD, _road()]
    for package in PACKAGES:
        parts += [f"## {package}\n", *_rooms(package)]
    return "\n".join(parts)


def _road() -> str:
    rows = ["| call | takes | gives | defined in |", "|---|---|---|---|"]
    for name, what in ROAD:
        module, _, function = name.rpartition(".")
        found = getattr(importlib.import_module(module), function)
        signature = inspect.signature(found)
        first = next(iter(signature.parameters))
        home = found.__module__.replace(".", "/") + ".py"
        rows.append(f"| `{function}`: {what} | `{first}` | `{signature.return_annotation}` | `{home}` |")
    return "\n".join(rows) + "\n"


def _rooms(package: str) -> Iterator[str]:
    """An item for each folder, of whose docstring the first line says what it is."""
    for folder in sorted({p.parent for p in (ROOT / package).rglob("*.py")}):
        yield f"- **{folder.relative_to(ROOT)}**: {_first_line(folder / '__init__.py')}"
    yield ""


def _first_line(path: Path) -> str:
    doc = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return doc.split("\n", maxsplit=1)[0].replace("``", "`")
