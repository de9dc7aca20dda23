"""What the names of a table leave open and Little's law settles: N = X R holds for one reading of the table alone.

- a unit that no name tells: a latency in ms or in µs differ by 1000;
- which of two rates is that of the requests whose latency is given (transactions and queries a second);
- a latency that is not given, or a throughput: R = N / X, X = N / R;
- whether a depth is that of one job: ``iodepth`` 8 with ``numjobs`` 4 are 32 outstanding requests, unless X R says that
  the column counts all jobs already. Columns that count all requests by their name (clients, connections) are not
  multiplied by threads, unless the numbers say so.

All of it needs a load that is a number of outstanding requests.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.cells import TextTable, number, with_points
from measure.formats.tables.column_names import (
    LOAD_ROLES,
    OPEN_UNIT,
    ColumnRole,
    load_noun,
    plain_name,
    recognise,
    unit_scale,
)
from measure.formats.tables.columns import Roles, columns_option, ready_line
from measure.sweep import COMPUTED, describe_series
from measure.units import counted

_LATENCY_UNITS = ("s", "ms", "us", "ns")
_RATE_UNITS = ("/s",)  # with k/s beside it, ms and k/s would fit wherever µs and /s do
#: X R / N of a reading that may be right, and how much worse every other must be (natural logarithm).
_LEAST, _MOST, _CLEARLY = 0.5, 1.25, math.log(1.5)

Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class _Reading:
    """One reading of the open columns, and the X R / N that it gives at the median."""

    roles: Roles
    ratio: float

    @property
    def distance(self) -> float:
        """How far N = X R is from holding."""
        return abs(math.log(self.ratio)) if self.ratio > 0 else math.inf


def settle(
    roles: Roles, header: Sequence[str], records_of: Callable[[Roles], Records], name: str
) -> tuple[Roles, list[Finding]]:
    """The roles with every unit told and one throughput; a Finding for each that Little's law told.

    ``records_of`` gives the rows under some roles. Raises DataError with the line to write where the law cannot tell:
    the load is no number of requests, none of the readings fits, or several do.
    """
    if not roles.rivals and not any(r.unit == OPEN_UNIT for r in roles.by_role.values()):
        return roles, []
    readings = sorted(
        (_Reading(r, ratio) for r in _readings(roles) if (ratio := _ratio(records_of(r), roles.per_job)) is not None),
        key=lambda reading: reading.distance,
    )
    if (
        not readings
        or not _LEAST <= readings[0].ratio <= _MOST
        or (len(readings) > 1 and readings[1].distance - readings[0].distance < _CLEARLY)
    ):
        raise DataError(_unsettled(roles, header, readings, name))
    best = readings[0]
    return replace(best.roles, rivals=()), list(_told(roles, best, name))


TIME_COLUMN = re.compile(r"(?i:(?:.*_)?(?:timestamp|time|date|datetime|epoch|elapsed|second|seconds|s))")
_STEADY = 1.25
"""A series whose X R varies by no more than this factor is one load, looked at again and again."""


def with_load_over_time(table: TextTable, name: str) -> tuple[TextTable, list[Finding]]:
    """A series over time has no column for the load: N = X R is added as one. Other tables stay as they are."""
    named = [(column, recognise(column)) for column in table.header]
    roles = {role.role: role for _, role in named if role is not None}
    timed = [c for c, role in named if role is None and TIME_COLUMN.fullmatch(plain_name(c))]
    if not timed or {*LOAD_ROLES, "clients", "jobs"} & roles.keys() or not {"latency", "throughput"} <= roles.keys():
        return table, []
    read = with_points(table, [roles["latency"].column, roles["throughput"].column], name)
    found: list[float | None] = []
    for line, cells in read.rows:
        rate, latency = (
            number(cells[r.column], r.scale, line, r.column, name, may_have_prefix=r.role == "throughput")
            for r in (roles["throughput"], roles["latency"])
        )
        found.append(rate * latency if rate and latency else None)
    known = [n for n in found if n is not None]
    if not known or min(known) <= 0:
        return table, []
    steady = max(known) <= _STEADY * min(known)
    loads = [f"{float(np.median(known)) if steady else n:.{3 if steady else 2}g}" if n else "" for n in found]
    rows = tuple((line, {**cells, LOAD_OVER_TIME: load}) for (line, cells), load in zip(table.rows, loads, strict=True))
    message = f"{name} is a series over {timed[0]}: its load is N = X R, {'about ' if steady else ''}"
    message += f"{loads[0]}." if steady else f"{min(known):.2g} to {max(known):.2g} requests outstanding."
    finding = Finding("by-littles-law", "info", message, "", "say which column is the load: --columns load=COLUMN")
    return replace(table, header=(*table.header, LOAD_OVER_TIME), rows=rows), [finding]


LOAD_OVER_TIME = "outstanding"


def complete(records: list[dict[str, Any]], name: str) -> list[Finding]:
    """Compute what is missing in each record, in place: R = N / X or X = N / R. The Finding says so.

    A record has ``load`` (a number of requests) and one of ``latency_s`` and ``throughput_per_s``.
    """
    findings = []
    for missing, given, words in (
        ("latency_s", "throughput_per_s", "latency: it is N / X"),
        ("throughput_per_s", "latency_s", "throughput: it is N / R"),
    ):
        lacking = [r for r in records if r[missing] is None]
        for record in lacking:
            if not record["load"] > 0:
                raise DataError(
                    f"{name}: a load of {record['load']:g} asks for nothing; remove the row, or say which column is "
                    "the load (--columns load=COLUMN)"
                )
            if not record[given] > 0:
                what = "throughput" if given == "throughput_per_s" else "latency"
                raise DataError(
                    f"{name}: a {what} of {record[given]:g} at load {record['load']:g} cannot be right; remove the "
                    "row or measure the point again"
                )
            record[missing] = record["load"] / record[given]
            record["unchecked"] = COMPUTED
            if record["bandwidth_bytes_per_s"] is None and record["block_bytes"]:
                record["bandwidth_bytes_per_s"] = record["throughput_per_s"] * record["block_bytes"]
        if lacking:
            at = counted(len(lacking), "point")
            findings.append(
                Finding(
                    "by-littles-law",
                    "info",
                    f"{name} gives no {words} by Little's law at {at}.",
                    "",
                    "measure both, and N = X R checks them against each other.",
                )
            )
    return findings


def outstanding(records: Records, *, with_jobs: bool) -> np.ndarray[Any, np.dtype[np.float64]]:
    """X R / N of the records that have all three (n,); N is the load alone, or the load of each of the jobs."""
    return np.array(
        [
            r["throughput_per_s"] * r["latency_s"] / (r["load"] * (r["jobs"] if with_jobs else 1.0))
            for r in records
            if all(r.get(c) for c in ("throughput_per_s", "latency_s", "load")) and (r.get("jobs") or not with_jobs)
        ]
    )


def _readings(roles: Roles) -> Iterator[Roles]:
    """Every way to read what is open; none where the load is no number of requests or a latency is missing."""
    if "depth" not in roles or "latency" not in roles:
        return
    rates = [roles["throughput"], *roles.rivals] if "throughput" in roles else [None]
    for rate in rates:
        for latency in _in_units(roles["latency"], _LATENCY_UNITS):
            for throughput in [None] if rate is None else _in_units(rate, _RATE_UNITS):
                chosen = roles.using(latency)
                yield chosen if throughput is None else chosen.using(throughput)


def _in_units(role: ColumnRole, units: Sequence[str]) -> list[ColumnRole]:
    if role.unit != OPEN_UNIT:
        return [role]
    return [replace(role, unit=unit, scale=unit_scale(role.role, unit)) for unit in units]


def _ratio(records: Records, per_job: bool) -> float | None:
    """X R / N at the median, counted with the jobs or without them, whichever is nearer to 1."""
    ratios = [outstanding(records, with_jobs=False)]
    if any((r.get("jobs") or 1) > 1 for r in records):
        ratios.append(outstanding(records, with_jobs=True))
    medians = [float(np.median(r)) for r in ratios if len(r)]
    found = [m for m in medians if m > 0 and math.isfinite(m)]
    return min(found, key=lambda m: abs(math.log(m))) if found else None


def _told(roles: Roles, best: _Reading, name: str) -> Iterator[Finding]:
    because = f"because N = X R then holds: X R / N is {best.ratio:.3g} at the median"
    for role in ("latency", "throughput"):
        if role in roles and roles[role].unit == OPEN_UNIT:
            column, unit = roles[role].column, best.roles[role].unit
            yield Finding(
                f"{role}-unit",
                "info",
                f"{name}: the column {column!r} names no unit; it is read as {unit.replace('us', 'µs')}, {because}.",
                "",
                f"say the unit where it is another: {columns_option([f'{role}={column}:{unit}'])}",
            )
    if roles.rivals:
        column = best.roles["throughput"].column
        others = " and ".join(repr(r.column) for r in (roles["throughput"], *roles.rivals) if r.column != column)
        yield Finding(
            "throughput-column",
            "info",
            f"{name}: {column!r} is the throughput and not {others}, {because}.",
            "",
            f"say which where it is another: {columns_option(['throughput=' + roles['throughput'].column])}",
        )


def _unsettled(roles: Roles, header: Sequence[str], readings: Sequence[_Reading], name: str) -> str:
    opened = [r.column for r in roles.by_role.values() if r.unit == OPEN_UNIT]
    what = (
        f"the unit of {' and of '.join(map(repr, opened))} is not in its name"
        if opened
        else (f"both {roles['throughput'].column!r} and {roles.rivals[0].column!r} can be the throughput")
    )
    if "depth" not in roles:
        why = "and Little's law tells it for numbers of outstanding requests only"
    elif not readings:
        why = "and Little's law needs load, latency and throughput in each row to tell it"
    elif _LEAST <= readings[0].ratio <= _MOST:
        why = "and Little's law fits more than one reading"
    else:
        why = f"and N = X R holds for none (the nearest X R / N is {readings[0].ratio:.3g})"
    return f"{name}: {what}, {why}; say it, for example {ready_line(header, roles.by_role)}"


#: How near to 1 X R / N has to be, at how many of the rows.
_NEAR, _MOST_ROWS = 0.15, 0.8


def count_jobs(records: Sequence[dict[str, Any]], roles: Roles, name: str) -> tuple[bool, list[Finding]]:
    """Make the ``load`` of each record the number of all outstanding requests, in place, and ``depth`` that of one job.

    Returned is whether the jobs multiply what the column says, and a Finding. Raises DataError for less than one job.
    """
    for record in records:
        if not record["jobs"] >= 1:
            raise DataError(f"{name}: {record['jobs']:g} jobs at load {record['load']:g} send nothing; correct the row")
    several = [r for r in records if r["jobs"] > 1]
    alone, product = (outstanding(several, with_jobs=counted) for counted in (False, True))
    multiply = roles.per_job
    if "jobs" not in roles.declared and len(alone):
        multiply = not _near_one(alone) if roles.per_job else _near_one(product) and not _near_one(alone)
    for record in records:
        record["depth"] = record["load"] if multiply else record["load"] / record["jobs"]
        record["load"] *= record["jobs"] if multiply else 1.0
    if not several:
        return multiply, []
    load, jobs = roles.load.column, roles["jobs"].column
    evidence = ""
    if len(alone):
        with_load, with_both = (f"{float(np.median(ratio)):.3g}" for ratio in (alone, product))
        evidence = f" (X R / N is {with_load} at the median with {load} alone, {with_both} with the product)"
    if multiply:
        return True, [
            Finding(
                "outstanding",
                "info",
                f"{name}: the load is {load} x {jobs}, what all jobs have outstanding{evidence}.",
                "",
                f"if {load} already counts all jobs, say so: --columns jobs=1",
            )
        ]
    return False, [
        Finding(
            "outstanding",
            "info",
            f"{name}: the load is {load} alone, which counts all {jobs}{evidence}.",
            "",
            f"if each of these has as many, say so: {columns_option([f'depth={load}', f'jobs={jobs}'])}",
        )
    ]


def part_jobs(records: Sequence[dict[str, Any]], roles: Roles) -> None:
    """Give each number of jobs a series of its own where both depths and jobs vary, or where a load recurs.

    Rows with one product of different depths and jobs are not repeats. A sweep of depths at one number of jobs is one
    curve, and so is a sweep of jobs at one depth.
    """
    members: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        members[record["series"]].append(record)
    noun = load_noun(roles["jobs"].column).replace("requests", "jobs")
    for group in members.values():
        if _is_grid(group):
            for record in group:
                known = "" if record["series"] == describe_series(None, None, None) else f"{record['series']} "
                word = {"processes": "process"}.get(noun, noun.removesuffix("s")) if record["jobs"] == 1 else noun
                record["series"] = f"{known}{record['jobs']:g} {word}"


def _near_one(ratio: np.ndarray[Any, np.dtype[np.float64]]) -> bool:
    return len(ratio) > 0 and float(np.mean(np.abs(ratio - 1) <= _NEAR)) >= _MOST_ROWS


def _is_grid(group: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two numbers of jobs or more have several depths each, or two have one load."""
    depths: dict[float, set[float]] = defaultdict(set)
    jobs: dict[float, set[float]] = defaultdict(set)
    for record in group:
        depths[record["jobs"]].add(record["load"])
        jobs[record["load"]].add(record["jobs"])
    return sum(len(d) > 1 for d in depths.values()) > 1 or any(len(j) > 1 for j in jobs.values())
