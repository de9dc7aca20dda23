"""Checks of what a calibration needs of a sweep: a saturated point, one way of handing requests over, wider tails."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd

from measure.findings import Finding
from measure.sweep import PERCENTILES, Sweep, each_series
from measure.units import counted, format_duration, format_rate

RISING = 0.7
"""The throughput still follows the depth: d ln X / d ln N, which is 1 far below the knee and 0 far beyond it."""
FEWEST_POINTS = 3
BUSY = 1.3
"""Of an open sweep: the longest response time over the shortest, from which on a queue is seen at all."""


def check_saturation(sweep: Sweep) -> Iterator[Finding]:
    """Curves whose heaviest load does not saturate the device, so that no point tells its peak."""
    if not sweep.load_type.is_drive:
        return
    for series, group in each_series(sweep.mean_points()):
        if len(group) < FEWEST_POINTS:
            continue
        load, x, r = (group[c].to_numpy(float) for c in ("load", "throughput_per_s", "latency_s"))
        if sweep.load_type.is_open:
            yield from _never_busy(series, x, r)
        elif (slope := math.log(x[-1] / x[-2]) / math.log(load[-1] / load[-2])) > RISING:
            deeper, of = ",".join(f"{round(load[-1]) * k}" for k in (2, 4, 8)), sweep.load_type
            yield Finding(
                "no-saturated-point",
                "warning",
                f"the throughput still rises from {format_rate(x[-2])} at {of.at(load[-2])} to {format_rate(x[-1])} at "
                f"{of.at(load[-1])}, as the {of.plural if of.is_counted else of.noun} to the power of {slope:.2f}.",
                "the sweep ends below the knee, so that the peak and the knee of any model are extrapolations.",
                f"{'' if of.is_counted else 'measure deeper: '}{of.measure(deeper)}.",
                series,
                float(load[-1]),
            )


def _never_busy(series: str, rates: np.ndarray, response: np.ndarray) -> Iterator[Finding]:
    if response.max() >= BUSY * response.min():
        return
    top = int(rates.argmax())
    yield Finding(
        "no-saturated-point",
        "warning",
        f"the response time is {format_duration(response.min())} to {format_duration(response.max())} at all rates up "
        f"to {format_rate(rates[top])}.",
        "requests hardly wait, so that no point tells how many servers there are or what their peak is.",
        "measure higher rates: qsim measure fio TARGET --arrival-rates "
        f"{','.join(f'{round(rates[top] * k):d}' for k in (2, 4))} --out DIR (a known device: qsim measure device "
        "--utilizations .5,.7,.9).",
        series,
        float(rates[top]),
    )


def check_bins(sweep: Sweep) -> Iterator[Finding]:
    """Points whose percentiles are all the same, so that their histogram has one bin: nothing is known of the tails."""
    values = sweep.points[[*PERCENTILES]].to_numpy(float)
    known = np.isfinite(values).sum(axis=1) > 1
    highest = np.fmax.reduce(values, axis=1)
    alike = known & (highest == np.fmin.reduce(values, axis=1))
    counted_by_tool = sweep.load_type.is_counted  # clients of a server, which fio does not measure
    beyond = ", or latencies lie beyond fio's last one (17 s)"
    for series, group in each_series(sweep.points.assign(highest=highest)[alike]):
        first, points = group.iloc[0], int((sweep.points["series"] == series).sum())
        yield Finding(
            "one-bin",
            "warning",
            f"all percentiles are {format_duration(first['highest'])}, at {len(group)} of "
            f"{counted(points, 'point')}: their histogram has one bin.",
            f"the bins are too coarse{'' if counted_by_tool else beyond}; they hold no tail.",
            "do not rely on these percentiles; a tool that counts microseconds shows the tail."
            if counted_by_tool
            else "measure with finer bins, or shallower: qsim measure fio TARGET --depths "
            f"{first['load']:g} --out DIR (fio --output-format=json+).",
            series,
            float(first["load"]),
        )


def check_submission(sweep: Sweep) -> Iterator[Finding]:
    """The same requests handed to the device in several ways, so that depths and latencies do not compare."""
    if "engine" not in sweep.points:
        return
    known = sweep.points.dropna(subset=["engine"])
    way = known["engine"].astype(str)
    if "submission" in known:
        mode = known["submission"].fillna("inline").astype(str)
        way = way.where(mode == "inline", way + " (" + mode + ")")
    known = known.assign(way=way, mix=known["read_fraction"].round(2))
    for series, group in each_series(known):
        if group["way"].nunique() > 1:
            yield _mixed(group, "this curve holds requests that were", "load each way apart, and fit it apart", series)
    for _, group in known.groupby(["block_bytes", "mix", "pattern"], dropna=False, sort=False):
        apart = not (group.groupby("series")["way"].nunique() > 1).any()
        if apart and group["way"].nunique() > 1:
            yield _mixed(group, "the same requests were", "compare depths of one curve only", None)


def _mixed(group: pd.DataFrame, what: str, advice: str, series: str | None) -> Finding:
    ways = []
    for way, rows in group.groupby("way", sort=False):
        ways.append(f"{way} (loads {', '.join(f'{n:g}' for n in sorted(set(rows['load'])))})")
    return Finding(
        "mixed-submission",
        "error" if series else "warning",
        f"{what} handed to the device in {len(ways)} ways: {' and '.join(ways)}.",
        "a synchronous engine has one request outstanding for each job, an asynchronous one its depth, and with "
        "offload a thread of its own stands between: their latencies hold different things.",
        f"{advice}, or measure all depths in one way: qsim measure fio TARGET --depths 1,8,64 --out DIR.",
        series,
    )
