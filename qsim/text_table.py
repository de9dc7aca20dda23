"""Tables in plain text: columns aligned, two spaces between them."""

from __future__ import annotations

from collections.abc import Sequence

LABEL = 8
"""Width of the labels in capitals before the lines of an answer."""


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
    return "\n".join("  ".join(_padded(line, widths, flush)).rstrip() for line in lines)


def described_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose rows end in a remark, flush left below no header; the first column is flush left, too."""
    return table([*header, ""], rows, left=[True, *(False for _ in header[1:]), True])


def without_empty(header: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Header and rows without the columns that are empty in every row."""
    kept = [i for i in range(len(header)) if any(row[i] for row in rows)]
    return [header[i] for i in kept], [[row[i] for i in kept] for row in rows]


def _padded(line: Sequence[str], widths: Sequence[int], flush: Sequence[bool]) -> list[str]:
    return [c.ljust(w) if f else c.rjust(w) for c, w, f in zip(line, widths, flush, strict=True)]
