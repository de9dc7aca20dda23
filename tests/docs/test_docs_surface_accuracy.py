"""The script behind the figures of explanation-surface.md."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from calibrate.surface import compare_surface


@pytest.fixture
def script(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("surface_accuracy", repository / "docs" / "surface_accuracy.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_three_tables_of_one_drive_are_a_surface_of_twelve_places(script: ModuleType) -> None:
    points = dict(script.surfaces([]))["004-ssd"]
    assert len(points.places.at(points.places.outstanding < 512)) == 12
    compared = [compare_surface(points, ask=k) for k in (0, 1)]
    row = script.row("004-ssd", compared)
    assert row.startswith("| 004-ssd | 4 of 12 | ")
    assert row.endswith("100 % |")
    assert compared[0].summary.held_out_mdape_throughput_pct < 4  # type: ignore[operator]
