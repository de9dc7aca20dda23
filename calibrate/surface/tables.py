"""Rows of a surface as a table: for a terminal, a notebook, a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from measure.units import format_bandwidth, format_bytes, format_duration, format_rate

if TYPE_CHECKING:
    import pandas as pd

    from calibrate.surface.fit import SurfaceEstimate

HEADINGS: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "block_bytes": ("BLOCK", format_bytes),
    "read_fraction": ("READS", lambda share: f"{100 * share:.3g} %"),
    "outstanding": ("N", "{:g}".format),
    "jobs": ("JOBS", "{:g}".format),
    "bandwidth_bytes_per_s": ("BANDWIDTH", format_bandwidth),
    "throughput_per_s": ("MEASURED", format_rate),
    "latency_s": ("MEASURED", format_duration),
    "predicted_throughput_per_s": ("PREDICTED", format_rate),
    "predicted_throughput_low_per_s": ("LOW", format_rate),
    "predicted_throughput_high_per_s": ("HIGH", format_rate),
    "predicted_latency_s": ("PREDICTED", format_duration),
    "predicted_latency_low_s": ("LOW", format_duration),
    "predicted_latency_high_s": ("HIGH", format_duration),
    "peak_bytes_per_s": ("PEAK", format_bandwidth),
    "knee": ("KNEE N*", "{:.3g}".format),
    "knee_low": ("LOW", "{:.3g}".format),
    "knee_high": ("HIGH", "{:.3g}".format),
    "error_pct": ("ERROR", lambda error: f"{error:+.1f} %"),
    "use": ("", str),
}
"""Columns in the order in which they are printed, with their headings; places that do not vary are left out."""

PLACES = ("block_bytes", "read_fraction", "outstanding", "jobs")


def quantity(value: float, unit: str) -> str:
    """A parameter's value with its unit, for people."""
    if unit == "s per B":
        return f"{format_duration(value)} per B"
    formats: dict[str, Callable[[float], str]] = {
        "s": format_duration, "B": format_bytes, "B/s": format_bandwidth, "1/s": format_rate,
    }  # fmt: skip
    return formats.get(unit, "{:.3g}".format)(float(f"{value:.3g}"))


def parameter_table(found: Mapping[str, SurfaceEstimate]) -> str:
    """Names, estimates and intervals, aligned; an interval that spans a factor of 2 is rough."""
    cells = [(n, *(quantity(v, e.unit) for v in (e.estimate, e.low, e.high)), "" if e.identified else "rough")
             for n, e in found.items()]  # fmt: skip
    rows = [(n, value, f"({low} to {high})", rough) for n, value, low, high, rough in cells]
    widths = [max(len(row[k]) for row in rows) for k in range(4)]
    return "\n".join(f"{n:<{widths[0]}}  {v:>{widths[1]}}  {i:<{widths[2]}}  {r}".rstrip() for n, v, i, r in rows)


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
    if not rows:
        return "no places"
    shown = rows[:most]
    names = [n for n in HEADINGS if n in rows[0] and not (n in PLACES and len({r[n] for r in rows}) == 1)]
    cells = [[HEADINGS[n][0] for n in names], *([HEADINGS[n][1](r[n]) for n in names] for r in shown)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(names))]
    text = ["  ".join(c.ljust(w) if n == "use" else c.rjust(w) for n, c, w in zip(names, line, widths, strict=True))
            for line in cells]  # fmt: skip
    more = [f"... and {len(rows) - len(shown)} more"] if len(rows) > len(shown) else []
    return "\n".join(line.rstrip() for line in [*text, *more])
