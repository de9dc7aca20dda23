"""What a report shows of the misses and the knees: the noise floor, the marks, and which views there are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from calibrate import Comparison, compare
from calibrate.report.compared import views_of
from calibrate.report.compared.curve_figures import misses
from calibrate.report.compared.figure_elements import ends_beyond, mark_knee, scale_of
from calibrate.report.compared.simulated import queue_at_work
from calibrate.report.drawing import Drawing
from measure import Sweep, load_dataset

DEPTHS = np.array([1.0, 2, 4, 8, 16, 32, 64])


def sweep_of(factor: np.ndarray, repeats: int, *, timed: bool = True, order: str = "rounds") -> Sweep:  # type: ignore[type-arg]
    """A drive, ``repeats`` rounds over all depths; ``factor`` (m,) multiplies the throughput of each run in time."""
    loads = np.tile(DEPTHS, repeats) if order == "rounds" else np.repeat(DEPTHS, repeats)
    x = ((loads / 1e-4) ** -3 + 1e5**-3) ** (-1 / 3) * factor
    minutes = pd.date_range("2026-01-01T10:00:00", periods=len(loads), freq="min", tz="UTC")
    table = pd.DataFrame({"series": "reads", "load": loads, "throughput_per_s": x, "latency_s": loads / x})
    table["repeat"] = table.groupby("load").cumcount()
    table["started_at"] = [t.isoformat() for t in minutes] if timed else None
    return Sweep(table, name="drive")


def noise(count: int, seed: int = 1) -> np.ndarray:  # type: ignore[type-arg]
    return np.exp(0.02 * np.random.default_rng(seed).standard_normal(count))


@pytest.fixture(scope="module")
def quiet() -> tuple[Comparison, Sweep]:
    sweep = sweep_of(noise(56, seed=3), 8)
    return compare(sweep, [1, 32]), sweep


def test_the_noise_floor_is_that_of_the_repeats(quiet: tuple[Comparison, Sweep]) -> None:
    comparison, _ = quiet
    (floor,) = [t for t in misses(comparison).data if t["name"].startswith("noise floor: repeats have a standard")]
    assert max(floor["y"]) == pytest.approx(comparison.summary().repeat_noise_pct)
    assert min(floor["y"]) == -max(floor["y"])
    assert max(floor["y"]) == pytest.approx(2, abs=0.6)


def test_a_knee_at_a_small_delay_is_drawn_within_its_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = compare(load_dataset("001-memory"), [0, 500, 20000], series="64 B read")
    monkeypatch.setattr(Comparison, "knee", replace(comparison.knee, load=0.8, low=0.1, high=1.5))
    drawing = Drawing()
    mark_knee(drawing, comparison)
    figure = drawing.to_plotly()
    (shade,) = [s for s in figure.layout.shapes if s.type == "rect"]
    (line,) = [s for s in figure.layout.shapes if s.type == "line"]
    assert shade.x0 < line.x0 < shade.x1
    assert line.x0 >= scale_of(comparison).least > 0


def test_every_view_has_data_and_a_name_of_its_own(quiet: tuple[Comparison, Sweep]) -> None:
    comparison, sweep = quiet
    shown = views_of(comparison, queue=queue_at_work(comparison, sweep))
    names = [v.name for v in (*shown.main, *shown.checks)]
    assert len(set(names)) == len(names)
    assert {"curve", "throughput", "response", "residuals-load", "little", "models"} <= set(names)
    for view in (*shown.main, *shown.checks):
        assert len(view.table) > 0
        if view.figure is None:
            assert view.name == "models"
        else:
            assert len(view.figure.to_plotly().data) > 0  # which checks every word of it


def test_curves_in_the_data_are_those_drawn(quiet: tuple[Comparison, Sweep]) -> None:
    comparison, _ = quiet
    curve = next(v for v in views_of(comparison).main if v.name == "curve")
    observed = curve.table[curve.table["what"].str.startswith("observed")].sort_values("load")
    assert list(observed["throughput_per_s"]) == pytest.approx(list(comparison.points.throughput_per_s))
    held = observed["what"] == "observed, held out"
    assert list(held) == list(comparison.held_out)
    predicted = curve.table[curve.table["what"] == "predicted"]
    assert (predicted["throughput_low_per_s"] < predicted["throughput_high_per_s"]).all()


def test_an_axis_ends_a_third_beyond_the_points_and_an_even_one_begins_at_zero() -> None:
    points = np.array([60.0, np.nan, 30.0])
    assert ends_beyond(points, log=False) == pytest.approx([0, 80])
    assert ends_beyond(points, log=True) == pytest.approx(np.log10([22.5, 80]))
