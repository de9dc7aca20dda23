"""Service times out of a measured sweep: from its logs, else its histograms, else its percentiles."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from calibrate.service.times import Times, of_histogram, of_percentiles, of_samples
from measure.errors import DataError
from measure.fio.request_logs import samples
from measure.sweep import Sweep, histograms
from measure.units import parse_duration

COLUMNS: Mapping[str, float] = {
    "latency_p50_s": 0.5,
    "latency_p95_s": 0.95,
    "latency_p99_s": 0.99,
    "latency_p999_s": 0.999,
}
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)\s*=\s*(\S+)")


def service_times(sweep: Sweep, series: str, load: float | None = None, requests: float | None = None) -> Times:
    """The times of one point with all its repeats together; by default of the smallest load.

    ``requests`` is asked for only where nothing but percentiles is there. Raises DataError where the point was not
    measured or tells nothing of how its latencies are distributed.

    >>> import pandas as pd
    >>> from measure import Sweep
    >>> row = {"series": "4 KiB read", "load": 1, "throughput_per_s": 12e3, "latency_s": 83e-6}
    >>> percentiles = {"latency_p50_s": 80e-6, "latency_p95_s": 110e-6, "latency_p99_s": 150e-6}
    >>> times = service_times(Sweep(pd.DataFrame([row | percentiles])), "4 KiB read")
    >>> times.kind
    'percentiles'
    """
    rows = sweep.select(series).points
    loads = sorted(set(rows["load"]))
    wanted = loads[0] if load is None else load
    if wanted not in loads:
        there = ", ".join(f"{n:g}" for n in loads)
        raise DataError(f"{series} has no point at load {wanted:g}; there are {there}")
    where = f"{series} at load {wanted:g}"
    logs = samples(sweep)
    if keys := [key for key in logs if key[:2] == (series, wanted) and not logs[key].averaged]:
        return of_samples(np.concatenate([logs[key].latency_s for key in keys]), where)
    if bins := [h for key, h in histograms(sweep).items() if key[:2] == (series, wanted)]:
        return of_histogram(bins, where)
    return table_times(rows, series, wanted, requests)


def table_times(rows: pd.DataFrame, series: str, load: float, requests: float | None = None) -> Times:
    """The times told by a table's percentile columns (means over repeats). DataError where it has fewer than two."""
    chosen = rows[(rows["series"] == series) & (rows["load"] == load)]
    where = f"{series} at load {load:g}"
    means = {share: _mean(chosen, column) for column, share in COLUMNS.items()}
    told = {share: value for share, value in means.items() if math.isfinite(value)}
    if len(told) < 2:
        raise DataError(
            f"{where}: neither a histogram nor a log nor percentiles are there; measure again with "
            "--output-format=json+ (qsim measure fio does), or with fio's write_lat_log"
        )
    return of_percentiles(told, requests, where)


def parse_percentiles(text: str) -> dict[float, float]:
    """``p50=80us,p99=300us`` as {0.5: 80e-6, 0.99: 300e-6}. Raises ValueError naming the part that is none."""
    found: dict[float, float] = {}
    for part in (p.strip() for p in text.split(",") if p.strip()):
        match = _PERCENTILE.fullmatch(part)
        if match is None or not 0 < float(match[1]) < 100:
            raise ValueError(f"invalid percentile {part!r}: expected e.g. p50=80us,p95=120us,p99.9=1.2ms")
        share = round(float(match[1]) / 100, 12)
        if share in found:
            raise ValueError(f"p{float(match[1]):g} is given twice")
        found[share] = parse_duration(match[2], part)
    return found


def _mean(rows: pd.DataFrame, column: str) -> float:
    values: Any = rows[column] if column in rows else pd.Series(dtype=float)
    return float(values.mean()) if values.notna().any() else math.nan
