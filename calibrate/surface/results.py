"""A surface held against points, as a table and in words: rows of plain values, a summary, an answer in three lines."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from calibrate.inference.parameters import Array
from calibrate.surface.places import WORDS, Places
from measure.units import (
    counted,
    format_bandwidth,
    format_bytes,
    format_duration,
    format_percent,
    format_rate,
    with_interval,
)
from qsim.result import Result
from qsim.text_table import table

if TYPE_CHECKING:
    import pandas as pd
    from plotly.graph_objects import Figure

Row = dict[str, Any]
"""Plain values in SI units by the names of the columns."""

PREDICTED = {
    f"predicted_{name}{end}_{unit}": (heading, show)
    for name, unit, show in (("throughput", "per_s", format_rate), ("latency", "s", format_duration))
    for end, heading in (("", "PREDICTED"), ("_low", "LOW"), ("_high", "HIGH"))
}

KNEES = {
    "knee": "QUEUEING STARTS",
    "low": "LOW",
    "high": "HIGH",
    "knee90": "90 % OF PEAK AT",
    "low90": "LOW",
    "high90": "HIGH",
}
"""The columns of the two knees of a place."""

HEADINGS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "parameter": ("", str),
    "block_bytes": ("BLOCK", format_bytes),
    "read_fraction": ("READS", lambda share: f"{100 * share:.3g} %"),
    "outstanding": ("N", "{:g}".format),
    "jobs": ("JOBS", "{:g}".format),
    "bandwidth_bytes_per_s": ("BANDWIDTH", format_bandwidth),
    "throughput_per_s": ("MEASURED", format_rate),
    "latency_s": ("MEASURED", format_duration),
    **PREDICTED,
    "peak_bytes_per_s": ("PEAK", format_bandwidth),
    **{name: (heading, "{:.2g}".format) for name, heading in KNEES.items()},
    "estimate": ("ESTIMATE", str),
    "interval": ("INTERVAL", str),
    "sure": ("", str),
    "error_pct": ("ERROR", lambda error: f"{round(error, 1) + 0.0:+.1f} %"),
    "use": ("", str),
}
"""Columns in the order in which they are printed, with their headings."""

LEFT = ("parameter", "interval", "sure", "use")
"""Columns of words, aligned to the left."""


class Tabled(Result):
    """What has rows."""

    @abstractmethod
    def rows(self) -> list[Row]:
        """One row per point or place."""

    def to_frame(self) -> pd.DataFrame:
        """The rows, SI units in the names of the columns."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def table(self, most: int | None = None) -> str:
        """The rows with units, columns aligned; the first ``most`` of them."""
        return table_of(self.rows(), most)


def table_of(rows: Sequence[Row], most: int | None = None) -> str:
    """Rows with units, columns aligned, jobs left out where all have one; the first ``most`` of them."""
    shown = rows[:most]
    one_job = all(row.get("jobs") == 1 for row in rows)
    names = [n for n in HEADINGS if rows and n in rows[0] and not (n == "jobs" and one_job)]
    cells = [[HEADINGS[n][1](r[n]) for n in names] for r in shown]
    text = table([HEADINGS[n][0] for n in names], cells, left=[n in LEFT for n in names])
    more = f"\n... and {len(rows) - len(shown)} more" if len(rows) > len(shown) else ""
    return f"{text}{more}"


@dataclass(frozen=True)
class SurfaceSummary:
    """Over the held-out points: medians and ninth deciles of |predicted / measured - 1| and the share inside the bands.

    In percent, with the relative standard deviation of one repeat; None where there are none. Throughputs of a memory
    are the loads, and have no error.
    """

    held_out_points: int
    held_out_mdape_throughput_pct: float | None = None
    held_out_p90_throughput_pct: float | None = None
    held_out_mdape_response_pct: float | None = None
    held_out_p90_response_pct: float | None = None
    inside_band_pct: float | None = None
    repeat_noise_pct: float | None = None


@dataclass(frozen=True, repr=False)
class Compared(Tabled):
    """A surface held against points; rows have ``error_pct``, ``inside_band``, and a ``use``, "held out" where judged.

    ``level`` is that of the bands, ``used_text`` says what was calibrated on, ``noise_pct`` by how much repeats differ;
    ``quantity`` is the column of the measured quantity that ``error_pct`` is of.
    """

    level: float
    used_text: str
    noise_pct: float | None
    quantity: ClassVar[str] = "throughput_per_s"

    @abstractmethod
    def next_text(self) -> str | None:
        """What to measure next, in words."""

    def baselines(self) -> dict[str, float]:
        """{name: median error in percent} of baselines, from the same points at the same ones."""
        return {}

    def plot(self) -> Figure:
        """The measured points and the predicted curves."""
        return resolve_name("calibrate.report.plots:surface_figure")(self)  # what knows does not import what shows

    @property
    def held_out(self) -> list[Row]:
        """The rows that the summary counts."""
        return [row for row in self.rows() if row["use"] == "held out"]

    def summary(self) -> SurfaceSummary:
        """The figures."""
        held = self.held_out
        throughput = _median_and_p90(held, "error_pct") if self.quantity == "throughput_per_s" else (None, None)
        inside = float(100 * np.mean([row["inside_band"] for row in held])) if held else None
        response = _median_and_p90(held, "response_error_pct")
        return SurfaceSummary(len(held), throughput[0], throughput[1], response[0], response[1], inside, self.noise_pct)

    def missed_pct(self) -> float | None:
        """The median error of what is predicted; None where nothing is held out."""
        return _median_and_p90(self.held_out, "error_pct")[0]

    def answer(self) -> list[str]:
        """Three lines: what it was calibrated on, what it misses, and how sure it is."""
        held = self.held_out
        median, ninth = _median_and_p90(held, "error_pct")
        if median is None or ninth is None:
            return [f"{self.used_text}; nothing is left to compare with"]
        what = "" if self.quantity == "throughput_per_s" else " of the latency"
        rivals = ", ".join(f"{name} {format_percent(error)}" for name, error in self.baselines().items())
        repeated = "" if self.noise_pct is None else f"; repeats differ by {format_percent(self.noise_pct)}"
        inside = sum(row["inside_band"] for row in held)
        level = f"{100 * self.level:g} %"
        where = f"is inside its {level} band" if inside == 1 else f"are inside their {level} bands"
        return [
            f"{self.used_text}, {counted(len(held), 'point')} held out",
            f"MISSED  {format_percent(median)}{what} at the median, {format_percent(ninth)} at p90{repeated}"
            + (f" (from the same points: {rivals})" if rivals else ""),
            f"SURE?   {inside} of {counted(len(held), 'held-out point')} {where}",
        ]

    def last_lines(self) -> list[str]:
        """The held-out point that is missed most, and what to measure next."""
        lines, following = [], self.next_text()
        if held := self.held_out:
            row = max(held, key=lambda row: abs(np.log1p(row["error_pct"] / 100)))
            show = format_rate if self.quantity == "throughput_per_s" else format_duration
            band = with_interval(show, *(row[name] for name in PREDICTED if name in row))
            lines.append(f"WORST   {place_text(row)}: {show(row[self.quantity], 2)} measured, {band} predicted")
        return lines if following is None else [*lines, f"NEXT    {following}"]

    def __repr__(self) -> str:
        return "\n".join([*self.answer(), *self.last_lines()])


def percent_off(predicted: Array, measured: Array) -> Array:
    """100 (predicted / measured - 1), (m,)."""
    return np.asarray(100 * (predicted / measured - 1))


def place_text(row: Row) -> str:
    """The place of a row, in words."""
    if "bandwidth_bytes_per_s" in row:
        return f"{100 * row['read_fraction']:.3g} % read at {format_bandwidth(row['bandwidth_bytes_per_s'])}"
    return Places(*(np.array([row[name]]) for name in WORDS)).text(0)


def _median_and_p90(rows: Sequence[Row], column: str) -> tuple[float, float] | tuple[None, None]:
    """Of the absolute values of a column; None where there is no row."""
    if not rows:
        return None, None
    median, ninth = np.percentile(np.abs([row[column] for row in rows]), (50, 90))
    return float(median), float(ninth)
