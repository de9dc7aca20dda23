"""A surface held against points, as a table and in words: rows of plain values, a summary, an answer in three lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from measure.units import format_bandwidth, format_bytes, format_duration, format_percent, format_rate

if TYPE_CHECKING:
    import pandas as pd

HEADINGS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "parameter": ("", str),
    "block_bytes": ("BLOCK", format_bytes),
    "read_fraction": ("READS", lambda share: f"{100 * share:.3g} %"),
    "outstanding": ("N", "{:g}".format),
    "jobs": ("JOBS", "{:g}".format),
    "bandwidth_bytes_per_s": ("BANDWIDTH", format_bandwidth),
    "throughput_per_s": ("MEASURED", format_rate),
    "latency_s": ("MEASURED", format_duration),
    **{f"predicted_throughput{end}_per_s": (name, format_rate)
       for end, name in (("", "PREDICTED"), ("_low", "LOW"), ("_high", "HIGH"))},
    **{f"predicted_latency{end}_s": (name, format_duration)
       for end, name in (("", "PREDICTED"), ("_low", "LOW"), ("_high", "HIGH"))},
    "peak_bytes_per_s": ("PEAK", format_bandwidth),
    **{name: (heading, "{:.3g}".format) for name, heading in (("knee", "KNEE N*"), ("low", "LOW"), ("high", "HIGH"))},
    "estimate": ("ESTIMATE", str), "interval": ("INTERVAL", str), "sure": ("", str),
    "error_pct": ("ERROR", lambda error: f"{error:+.1f} %"),
    "use": ("", str),
}  # fmt: skip
"""Columns in the order in which they are printed, with their headings."""

PLACES = ("block_bytes", "read_fraction", "outstanding", "jobs")
"""Columns that are left out where all rows are alike in them."""

WORDS = ("parameter", "interval", "sure", "use")


class Tabled:
    """What has rows: dictionaries of plain values in SI units."""

    def rows(self) -> list[dict[str, Any]]:
        """One row per point or place."""
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """The rows, SI units in the names of the columns."""
        import pandas as pd

        return pd.DataFrame(self.rows())

    def table(self, most: int | None = None) -> str:
        """The rows with units, columns aligned; the first ``most`` of them."""
        return table_of(self.rows(), most)


def table_of(rows: list[dict[str, Any]], most: int | None = None) -> str:
    """Rows with units, columns aligned, places that are all alike left out; the first ``most`` of them."""
    shown = rows[:most]
    names = [n for n in HEADINGS if rows and n in rows[0] and not (n in PLACES and len({r[n] for r in rows}) == 1)]
    cells = [[HEADINGS[n][0] for n in names], *([HEADINGS[n][1](r[n]) for n in names] for r in shown)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(names))]
    text = ["  ".join(c.ljust(w) if n in WORDS else c.rjust(w) for n, c, w in zip(names, line, widths, strict=True))
            for line in cells]  # fmt: skip
    more = [f"... and {len(rows) - len(shown)} more"] if len(rows) > len(shown) else []
    return "\n".join(line.rstrip() for line in [*text, *more])


def quantity(value: float, unit: str) -> str:
    """A parameter's value with its unit, for people."""
    if unit == "s per B":
        return f"{format_duration(value)} per B"
    formats: dict[str, Callable[[float], str]] = {
        "s": format_duration, "B": format_bytes, "B/s": format_bandwidth, "1/s": format_rate,
    }  # fmt: skip
    return str(formats.get(unit, "{:.3g}".format)(float(f"{value:.3g}")))


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


class Compared(Tabled):
    """A surface held against points; rows have ``error_pct``, ``inside_band``, and a ``use``, "held out" where judged.

    ``quantity`` is the column of the measured quantity that ``error_pct`` is of.
    """

    quantity: ClassVar[str] = "throughput_per_s"

    def level_pct(self) -> float:
        """The level of the bands in percent."""
        raise NotImplementedError

    def place_text(self, row: dict[str, Any]) -> str:
        """The place of a row, in words."""
        raise NotImplementedError

    def used_text(self) -> str:
        """What was calibrated on, in words."""
        raise NotImplementedError

    def next_text(self) -> str | None:
        """What to measure next, in words."""
        raise NotImplementedError

    def baselines(self) -> dict[str, float]:
        """{name: median error in percent} of baselines, from the same points at the same ones."""
        return {}

    def noise_pct(self) -> float | None:
        """By how much repeats differ, in percent; None where nothing tells."""
        return None

    @property
    def held_out(self) -> list[dict[str, Any]]:
        """The rows that the summary counts."""
        return [row for row in self.rows() if row["use"] == "held out"]

    @property
    def summary(self) -> SurfaceSummary:
        """The figures."""
        held = self.held_out
        if not held:
            return SurfaceSummary(0, repeat_noise_pct=self.noise_pct())
        found = {"inside_band_pct": float(100 * np.mean([row["inside_band"] for row in held]))}
        throughput = "error_pct" if self.quantity == "throughput_per_s" else ""
        for name, column in (("throughput", throughput), ("response", "response_error_pct")):
            if column:
                missed = np.abs([row[column] for row in held])
                found[f"held_out_mdape_{name}_pct"] = float(np.median(missed))
                found[f"held_out_p90_{name}_pct"] = float(np.percentile(missed, 90))
        return SurfaceSummary(len(held), **found, repeat_noise_pct=self.noise_pct())

    def missed_pct(self) -> float | None:
        """The median error of what is predicted; None where nothing is held out."""
        held = self.held_out
        return float(np.median(np.abs([row["error_pct"] for row in held]))) if held else None

    def answer(self) -> list[str]:
        """Three lines: what it was calibrated on, what it misses, and how sure it is."""
        held = self.held_out
        if not held:
            return [f"{self.used_text()}; nothing is left to compare with"]
        missed = np.abs([row["error_pct"] for row in held])
        what = "" if self.quantity == "throughput_per_s" else " of the latency"
        median, ninth = (format_percent(float(np.percentile(missed, q))) for q in (50, 90))
        rivals = ", ".join(f"{name} {format_percent(error)}" for name, error in self.baselines().items())
        noise = self.noise_pct()
        beside = "" if noise is None else f"; repeats differ by {format_percent(noise)}"
        inside = sum(row["inside_band"] for row in held)
        return [
            f"{self.used_text()}, {len(held)} points held out",
            f"MISSED  {median}{what} at the median, {ninth} at p90{beside}"
            + (f" (from the same points: {rivals})" if rivals else ""),
            f"SURE?   {inside} of {len(held)} held-out points are inside their {self.level_pct():g} % bands",
        ]

    def worst(self) -> str | None:
        """The held-out point that is missed most, in words; None where nothing is held out."""
        held = self.held_out
        if not held:
            return None
        row = max(held, key=lambda row: abs(np.log1p(row["error_pct"] / 100)))
        show, column = HEADINGS[self.quantity][1], f"predicted_{self.quantity}"
        middle, low, high = (show(row[name]) for name in (column, *(_end(column, e) for e in ("low", "high"))))
        return f"{self.place_text(row)}: {show(row[self.quantity])} measured, {middle} predicted ({low} to {high})"

    def last_lines(self) -> list[str]:
        """The worst point, and what to measure next."""
        found = {"WORST": self.worst(), "NEXT": self.next_text()}
        return [f"{name:<7} {text}" for name, text in found.items() if text is not None]

    def __repr__(self) -> str:
        return "\n".join([*self.answer(), *self.last_lines()])


def _end(column: str, end: str) -> str:
    """The name of the column with the end of a band: before the unit."""
    return column.replace("_per_s", f"_{end}_per_s") if column.endswith("_per_s") else f"{column[:-2]}_{end}_s"
