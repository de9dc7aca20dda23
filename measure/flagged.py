"""Which rows of a sweep are flagged as worth measuring again, and why."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from measure.repeats import flag_outliers
from measure.sweep import Sweep

TRIES = 2
"""How often a flagged point is measured again: with the first run three, of which the median is a majority."""

RETRY_SHARE = 0.25
"""A thread of the memory probe that was off its CPU for more of its time than this: worth measuring again."""


def flags(sweep: Sweep) -> pd.Series[str]:
    """What is wrong with each row: "outlier", "off the curve", "disturbed", "warm-up", "drift", "never settled"; or "".

    The first that holds. A run that was unsteady by noise alone is not flagged: it is no worse than the next one.
    """
    points = sweep.points
    outliers = flag_outliers(points, closed=sweep.load_type.is_closed)
    told = outliers.map({"repeat": "outlier", "curve": "off the curve", "": ""})
    for flag, holds in _of_runs(points):
        told = told.mask((told == "") & holds, flag)
    return told


def _of_runs(points: pd.DataFrame) -> Iterator[tuple[str, pd.Series[bool]]]:
    if "off_cpu_share" in points:
        yield "disturbed", points["off_cpu_share"] > RETRY_SHARE
    if "warmup_s" in points:
        yield "warm-up", points["warmup_s"] > 0
        yield "drift", (points["steady"] == 0) & (points["throughput_trend"] == 1)
    if "settled" in points:
        yield "never settled", points["settled"] == 0
