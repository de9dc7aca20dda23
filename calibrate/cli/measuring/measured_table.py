"""A sweep that was measured, as text and as JSON: the answer, the points, where they are, and the next command."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrate.cli.console import plain
from measure.loads import ArrivalRate, BufferSize, ClosedLoad
from measure.units import format_bandwidth, format_duration

if TYPE_CHECKING:
    from measure import Sweep

KNEE_FROM = 3
"""The least number of loads of a curve that is printed with its knee."""
MEANS = [
    *("series", "load", "repeats"),
    *("throughput_per_s", "throughput_low", "throughput_high"),
    *("latency_s", "latency_low", "latency_high"),
    *("load_origin", "throughput_origin", "latency_origin"),
    *("load_published", "throughput_published_per_s", "latency_published_s"),
]


def points_text(sweep: Sweep, out: Path) -> str:
    """The knee of one curve, the table of points, their directory, and the next command."""
    answer = "\n".join([*_answer(sweep), *_figures(sweep)])
    parts = (answer, points_table(sweep), f"saved in {out}; next: {_next(sweep, out)}")
    return "\n\n".join(part for part in parts if part)


def sweep_document(sweep: Sweep, out: Path) -> dict[str, Any]:
    """A measured sweep in JSON, SI units; unknown values, and intervals of single repeats, are null."""
    from measure.repeats import LEVEL

    points, means = (table.to_dict("records") for table in (sweep.points, sweep.mean_points()[MEANS]))
    return {
        "directory": str(out),
        **sweep.load_type.to_dict(),
        "series": list(sweep.series),
        "points": [{str(k): v for k, v in row.items() if plain(v) is not None} for row in points],
        "means": means,
        "level": LEVEL,
        "findings": [f.to_dict() for f in sweep.findings],
        "provenance": sweep.provenance.to_dict(),
    }


def points_table(sweep: Sweep, left_out: Collection[float] = ()) -> str:
    """All points in one table, with their workload where there are several; intervals where points were repeated.

    Those at the loads ``left_out`` of a curve are marked.
    """
    from calibrate.report.measured.measured_data import measured
    from calibrate.report.measured.shown_columns import text_of, with_ends, with_origin

    found, load = measured(sweep), sweep.load_type
    several = len(found.series) > 1
    found.table.loc[found.table["load"].isin(list(left_out)), "outlier"] = "left out"
    results = [c for c in ("throughput_per_s", "bandwidth_bytes_per_s", "latency_s") if found.known(c)]
    if found.memory:  # cache lines are not shown as requests
        results.remove("throughput_per_s")
    loads = with_origin(found, ["load"])
    columns = [*(["series"] if several else []), *loads, *with_ends(found, results), "outlier"]
    drawn = text_of(found, found.table[columns], "arrivals" if isinstance(load, ArrivalRate) else load.symbol)
    repeats = sorted({int(n) for n in found.table["repeats"] if n > 1})
    between = " to ".join(str(n) for n in dict.fromkeys(repeats[:1] + repeats[-1:]))
    note = [f"±: 95 % interval of the mean of {between} repeats (Student's t)"] if repeats else []
    return "\n".join([*([] if several else found.series), drawn.text(), *note])


def _figures(sweep: Sweep) -> list[str]:
    """The latency of the idle memory and the peak bandwidth of each traffic, where they were measured."""
    details = sweep.provenance.details
    figures = [f"idle latency {format_duration(details['idle_latency_s'])}"] if "idle_latency_s" in details else []
    peaks = details.get("peaks_bytes_per_s", {})
    figures += [f"peak of {name} {format_bandwidth(peak['mean'])}" for name, peak in peaks.items()]
    return [f"measured by themselves: {', '.join(figures)}"] if figures else []


def _answer(sweep: Sweep) -> list[str]:
    """The knees and the peak of one measured curve, the knees of several; nothing where points are too few."""
    if isinstance(sweep.load_type, BufferSize) or sweep.points.groupby("series")["load"].nunique().min() < KNEE_FROM:
        return []
    from calibrate.fitting.calibrating import fit
    from calibrate.fitting.fit_answer import fit_answer, knees_labelled
    from measure.errors import DataError

    try:
        fits = [(name, fit(sweep, series=name)) for name in sweep.series]
    except DataError:  # no model fits these points; the table shows them
        return []
    return fit_answer(fits[0][1]) if len(fits) == 1 else knees_labelled(fits)


def _next(sweep: Sweep, out: Path) -> str:
    """The command that such a sweep was measured for: over the load, over the block size, or from a single depth."""
    if isinstance(sweep.load_type, BufferSize):
        return f"qsim show {out}"
    if not isinstance(sweep.load_type, ClosedLoad) or (sweep.points.groupby("series")["load"].nunique() > 1).any():
        return f"qsim compare {out} --report report.html"
    return f"qsim surface {out}" if sweep.points["block_bytes"].nunique() > 1 else f"qsim predict {out} --at 1..64"
