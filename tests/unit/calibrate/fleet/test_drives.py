"""Drives that moved over time, and those that did not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from calibrate.fleet.drives import drifts


def measured(drive: str, slope_a_month: float, seed: int, times: int = 12) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    days = 15.0 * np.arange(times)
    peak = 1e5 * np.exp(np.log1p(slope_a_month) * days / 30 + 0.01 * random.standard_normal(times))
    when = pd.Timestamp("2026-01-01") + pd.to_timedelta(days, "D")
    idle = 1e-4 * np.exp(0.01 * random.standard_normal(times))
    table = pd.DataFrame({"measured_at": [f"{day.isoformat()}Z" for day in when], "idle_latency_s": idle})
    return table.assign(drive=drive, series="r", peak_per_s=peak)


def test_a_drive_that_loses_three_per_cent_a_month_is_found():
    found = drifts(pd.concat([measured("old", -0.03, 1), measured("new", 0.0, 2)], ignore_index=True))
    assert list(found["drive"]) == ["old"]
    row = found.iloc[0]
    assert (row["quantity"], row["measurements"]) == ("peak_per_s", 12)
    assert row["low"] < -0.03 < row["high"] < 0
    assert row["a_month"] == pytest.approx(-0.03, abs=0.005)


def test_steady_drives_seldom_drift():
    table = pd.concat([measured(str(i), 0.0, i) for i in range(300)], ignore_index=True)
    assert len(drifts(table)) <= 18  # 1 % of 600, four standard errors of 2.4 above


def test_few_measurements_and_unknown_times_tell_no_drift():
    assert drifts(measured("d", -0.5, 1, times=4)).empty
    assert drifts(measured("d", -0.5, 1).assign(measured_at="")).empty
