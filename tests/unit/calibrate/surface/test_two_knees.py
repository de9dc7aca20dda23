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


def test_queueing_starts_at_the_idle_latency_times_the_peak_that_the_rows_show():
    depths, shares = (axis.ravel() for axis in np.meshgrid([1.0, 8, 64, 256], [0.0, 1.0]))
    ones = np.ones(len(depths))
    asleep = np.where(depths == 1, 1.5, 1.0)  # a lone request finds the device asleep: no structure has this
    throughput = (((depths / 1e-4) ** -2.0) + np.where(shares > 0, 400e3, 200e3) ** -2.0) ** -0.5 / asleep
    places = Places(4096 * ones, shares, depths, ones)
    points = SurfacePoints(places, throughput, depths / throughput, ones, np.nan * ones)
    surface = fit_surface(points, np.ones(len(depths), dtype=bool))
    for row in knees(surface, places):
        at = [Places(*np.array([[4096.0], [row["read_fraction"]], [n], [1.0]])) for n in (1.0, 256.0, row["knee90"])]
        lone, deepest, ninety = (float(surface.predict(one).throughput_per_s[0]) for one in at)
        assert row["knee"] == pytest.approx(row["idle_latency_s"] * row["peak_per_s"])
        assert row["idle_latency_s"] == pytest.approx(1 / lone)
        assert row["peak_per_s"] >= deepest
        assert ninety == pytest.approx(0.9 * row["peak_per_s"], rel=0.01)
        assert row["low"] <= row["knee"] <= row["high"]
        assert row["low90"] <= row["knee90"] <= row["high90"]
