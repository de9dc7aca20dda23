"""Devices of known truth are predicted under other kinds of load as accuracy-tables.md says."""

from __future__ import annotations

import any_load
import numpy as np
import pandas as pd
import pytest


@pytest.mark.slow
def test_one_kind_of_load_predicts_the_others_within_the_errors_of_the_page() -> None:
    known = [m for m in any_load.measured(pd.read_csv(any_load.DATA)) if m.device != "disk"]
    found = any_load.pairs(known)
    off = np.concatenate([abs(one.ratio["qsim"] - 1) for one in found])
    inside = np.concatenate([one.inside for one in found])
    assert off.size == 480
    assert np.median(off) < 0.1
    assert 0.85 <= inside.mean() <= 0.97
    for name in ("M/G/c", "M/M/c", "X R for N"):
        assert np.median(off) < np.median(np.concatenate([abs(one.ratio[name] - 1) for one in found]))
    assert max(abs(one.ratio["qsim"] - 1)[one.asked.below].max() for one in found if not one.of_slow_client) < 0.25
    for one in (m for m in known if m.kind != any_load.LOCUST_OWN):
        fit = any_load.calibrated(one)
        assert fit.parameters["R1"].estimate == pytest.approx(one.service_s, rel=0.1)
        assert fit.peak is not None
        assert fit.peak.estimate == pytest.approx(one.peak_per_s, rel=0.1)


def test_repeats_that_the_machine_disturbed_do_not_count() -> None:
    runs = pd.DataFrame(
        {
            "device": "drive-1-constant",
            "kind": "closed",
            "load": [1.0, 1.0, 4.0],
            "repeat": [0, 1, 0],
            "throughput_per_s": [330.0, 100.0, 333.0],
            "latency_s": [0.003, 0.01, 0.012],
            "latency_sd_s": 1e-4,
            "requests": 1000.0,
            "woken_late_s": [1e-5, 1e-3, 1e-3],
        }
    )
    (found,) = any_load.measured(runs)
    assert found.points.response_time_s.tolist() == pytest.approx([0.003, 0.012])
