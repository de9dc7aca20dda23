"""What the names of a table leave open and Little's law settles: N = X R holds for one reading of the table alone.

- a unit that no name has: a latency in ms or in µs differ by 1000;
- the rate that belongs to the latency, where there are two (transactions and queries a second);
- a latency that is not given, or a throughput: R = N / X, X = N / R;
- the load of a series over time, X R.

All but the last need a load that is a number of outstanding requests.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.cells import TextTable, number, with_points
from measure.formats.tables.column_names import LOAD_ROLES, OPEN_UNIT, ColumnRole, plain_name, recognise, unit_scale
from measure.formats.tables.columns import Roles, columns_option, ready_line
from measure.sweep import COMPUTED
from measure.units import counted

_OPEN_UNITS = {"latency": ("s", "ms", "us", "ns"), "throughput": ("/s",)}  # with k/s too, ms and k/s would fit as well
#: X R / N of a reading that may be right, and how much worse every other must be (natural logarithm).
_LEAST, _MOST, _CLEARLY = 0.5, 1.25, math.log(1.5)
_STEADY = 1.25
"""A series whose X R varies by no more than this factor is one load, looked at again and again."""
TIME_COLUMN = re.compile(r"(?i:(?:.*_)?(?:timestamp|time|date|datetime|epoch|elapsed|second|seconds|s))")
LOAD_OVER_TIME = "outstanding"

Records = Sequence[Mapping[str, Any]]
WORDS = {"latency_s": "latency", "throughput_per_s": "throughput"}


def settle(
    roles: Roles, header: Sequence[str], records_of: Callable[[Roles], Records], name: str
) -> tuple[Roles, list[Finding]]:
    """The roles with every unit known and one throughput; a Finding for each that Little's law settled.

    ``records_of`` gives the rows under some roles. Raises DataError with the line to write where the law cannot tell:
    the load is no number of requests, none of the readings fits, or several do.
    """
    if not roles.rivals and not any(r.unit == OPEN_UNIT for r in roles.by_role.values()):
        return roles, []
    read = [(reading, ratio) for reading in _readings(roles) if (ratio := _ratio(records_of(reading))) is not None]
    read.sort(key=lambda one: abs(math.log(one[1])))
    distances = [abs(math.log(ratio)) for _, ratio in read]
    clear = len(read) == 1 or (len(read) > 1 and distances[1] - distances[0] >= _CLEARLY)
    if not clear or not _LEAST <= read[0][1] <= _MOST:
        raise DataError(_unsettled(roles, header, [ratio for _, ratio in read], name))
    best, ratio = read[0]
    return replace(best, rivals=()), list(_settled(roles, best, ratio, name))


def _readings(roles: Roles) -> Iterator[Roles]:
    """Every way to read what is open; none where the load is no number of requests or a latency is missing."""
    if "depth" not in roles or "latency" not in roles:
        return
    for latency in _in_units(roles["latency"]):
        if "throughput" not in roles:
            yield roles.using(latency)
        for rate in (roles["throughput"], *roles.rivals) if "throughput" in roles else ():
            yield from (roles.using(latency, throughput) for throughput in _in_units(rate))


def _in_units(role: ColumnRole) -> list[ColumnRole]:
    units = _OPEN_UNITS[role.role] if role.unit == OPEN_UNIT else ()
    return [replace(role, unit=unit, scale=unit_scale(role.role, unit)) for unit in units] or [role]


def _ratio(records: Records) -> float | None:
    """X R / N at the median, counted with the jobs or without them, whichever is nearer to 1."""
    ratios = [outstanding(records, with_jobs=False)]
    if any((r.get("jobs") or 1) > 1 for r in records):
        ratios.append(outstanding(records, with_jobs=True))
    medians = [float(np.median(r)) for r in ratios if len(r)]
    return min((m for m in medians if 0 < m < math.inf), key=lambda m: abs(math.log(m)), default=None)


def outstanding(records: Records, *, with_jobs: bool) -> NDArray[np.float64]:
    """X R / N of the records that have all three (n,); N is the load alone, or the load of each of the jobs."""
    return np.array(
        [
            r["throughput_per_s"] * r["latency_s"] / (r["load"] * (r["jobs"] if with_jobs else 1.0))
            for r in records
            if all(r.get(c) for c in ("throughput_per_s", "latency_s", "load")) and (r.get("jobs") or not with_jobs)
        ]
    )


def _settled(roles: Roles, best: Roles, ratio: float, name: str) -> Iterator[Finding]:
    because = f"because N = X R then holds: X R / N is {ratio:.3g} at the median"
    for role in ("latency", "throughput"):
        if role in roles and roles[role].unit == OPEN_UNIT:
            column, unit = roles[role].column, best[role].unit
            yield note(
                f"{role}-unit",
                f"{name}: the column {column!r} names no unit; it is read as {unit.replace('us', 'µs')}, {because}.",
                f"say the unit where it is another: {columns_option([f'{role}={column}:{unit}'])}",
            )
    if roles.rivals:
        column = best["throughput"].column
        others = " and ".join(repr(r.column) for r in (roles["throughput"], *roles.rivals) if r.column != column)
        yield note(
            "throughput-column",
            f"{name}: {column!r} is the throughput and not {others}, {because}.",
            f"say which where it is another: {columns_option(['throughput=' + roles['throughput'].column])}",
        )


def _unsettled(roles: Roles, header: Sequence[str], ratios: Sequence[float], name: str) -> str:
    opened = " and of ".join(repr(r.column) for r in roles.by_role.values() if r.unit == OPEN_UNIT)
    what = f"the unit of {opened} is not in its name"
    if not opened:
        what = f"both {roles['throughput'].column!r} and {roles.rivals[0].column!r} can be the throughput"
    if "depth" not in roles:
        why = "and Little's law tells it for numbers of outstanding requests only"
    elif not ratios:
        why = "and Little's law needs load, latency and throughput in each row to tell it"
    elif _LEAST <= ratios[0] <= _MOST:
        why = "and Little's law fits more than one reading"
    else:
        why = f"and N = X R holds for none (the nearest X R / N is {ratios[0]:.3g})"
    return f"{name}: {what}, {why}; say it, for example {ready_line(header, roles.by_role)}"


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
            if not record["load"] > 0:
                raise DataError(
                    f"{name}: a load of {record['load']:g} asks for nothing; remove the row, or say which column is "
                    "the load (--columns load=COLUMN)"
                )
            if not record[given] > 0:
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
            findings.append(
                note(
                    "by-littles-law",
                    f"{name} gives no {what}.",
                    "measure both, and N = X R checks them against each other.",
                )
            )
    return findings


def note(check: str, message: str, remedy: str, because: str = "") -> Finding:
    """A note of the reader of tables."""
    return Finding(check, "info", message, because, remedy)
