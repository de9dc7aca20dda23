"""The figures of accuracy.md, computed from the datasets that come with the package.

python docs/accuracy.py           prints them, and those over raw runs of others where ../shared/field-data is there
python docs/accuracy.py DIR...    prints the figures over the sweeps in DIR alone: directories of fio's JSON, of tables
                                  (one CSV file a device: iodepth, iops, latency_us), or such files
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from accuracy_devices import DEEPEST, Device, figures, read_devices

from calibrate import compare
from calibrate.asked_depths import asked_loads
from calibrate.points import points_of
from measure import load_dataset
from measure.dataset import Sweep

STORAGE = (("001-ssd", "read"), ("003-ssd-read", "read"), ("004-ssd-depth", ""))
"""Tables of closed sweeps, and what a series' name must end with to be one of the published read curves."""

FIELD = Path(__file__).resolve().parents[2] / "shared" / "field-data"
"""Raw fio runs of other people, which do not come with qsim."""

COLLECTED = Path(__file__).resolve().parent / "data"
"""Sweeps that others published, one table each, with a README that names their sources."""

MEMORY_DELAYS = (0, 500, 20000)


@dataclass(frozen=True)
class HeldOut:
    """One series: what it was calibrated on, and the residuals in percent where nothing was calibrated."""

    dataset: str
    series: str
    used: tuple[float, ...]
    loads: np.ndarray
    throughput_pct: np.ndarray
    response_pct: np.ndarray
    inside_band: np.ndarray

    def row(self) -> str:
        """A row of the table of this page."""
        return (
            f"| {self.dataset} | {self.series} | {', '.join(f'{n:g}' for n in self.used)} | {len(self.throughput_pct)} "
            f"| {_median(self.throughput_pct)} | {_median(self.response_pct)} |\n"
        )


def _held_out(dataset: str, sweep: Sweep, series: str, use: Sequence[float], below: float) -> HeldOut:
    comparison = compare(sweep, use, series=series)
    counted = comparison.held_out & (comparison.points.load < below)
    curve, measured = comparison.predicted, comparison.points.throughput_per_s
    inside = (curve.throughput_low_per_s <= measured) & (measured <= curve.throughput_high_per_s)
    throughput, response = (np.abs(comparison.residual_throughput_pct), np.abs(comparison.residual_response_pct))
    kept = (column[counted] for column in (comparison.points.load, throughput, response, inside))
    return HeldOut(dataset, series, tuple(use), *kept)


@cache
def storage(points: Literal["two", "asked", "ends of asked"]) -> tuple[HeldOut, ...]:
    """The published storage sweeps from two points (the first depth and the first of at least 32), from the three that
    the model asks for, or from the first and the last of these."""
    results = []
    for name, ending in STORAGE:
        sweep = load_dataset(name, corrected=True)
        for series in sweep.series:
            if series.endswith(ending):
                depths = sorted(sweep.select(series).points["load"].unique())
                first, deep = depths[0], next(n for n in depths if n >= 32)
                asked = tuple(asked_loads(points_of(sweep, series)))
                use = {"two": (first, deep), "asked": asked, "ends of asked": (asked[0], asked[-1])}[points]
                results.append(_held_out(name, sweep, series, use, DEEPEST))
    return tuple(results)


@cache
def memory() -> tuple[HeldOut, ...]:
    """The memory sweeps of dataset 001 from three injected delays."""
    sweep = load_dataset("001-memory", corrected=True)
    return tuple(_held_out("001-memory", sweep, series, MEMORY_DELAYS, np.inf) for series in sweep.series)


def _median(values: np.ndarray) -> str:
    return f"{np.median(values):.1f} %"


def _all(results: Sequence[HeldOut], what: str) -> np.ndarray:
    return np.concatenate([getattr(r, what) for r in results])


def _total(results: Sequence[HeldOut]) -> str:
    throughput, response = _all(results, "throughput_pct"), _all(results, "response_pct")
    return f"| **all points** | | | {len(throughput)} | **{_median(throughput)}** | **{_median(response)}** |\n"


HEAD = (
    "| dataset | series | calibrated on | held out | throughput, median error | response time, median error |\n"
    "|---|---|---|---:|---:|---:|\n"
)


def held_out_table() -> str:
    """Storage sweeps, from two points and from three."""
    two, ends, three = storage("two"), storage("ends of asked"), storage("asked")
    return (
        f"From two points:\n\n{HEAD}{''.join(r.row() for r in two)}{_total(two)}\n"
        "From three points, and from the first and the last of these on the same held-out points:\n\n"
        f"{_side_by_side(ends, three)}"
    )


def _side_by_side(two: Sequence[HeldOut], three: Sequence[HeldOut]) -> str:
    rows, fewer, more = [], [], []
    for a, b in zip(two, three, strict=True):
        left, right = a.throughput_pct[np.isin(a.loads, b.loads)], b.throughput_pct
        fewer.append(left)
        more.append(right)
        rows.append(
            f"| {b.dataset} | {b.series} | {', '.join(f'{n:g}' for n in b.used)} | {len(right)} "
            f"| {_median(right)} | {_median(left)} |\n"
        )
    all_more, all_fewer = np.concatenate(more), np.concatenate(fewer)
    rows.append(f"| **all points** | | | {len(all_more)} | **{_median(all_more)}** | **{_median(all_fewer)}** |\n")
    return (
        "| dataset | series | calibrated on | held out | throughput, from three | throughput, from two |\n"
        "|---|---|---|---:|---:|---:|\n"
        f"{''.join(rows)}"
    )


def memory_table() -> str:
    """Memory sweeps from three delays."""
    results = memory()
    return f"{HEAD}{''.join(r.row() for r in results)}{_total(results)}"


def band_coverage() -> str:
    """How many held-out points are where they were expected."""
    inside = _all((*storage("two"), *storage("asked"), *memory()), "inside_band")
    return f"Inside the 90 % band: {100 * inside.mean():.0f} % of the {len(inside)} held-out throughputs above.\n"


def small_summary() -> str:
    """Three figures for the README."""
    drives, memories = storage("two"), memory()
    rows = [
        (f"throughput of seven published drive curves, depths below {DEEPEST}", "2 depths", drives, "throughput_pct"),
        ("bandwidth of ten published memory curves", "3 injected delays", memories, "throughput_pct"),
        ("latency of the same memory curves", "3 injected delays", memories, "response_pct"),
    ]
    return "| what is predicted | from | median error of held-out points |\n|---|---|---|\n" + "".join(
        f"| {what} | {source} | {_median(_all(results, column))} |\n" for what, source, results, column in rows
    )


def devices() -> list[Device]:
    """Every closed sweep at hand, bundled or in the field data."""
    found = [d for name, _ in STORAGE for d in Device.of(load_dataset(name, corrected=True), least=3)]
    if FIELD.is_dir():
        folders = [*sorted((FIELD / "fio-plot-samples").iterdir()), FIELD / "nvme-samples"]
        found += [d for folder in folders if folder.is_dir() for d in read_devices(folder)]
    return found


def collected(folder: Literal["drives", "drives-later"]) -> str:
    """The figures over a folder of the collected sweeps."""
    return figures(read_devices(COLLECTED / folder))


def everything() -> str:
    """All tables of the page."""
    there = "" if FIELD.is_dir() else f" Raw runs are not at hand ({FIELD}), only the bundled tables.\n"
    ours = [held_out_table(), memory_table(), band_coverage(), small_summary(), figures(devices()) + there]
    return "\n".join([*ours, collected("drives"), collected("drives-later")])


if __name__ == "__main__":
    given = [d for folder in sys.argv[1:] for d in read_devices(Path(folder))]
    sys.stdout.write(figures(given) if sys.argv[1:] else everything())
