"""A memory's curve of latency over bandwidth: what it does not reach, and where a fourth point is taken."""

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


def test_a_bandwidth_beyond_the_highest_is_refused(qsim, latencies):
    refused = qsim("predict", latencies, "--at", "98e9")
    assert refused.code == 1
    assert "98.0 GB/s is beyond the highest calibrated on, 88.0 GB/s" in refused.err


def test_compare_takes_a_fourth_point_near_the_bend(qsim, latencies):
    used = [p["load"] / 1e9 for p in qsim("compare", latencies, "--json").json["points"] if not p["held_out"]]
    assert used == pytest.approx([0.2, 60, 70, 88])
