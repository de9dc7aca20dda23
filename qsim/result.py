"""The base class of results: short text, a table in a notebook, a data frame, a figure.

Solved queues, sweeps, fits, predictions and comparisons all inherit from :class:`Result`, so the same methods work on
each of them.
"""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
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
        A customer stays W = 0.25 on average, 0.2 of it waiting; L = 4 present; servers 80 % busy
        """
        return ShownText(repr(self))

    def _repr_html_(self) -> str:
        """The short text, then the first rows of the data frame without its empty columns."""
        known = self.to_frame().dropna(axis="columns", how="all")
        table = known.to_html(index=False, max_rows=_ROWS, float_format="{:.4g}".format, na_rep="", border=0)
        return f"<pre>{html.escape(repr(self))}</pre>{table}"
