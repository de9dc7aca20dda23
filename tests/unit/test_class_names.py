"""Each class of the product has a name of its own, so that a name says which thing is meant."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path


def test_class_names_are_unique(repository: Path) -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for room in ("qsim", "measure", "calibrate"):
        for path in (repository / room).rglob("*.py"):
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(str(path))
    assert len(places) > 300
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_public_classes_and_functions_differ_by_more_than_a_capital() -> None:
    import calibrate
    import measure
    import qsim

    names = {name for package in (qsim, measure, calibrate) for name in package.__all__}
    assert {name for name in names if name.lower() != name and name.lower() in names} == {"Fit"}  # fit() gives a Fit


def test_no_folder_has_more_modules_than_one_reads_at_a_glance(repository: Path) -> None:
    rooms: dict[str, int] = defaultdict(int)
    for room in ("qsim", "measure", "calibrate"):
        for path in (repository / room).rglob("*.py"):
            rooms[str(path.parent)] += 1
    assert len(rooms) > 40
    assert max(rooms.values()) <= 22
