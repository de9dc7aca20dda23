"""``--peak`` on a memory's curve: it reaches beyond the highest bandwidth, and is refused where it makes no sense."""

from __future__ import annotations

import numpy as np
import pytest

from calibrate.models.memory_curve import MemoryCurve


@pytest.fixture
def latencies(tmp_path):
    """A curve of latency over bandwidth, up to 88 of 100 GB/s."""
    bandwidth = np.array([0.2, 15, 30, 45, 60, 70, 80, 88]) * 1e9
    latency = MemoryCurve().curve(np.array([[90e-9, 0.35, 0.08, 101e9]]), bandwidth)[1][0]
    path = tmp_path / "bwlat_100.txt"  # as Mess writes them: MB/s and ns
    rows = [f"{x / 1e6:.6g} {1e9 * r:.6g}" for x, r in zip(bandwidth, latency, strict=True)]
    path.write_text("\n".join([*rows, ""]), encoding="utf-8")
    return str(path)


def test_a_bandwidth_beyond_the_highest_needs_a_peak(qsim, latencies):
    refused = qsim("predict", latencies, "--at", "98e9")
    assert refused.code == 1
    assert "98.0 GB/s is beyond the highest calibrated on, 88.0 GB/s; give the peak of a bandwidth test" in refused.err
    assert "--peak 98.0GB/s" in refused.err
    assert qsim("fit", latencies, "--peak", "100GB/s", "--out", "fit.json").code == 0
    point = qsim("predict", "fit.json", "--at", "98e9", "--json").json["points"][0]
    truth = MemoryCurve().curve(np.array([[90e-9, 0.35, 0.08, 101e9]]), np.array([98e9]))[1][0, 0]
    assert point["response_time_low_s"] < truth < point["response_time_high_s"]


def test_a_peak_is_named_with_the_fit(qsim, latencies):
    assert "the peak of 100 GB/s is given" in str(qsim("fit", latencies, "--peak", "100GB/s", "--json").json["notes"])


def test_a_peak_of_another_kind_is_refused(qsim, latencies, sweep_csv):
    drive = qsim("fit", str(sweep_csv), "--peak", "3GB/s")
    assert drive.code == 2
    assert "--peak is a memory's bandwidth" in drive.err
    assert "120GB/s" in qsim("fit", latencies, "--peak", "100").err
    low = qsim("fit", latencies, "--peak", "20GB/s")
    assert low.code == 1
    assert "88.0 GB/s is above the given peak, 20.0 GB/s; check its unit and the traffic" in low.err


def test_compare_takes_a_fourth_point_near_the_bend(qsim, latencies):
    used = [p["load"] / 1e9 for p in qsim("compare", latencies, "--json").json["points"] if not p["held_out"]]
    assert used == pytest.approx([0.2, 60, 70, 88])
