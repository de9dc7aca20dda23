"""Checks of how the runs were made: repeats that disagree, caches that answered, a busy machine."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from measure.findings import Finding
from measure.formats.fio.record import is_direct, parse_fio_size
from measure.repeats import each_series
from measure.sweep import WOKEN_LATE, Sweep, recorded_caches, recorded_options
from measure.units import format_bytes, format_duration, format_rate

_DISAGREE, _DISAGREE_BADLY = 0.10, 0.30  # the relative standard deviation between the repeats of one point
_SMALL_FILE_BYTES = 2**30
"""A file that fits the DRAM of a drive, or a cache of the host, is no sample of the device."""
FILELESS_ENGINES = ("null", "nbd", "rbd", "http", "net")
"""Engines that read no file of this machine, so that no page cache stands before them."""

_LATE_SHARE, _LEAST_LATE_S = 0.1, 1e-4  # reported from this share of a latency on, and from so much


def check_repeats(sweep: Sweep) -> Iterator[Finding]:
    """Points that were measured again and came out otherwise: the worst of each curve."""
    points = sweep.mean_points()
    for series, group in each_series(points[points["repeats"] > 1]):
        spread = group["throughput_spread"].to_numpy(float)
        if not np.isfinite(spread).any():
            continue
        worst = int(np.nanargmax(spread))
        if spread[worst] < _DISAGREE:
            continue
        row = group.iloc[worst]
        measured = sweep.points[(sweep.points["series"] == series) & (sweep.points["load"] == row["load"])]
        rates = measured["throughput_per_s"]
        # Our own repeats of one point have files that differ in the number of the repeat only.
        sources = measured["source"].dropna().astype(str).str.replace(r"\.r\d+(?=\.json$)", "", regex=True).unique()
        changed = "the device changed between the runs (write cache, temperature, other programs)"
        if len(sources) > 1:
            changed += f", or these are runs of different things: {', '.join(map(str, sources[:3]))}"
        again = "" if sweep.load_type.is_counted else " (--repeats 5)"
        yield Finding(
            "repeats-disagree",
            "error" if spread[worst] > _DISAGREE_BADLY else "warning",
            f"{int(row['repeats'])} repeats give {format_rate(rates.min())} to {format_rate(rates.max())}, a standard "
            f"deviation of {100 * spread[worst]:.0f} %.",
            f"{changed}.",
            f"measure this load five times in a row{again}, and compare the first with the last.",
            series,
            float(row["load"]),
        )


def check_buffered(sweep: Sweep) -> Iterator[Finding]:
    """Runs whose recorded options show no direct I/O went through the page cache."""
    for options in recorded_options(sweep.provenance.details):
        engine = options.get("ioengine", "psync")
        if not is_direct(options) and engine not in FILELESS_ENGINES and options:
            yield Finding(
                "buffered",
                "warning",
                f"the recorded options do not hold direct=1 (ioengine {engine}).",
                "reads and writes went through the page cache, so memory was measured with the device.",
                "run again with --direct=1.",
            )
            return


def check_working_set(sweep: Sweep) -> Iterator[Finding]:
    """A file that is small enough for a cache between the program and the device.

    Direct I/O goes past the caches of the CPU and of the system, so there it is the drive's own that is in doubt.
    """
    for options in recorded_options(sweep.provenance.details):
        size = parse_fio_size(options.get("size", options.get("filesize", "")))
        if size is None or size >= _SMALL_FILE_BYTES or options.get("ioengine", "psync") in FILELESS_ENGINES:
            continue
        caches = recorded_caches(sweep.provenance.details)
        name, cache = next(((n, c) for n, c in caches.items() if size <= c), ("", math.nan))
        fits = f" and fits the {name} cache of {format_bytes(cache)}" if name else ""
        yield Finding(
            "small-file",
            "warning" if name and not is_direct(options) else "info",
            f"the file has {format_bytes(size)}{fits}; a drive's own memory holds 1 GiB and more.",
            "a cache of the host or of the drive may have answered part of the requests.",
            f"run again with --size={4 * _SMALL_FILE_BYTES // 2**30}g (or four times the memory where direct=0) and "
            "compare.",
        )
        return


def check_wakeups(sweep: Sweep) -> Iterator[Finding]:
    """Points at which the machine woke a sleeping program so late that their latencies hold much of it."""
    if WOKEN_LATE not in sweep.points:
        return
    late = sweep.points[WOKEN_LATE]
    busy = sweep.points[(late > _LATE_SHARE * sweep.points["latency_s"]) & (late > _LEAST_LATE_S)]
    for series, group in each_series(busy):
        worst = group.iloc[int((group[WOKEN_LATE] / group["latency_s"]).argmax())]
        yield Finding(
            "busy-machine",
            "warning",
            f"at {len(group)} of {int((sweep.points['series'] == series).sum())} runs a sleeping program woke late by "
            f"more than {100 * _LATE_SHARE:g} % of the latency that was measured; the worst: "
            f"{format_duration(float(worst[WOKEN_LATE]))} (mean) against {format_duration(float(worst['latency_s']))}.",
            "other work kept the processors busy, so that requests waited for one after the device had answered.",
            "measure again when the machine is idle, or with priority (sudo chrt -r 20 qsim ...).",
            series,
            float(worst["load"]),
        )
