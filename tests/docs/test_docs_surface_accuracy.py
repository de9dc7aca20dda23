"""The script behind the figures of explanation-surface.md."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from calibrate.surface import compare_surface


@pytest.fixture
def script(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "surface_accuracy", repository / "examples" / "accuracy" / "surface_accuracy.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_three_tables_of_one_drive_are_a_surface_of_twelve_places(script: ModuleType) -> None:
    points = dict(script.surfaces([]))["004-ssd"]
    assert len(points.places.at(points.places.outstanding < 512)) == 12
    compared = compare_surface(points, ask=0)
    assert int(compared.used.sum()) == 4
    assert compared.summary().held_out_mdape_throughput_pct < 4  # type: ignore[operator]
    assert compared.summary().inside_band_pct == 100


def of_the_page(repository: Path, label: str) -> str:
    """The rows of the page's table that begin so; that the script makes them now, test_docs_pages.py says."""
    page = (repository / "docs" / "explanation-surface.md").read_text("utf-8")
    return "".join(line for line in page.splitlines(keepends=True) if re.match(rf"\| {label}[^:]*: ", line))


def cells(text: str, name: str) -> list[list[float]]:
    """Of the row ``name``: median, ninth decile and, of ours, the share inside, for each number of points."""
    row = next(line for line in text.splitlines() if name in line)
    return [[float(n) for n in re.findall(r"[\d.]+", cell)] for cell in row.split("|")[2:-1] if cell.strip()]


@pytest.mark.parametrize(
    ("label", "of_the_ninth_decile", "rising"),
    [(r"\d+ drives", 0.6, 0.12), ("block size x depth", 1.0, 0.17), ("all these surfaces", 0.85, 0.12)],
)
def test_surfaces_miss_less_than_half_of_what_baselines_miss_at_two_asked_points(
    label: str, of_the_ninth_decile: float, rising: float, repository: Path
) -> None:
    text = of_the_page(repository, label)
    ours, bilinear, plain = (cells(text, name)[2] for name in ("qsim surface", "bilinear", "plain Gaussian process"))
    assert ours[0] < 0.5 * min(bilinear[0], plain[0])
    assert ours[1] < of_the_ninth_decile * min(bilinear[1], plain[1])
    assert 85 <= ours[2] <= 100
    risen, steps = cells(text, "qsim surface")[4]
    assert risen <= rising * steps


def test_bands_over_reads_and_writes_of_others_hold_nine_in_ten(script: ModuleType, repository: Path) -> None:
    assert len(script.reads_and_writes()) == 19
    text = of_the_page(repository, "reads and writes, 19 drives")
    ours, bilinear, plain = (cells(text, name) for name in ("qsim surface", "bilinear", "plain Gaussian process"))
    for k in range(len(script.ASKED)):
        assert ours[k][0] < 0.85 * min(bilinear[k][0], plain[k][0])
        assert 88 <= ours[k][2] <= 96
    risen, steps = cells(text, "qsim surface")[4]
    assert risen <= 0.1 * steps


def test_unseen_lines_are_as_good_as_the_plain_line_from_two_sizes_and_better_from_three(repository: Path) -> None:
    text = of_the_page(repository, "block sizes, unseen")
    ours, line = cells(text, "qsim surface"), cells(text, "plain line")
    assert ours[0][0] < 1.1 * line[0][0]
    assert ours[1][0] < line[1][0]
    assert all(86 <= cell[2] <= 100 for cell in ours[:4])


@pytest.mark.parametrize("label", [r"\d+ drives", "reads and writes", "block sizes, [0-9]", "block sizes, unseen"])
def test_two_asked_points_come_near_the_floor(label: str, repository: Path) -> None:
    text = of_the_page(repository, label)
    ours, floor = (cells(text, "qsim surface")[k][0] for k in (2, -1))
    assert floor < cells(text, "plain Gaussian process")[-1][0]
    assert ours < 1.5 * floor
