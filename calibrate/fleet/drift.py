"""Drives that were measured several times and moved: the slope of a quantity over time, robustly (Theil-Sen).

Of each drive's idle latency and peak the median of all slopes between two times, with the interval of Sen (JASA 1968).
A drive drifts where that interval does not hold 0. The level is 99 %, for there are many drives.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import theilslopes

LEAST = 5
"""So many measurements of a drive at least."""
LEVEL = 0.99
MONTH_DAYS = 30.0


def drifts(table: pd.DataFrame) -> pd.DataFrame:
    """A row for each drive and quantity that drifts: the share by which it changes a month, low and high."""
    when = pd.to_datetime(table["measured_at"].replace("", None), format="ISO8601", utc=True, errors="coerce")
    timed = table.assign(day=(when - when.min()).dt.total_seconds() / 86400).dropna(subset=["day"])
    rows = []
    for (drive, series), group in timed.groupby(["drive", "series"], sort=False):
        if len(group) < LEAST or group["day"].nunique() < LEAST:
            continue
        for name in ("idle_latency_s", "peak_per_s"):
            slope, _, low, high = theilslopes(np.log(group[name]), group["day"], alpha=LEVEL)
            if low > 0 or high < 0:
                rows.append((drive, series, name, len(group), *(np.expm1(MONTH_DAYS * s) for s in (slope, low, high))))
    return pd.DataFrame(rows, columns=["drive", "series", "quantity", "measurements", "a_month", "low", "high"])
