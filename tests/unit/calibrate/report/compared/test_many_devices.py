"""A page of many devices: what is told of each, and axes on which a disk and a flash drive are both seen."""

from __future__ import annotations

import numpy as np
import pytest
from made_up import points_at

from calibrate import Comparison, compare
from calibrate.report.compared.curve_figures import overview
from calibrate.report.compared.devices import Matched, parameter_text
from measure import Sweep

DEPTHS = np.array([1.0, 4, 16, 64])


def drive(peak_per_s: float) -> Comparison:
    x = 1 / (peak_per_s / 4 / DEPTHS / peak_per_s * 4 / peak_per_s * 4 + 1 / peak_per_s)
    return compare(Sweep(points_at(DEPTHS, x)))


@pytest.fixture(scope="module")
def drives() -> tuple[Comparison, ...]:
    return tuple(drive(peak) for peak in (100.0, 200.0, 50_000.0, 400_000.0))


def test_of_many_devices_only_peaks_and_knees_are_said(drives: tuple[Comparison, ...]) -> None:
    names = ("a", "b", "c", "d")
    many, few = Matched("", names, drives).sentence(), Matched("", names[:2], drives[:2]).sentence()
    assert many.startswith("b against a: ")
    assert "a peak 500 times higher" in many
    assert "alone" not in many
    assert "times faster alone" in few


def test_throughputs_of_far_apart_devices_are_on_a_logarithmic_axis(drives: tuple[Comparison, ...]) -> None:
    assert overview(drives).layout["xaxis"].get("type") == "log"
    assert overview(drives[:2]).layout["xaxis"].get("type") != "log"


def test_each_parameter_and_knee_has_a_row(drives: tuple[Comparison, ...]) -> None:
    table = parameter_text(Matched("", ("a", "b", "c", "d"), drives))
    assert table.header == ("parameter", "a", "b", "c", "d")
    assert [row[0] for row in table.rows][:2] == ["R1", "Xmax"]
    assert [row[0].startswith("knee: ") for row in table.rows].count(True) == 2
