"""Baselines of surfaces against surfaces whose form is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from calibrate.surface import Places, SurfacePoints, compare_surface
from calibrate.surface.surface_comparison import SURFACE_BASELINES, SurfaceBaseline, bilinear, plain_gaussian_process


def places(*columns: list[float]) -> Places:
    return Places(*np.array(list(itertools.product(*columns)), dtype=float).T)


GRID = places([4096, 16384, 65536], [0, 0.5, 1], [1, 4, 16, 64], [1, 4])
CORNERS = places([4096, 65536], [0, 1], [1, 64], [1, 4])


def with_products(at: Places) -> np.ndarray:
    b, n = np.log(at.block_bytes / 4096), np.log(at.outstanding)
    return np.asarray(np.exp(9 - 0.3 * b + 0.4 * at.read_fraction + 0.7 * n - 0.1 * b * n + 0.2 * np.log(at.jobs)))


def test_a_bilinear_surface_is_found_again_from_its_corners() -> None:
    assert bilinear(CORNERS, with_products(CORNERS), GRID) == pytest.approx(with_products(GRID))


def test_too_few_corners_for_products_are_a_plane_and_fewer_the_nearest() -> None:
    three = Places(np.array([4096.0, 65536, 4096]), np.ones(3), np.array([1.0, 1, 64]), np.ones(3))
    x = np.array([1e4, 2e3, 3e5])
    fourth = Places(np.array([65536.0]), np.ones(1), np.array([64.0]), np.ones(1))
    assert bilinear(three, x, fourth) == pytest.approx([2e3 * 3e5 / 1e4])
    assert bilinear(three.at(np.array([0, 0])), np.array([1e4, 4e4]), fourth) == pytest.approx([2e4])  # 1 place, twice
    two = Places(np.array([4096.0, 65536]), np.ones(2), np.array([1.0, 64]), np.ones(2))
    assert bilinear(two, np.array([1e4, 3e5]), three) == pytest.approx([1e4, 3e5, 1e4])


def test_a_gaussian_process_goes_through_its_points() -> None:
    smooth = with_products(GRID) * np.exp(0.3 * np.sin(np.log(GRID.outstanding)))
    assert plain_gaussian_process(GRID, smooth, GRID) == pytest.approx(smooth, rel=0.01)
    assert bilinear(GRID, smooth, GRID) != pytest.approx(smooth, rel=0.1)


@pytest.mark.parametrize("baseline", SURFACE_BASELINES.values(), ids=SURFACE_BASELINES.keys())
def test_a_plane_that_leads_beyond_floats_ends_within_them(baseline: SurfaceBaseline) -> None:
    near = Places(np.ones(2), np.ones(2), np.array([1.0, 1.01]), np.ones(2))
    far = Places(np.ones(2), np.ones(2), np.array([1e-3, 1e6]), np.ones(2))
    found = baseline(near, [1.0, 1e6], far)
    assert np.isfinite(found).all()
    assert (found > 0).all()


def test_errors_are_those_of_the_points_that_are_judged() -> None:
    x = with_products(GRID)
    points = SurfacePoints(GRID, x, GRID.outstanding / x, np.ones(len(x)), np.full(len(x), np.nan))
    used = np.isin(GRID.block_bytes, [4096, 65536]) & np.isin(GRID.outstanding, [1, 64]) & (GRID.read_fraction != 0.5)
    use = {"block_bytes": [4096, 65536], "outstanding": [1, 64], "read_fraction": [0, 1]}
    compared = compare_surface(points, use, ask=0)
    assert (compared.used == used).all()
    process = 100 * np.abs(plain_gaussian_process(GRID.at(used), x[used], GRID.at(~used)) / x[~used] - 1)
    missed = compared.baselines()
    assert missed["bilinear in logarithms"] == pytest.approx(0, abs=1e-8)
    assert missed["plain Gaussian process"] == pytest.approx(np.median(process))
    assert compare_surface(points, {}, ask=0).baselines() == {}
