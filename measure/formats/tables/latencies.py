"""Tables of latencies alone: means, spreads and percentiles by workload and load, without a throughput.

A row is a workload at a load, or each column of a table of statistics is. Percentiles without a mean over a rate are
such a table too, and the rate is its load. No model is fitted to it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.cells import TextTable, number, read_table
from measure.formats.tables.column_names import (
    LOAD_ROLES,
    ColumnRole,
    columns_option,
    is_achieved,
    meaning_of,
    plain_name,
    recognise,
    weakly_recognised,
)
from measure.sweep import PERCENTILES
from measure.units import format_duration, parse_mix

STATISTICS = ("latency", "latency_sd", "latency_p50", "latency_p95", "latency_p99", "latency_p999")
_BEYOND: Mapping[str, float] = {"latency_p95": 0.05, "latency_p99": 0.01, "latency_p999": 0.001}
"""Percentile -> the share of requests that take longer."""
_LOADS = (*LOAD_ROLES, "clients")
_VARIANCE = re.compile(r"(?i)(?<![a-z])variance(?![a-z])")
_UNIT = re.compile(r"_(ns|us|µs|ms|s)$")


@dataclass(frozen=True)
class LatencyTable:
    """Latencies in seconds: ``points`` has ``series``, ``load`` (NaN where none is given) and the known ``STATISTICS``.

    ``load_name`` is the heading of the load; ``over_rates``: it is a rate, and ``with_median`` declares a curve of
    medians, where there are some.
    """

    name: str
    points: pd.DataFrame
    load_name: str = "N"
    findings: tuple[Finding, ...] = ()
    over_rates: bool = False
    with_median: str = ""

    @property
    def series(self) -> tuple[str, ...]:
        """The names of the workloads."""
        return tuple(dict.fromkeys(self.points["series"]))

    @property
    def lacks(self) -> str:
        """What it has, and what it lacks for a curve."""
        if not self.over_rates:
            return "latencies, but no throughput"
        lacking = "rates and percentiles, but no mean latency"
        instead = "to take the median in its place, which is mostly less"
        return f"{lacking}; {instead}: {self.with_median}" if self.with_median else lacking

    def of(self, series: str) -> LatencyTable:
        """The same of one workload alone."""
        findings = tuple(f for f in self.findings if f.series in (None, series))
        return replace(self, points=self.points[self.points["series"] == series], findings=findings)


def latency_table(text: str, name: str) -> LatencyTable | None:
    """The latencies in a table of text; None for a table of anything else.

    Raises DataError for a table that is empty or ragged, and for a cell that is not a number.

    >>> found = latency_table("rw,iodepth,p50_us,p99_us\\nread,1,80,200\\nread,8,120,900", "tails.csv")
    >>> found.points[["series", "load", "latency_p99_s"]].values.tolist()
    [['read', 1.0, 0.0002], ['read', 8.0, 0.0009]]
    """
    table = _upright(read_table(text, name))
    roles = {role.role: role for column in reversed(table.header) if (role := _role(column)) is not None}
    known = [role for role in STATISTICS if role in roles]
    load = next((roles[role] for role in _LOADS if role in roles), None)
    rates = _rates(table.header)
    if rates and load is None and "latency" not in roles and known:
        load = rates[0]
    elif len(known) < 2 or rates or any(role.endswith("bandwidth") for role in roles):
        return None
    rows = [_row(line, cells, roles, load, known, name) for line, cells in table.rows]
    if len(rates) > 1:
        for row, (line, cells) in zip(rows, table.rows, strict=True):
            row["throughput_per_s"] = number(cells[rates[-1].column], rates[-1], line, name)
    points, findings = pd.DataFrame(rows), list[Finding]()
    if _VARIANCE.search(plain_name(roles["latency_sd"].column) if "latency_sd" in roles else ""):
        points, findings = _of_variances(points, roles["latency_sd"].scale)
    heading = "N" if load is None else load.column.replace("_", " ")
    median = _with_median(rates, roles)
    return LatencyTable(name, points, heading, tuple(findings), over_rates=bool(rates), with_median=median)


def _with_median(rates: Sequence[ColumnRole], roles: Mapping[str, ColumnRole]) -> str:
    """The option that makes a curve of medians over a rate; empty without a median."""
    if not rates or "latency_p50" not in roles:
        return ""
    arrivals = [f"arrival_rate={rates[0].column}:/s"] if len(rates) == 1 else []
    return columns_option([*arrivals, f"latency={roles['latency_p50'].column}:{roles['latency_p50'].unit}"])


def _rates(header: Sequence[str]) -> list[ColumnRole]:
    """The columns of rates of requests, those that were asked for first, and that which was achieved last."""
    asked = {role.column for role in weakly_recognised(header, "arrival_rate")}
    known = {column: n.column for column in header if (n := meaning_of(column)) is not None}
    rates = [ColumnRole("throughput", c) for c in asked if c not in known]
    rates += [role for role in known.values() if role.role.endswith("throughput")]
    return sorted(rates, key=lambda role: (is_achieved(role.column), role.column not in asked))


def _role(column: str) -> ColumnRole | None:
    """The role of a column; of a variance that of the deviation, which its number may be."""
    name = _VARIANCE.sub("sd", column)
    found = recognise(name) or recognise(f"latency {name}")
    return None if found is None else ColumnRole(found.role, column, found.scale, found.unit)


def _upright(table: TextTable) -> TextTable:
    """A row for each workload, where the rows of the table are statistics."""
    unit = _UNIT.search(plain_name(table.header[0]))
    names = [cells[table.header[0]] for _, cells in table.rows]
    if unit is not None:
        names = [name if _UNIT.search(plain_name(name)) else f"{name} {unit[1]}" for name in names]
    if sum(getattr(_role(name), "role", "") in STATISTICS for name in names) < 2:
        return table
    line = table.rows[0][0]
    turned = [
        (line, {"series": column, **dict(zip(names, (cells[column] for _, cells in table.rows), strict=True))})
        for column in table.header[1:]
    ]
    return TextTable(("series", *names), tuple(turned), table.separator)


def _row(
    line: int,
    cells: Mapping[str, str],
    roles: Mapping[str, ColumnRole],
    load: ColumnRole | None,
    known: list[str],
    name: str,
) -> dict[str, object]:
    words = [cells[roles[r].column] for r in ("series", "block", "pattern", "mix") if r in roles]
    series = " ".join(word.replace("_", " ") for word in words if word) or "all requests"
    values = {role: number(cells[roles[role].column], roles[role], line, name) for role in known}
    if below := [role for role, value in values.items() if value is not None and value < 0]:
        raise DataError(f"{name}: line {line} has a negative {below[0].replace('_', ' ')}; correct it")
    at = None if load is None else number(cells[load.column], load, line, name)
    read = next((share for text in (*words, series) if (share := _share(text)) is not None), math.nan)
    return {
        "series": series,
        "load": math.nan if at is None else at,
        "read_fraction": read,
        **{f"{role}_s": math.nan if value is None else value for role, value in values.items()},
    }


def _share(text: str) -> float | None:
    """The share of reads that a name tells: of a mix its ratio, else the one direction that it names."""
    if (told := parse_mix(text).read_fraction) is not None:
        return told
    named = {word for word in ("read", "write") if re.search(rf"(?i){word}", text)}
    return {"read": 1.0, "write": 0.0}[named.pop()] if len(named) == 1 else None


def _of_variances(points: pd.DataFrame, unit_s: float) -> tuple[pd.DataFrame, list[Finding]]:
    """The points with deviations in place of variances (in ``unit_s``^2), or of what was only called so, and a finding.

    A share p beyond a percentile q needs a variance of (q - mean)^2 p / (1 - p) at least (Cantelli 1928).
    """
    variance = points["latency_sd_s"] * unit_s
    for role, beyond in _BEYOND.items():
        if f"{role}_s" not in points or "latency_s" not in points:
            continue
        least = (points[f"{role}_s"] - points["latency_s"]).clip(lower=0) ** 2 * beyond / (1 - beyond)
        if (refuted := variance < least).any():
            row = points[refuted].iloc[0]
            need = (float(least[refuted].iloc[0]), int(refuted.sum()), len(points))
            return points, [_no_variance(row, role, unit_s, *need)]
    return points.assign(latency_sd_s=variance**0.5), []


def _no_variance(row: pd.Series, role: str, unit_s: float, least: float, count: int, of: int) -> Finding:
    message = (
        f"a variance of {1e12 * unit_s * row['latency_sd_s']:.3g} µs² is too small for a mean of "
        f"{format_duration(row['latency_s'])} and a {PERCENTILES[f'{role}_s']} of {format_duration(row[f'{role}_s'])}, "
        f"which need {1e12 * least:.3g} µs² at least (Cantelli's inequality); so with {count} of {of} workloads."
    )
    because = "the column holds standard deviations, as fio prints them, under the name of a variance."
    remedy = "take the numbers as standard deviations; they are shown so here."
    return Finding("variance", "error", message, because, remedy, str(row["series"]))
