"""The base class of results: short text, a table in a notebook, a data frame, a figure; and tables in plain text.

Solved queues, sweeps, fits, predictions and comparisons all inherit from :class:`Result`, so the same methods work on
each of them.
"""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_ROWS = 20  # of a table in a notebook


class ShownText(str):
    """Text that a notebook shows as lines, without quotes.

    >>> ShownText("X  16\\nW  0.25")
    X  16
    W  0.25
    """

    __repr__ = str.__str__


class Result(ABC):
    """The result of a step: its ``repr`` is short, a notebook shows it as a table."""

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """A row for each item; units are in the names of the columns."""

    @abstractmethod
    def plot(self) -> Any:
        """A plotly Figure."""

    @abstractmethod
    def __repr__(self) -> str:
        """The answer in a few lines."""

    def summary(self) -> Any:
        """The answer in a few lines, or as a table where a class has more to show.

        >>> from qsim import MM1, solve
        >>> solve(MM1(arrival_rate=16, service_rate=20)).summary()
        M/M/1: exact, M/M/1 (Kleinrock 1975, section 3.2)
        A customer stays W = 0.25 on average, 0.2 of it waiting; L = 4 present; the server 80 % busy
        """
        return ShownText(repr(self))

    def _repr_html_(self) -> str:
        """The short text, then the first rows of the data frame without its empty columns."""
        known = self.to_frame().dropna(axis="columns", how="all")
        table = known.to_html(index=False, max_rows=_ROWS, float_format="{:.4g}".format, na_rep="", border=0)
        return f"<pre>{html.escape(repr(self))}</pre>{table}"


# --- tables in plain text ---------------------------------------------------------------------------------------------

LABEL = 8  # width of the labels in capitals before the lines of an answer


def labelled(label: str, text: str) -> str:
    """A line of an answer: ``KNEE    depth 2.2 (2.0 to 2.9), sure``."""
    return f"{label:<{LABEL}}{text}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int | Sequence[bool] = 1) -> str:
    """The rows below their header (empty: none). ``left``: how many first columns are flush left, or a flag for each.

    >>> print(table(("size", "peak"), [("4 KiB", "308 k/s"), ("128 KiB", "20 k/s")]))
    size        peak
    4 KiB    308 k/s
    128 KiB   20 k/s
    """
    lines = [list(line) for line in (header, *rows) if line]
    if not lines:
        return ""
    count = len(lines[0])
    flush = [i < left for i in range(count)] if isinstance(left, int) else left
    widths = [max(len(line[i]) for line in lines) for i in range(count)]
    columns = list(zip(widths, flush, strict=True))
    cells = ([c.ljust(w) if f else c.rjust(w) for c, (w, f) in zip(line, columns, strict=True)] for line in lines)
    return "\n".join("  ".join(line).rstrip() for line in cells)


def described_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose rows end in a remark, flush left below no header; the first column is flush left, too."""
    return table([*header, ""], rows, left=[True, *(False for _ in header[1:]), True])


def without_empty(header: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Header and rows without the columns that are empty in every row."""
    kept = [i for i in range(len(header)) if any(row[i] for row in rows)]
    return [header[i] for i in kept], [[row[i] for i in kept] for row in rows]
