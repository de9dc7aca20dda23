"""A sweep that was measured, as text and as JSON: the answer, the points, where they are, and the next command."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli.console import plain, table
from measure.loads import BANDWIDTH_FROM
from measure.units import format_bandwidth, format_bytes, format_duration, format_rate, significant

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

Cells = dict[str, Sequence[str]]


def points_text(sweep: Sweep, out: Path) -> str:
    """The knee of one curve, the table of points, their directory, and the next command."""
    memory = sweep.load_type.is_delay or sweep.load_type.is_size
    tables = _memory_tables(sweep) if memory else [points_table(sweep)]
    answer = "\n".join([*_answer(sweep), *_figures(sweep)])
    return "\n\n".join([*([answer] if answer else []), *tables, f"saved in {out}; next: {_next(sweep, out)}"])


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
    """All points of a drive in one table, with a column for each thing that varies between the curves.

    Blocks of 64 KiB or more have their ``bandwidth`` next to the rate; others where it is asked for.
    """
    from measure.sweep import describe_series

    points = sweep.mean_points()
    columns = _varied(points)
    if sweep.load_type.is_open:
        if "asked_rate_per_s" in points:
            columns["asked"] = _known(points["asked_rate_per_s"], format_rate)
        columns["arrivals"] = _known(points["load"], format_rate)
    else:
        columns["outstanding" if (points["jobs"] > 1).any() else "depth"] = _known(points["load"], "{:g}".format)
        columns["throughput"] = _known(points["throughput_per_s"], format_rate)
        columns[""] = _half_widths(points, "throughput")
    if bandwidth or "block" in columns or (points["block_bytes"] >= BANDWIDTH_FROM).any():
        columns["bandwidth"] = _known(points["bandwidth_bytes_per_s"], format_bandwidth)
    columns["latency"] = _known(points["latency_s"], format_duration)
    columns[" "] = _half_widths(points, "latency")
    places = list(zip(points["series"], points["load"], strict=True))
    for direction in ("read", "write"):
        if (name := f"{direction}_latency_s") in points:
            means = sweep.points.groupby(["series", "load"])[name].mean()
            columns[f"{direction}s take"] = _known([means[place] for place in places], format_duration)
    if points["repeats"].nunique() > 1:
        columns["repeats"] = _known(points["repeats"], "{:g}".format)
    columns["flagged"] = _flagged(sweep, places)
    fixed = [points[c].iloc[0] if points[c].nunique() == 1 else None for c in ("block_bytes", "pattern")]
    curves = points["series"].nunique()
    title = sweep.series[0] if curves == 1 else f"{curves} curves: {describe_series(fixed[0], None, fixed[1])}"
    return f"{title}\n{_drawn(columns)}{_interval_note(points)}"


def _varied(points: DataFrame) -> Cells:
    """The columns in which the curves differ; the names of the curves where nothing else tells them apart."""
    shares = points.groupby("series", sort=False)["read_fraction"].transform("mean")
    columns: Cells = {
        "block": _known(points["block_bytes"], format_bytes),
        "pattern": [str(p) for p in points["pattern"]],
        "reads": _known(shares, lambda f: f"{100 * f:.0f} %"),
        "jobs": _known(points["jobs"], "{:g}".format) if (points["depth"] > 1).any() else [],
    }
    columns = {name: cells for name, cells in columns.items() if len(set(cells)) > 1}
    places = set(zip(*columns.values(), points["load"], strict=True))
    return columns if len(places) == len(points) else {"curve": [str(s) for s in points["series"]]}


def _memory_tables(sweep: Sweep) -> Iterator[str]:
    first, show = ("buffer", format_bytes) if sweep.load_type.is_size else ("delay", "{:g}".format)
    for series, group in sweep.mean_points().groupby("series", sort=False):
        columns: Cells = {
            first: _known(group["load"], show),
            "bandwidth": _known(64 * group["throughput_per_s"], format_bandwidth),
            "": _half_widths(group, "throughput"),
            "latency": _known(group["latency_s"], format_duration),
            " ": _half_widths(group, "latency"),
        }
        yield f"{series}\n{_drawn(columns)}{_interval_note(group)}"


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
    from calibrate.fitting.answer import both_knees_labelled, fit_answer
    from calibrate.fitting.curve_fit import fit
    from measure.errors import DataError

    try:
        fits = [(name, fit(sweep, series=name)) for name in sweep.series]
    except DataError:  # no model is for these points: they were measured, and the table shows them
        return []
    return fit_answer(fits[0][1]) if len(fits) == 1 else both_knees_labelled(fits)


def _next(sweep: Sweep, out: Path) -> str:
    """The command that such a sweep was measured for: over the load, over the block size, or from a single depth."""
    compared, sized = f"qsim compare {out} --report report.html", f"qsim surface {out}"
    if sweep.load_type.is_size:
        return f"qsim show {out}"
    if not sweep.load_type.is_closed:
        return compared
    points = sweep.points
    place = [points["read_fraction"], points["pattern"], points["load"]]
    several_sizes = (points["block_bytes"].groupby(place, dropna=False).nunique() > 1).any()
    if (points.groupby("series")["load"].nunique() > 1).any():
        return f"{compared}, and over the block size too: {sized}" if several_sizes else compared
    return sized if several_sizes else f"qsim predict {out} --at 1..64"


def _half_widths(points: DataFrame, what: str) -> list[str]:
    """The half width of the interval of each mean, in percent of it; the wider side."""
    middle = points["throughput_per_s" if what == "throughput" else "latency_s"]
    return _known((points[f"{what}_high"] - middle) / middle, lambda share: f"± {significant(100 * share, 2)} %")


def _interval_note(points: DataFrame) -> str:
    counts = sorted({int(n) for n in points["repeats"] if n > 1})
    several = " to ".join(str(n) for n in dict.fromkeys(counts[:1] + counts[-1:]))
    return f"\n±: 95 % interval of the mean of {several} repeats (Student's t)" if counts else ""


def _flagged(sweep: Sweep, places: Sequence[tuple[str, float]]) -> list[str]:
    """The flags of each point, with the number of flagged runs."""
    from measure.repeats import flags

    table = sweep.points.assign(flag=flags(sweep.points, closed=sweep.load_type.is_closed))
    cells = []
    for series, load in places:
        rows = table[(table["series"] == series) & (table["load"] == load)]
        counts = rows.loc[rows["flag"] != "", "flag"].value_counts(sort=False)
        cells.append(
            ", ".join(f"{flag} ({n} of {len(rows)})" if len(rows) > 1 else str(flag) for flag, n in counts.items())
        )
    return cells


def _known(values: Any, show: Callable[[float], str]) -> list[str]:
    """A cell for each value, empty where it is not known."""
    return [show(value) if math.isfinite(value) else "" for value in values]


def _drawn(columns: Mapping[str, Sequence[str]]) -> str:
    shown = {name: cells for name, cells in columns.items() if any(cells)}
    return table(list(shown), list(zip(*shown.values(), strict=True)), left=int("curve" in shown))
