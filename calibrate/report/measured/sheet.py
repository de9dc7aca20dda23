"""A data sheet's figures beside what was measured: lines in the pictures, and the ratio in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from calibrate.inference.parameters import Array
from calibrate.report.drawing import GREY, LOG, PURPLE, Drawing, spans_decade
from calibrate.report.measured.measured_data import MeasuredData
from calibrate.report.measured.shown_columns import axis_of
from calibrate.report.view import View
from measure.origin import MEASURED, ORIGIN, as_measured
from measure.units import format_duration, format_rate

NEAR = 1.5  # ratios up to this, or down to its inverse, are written in percent, others as a factor
DASHES = {"reads": "dash", "writes": "dot", "latency": "dash"}


@dataclass(frozen=True)
class DataSheet:
    """What a data sheet promises: reads and writes a second, and the latency of one request alone; None: not given."""

    read_per_s: float | None = None
    write_per_s: float | None = None
    latency_s: float | None = None

    @property
    def rates(self) -> dict[str, tuple[float, float]]:
        """Direction -> (share of reads, requests a second)."""
        given = (("reads", 1.0, self.read_per_s), ("writes", 0.0, self.write_per_s))
        return {name: (share, rate) for name, share, rate in given if rate is not None}


def with_sheet(measured: MeasuredData, views: Sequence[View], sheet: DataSheet) -> list[View]:
    """The views with the promised figures as lines in those of throughput and of latency over one quantity."""
    rates, latencies = _rate_lines(measured, sheet), _latency_lines(measured, sheet)
    found = []
    for view in views:
        kind, _, over = view.name.partition("-against-")
        if view.figure is None or over not in ("load", "size", "mix") or measured.memory:
            found.append(view)
            continue
        if kind == "throughput":
            axis = axis_of(measured, "throughput_per_s", view.table)
            for name, (_, rate) in sheet.rates.items():
                _add_line(view.figure, axis.factor * rate, f"data sheet: {format_rate(rate)} {name}", DASHES[name])
        elif sheet.latency_s is not None:
            axis = axis_of(measured, "latency_s", view.table)
            words = f"data sheet: {format_duration(sheet.latency_s)}"
            _add_line(view.figure, axis.factor * sheet.latency_s, words, DASHES["latency"])
        said = rates if kind == "throughput" else latencies
        found.append(replace(view, caption=" ".join([view.caption, *said])))
    return found


def _add_line(figure: Drawing, y: float, name: str, dash: str) -> None:
    """A line across the points of ``figure`` at ``y``."""
    x, drawn = (np.concatenate([np.asarray(t[letter], dtype=float) for t in figure.data]) for letter in "xy")
    if spans_decade(np.append(drawn[np.isfinite(drawn)], y)):
        figure.update_yaxes(**LOG)
    figure.add_line(
        [float(x.min()), float(x.max())],
        [y, y],
        name,
        {"color": PURPLE if "writes" in name else GREY, "dash": dash, "width": 2},
    )


def sheet_lines(measured: MeasuredData, sheet: DataSheet) -> list[str]:
    """Each promised figure against the best that was measured, in a sentence."""
    return [*_rate_lines(measured, sheet), *_latency_lines(measured, sheet)]


def _rate_lines(measured: MeasuredData, sheet: DataSheet) -> list[str]:
    table, lines = measured.table, []
    for name, (share, rate) in sheet.rates.items():
        rows = table[table["read_fraction"] == share] if table["read_fraction"].notna().any() else table
        if rows.empty:
            lines.append(f"The data have no 100 % {name} to hold against the data sheet.")
            continue
        what = name.capitalize() if table["read_fraction"].notna().any() else "Requests of an unknown mix"
        most, origin, where = _extreme(measured, rows, "throughput_per_s", np.nanargmax)
        best = f"{format_rate(most)}{origin} at most ({where})"
        lines.append(f"{what} reach {best}: {against(most / rate)} the data sheet's {format_rate(rate)}.")
    return lines


def _latency_lines(measured: MeasuredData, sheet: DataSheet) -> list[str]:
    if sheet.latency_s is None:
        return []
    least, origin, where = _extreme(measured, measured.table, "latency_s", np.nanargmin)
    return [
        f"The shortest mean latency is {format_duration(least)}{origin} ({where}): "
        f"{against(least / sheet.latency_s)} the data sheet's {format_duration(sheet.latency_s)}."
    ]


def _extreme(
    measured: MeasuredData, rows: pd.DataFrame, figure: str, place: Callable[[Array], np.intp]
) -> tuple[float, str, str]:
    """The highest or the lowest value of a figure, its origin in brackets where not measured, and where it was."""
    values = as_measured(rows, figure)
    at = int(place(values))
    row, value = rows.iloc[at], float(values[at])
    origin = row[ORIGIN[figure]] if value == row[figure] else MEASURED
    where = f"{row['series']}, {measured.load_type.at(float(row['load']))}"
    return value, "" if origin == MEASURED else f" ({origin})", where


def against(ratio: float) -> str:
    """A ratio to what was promised, before the promise: in percent where it is near 1.

    >>> against(0.92), against(2.35), against(0.066)
    ('92 % of', '2.4 times', '15 times less than')
    """
    if 1 / NEAR <= ratio <= NEAR:
        return f"{100 * ratio:.0f} % of"
    return f"{ratio:.2g} times" if ratio > 1 else f"{1 / ratio:.2g} times less than"
