"""Rows of plain values as a table: the points, the parameters and the knees of a surface."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from measure.units import format_bytes, format_rate
from qsim.result import Result
from qsim.text_table import table

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]
"""Plain values in SI units by the names of the columns."""

PREDICTED = {
    f"predicted_throughput{end}_per_s": (heading, format_rate)
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
    "throughput_per_s": ("MEASURED", format_rate),
    **PREDICTED,
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
