"""The throughput of a table that counts requests and gives the length of its runs: the one divided by the other."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from measure.findings import Finding
from measure.formats.tables.by_law import HOLDS, LEAST, MOST, TIME_COLUMN, column_values, note, readings
from measure.formats.tables.cells import TextTable
from measure.formats.tables.column_names import (
    OPEN_UNIT,
    SPEEDS,
    UNITS,
    VOCABULARY,
    ColumnRole,
    any_of,
    columns_option,
    meaning_of,
    plain_name,
    recognise,
    unit_in_name,
    weakly_recognised,
)

RATE = "requests/s"  # the name of the column that is added
_DONE = r"total|completed|finished|successful|succeeded|done|all|count"
_COUNT = re.compile(
    rf"(?i:(?:{_DONE}|num|number_of|n|nr|no)_)*{any_of(VOCABULARY['words']['things'], or_one=True)}(?i:_(?:{_DONE}))*"
    r"|(?i:(?:num_)?samples|completed)"
)
_SECONDS = {
    **UNITS["latency"],
    **dict.fromkeys(("min", "mins", "minutes", "m"), 60.0),
    **dict.fromkeys(("hours", "h"), 3600.0),
}
"""Units of the length of a run, which a mean time never has in minutes or hours."""
_LENGTH = re.compile(
    r"(?i:(?:total|test|run|bench|benchmark|wall|clock|measured|elapsed)_)*"
    rf"(?i:elapsed|duration|run_?time|time|seconds|secs|length)(?:_(?:in_)?(?P<unit>{'|'.join(_SECONDS)}))?"
)
_WHOLE = re.compile(r"[1-9]\d{0,2}(?:[,.' ]\d{3})+|\d+")


def counts_requests(column: str) -> bool:
    """Whether a column holds numbers of requests, as "# Samples" does.

    >>> [counts_requests(name) for name in ("# Samples", "Total requests", "requests/s")]
    [True, True, False]
    """
    return _COUNT.fullmatch(plain_name(column)) is not None


def with_counted_rate(table: TextTable, declared: Collection[str], name: str) -> tuple[TextTable, list[Finding], str]:
    """A table with its requests over the length of its runs in the place of both; a finding, and the quotient in words.

    Unchanged where it has a rate, not one column of each kind, or where N = X R speaks against the quotient.
    ``declared`` are columns with another role.
    """
    free = [c for c in table.header if c not in declared]
    counts = [c for c in free if counts_requests(c)]
    lengths = [(c, found["unit"]) for c in free if (found := _LENGTH.fullmatch(plain_name(c)))]
    sure = (n.column.role for c in table.header if c not in counts and (n := meaning_of(c)) is not None and n.is_sure)
    if len(counts) != 1 or len(lengths) != 1 or {*SPEEDS}.intersection(sure):
        return table, [], ""
    number, ((length, unit),) = _numbers(table, counts[0]), lengths
    unit = unit or unit_in_name("latency", length)
    seconds = column_values(table, ColumnRole("latency", length, _SECONDS[unit or "s"]))
    with np.errstate(divide="ignore", invalid="ignore"):  # cells of nothing or zero tell nothing
        rate = np.where(seconds > 0, number / seconds, np.nan)
        is_length = _is_length(table, rate, number * seconds, length, is_told=unit is not None)
    if not np.isfinite(rate).any() or not is_length:
        return table, [], ""
    law = f"{counts[0]} / {length}"
    rows = tuple(
        (line, {**cells, RATE: repr(float(x)) if np.isfinite(x) else ""})
        for (line, cells), x in zip(table.rows, rate, strict=True)
    )
    header = (*(c for c in table.header if c not in (counts[0], length)), RATE)
    as_seconds = "" if unit else ", taken in seconds, as N = X R then holds"
    message = f"{name}: the throughput is {counts[0]!r} over {length!r}{as_seconds}."
    remedy = f"if one column is the rate, say so: {columns_option(['throughput=COLUMN'])}"
    return replace(table, header=header, rows=rows), [note("counted-rate", message, remedy)], law


def _numbers(table: TextTable, column: str) -> NDArray[np.float64]:
    """The counts (n,) of a column: they are whole, so that a mark before three digits separates thousands."""
    cells = [cells[column] for _, cells in table.rows]
    if all(not cell or _WHOLE.fullmatch(cell) for cell in cells):
        return np.array([float(re.sub(r"\D", "", cell) or "nan") for cell in cells])
    return column_values(table, ColumnRole("throughput", column))


def _is_length(
    table: TextTable, rate: NDArray[np.float64], product: NDArray[np.float64], length: str, *, is_told: bool
) -> bool:
    """Whether the column is the length of runs: no mean time (``product`` is then N), clock, or other unit."""
    exact = [role for c in table.header if (role := recognise(c)) is not None]
    loads = [column_values(table, role) for role in exact if role.role in ("depth", "clients", "jobs")]
    rest = [c for c in table.header if c != length]
    means = [role for role in exact if role.role == "latency"] or weakly_recognised(rest, "latency")
    if not means:
        values = column_values(table, ColumnRole("", length))
        clock = TIME_COLUMN.fullmatch(plain_name(length)) is not None and bool(np.all(np.diff(values) > 0))
        is_mean = any(np.all(np.abs(product / n - 1) <= HOLDS) for n in loads)
        return is_told and bool(loads) and not clock and not is_mean
    outstanding = [n for n in (*loads, np.prod(loads, axis=0)) if np.all(n > 0)] if loads else []
    if not outstanding:
        return is_told
    for mean in means:
        least = 0.0 if is_told and mean.unit != OPEN_UNIT else LEAST
        for n in outstanding:
            ratios = [rate * column_values(table, reading) / n for reading in readings(mean)]
            known = [ratio[np.isfinite(ratio)] for ratio in ratios]
            if any(bool(np.all((r >= least) & (r <= MOST))) for r in known if len(r)):
                return True
    return False
