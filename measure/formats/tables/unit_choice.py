"""What the names of a table leave open and Little's law settles: N = X R holds for one reading of the table alone.

- a unit that no name has: a latency in ms or in µs differ by 1000;
- a latency that is not given, or a throughput: R = N / X, X = N / R;
- the load of a series over time, X R.

The first two need a load that is a number of outstanding requests.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.cells import TextTable, number, scaled, with_points
from measure.formats.tables.column_names import LOAD_ROLES, OPEN_UNIT, plain_name, recognise, unit_scale
from measure.formats.tables.columns import Roles, columns_option
from measure.sweep import COMPUTED
from measure.units import counted

_UNITS = ("s", "ms", "us", "ns")
#: X R / N of a reading that may be right.
_LEAST, _MOST = 0.5, 1.25
_STEADY = 1.25
"""A series whose X R varies by no more than this factor is one load, looked at again and again."""
TIME_COLUMN = re.compile(r"(?i:(?:.*_)?(?:timestamp|time|date|datetime|epoch|elapsed|second|seconds|s))")
LOAD_OVER_TIME = "outstanding"

Records = Sequence[Mapping[str, Any]]
WORDS = {"latency_s": "latency", "throughput_per_s": "throughput"}


def settle(records: Sequence[dict[str, Any]], roles: Roles, name: str) -> tuple[Roles, list[Finding]]:
    """The roles with every unit known, the latencies of ``records`` in seconds, in place, and what was settled.

    Raises DataError with what to write where the law cannot tell: the load is no number of requests, none of the
    units fits, or several do.
    """
    opened = [role for role in WORDS.values() if role in roles and roles[role].unit == OPEN_UNIT]
    if not opened:
        return roles, []
    units = _UNITS if "latency" in opened else ("",)
    scales = {unit: unit_scale("latency", unit) if unit else 1.0 for unit in units}
    raw = [outstanding(records, with_jobs=with_jobs) for with_jobs in (False, True)] if "depth" in roles else []
    medians = [float(np.median(ratio)) for ratio in raw if len(ratio)]
    near = {unit: min((m * scale for m in medians), key=_distance, default=math.nan) for unit, scale in scales.items()}
    fitting = [unit for unit, ratio in near.items() if _LEAST <= ratio <= _MOST]
    if len(fitting) != 1:
        raise DataError(_unsettled(roles, opened, list(near.values()), name))
    unit = fitting[0]
    findings = []
    for role in opened:
        said = unit if role == "latency" else "/s"
        column = roles[role].column
        findings.append(
            note(
                f"{role}-unit",
                f"{name}: the column {column!r} names no unit; it is read as {said.replace('us', 'µs')}, because N = X "
                f"R then holds: X R / N is {near[unit]:.3g} at the median.",
                f"say the unit where it is another: {columns_option([f'{role}={column}:{said}'])}",
            )
        )
        roles = replace(roles, by_role={**roles.by_role, role: replace(roles[role], unit=said)})
    for record in records:
        if record["latency_s"] is not None:
            record["latency_s"] = scaled(record["latency_s"], scales[unit])
    return roles, findings


def _distance(ratio: float) -> float:
    return abs(math.log(ratio)) if 0 < ratio < math.inf else math.inf


def outstanding(records: Records, *, with_jobs: bool) -> NDArray[np.float64]:
    """X R / N of the records that have all three (n,); N is the load alone, or the load of each of the jobs."""
    return np.array(
        [
            r["throughput_per_s"] * r["latency_s"] / (r["load"] * (r["jobs"] if with_jobs else 1.0))
            for r in records
            if all(r.get(c) for c in ("throughput_per_s", "latency_s", "load")) and (r.get("jobs") or not with_jobs)
        ]
    )


def _unsettled(roles: Roles, opened: Sequence[str], ratios: Sequence[float], name: str) -> str:
    columns = " and of ".join(repr(roles[role].column) for role in opened)
    if "depth" not in roles:
        why = "and Little's law tells it for numbers of outstanding requests only"
    elif any(_LEAST <= ratio <= _MOST for ratio in ratios):
        why = "and Little's law fits more than one reading"
    elif all(map(math.isnan, ratios)):
        why = "and Little's law needs load, latency and throughput in each row to tell it"
    else:
        why = f"and N = X R holds for none (the nearest X R / N is {min(ratios, key=_distance):.3g})"
    units = {"latency": "ms", "throughput": "/s"}
    line = columns_option([f"{role}={roles[role].column}:{units[role]}" for role in opened])
    return f"{name}: the unit of {columns} is not in its name, {why}; say it, for example {line}"


def with_load_over_time(table: TextTable, name: str) -> tuple[TextTable, list[Finding]]:
    """A series over time has no column for the load: N = X R is added as one. Other tables stay as they are."""
    named = [(column, recognise(column)) for column in table.header]
    roles = {role.role: role for _, role in named if role is not None}
    timed = [c for c, role in named if role is None and TIME_COLUMN.fullmatch(plain_name(c))]
    if not timed or {*LOAD_ROLES, "clients", "jobs"} & roles.keys() or not {"latency", "throughput"} <= roles.keys():
        return table, []
    rate, latency = roles["throughput"], roles["latency"]
    found: list[float | None] = []
    for line, cells in with_points(table, [rate.column, latency.column], name).rows:
        x, r = (number(cells[role.column], role, line, name) for role in (rate, latency))
        found.append(x * r if x and r else None)
    known = [n for n in found if n is not None]
    if not known or min(known) <= 0:
        return table, []
    steady = max(known) <= _STEADY * min(known)
    middle = f"{np.median(known):.3g}"
    loads = ["" if n is None else middle if steady else f"{n:.2g}" for n in found]
    rows = tuple((line, {**cells, LOAD_OVER_TIME: load}) for (line, cells), load in zip(table.rows, loads, strict=True))
    span = f"about {middle}" if steady else f"{min(known):.2g} to {max(known):.2g} requests outstanding"
    message = f"{name} is a series over {timed[0]}: its load is N = X R, {span}."
    finding = note("by-littles-law", message, "say which column is the load: --columns load=COLUMN")
    return replace(table, header=(*table.header, LOAD_OVER_TIME), rows=rows), [finding]


def complete(records: list[dict[str, Any]], name: str) -> list[Finding]:
    """Compute what is missing in each record, in place: R = N / X or X = N / R. The Finding says so.

    A record has ``load`` (a number of requests) and one of ``latency_s`` and ``throughput_per_s``.
    """
    findings = []
    for missing, given, formula in (
        ("latency_s", "throughput_per_s", "N / X"),
        ("throughput_per_s", "latency_s", "N / R"),
    ):
        lacking = [r for r in records if r[missing] is None]
        for record in lacking:
            if not (record["load"] > 0 and record[given] > 0):
                raise DataError(
                    f"{name}: a {WORDS[given]} of {record[given]:g} at load {record['load']:g} cannot be right; remove "
                    "the row or measure the point again"
                )
            record[missing] = record["load"] / record[given]
            record["unchecked"] = COMPUTED
            if record["bandwidth_bytes_per_s"] is None and record["block_bytes"]:
                record["bandwidth_bytes_per_s"] = record["throughput_per_s"] * record["block_bytes"]
        if lacking:
            what = f"{WORDS[missing]}: it is {formula} by Little's law at {counted(len(lacking), 'point')}"
            remedy = "measure both, and N = X R checks them against each other."
            findings.append(note("by-littles-law", f"{name} gives no {what}.", remedy))
    return findings


def note(check: str, message: str, remedy: str, because: str = "") -> Finding:
    """A note of the reader of tables."""
    return Finding(check, "info", message, because, remedy)
