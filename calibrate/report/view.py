"""What every plot and table of a report is made of: a view, with the figure, its data, and how to read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from calibrate.report.drawing import Drawing


@dataclass(frozen=True)
class Shown:
    """A table as text: header, rows, and which columns are words (flush left) and not numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[bool, ...]


@dataclass(frozen=True)
class View:
    """``kind`` is what it shows ("heat-map"), ``name`` tells it from the others of its kind, fit for a file name.

    ``table`` holds what is shown, columns in SI units; ``text`` the table as people read it, None where the figure
    says it all; ``figure`` is None where there is nothing to draw.
    """

    kind: str
    name: str
    title: str
    caption: str
    table: pd.DataFrame
    figure: Drawing | None = None
    text: Shown | None = None


@dataclass(frozen=True)
class Group:
    """Views that belong together, a folder of files; ``name`` is what they are of."""

    name: str
    views: Sequence[View]
