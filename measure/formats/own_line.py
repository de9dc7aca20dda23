"""The line in which a script prints its own result: JSON, or CSV under a header, with a throughput and a latency.

    {"throughput": 812.4, "latency": 0.0049}
    iops,lat_us
    12000,83

The last such line of an output counts. Names of columns and units are those of tables
(:mod:`measure.formats.tables.column_names`); ``throughput`` alone is requests a second, ``latency`` alone is in
seconds, unless N = X R shows that it is in another unit. Without a latency, it is N / X.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from measure.errors import DataError
from measure.formats.tables.cells import number, separator_of
from measure.formats.tables.column_names import OPEN_UNIT, ColumnRole, recognise, weakly_recognised

_PERCENTILES = {"latency_p50": 50.0, "latency_p95": 95.0, "latency_p99": 99.0, "latency_p999": 99.9}
_LOADS = ("depth", "clients", "arrival_rate")
_USED = {"throughput", "latency", "latency_sd", *_PERCENTILES, *_LOADS}
IN_ENGLISH = "numbers have a decimal point: begin the command with env LC_ALL=C"


@dataclass(frozen=True)
class OwnLine:
    """The figures of one line, in SI units; ``latency_s`` None: not printed, ``is_open``: without a unit.

    ``load`` is the number of clients, or the rate, that the line itself says; None where it says none.
    """

    throughput_per_s: float
    latency_s: float | None = None
    is_open: bool = False
    load: float | None = None
    sd_s: float = math.nan
    percentiles: Mapping[float, float] = field(default_factory=dict)


def own_line(text: str, name: str) -> OwnLine | None:
    """The last line of figures in the text; None where there is none, DataError for one that cannot be read.

    >>> own_line("warming up\\niops,lat_us\\n12000,83\\n", "run")
    OwnLine(throughput_per_s=12000.0, latency_s=8.3e-05, is_open=False, load=None, sd_s=nan, percentiles={})
    """
    lines = [line.strip() for line in text.replace("\r", "\n").split("\n") if line.strip()]
    cells = next(_json_lines(text, lines), None) or _csv_line(lines, name)
    return None if cells is None else _figures(cells, name)


def _json_lines(text: str, lines: list[str]) -> Iterator[dict[str, str]]:
    """The cells of objects with a throughput, the last first; also of one that spans several lines."""
    for part in (*reversed(lines), text):
        if not part.lstrip().startswith("{"):
            continue
        try:
            found = json.loads(part)
        except (ValueError, RecursionError):
            continue
        cells = {str(key): str(value) for key, value in found.items() if isinstance(value, int | float | str)}
        if "throughput" in _roles(cells):
            yield cells


def _csv_line(lines: list[str], name: str) -> dict[str, str] | None:
    """The cells of the last line of numbers under the last header with a throughput; None without a header."""
    for place in range(len(lines) - 1, -1, -1):
        separator = separator_of(lines[place]) or ","
        header = [cell.strip().strip('"') for cell in lines[place].split(separator)]
        if "throughput" in _roles(header):
            return _row(header, lines[place + 1 :], separator, name)
    return None


def _row(header: list[str], below: list[str], separator: str, name: str) -> dict[str, str] | None:
    rows = [[cell.strip() for cell in line.split(separator)] for line in below if line[0] in "0123456789.+-"]
    if not rows:
        return None
    if len(rows[-1]) != len(header):
        raise DataError(
            f"{name}: its last line has {len(rows[-1])} cells under a header of {len(header)}; "
            f"if it writes 12,5 for 12.5, {IN_ENGLISH}"
        )
    return dict(zip(header, rows[-1], strict=True))


def _roles(header: Mapping[str, str] | list[str]) -> dict[str, ColumnRole]:
    """The columns that are used, by role."""
    found = {known.role: known for column in header if (known := recognise(column)) and known.role in _USED}
    for role in ("throughput", "latency"):
        if role not in found and (weak := weakly_recognised(header, role)):
            found[role] = weak[0]
    return found


def _figures(cells: Mapping[str, str], name: str) -> OwnLine:
    roles = _roles(cells)
    values = {role: _value(cells[known.column], known, name) for role, known in roles.items()}
    throughput, latency = values["throughput"], values.get("latency")
    for role, value in (("throughput", throughput), ("latency", latency)):
        if role in values and (value is None or not value > 0):
            raise DataError(f"{name}: its {role} is {cells[roles[role].column]!r}: no request was counted")
    return OwnLine(
        throughput or math.nan,
        latency,
        is_open=latency is not None and roles["latency"].unit == OPEN_UNIT,
        load=next((values[role] for role in _LOADS if role in values), None),
        sd_s=values.get("latency_sd") or math.nan,
        percentiles={_PERCENTILES[role]: v for role, v in values.items() if role in _PERCENTILES and v is not None},
    )


def _value(cell: str, role: ColumnRole, name: str) -> float | None:
    if "," in cell:
        raise DataError(f"{name}: its {role.column} is {cell[:40]!r}; {IN_ENGLISH}")
    try:
        return number(cell, role, 1, name)
    except DataError as error:
        raise DataError(f"{name}: its {role.column} is {cell[:40]!r}, which is not a number") from error
