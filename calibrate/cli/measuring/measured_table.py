"""A sweep that was measured, as text and as JSON: the answer, the points, where they are, and the next command."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli.console import plain, table
from measure.loads import BANDWIDTH_FROM
from measure.units import CACHE_LINE_BYTES, format_bandwidth, format_bytes, format_duration, format_rate, significant

if TYPE_CHECKING:
    from pandas import DataFrame

    from measure import Sweep

KNEE_FROM = 3
"""The fewest loads of a curve that is printed with its knee."""
MEANS = [
    *("series", "load", "repeats"),
    *("throughput_per_s", "throughput_low", "throughput_high"),
    *("latency_s", "latency_low", "latency_high"),
]


def points_text(sweep: Sweep, out: Path) -> str:
    """The knee of one curve, the table of points, their directory, and the next command."""
    answer = "\n".join([*_answer(sweep), *_figures(sweep)])
    parts = (answer, points_table(sweep), f"saved in {out}; next: {_next(sweep, out)}")
    return "\n\n".join(part for part in parts if part)


def sweep_document(sweep: Sweep, out: Path) -> dict[str, Any]:
    """A measured sweep in JSON, SI units; of each point what is known, of the means null where there is one repeat."""
    from measure.repeats import LEVEL

    points, means = (table.to_dict("records") for table in (sweep.points, sweep.mean_points()[MEANS]))
    return {
        "directory": str(out),
        "load_kind": sweep.load_kind,
        "load_unit": sweep.load_unit,
        "series": list(sweep.series),
        "points": [{str(k): v for k, v in row.items() if plain(v) is not None} for row in points],
        "means": means,
        "level": LEVEL,
        "findings": [f.to_dict() for f in sweep.findings],
        "provenance": sweep.provenance.to_dict(),
    }


def points_table(sweep: Sweep, *, bandwidth: bool = False) -> str:
    """All points in one table, with a column for each thing that varies between the curves.

    Memories and blocks of 64 KiB or more have their ``bandwidth``; others where it is asked for.
    """
    from measure.sweep import describe_series

    points, load = sweep.mean_points(), sweep.load_type
    memory, curves = load.is_size or load.is_delay, points["series"].nunique()
    columns = _named(points) if memory else _varied(points)
    if load.is_open and "asked_rate_per_s" in points:
        columns["asked"] = _known(points["asked_rate_per_s"], format_rate)
    first = "buffer" if load.is_size else "delay" if load.is_delay else "arrivals" if load.is_open else "depth"
    if first == "depth" and (points["jobs"] > 1).any():
        first = "outstanding"
    show = format_bytes if load.is_size else format_rate if load.is_open else "{:g}".format
    columns[first] = _known(points["load"], show)
    if memory:
        columns["bandwidth"] = _known(CACHE_LINE_BYTES * points["throughput_per_s"], format_bandwidth)
    elif not load.is_open:
        columns["throughput"] = _known(points["throughput_per_s"], format_rate)
    columns[""] = [] if load.is_open else _half_widths(points, "throughput_per_s", "throughput_high")
    if not memory and (bandwidth or "block" in columns or (points["block_bytes"] >= BANDWIDTH_FROM).any()):
        columns["bandwidth"] = _known(points["bandwidth_bytes_per_s"], format_bandwidth)
    columns["latency"] = _known(points["latency_s"], format_duration)
    columns[" "] = _half_widths(points, "latency_s", "latency_high")
    if points["repeats"].nunique() > 1:
        columns["repeats"] = _known(points["repeats"], "{:g}".format)
    columns["flagged"] = list(_flagged(sweep, points))
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    fixed = [points[c].iloc[0] if points[c].nunique() == 1 else None for c in ("block_bytes", "pattern")]
    common = "" if memory else f": {describe_series(fixed[0], None, fixed[1])}"
    title = sweep.series[0] if curves == 1 else f"{curves} curves{common}"
    drawn = table(list(shown), list(zip(*shown.values(), strict=True)), left=int("curve" in shown))
    return f"{title}\n{drawn}{_interval_note(points)}"


def _named(points: DataFrame) -> dict[str, Sequence[str]]:
    """The names of the curves, where there are several."""
    return {"curve": [str(s) for s in points["series"]]} if points["series"].nunique() > 1 else {}


def _varied(points: DataFrame) -> dict[str, Sequence[str]]:
    """The columns in which the curves differ; the names of the curves where nothing else tells them apart."""
    shares = points.groupby("series", sort=False)["read_fraction"].transform("mean")
    columns: dict[str, Sequence[str]] = {
        "block": _known(points["block_bytes"], format_bytes),
        "pattern": [str(p) for p in points["pattern"]],
        "reads": _known(shares, lambda f: f"{100 * f:.0f} %"),
        "jobs": _known(points["jobs"], "{:g}".format) if (points["depth"] > 1).any() else [],
    }
    columns = {name: cells for name, cells in columns.items() if len(set(cells)) > 1}
    places = set(zip(*columns.values(), points["load"], strict=True))
    return columns if len(places) == len(points) else _named(points)


def _flagged(sweep: Sweep, points: DataFrame) -> Iterator[str]:
    """The outliers of each point, with their number."""
    from measure.repeats import flag_outliers

    flags = flag_outliers(sweep.points, closed=sweep.load_type.is_closed)
    runs = sweep.points.assign(flag=flags.map({"repeat": "outlier", "curve": "off the curve", "": ""}))
    for series, load in zip(points["series"], points["load"], strict=True):
        rows = runs[(runs["series"] == series) & (runs["load"] == load)]
        counts = rows.loc[rows["flag"] != "", "flag"].value_counts(sort=False)
        yield ", ".join(f"{flag} ({n} of {len(rows)})" if len(rows) > 1 else str(flag) for flag, n in counts.items())


def _half_widths(points: DataFrame, mean: str, high: str) -> list[str]:
    """The half width of the interval of each mean, in percent of it."""
    return _known(points[high] / points[mean] - 1, lambda share: f"± {significant(100 * share, 2)} %")


def _interval_note(points: DataFrame) -> str:
    counts = sorted({int(n) for n in points["repeats"] if n > 1})
    several = " to ".join(str(n) for n in dict.fromkeys(counts[:1] + counts[-1:]))
    return f"\n±: 95 % interval of the mean of {several} repeats (Student's t)" if counts else ""


def _known(values: Any, show: Callable[[float], str]) -> list[str]:
    """A cell for each value, empty where it is not known."""
    return [show(value) if math.isfinite(value) else "" for value in values]


def _figures(sweep: Sweep) -> list[str]:
    """The latency of the idle memory and the peak bandwidth of each traffic, where they were measured."""
    details = sweep.provenance.details
    figures = [f"idle latency {format_duration(details['idle_latency_s'])}"] if "idle_latency_s" in details else []
    peaks = details.get("peaks_bytes_per_s", {})
    figures += [f"peak of {name} {format_bandwidth(peak['mean'])}" for name, peak in peaks.items()]
    return [", ".join(figures)] if figures else []


def _answer(sweep: Sweep) -> list[str]:
    """The knees and the peak of one measured curve, the knees of several; nothing where points are too few."""
    if sweep.load_type.is_size or sweep.points.groupby("series")["load"].nunique().min() < KNEE_FROM:
        return []
    from calibrate.fitting.answer import fit_answer, knees_labelled
    from calibrate.fitting.fit import fit
    from measure.errors import DataError

    try:
        fits = [(name, fit(sweep, series=name)) for name in sweep.series]
    except DataError:  # no model is for these points: they were measured, and the table shows them
        return []
    return fit_answer(fits[0][1]) if len(fits) == 1 else knees_labelled(fits)


def _next(sweep: Sweep, out: Path) -> str:
    """The command that such a sweep was measured for: over the load, over the block size, or from a single depth."""
    if sweep.load_type.is_size:
        return f"qsim show {out}"
    if not sweep.load_type.is_closed or (sweep.points.groupby("series")["load"].nunique() > 1).any():
        return f"qsim compare {out} --report report.html"
    return f"qsim surface {out}" if sweep.points["block_bytes"].nunique() > 1 else f"qsim predict {out} --at 1..64"
