"""``audit``: contradictions in a table of measurements, each with a hypothesis and the run that would decide it.

Closed sweeps are checked against Little's law (:mod:`measure.auditing.littles_law`), for drift and for falls past
the peak (:mod:`measure.auditing.curve_shape`), memory curves for caches and lines in flight
(:mod:`measure.auditing.memory_curves`), open sweeps for the arrival rate that was reached; both for what a calibration
needs. All are checked for the conditions of the runs (repeats that disagree, cached answers, a busy machine),
steadiness (:mod:`measure.formats.fio.steady_state`) and outliers (:mod:`measure.repeats`).

Checks rest on measured values alone.

``corrected`` undoes the errors that the audit can prove: a unit, the block size, jobs that were not counted. Where the
printed latency contradicts its own depth and throughput otherwise, N / X stands beside it. What was published stays in
the columns of :data:`measure.origin.PUBLISHED`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from measure import origin
from measure.auditing.curve_shape import (
    check_bandwidth,
    check_curve,
    check_latency,
    check_open,
    check_saturation,
    check_submission,
    closed_curves,
    without_outliers,
)
from measure.auditing.littles_law import (
    BlockVerdict,
    Diagnosis,
    check_littles_law,
    check_origins,
    diagnoses,
    not_measured,
    think_time_is_found,
)
from measure.auditing.memory_curves import check_buffer_sizes, check_memory, recorded_caches
from measure.findings import SEVERITIES, Finding, merged
from measure.formats.fio.record import is_direct, parse_fio_size
from measure.formats.fio.steady_state import COLUMNS as STEADY
from measure.formats.fio.steady_state import check_steady
from measure.loads import ArrivalRate, BufferSize, ClosedLoad, CountedLoad, MemoryLoad
from measure.origin import ORIGIN, PUBLISHED, judged
from measure.repeats import check_outliers, each_series
from measure.sweep import WOKEN_LATE, Sweep, describe_series, placed, recorded_options
from measure.units import format_bytes, format_duration, format_rate


def not_checked(sweep: Sweep) -> list[str]:
    """What the audit could not check in these data.

    >>> from measure import load_dataset
    >>> not_checked(load_dataset("004-ssd-depth"))[:2]
    ['repeats (every load was measured once)', "Little's law (latency computed at 4 of 5 points)"]
    """
    points, missing = sweep.points, []
    if not points.duplicated(["series", "load"]).any():
        missing.append("repeats (every load was measured once)")
    if unmeasured := not_measured(sweep):
        missing.append(f"Little's law ({unmeasured})")
    if think_time_is_found(sweep):
        missing.append("Little's law (it gave the think time)")
    if not isinstance(sweep.load_type, MemoryLoad) and not set(STEADY).issubset(points.columns):
        missing.append("drift within runs (no log of them)")
    return missing


def audit(sweep: Sweep, series: str | None = None) -> list[Finding]:
    """All findings of the checks, errors first. Findings of the importer are in ``sweep.findings``.

    One finding per curve and cause; where three curves or more have the same, one for all of them. The list is never
    empty: where Little's law holds, an info says how well. With ``series`` only findings on that curve or the whole
    table, still judged with its siblings, which show what is wrong with all of them: audit the whole sweep.

    >>> from measure import load_dataset
    >>> printed = load_dataset("003-ssd-read", as_published=True)
    >>> [finding.check for finding in audit(printed) if finding.severity == "error"]
    ['littles-law']
    """
    found = [*_every_finding(sweep), *(f for other in sweep.also for f in audit(other))]
    if sweep.also:  # what one kind of load does not reach, another may
        found = [f for f in found if f.check != "no-saturated-point"]
    if series is not None:
        return _sorted([f for f in found if f.series in (None, series)])
    return _sorted(merged(found))


@lru_cache(maxsize=8)
def _every_finding(sweep: Sweep) -> tuple[Finding, ...]:
    """The findings of every check on every curve; cached, as callers ask curve by curve."""
    if isinstance(sweep.load_type, MemoryLoad):
        found = list(check_memory(sweep))
    elif isinstance(sweep.load_type, ArrivalRate):
        found = list(check_open(sweep))
    elif isinstance(sweep.load_type, BufferSize):
        found = list(check_buffer_sizes(sweep))
    else:
        found = [*check_littles_law(sweep), *check_bandwidth(sweep)]
        for curve in closed_curves(sweep, ("load", "throughput_per_s")):
            found += check_curve(without_outliers(curve))
        for curve in closed_curves(sweep):
            found += check_latency(without_outliers(curve))
    if isinstance(sweep.load_type, ClosedLoad | ArrivalRate):
        found += [*check_buffered(sweep), *check_working_set(sweep), *check_wakeups(sweep)]
        found += [*check_saturation(sweep), *check_submission(sweep)]
    broken = {f.series for f in found if f.check == "littles-law" and f.severity != "info"}
    found += [*check_repeats(sweep), *check_origins(sweep, broken), *check_copies(sweep)]
    if set(STEADY).issubset(sweep.points):
        found += check_steady(sweep.points, sweep.load_type)
    found += check_outliers(sweep.points, sweep.load_type)
    return placed(found, sweep.load_type)


def _sorted(findings: list[Finding]) -> list[Finding]:
    """The findings, errors first, those on "4 KiB" before those on "16 KiB"."""

    def key(f: Finding) -> tuple[Any, ...]:
        natural = [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", f.series or "")]
        return -SEVERITIES.index(f.severity), f.check, natural, f.load or 0.0

    return sorted(findings, key=key)


_BY_LITTLE = ("one-direction", "half-latency", "constant-share", "unexplained", "depth-not-filled")
_WORTH, _WORTH_AT_ONE = 0.05, 0.1


def corrected(sweep: Sweep) -> Sweep:
    """The sweep with errors corrected that the audit proves; the same sweep where there are none.

    - a unit off by 1000: the latency is divided by it, and so are its percentiles;
    - a file's size taken for the block's: throughput and block are recomputed, and the curve gets a new name;
    - jobs not counted: the load is multiplied by them;
    - one direction tabulated, half a latency, a missing share: nothing tells what the latency was, so that N / X is
      computed at the points that deviate by more than 5 %, 10 % at depth 1.

    Each changed figure has its origin, "corrected" or "computed", and the published one in the column beside it.

    Writes to the page cache cannot be corrected. Sweeps that are not closed are returned unchanged.
    """
    if not isinstance(sweep.load_type, ClosedLoad) or sweep.load_type.thinking_s:
        return sweep
    verdict, found = diagnoses(sweep)
    points = sweep.points.copy()
    notes = [] if verdict is None else [_use_block(points, verdict)]
    notes += [note for diagnosis in found if (note := _apply(points, diagnosis)) is not None]
    if not notes:
        return sweep
    details = {**sweep.provenance.details, "corrected": list(dict.fromkeys(n.message for n in notes))}
    if verdict is not None:
        columns = (points[c] for c in ("block_bytes", "read_fraction", "pattern", "claimed_bytes"))
        points["series"] = [
            describe_series(block, reads, pattern, [f"in a file of {format_bytes(size)}"])
            for block, reads, pattern, size in zip(*columns, strict=True)
        ]
        # The audit of the corrected sweep still needs the number of blocks in the file.
        details["file_bytes"] = dict(zip(points["series"], points.pop("claimed_bytes"), strict=True))
    return replace(
        sweep, points=points, findings=(*sweep.findings, *notes), provenance=replace(sweep.provenance, details=details)
    )


def _apply(points: pd.DataFrame, diagnosis: Diagnosis) -> Finding | None:
    """Change the rows of one curve in place; the Finding that says so, or None."""
    curve, factor = diagnosis.curve, diagnosis.factor
    rows = (points["series"] == curve.series).to_numpy(bool)
    if diagnosis.cause == "unit":
        why = origin.corrected(f"a unit off by {max(factor, 1 / factor):,.0f}, by N = X R")
        _scale_percentiles(points, rows, factor, why)
        _set(points, "latency_s", rows, points["latency_s"] / factor, why)
        return _note(curve.series, f"the latency was divided by {factor:g}", diagnosis)
    if diagnosis.cause == "jobs-not-counted":
        why = origin.corrected(f"{factor:g} jobs, by N = X R")
        _set(points, "load", rows, points["load"] * factor, why)
        return _note(curve.series, f"the load was multiplied by {factor:g} jobs", diagnosis)
    # Where the file was too small for its depth, N itself is wrong, and N / X would be no latency of anything.
    if diagnosis.cause not in _BY_LITTLE or diagnosis.severity == "info" or curve.file_bytes is not None:
        return None
    implied = points["load"] / points["throughput_per_s"]
    off = (points["latency_s"] / implied - 1).abs()
    # The submission gap at depth 1 is real and not a misprint.
    changed = rows & (off > np.where(points["load"] > 1, _WORTH, _WORTH_AT_ONE)).to_numpy(bool)
    _set(points, "latency_s", changed, implied, origin.computed("N / X"))
    at = curve.load_type.at(*sorted(points.loc[changed, "load"].unique()))
    words = f"N / X stands beside the latency at {at}, which contradicts it"
    if diagnosis.cause == "one-direction":
        words += "; it is the time of a read and a write together, as the throughput counts one of the two"
    return replace(_note(curve.series, words, diagnosis), check="computed")


def _set(points: pd.DataFrame, figure: str, rows: NDArray[np.bool_], values: pd.Series[float], why: str) -> None:
    """Put ``values`` in place of a figure in some rows, with their origin; what was published goes beside them."""
    points.loc[rows, PUBLISHED[figure]] = points.loc[rows, PUBLISHED[figure]].fillna(points.loc[rows, figure])
    points.loc[rows, figure] = values[rows]
    points.loc[rows, ORIGIN[figure]] = why


_SPREAD = ("sd", "p50", "p95", "p99", "p999")
_LIKE_THE_MEAN = 30.0
"""The factor around the printed mean within which a figure of the same latencies has the mean's unit."""


def _scale_percentiles(points: pd.DataFrame, rows: NDArray[np.bool_], factor: float, why: str) -> None:
    """Divide the standard deviation and the percentiles that share the unit of the mean latency, with the same mark."""
    for name in (f"latency_{part}" for part in _SPREAD):
        column, printed = f"{name}_s", points.get(f"{name}_s")
        if printed is None or not printed[rows].notna().any():
            continue
        ratio = float((printed / points["latency_s"])[rows].median())
        if 1 / _LIKE_THE_MEAN < ratio < _LIKE_THE_MEAN:
            given = rows & printed.notna().to_numpy(bool)
            points.loc[given, f"{name}_published_s"] = printed[given]
            points[f"{name}_origin"] = np.where(given, why, points.get(f"{name}_origin", origin.MEASURED))
            points.loc[given, column] = printed[given] / factor


def _use_block(points: pd.DataFrame, verdict: BlockVerdict) -> Finding:
    points["claimed_bytes"], block = points["block_bytes"], format_bytes(verdict.block_bytes)
    rates = points["throughput_per_s"] * (points["block_bytes"] / verdict.block_bytes)
    why = origin.corrected(f"a block of {block}, by N = X R")
    _set(points, "throughput_per_s", np.ones(len(points), bool), rates, why)
    points["block_bytes"] = verdict.block_bytes
    return Finding(
        "corrected",
        "info",
        f"the throughput was computed with blocks of {block} instead of the size in the table.",
        "the size in the table is that of the file.",
    )


def _note(series: str, what: str, diagnosis: Diagnosis) -> Finding:
    return Finding("corrected", "info", f"{what}.", diagnosis.hypothesis, series=series)


_DISAGREE, _DISAGREE_BADLY = 0.10, 0.30  # the relative standard deviation between the repeats of one point
_SMALL_FILE_BYTES = 2**30
"""A smaller file fits the DRAM of a drive, or a cache of the host, and does not represent the device."""
FILELESS_ENGINES = ("null", "nbd", "rbd", "http", "net")
"""Engines that read no local file, so that no page cache is involved."""

_LATE_SHARE, _LEAST_LATE_S = 0.1, 1e-4  # reported from this share of a latency on, and from these seconds


def check_repeats(sweep: Sweep) -> Iterator[Finding]:
    """Points whose repeats disagree: the worst of each curve."""
    if (sweep.means["repeats"] < 2).all():
        return
    points = sweep.mean_points()
    for series, group in each_series(judged(points, ["throughput_per_s"])):
        spread = group["throughput_spread"].to_numpy(float)
        if not np.isfinite(spread).any():
            continue
        worst = int(np.nanargmax(spread))
        if spread[worst] < _DISAGREE:
            continue
        row = group.iloc[worst]
        measured = sweep.points[(sweep.points["series"] == series) & (sweep.points["load"] == row["load"])]
        rates = measured["throughput_per_s"]
        # qsim's repeats of one point have files that differ only in the number of the repeat.
        sources = measured["source"].dropna().astype(str).str.replace(r"\.r\d+(?=\.json$)", "", regex=True).unique()
        cache = "" if isinstance(sweep.load_type, CountedLoad) else "write cache, "
        changed = f"the device changed between the runs ({cache}temperature, other programs)"
        if len(sources) > 1:
            changed += f", or these are runs of different things: {', '.join(map(str, sources[:3]))}"
        again = "" if isinstance(sweep.load_type, CountedLoad) else " (--repeats 5)"
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


def check_copies(sweep: Sweep) -> Iterator[Finding]:
    """Runs, and curves, of which every point equals another's to the last digit: copies, which are no repeats."""
    if len(sweep.series) < 2 and (sweep.means["repeats"] < 2).all():
        return
    points = judged(sweep.points, ["throughput_per_s", "latency_s"])
    first_with: dict[bytes, str] = {}
    for series, curve in each_series(points):
        rows, times = np.unique(curve[list(ORIGIN)].to_numpy(float), axis=0, return_counts=True)
        if len(rows) < 2:
            continue
        if times.min() > 1:
            often = f"{times.min()} times{' or more' if times.max() > times.min() else ''}"
            says = f"every point is there {often}, equal to the last digit."
            why = "one run was copied; copies are no repeats, and that they do not differ says nothing of the noise."
            yield Finding("copies", "warning", says, why, "leave the copies out, or measure again.", series)
        if (first := first_with.setdefault(rows.tobytes(), series)) != series:
            says = f"every point equals that of {first}, to the last digit."
            why = "one run was copied under another name."
            yield Finding("copies", "warning", says, why, "leave one of the two out, or measure again.", series)


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
    """A file small enough for a cache between the program and the device, with direct I/O the drive's own."""
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
    """Points whose latencies include much wakeup delay of a busy machine."""
    if WOKEN_LATE not in sweep.points:
        return
    late = sweep.points[WOKEN_LATE]
    busy = sweep.points[(late > _LATE_SHARE * sweep.points["latency_s"]) & (late > _LEAST_LATE_S)]
    busy = judged(busy, ["latency_s"])
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
