"""Checks of how the runs were made: repeats that disagree, caches that answered, a busy machine.

Of a known device its log tells arrivals that are not Poisson, and time lost on the way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from measure.findings import Finding
from measure.formats.fio.record import is_direct, parse_fio_size
from measure.repeats import each_series
from measure.sweep import WOKEN_LATE, Sweep, recorded_caches, recorded_options
from measure.units import counted, format_bytes, format_duration, format_rate

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


WAY_SHARE, WAY_LEAST_S = 0.1, 2e-4  # what the way may add to a latency, beyond what the device makes up for
GAPS_OFF, GAPS_ERRORS = 0.1, 4.0  # how far, and by how many standard errors, the gaps may be off those of Poisson


def not_poisson(sweep: Sweep) -> NDArray[np.bool_]:
    """True (n,) for the rows of an open sweep at which requests did not arrive as a Poisson process, by a device's log.

    Gaps of a Poisson process are exponential: their squared coefficient of variation is 1, and that of n of them has a
    standard error of 2 / sqrt(n) (by the delta method, from the moments of the exponential law).
    """
    if not sweep.load_type.is_open or not {"served_gap_scv", "served_requests"} <= set(sweep.points):
        return np.zeros(len(sweep.points), dtype=bool)
    off = np.abs(sweep.points["served_gap_scv"].to_numpy(float) - 1)
    error = 2 / np.sqrt(np.fmax(sweep.points["served_requests"].to_numpy(float), 1.0))
    return np.asarray((off > GAPS_OFF) & (off > GAPS_ERRORS * error))  # False where nothing was logged


def check_arrivals(sweep: Sweep) -> Iterator[Finding]:
    """Open points of a known device at which requests did not arrive as the Poisson process that was asked for."""
    found = sweep.points[not_poisson(sweep)]
    for series, group in each_series(found):
        worst = group.iloc[int(np.abs(group["served_gap_scv"].to_numpy(float) - 1).argmax())]
        yield Finding(
            "not-poisson",
            "warning",
            f"at {counted(len(group), 'point')} the gaps between the arrivals that the device logged are not those of "
            "a Poisson process, whose squared coefficient of variation is 1; the worst: "
            f"{worst['served_gap_scv']:.3g} over {worst['served_requests']:,.0f} requests.",
            "other work kept fio from the CPUs, so that requests came late and together, and waited longer than M/M/1 "
            "and its relatives say.",
            "measure again when the machine is idle, or give it priority (sudo chrt -r 20 qsim ...); these "
            "points are left out of a calibration, unless --use names them.",
            series,
            float(worst["load"]),
        )


def check_way(sweep: Sweep) -> Iterator[Finding]:
    """Points of a known device whose latency is not the device's own: the way to it, or a busy machine, added to it."""
    if "served_response_s" not in sweep.points:
        return
    rows = sweep.points.dropna(subset=["served_response_s"])
    added = rows["latency_s"] - rows["served_response_s"]
    late = rows[(added > WAY_SHARE * rows["served_response_s"]) & (added > WAY_LEAST_S)]
    for series, group in each_series(late):
        worst = group.iloc[int((group["latency_s"] / group["served_response_s"]).argmax())]
        yield Finding(
            "way-to-device",
            "warning",
            f"at {counted(len(group), 'point')} fio's latency exceeds the response time that the device itself logged "
            f"by more than {100 * WAY_SHARE:g} %; the worst: {format_duration(worst['latency_s'])} against "
            f"{format_duration(worst['served_response_s'])}.",
            "other work kept the threads of fio or of the device from the CPUs.",
            "measure again when the machine is idle, or with longer service times.",
            series,
            float(worst["load"]),
        )
