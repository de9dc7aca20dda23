"""Makes text cells of tables safe: no spreadsheet formulas, no terminal control characters."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


def plain_cell(text: str) -> str:
    """The text without control characters; quoted where a spreadsheet would take it for a formula.

    A formula begins with =, +, - or @, also after blanks and in fullwidth forms. A number stays unchanged. A formula
    that is quoted already gets one more quote: take the first one away, and each cell is what it was.

    >>> plain_cell("=1+1"), plain_cell(" ＝A1"), plain_cell("-5"), plain_cell("4 KiB\\nread"), plain_cell("'=1+1")
    ("'=1+1", "' ＝A1", '-5', '4 KiB read', "''=1+1")
    """
    text = _CONTROL.sub(" ", text)
    if not unicodedata.normalize("NFKC", text).lstrip("\ufeff\u200b '").startswith(("=", "+", "-", "@")):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def plain_cells(table: pd.DataFrame) -> pd.DataFrame:
    """The table with its column names and text cells made plain."""
    plain = table.rename(columns=lambda name: plain_cell(name) if isinstance(name, str) else name)
    for column in (c for c in plain if plain[c].dtype.kind not in "biufcmM"):
        plain[column] = plain[column].map(lambda cell: plain_cell(cell) if isinstance(cell, str) else cell)
    return plain
