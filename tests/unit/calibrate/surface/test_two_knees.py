"""Both knees of a surface lie on its curves."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate.surface.places import Places, SurfacePoints
from calibrate.surface.surface_comparison import knees
from calibrate.surface.surface_fit import fit_surface


def test_ninety_percent_of_the_peak_is_where_the_curve_has_it():
    depths, shares = (axis.ravel() for axis in np.meshgrid([1.0, 4, 16, 64, 256], [0.0, 1.0]))
    ones = np.ones(len(depths))
    peak = np.where(shares > 0, 400e3, 200e3)
    throughput = (((depths / 1e-4) ** -2.0) + peak**-2.0) ** -0.5
    places = Places(4096 * ones, shares, depths, ones)
    points = SurfacePoints(places, throughput, depths / throughput, ones, np.nan * ones)
    surface = fit_surface(points, np.ones(len(depths), dtype=bool))
    for row, crossing in zip(knees(surface, places), (20, 40), strict=True):
        assert row["knee"] == pytest.approx(crossing, rel=0.1)
        assert row["low90"] <= crossing * (0.9**-2.0 - 1) ** -0.5 <= row["high90"]
        assert row["knee90"] == pytest.approx(crossing * (0.9**-2.0 - 1) ** -0.5, rel=0.25)
        at = Places(np.array([4096.0]), np.array([row["read_fraction"]]), np.array([row["knee90"]]), np.ones(1))
        assert surface.predict(at).throughput_per_s[0] == pytest.approx(0.9 * crossing / 1e-4, rel=0.05)
