"""What N = X R tells of a table: units, which column is the rate, what is missing, and the load of a series over time.

A unit or a column is taken by the law only where one reading of the table obeys it and no other does; a finding says
what was decided. Bandwidth = throughput x block is held likewise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.cells import TextTable, number, scaled, with_points
from measure.formats.tables.column_names import (
    LOAD_ROLES,
    OPEN_UNIT,
    UNITS,
    ColumnRole,
    Roles,
    columns_option,
    plain_name,
    recognise,
)
from measure.loads import Load
from measure.origin import ORIGIN, computed, corrected, told
from measure.units import counted, format_bytes

_UNITS = ("s", "ms", "us", "ns")
_RATE_UNITS = ("/s", "k/s", "/min")
#: The range of X R / N in which a reading may be right.
LEAST, MOST = 0.5, 1.25
_STEADY = 1.25  # a series whose X R varies by no more than this factor is repeated measurements of one load
TIME_COLUMN = re.compile(r"(?i:(?:.*_)?(?:timestamp|time|date|datetime|epoch|elapsed|second|seconds|s))")
LOAD_OVER_TIME = "outstanding"

Records = Sequence[Mapping[str, Any]]
WORDS = {"latency_s": "latency", "throughput_per_s": "throughput"}


def column_values(table: TextTable, role: ColumnRole) -> NDArray[np.float64]:
    """The values (n,) of a column in SI units; NaN in cells that hold no number."""
    if role.constant is not None:
        return np.full(len(table.rows), role.constant)
    try:
        rows = with_points(table, [role.column], "").rows
    except DataError:  # commas that may mean either: such a column cannot speak for another
        return np.full(len(table.rows), math.nan)
    return np.array([_or_nan(cells[role.column], role) for _, cells in rows])


def _or_nan(cell: str, role: ColumnRole) -> float:
    with suppress(DataError):
        if (value := number(cell, role, 0, "")) is not None:
            return value
    return math.nan


def readings(role: ColumnRole) -> list[ColumnRole]:
    """The column in each unit that it may have: one where its unit is known."""
    if role.unit != OPEN_UNIT:
        return [role]
    units = _UNITS if role.role == "latency" else _RATE_UNITS
    return [replace(role, unit=unit, scale=UNITS[role.role][unit]) for unit in units]


def obeying(
    table: TextTable,
    outstanding: Sequence[ColumnRole],
    rates: Sequence[ColumnRole],
    times: Sequence[ColumnRole],
    *,
    within: float,
    rows: int,
) -> list[tuple[ColumnRole, ColumnRole]]:
    """The pairs of a rate and a time for which N = X R holds; N is the product of the columns ``outstanding``.

    X R / N is within the relative distance ``within`` of 1 at the median, and right in each of ``rows`` rows or more.
    """
    n = np.prod([column_values(table, role) for role in outstanding], axis=0)
    found = []
    speeds = [(rate, column_values(table, rate)) for rate in rates]
    for time in times:
        r = column_values(table, time)
        for rate, x in speeds:
            known = np.isfinite(n * x * r) & (n > 0) & (x > 0) & (r > 0)
            if known.sum() < rows or len(np.unique(n[known])) < 2:
                continue
            ratio = (x * r / np.where(known, n, 1.0))[known]
            if abs(np.median(ratio) - 1) <= within and np.all((ratio >= LEAST) & (ratio <= MOST)):
                found.append((rate, time))
    return found


def settle(records: Sequence[dict[str, Any]], roles: Roles, name: str) -> tuple[Roles, list[Finding]]:
    """The roles with every unit known, and findings; converts ``records`` to SI units in place.

    The law is N = X R, or of rates that a device serves what arrives. Raises DataError with the declaration to write
    where it cannot decide: the load is neither, none of the units fits, or several do.
    """
    opened = [role for role in WORDS.values() if role in roles and roles[role].unit == OPEN_UNIT]
    if not opened:
        return roles, []
    scaling = "latency" if "latency" in opened else "throughput"
    scales = {unit: UNITS[scaling][unit] for unit in (_UNITS if scaling == "latency" else _RATE_UNITS)}
    raw, law = [], "N = X R then holds: X R / N"
    if "depth" in roles:
        raw = [outstanding(records, with_jobs=with_jobs) for with_jobs in (False, True)]
    elif "arrival_rate" in roles and scaling == "throughput":
        served = [r["throughput_per_s"] / r["load"] for r in records if r["throughput_per_s"] and r["load"]]
        raw, law = [np.array(served)], "what arrives is then served: the ratio of the two"
    medians = [float(np.median(ratio)) for ratio in raw if len(ratio)]
    near = {unit: min((m * scale for m in medians), key=_distance, default=math.nan) for unit, scale in scales.items()}
    fitting = [unit for unit, ratio in near.items() if LEAST <= ratio <= MOST]
    if len(fitting) != 1:
        raise DataError(_unsettled(roles, opened, list(near.values()), name))
    unit = fitting[0]
    findings = []
    for role in opened:
        said = unit if role == scaling else "/s"
        column = roles[role].column
        message = (
            f"{name}: the column {column!r} names no unit; it is read as {said.replace('us', 'µs')}, because {law} "
            f"is {near[unit]:.3g} at the median."
        )
        remedy = f"say the unit where it is another: {columns_option([f'{role}={column}:{said}'])}"
        findings.append(note(f"{role}-unit", message, remedy))
        roles = replace(roles, by_role={**roles.by_role, role: replace(roles[role], unit=said)})
    moved = ("bandwidth_bytes_per_s",) if scaling == "throughput" and "bandwidth" not in roles else ()
    for record in records:
        for column in ("latency_s" if scaling == "latency" else "throughput_per_s", *moved):
            if record[column] is not None:
                record[column] = scaled(record[column], scales[unit])
    return roles, findings


def _distance(ratio: float) -> float:
    return abs(math.log(ratio)) if 0 < ratio < math.inf else math.inf


def outstanding(records: Records, *, with_jobs: bool) -> NDArray[np.float64]:
    """X R / N of the records that have all three (n,); N is the load, times the jobs if ``with_jobs``."""
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
    elif any(LEAST <= ratio <= MOST for ratio in ratios):
        why = "and Little's law fits more than one reading"
    elif all(map(math.isnan, ratios)):
        why = "and Little's law needs load, latency and throughput in each row to tell it"
    else:
        why = f"and N = X R holds for none (the nearest X R / N is {min(ratios, key=_distance):.3g})"
    units = {"latency": "ms", "throughput": "/s"}
    line = columns_option([f"{role}={roles[role].column}:{units[role]}" for role in opened])
    return f"{name}: the unit of {columns} is not in its name, {why}; say it, for example {line}"


def with_load_over_time(table: TextTable, name: str) -> tuple[TextTable, list[Finding]]:
    """Add a column for the load, N = X R, to a series over time, which has none. Other tables stay unchanged."""
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


HOLDS = 0.1  # the largest |X R / N - 1| of the whole rows of a table at which others are completed by N = X R


def completes(records: Records) -> bool:
    """Whether rows that lack X or R may be completed: N = X R holds at each row that has both, or one is in no row."""
    whole = outstanding(records, with_jobs=False)
    if not len(whole) and all(any(r[column] is not None for r in records) for column in WORDS):
        return False
    return bool(np.all(np.abs(whole - 1) <= HOLDS))


def complete(records: list[dict[str, Any]], unused: Sequence[str], load: Load, name: str) -> list[Finding]:
    """Compute the missing value of each record in place: R = N / X or X = N / R. A Finding says so.

    ``unused`` are the columns without a role.
    """
    findings = []
    for missing, given, formula in (("latency_s", "throughput_per_s", "N / X"), (*reversed(WORDS), "N / R")):
        lacking = [r for r in records if r[missing] is None]
        for record in lacking:
            if not (record["load"] > 0 and record[given] > 0):
                raise DataError(
                    f"{name}: a {WORDS[given]} of {record[given]:g} at {load.at(record['load'])} cannot be right; "
                    "remove the row or measure the point again"
                )
            record[missing] = record["load"] / record[given]
            record[ORIGIN[missing]] = computed(formula)
            if record["bandwidth_bytes_per_s"] is None and record["block_bytes"]:
                record["bandwidth_bytes_per_s"] = record["throughput_per_s"] * record["block_bytes"]
        if lacking:
            at = f"at {load.at(*sorted({r['load'] for r in lacking}))}" if len(lacking) < len(records) else ""
            what = f"{WORDS[missing]}{at and f' {at}'}: it is {formula} by Little's law"
            what += "" if at else f" at {counted(len(lacking), 'point')}"
            remedy = f"if a column that is not used is the {WORDS[missing]}, say so: --columns {WORDS[missing]}=COLUMN"
            if not unused:
                remedy = "measure both, and N = X R checks them against each other."
            findings.append(note("by-littles-law", f"{name} gives no {what}.", remedy))
    return findings


def note(check: str, message: str, remedy: str, because: str = "") -> Finding:
    """A finding of severity info from the reader of tables."""
    return Finding(check, "info", message, because, remedy)


# --- how many requests are outstanding --------------------------------------------------------------------------------


def count_outstanding(records: Sequence[dict[str, Any]], roles: Roles, name: str) -> tuple[Roles, list[Finding]]:
    """Set ``load`` of each record, in place, to all outstanding requests, and ``depth`` to those of one job.

    A pipeline multiplies the load. Jobs multiply a load that is a depth by its name, or that was declared with them,
    unless N = X R holds for the load alone. DataError for less than one job or request, and where it holds for neither.
    """
    findings: list[Finding] = []
    if "jobs" in roles:
        roles, findings = _count_jobs(records, roles, name)
    if "pipeline" in roles:
        for record in records:
            if not record["pipeline"] >= 1:
                raise DataError(f"{name}: a pipeline of {record['pipeline']:g} sends nothing; correct the row")
            record["load"] *= record["pipeline"]
    given = {r: roles[r].constant for r in (roles.load.role, "jobs", "pipeline") if r in roles}
    parts = [f"{r}={n:g}" for r, n in given.items() if n is not None and (r in LOAD_ROLES or n != 1)]
    if parts:
        line = f"--columns {','.join(parts)}".replace("depth=", "load=")
        for record in records:
            record[ORIGIN["load"]] = told(line)
    return roles, findings


def _count_jobs(records: Sequence[dict[str, Any]], roles: Roles, name: str) -> tuple[Roles, list[Finding]]:
    for record in records:
        if not record["jobs"] >= 1:
            raise DataError(f"{name}: {record['jobs']:g} jobs at load {record['load']:g} send nothing; correct the row")
    decided = roles.per_job and not roles.declared & {"jobs", "depth"} and not _jobs_multiply(records, roles, name)
    if decided:
        roles = replace(roles, per_job=False)
    for record in records:
        record["depth"] = record["load"] / (1.0 if roles.per_job else record["jobs"])
        record["load"] *= record["jobs"] if roles.per_job else 1.0
    if all(record["jobs"] == 1 for record in records):
        return roles, []
    load, jobs = roles.load.column, roles["jobs"].column
    message = f"the load is {load} alone, which counts all {jobs}{': N = X R holds so' if decided else ''}."
    remedy = f"if each of these has as many, say so: {columns_option([f'depth={load}', f'jobs={jobs}'])}"
    if roles.per_job:
        message = f"the load is {load} x {jobs}, what all jobs have outstanding."
        remedy = f"if {load} already counts all jobs, say so: --columns jobs=1"
    return roles, [note("outstanding", f"{name}: {message}", remedy)]


OF_EACH_JOB = frozenset({"iodepth", "io_depth"})  # fio's names of a depth, which is that of each job

_LEAST_ALONE = 0.8
"""The least X R / N at which a depth alone is the load; a device may hold less than the product in flight."""


def _jobs_multiply(records: Records, roles: Roles, name: str) -> bool:
    """Whether N = X R holds for depth x jobs, and not for the depth alone; without latencies only fio's name tells."""
    several = [record for record in records if record["jobs"] > 1]
    product, alone = (_unit_aside(outstanding(several, with_jobs=with_jobs)) for with_jobs in (True, False))
    load, jobs = roles.load.column, roles["jobs"].column
    say = f"say which is the load: --columns jobs=1 where {load} counts all, else "
    say += columns_option([f"depth={load}", f"jobs={jobs}"])
    if not len(product):
        if several and plain_name(load).lower() not in OF_EACH_JOB:
            raise DataError(f"{name}: without a latency, {load} may count all {jobs} or one of them; {say}")
        return True
    each = float(np.median(product)), float(np.median(alone))
    fits = LEAST <= each[0] <= MOST, bool(np.all((alone >= _LEAST_ALONE) & (alone <= MOST)))
    if not any(fits):
        raise DataError(
            f"{name}: N = X R holds neither for {load} x {jobs} (X R / N is {each[0]:.3g}) nor for {load} alone "
            f"({each[1]:.3g}); {say}"
        )
    return fits[0] and not (fits[1] and _distance(each[1]) < _distance(each[0]))


def _unit_aside(ratios: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ratios without the power of 1000 that a wrong unit gives all of them."""
    power = np.round(np.log(np.median(ratios)) / np.log(1000)) if len(ratios) else 0.0
    return np.asarray(ratios / 1000.0**power)


REQUESTS = "concurrent requests"  # the unit of a load that counts the requests of clients with pipelines
_DEEPEST_PIPELINE, _NEAR_POWER, _NEAR_WHOLE = 256, 0.08, 0.02


def pipeline_of(ratios: NDArray[np.float64]) -> int | None:
    """The whole number, 2 to 256, that every X R / N (n,) is; None where they are not one.

    It is a power of two within 8 %, or, over three points or more, any whole number within 2 %.

    >>> pipeline_of(np.array([15.4])), pipeline_of(np.array([24.8])), pipeline_of(np.array([20.1, 20.0, 19.9]))
    (16, None, 20)
    """
    if not len(ratios) or not np.all(np.isfinite(ratios)) or ratios.min() <= 1:
        return None
    middle = float(np.median(ratios))
    power, whole = 2 ** round(math.log2(middle)), round(middle)
    for number_of, near, least in ((power, _NEAR_POWER, 1), (whole, _NEAR_WHOLE, 3)):
        is_near = np.all(np.abs(ratios / number_of - 1) <= near)
        if len(ratios) >= least and 2 <= number_of <= _DEEPEST_PIPELINE and is_near:
            return number_of
    return None


def pipelined(noun: str, number_of: int, name: str) -> tuple[str, Finding]:
    """The origin of a load that counts the requests of pipelines, and the finding that says so."""
    message = (
        f"{name}: X R / N is about {number_of} at every point: each of the {noun} keeps {number_of} requests "
        f"outstanding (pipelining or batches). The load is {noun} x {number_of} requests."
    )
    because = "or the rate counts the parts of what the latency times, such as the queries of a transaction."
    remedy = f"if each of the {noun} keeps one, say so: --columns pipeline=1"
    origin = corrected(f"{noun} x {number_of} requests each, by N = X R")
    return origin, Finding("pipelining", "warning", message, because, remedy)


# --- bandwidths -------------------------------------------------------------------------------------------------------

_SAME_BLOCK, _OTHER_BLOCK = 0.006, 0.05
_TAKEN_FOR = {"kB/s": "KiB/s", "KB/s": "kB/s", "MB/s": "MiB/s", "GB/s": "GiB/s"}
_TAKEN_FOR |= {"KiB/s": "kB/s", "MiB/s": "MB/s", "GiB/s": "GB/s"}
"""A unit of 1000 -> that of 1024 for which it is taken, and the other way round."""


def check_bandwidths(records: Sequence[dict[str, Any]], roles: Roles, load: Load, name: str) -> list[Finding]:
    """Correct, in place, bandwidths in MiB/s whose column says MB/s, or the other way round; findings in words of load.

    The unit is corrected where every row has their ratio within 0.6 %. Single rows that differ by 5 % are named.
    """
    known = [r for r in records if r["bandwidth_bytes_per_s"] and r["throughput_per_s"] and r["block_bytes"]]
    if not known or not {"block", "throughput", "bandwidth"} <= roles.by_role.keys():
        return []
    ratio = np.array([r["bandwidth_bytes_per_s"] / (r["throughput_per_s"] * r["block_bytes"]) for r in known])
    unit = re.sub(r"ps$|_per_s$|/sec$|_s$", "/s", roles["bandwidth"].unit)
    other = _TAKEN_FOR.get(unit)
    factor = UNITS["bandwidth"][other] / UNITS["bandwidth"][unit] if other else 1.0
    if other and np.all(np.abs(ratio * factor - 1) <= _SAME_BLOCK):
        for record in known:
            record["bandwidth_published_bytes_per_s"] = record["bandwidth_bytes_per_s"]
            record["bandwidth_bytes_per_s"] *= factor
        column = roles["bandwidth"].column
        message = (
            f"{name}: bandwidth / throughput is {np.median(ratio):.4g} times the block in every row: {column!r} is in "
            f"{other}, not {unit}, and was corrected."
        )
        return [note("bandwidth-unit", message, f"say the unit: {columns_option([f'bandwidth={column}:{other}'])}")]
    odd = np.flatnonzero(np.abs(ratio - 1) > _OTHER_BLOCK)
    if not len(odd) or 2 * len(odd) >= len(known):
        return []
    first = known[int(odd[0])]
    moved = format_bytes(first["bandwidth_bytes_per_s"] / first["throughput_per_s"])
    message = (
        f"{name}: at {counted(len(odd), 'row')} of {len(known)} bandwidth / throughput is not the block: the first, at "
        f"{load.at(first['load'])}, has {moved} a request where the block is {format_bytes(first['block_bytes'])}."
    )
    remedy = "look at bs= of these runs; the throughput is kept as the table has it."
    return [Finding("block-of-some-rows", "warning", message, "another block, or a misprint.", remedy)]
