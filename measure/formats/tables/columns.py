"""Assigns roles to the columns of a table: declared by the user, recognised by name, or found by Little's law.

A *role* is the quantity in a column. A sweep needs a load, a latency and a throughput (or a bandwidth with the block
size, from which the throughput follows). Where names are ambiguous, N = X R decides if it holds for only one reading
of the table:

- a unit that no name has: ms and µs differ by a factor of 1000;
- a latency that is not given, or a throughput: R = N / X, X = N / R;
- the load of a series over time, X R.

The first two need a load that is a number of outstanding requests.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.cells import IN_CELLS, TextTable, block_bytes, number, scaled, with_points
from measure.formats.tables.column_names import (
    LOAD_ROLES,
    OPEN_UNIT,
    SPEEDS,
    UNITS,
    ColumnRole,
    counts_tokens,
    plain_name,
    recognise,
    unit_in_name,
    unit_scale,
    weakly_recognised,
)
from measure.sweep import COMPUTED
from measure.units import counted, parse_bytes, parse_mix

TEXT_ROLES = frozenset({"series", "mix", "pattern", "engine"})
EXAMPLE = "--columns load=io_depth,latency=latency_us:us,throughput=iops"
_USUAL_UNIT = {"latency": "us", "bandwidth": "MB/s", "block": "KiB", "buffer": "KiB", "load": "ns"}
_LATENCIES = ("latency", "read_latency", "write_latency")
_COUNTS = (*LOAD_ROLES, "clients", "jobs")
_BLOCK_NAME = re.compile(r"(?i:block|block_?size|bs|access_size|io_size|request_size)")
_MIX_WORDS = frozenset({"randrw", "rw", "readwrite"})
_MOST_NAMES = 20


@dataclass(frozen=True)
class Roles:
    """The columns of one table by role, and the columns without one.

    ``per_job``: whether the load is that of one job, by its name or as declared, so that several jobs multiply it.
    """

    by_role: Mapping[str, ColumnRole]
    ignored: tuple[str, ...]
    per_job: bool

    def __contains__(self, role: str) -> bool:
        return role in self.by_role

    def __getitem__(self, role: str) -> ColumnRole:
        return self.by_role[role]

    @property
    def load(self) -> ColumnRole:
        """The role of the load: depth, delay or arrival_rate."""
        return next(self.by_role[r] for r in LOAD_ROLES if r in self.by_role)

    @property
    def numeric(self) -> list[str]:
        """The columns that hold numbers."""
        given = [r for r in self.by_role.values() if r.constant is None and r.unit != IN_CELLS]
        return [r.column for r in given if r.role not in TEXT_ROLES]


def parse_columns(text: str) -> tuple[dict[str, str], dict[str, str]]:
    """``columns`` and ``units`` for ``load`` from the text after ``--columns``.

    Written ``role=column`` or ``role=column:unit``, separated by commas; a column with a comma in its name is put in
    double quotes together with its role. Raises DataError for anything else.

    >>> parse_columns("load=io_depth,latency=lat:us,throughput=iops")
    ({'load': 'io_depth', 'latency': 'lat', 'throughput': 'iops'}, {'latency': 'us'})
    """
    columns: dict[str, str] = {}
    units: dict[str, str] = {}
    try:
        parts = next(csv.reader([text], skipinitialspace=True), [])
    except csv.Error as error:
        raise DataError(f"--columns {text!r} cannot be read ({error}); write it like {EXAMPLE}") from error
    for part in (p.strip() for p in parts):
        role, _, rest = (p.strip() for p in part.partition("="))
        if not rest:
            raise DataError(f"--columns: {part!r} is not role=column; write it like {EXAMPLE}")
        _check_role(role)
        if role in columns:
            raise DataError(f"--columns names the role {role!r} twice ({columns[role]!r} and {rest!r}); keep one")
        columns[role] = rest
        column, _, unit = (p.strip() for p in rest.rpartition(":"))
        if column and UNITS[role]:
            unit_scale(role, unit)
            columns[role], units[role] = column, unit
    if not columns:
        raise DataError(f"--columns is empty; write it like {EXAMPLE}")
    return columns, units


def assign_roles(
    table: TextTable, columns: Mapping[str, str] | None, units: Mapping[str, str] | None, where: str
) -> Roles:
    """Give every column of a table its role; declared ``columns`` and ``units``, by role, take precedence.

    A load, a number of jobs, a block or a read percentage may be one value for the whole table instead of a column:
    ``load=1``, ``jobs=4``, ``block=4KiB``, ``read_percent=100``. The role "load" becomes "delay" or "arrival_rate"
    where the column's name says so, else "depth". A latency whose unit is unknown has ``OPEN_UNIT``.

    Raises DataError naming ``where``, the columns found and the declaration to write: for an unknown role, column or
    unit, for two columns that fit one role, and where load, latency or throughput is missing.
    """
    header, declared, units = table.header, dict(columns or {}), dict(units or {})
    for name in (*declared, *units):
        _check_role(name)
    chosen = _all_declared(header, declared, units, where)
    tokens = counts_tokens(header)
    found = [r for c in header if c not in declared.values() and (r := recognise(c)) is not None]
    found = [r for r in found if not (tokens and r.role == "throughput" and "tps" in plain_name(r.column).lower())]
    found = [_declared(r.role, r.column, units[r.role], where) if r.role in units else r for r in found]
    chosen |= _loads(found, chosen, where, header)
    for role in found:
        if role.role not in _COUNTS and role.role not in declared:
            if role.role in chosen:
                raise DataError(_ambiguous(where, [chosen[role.role], role], header))
            chosen[role.role] = role
    for what, better in (("latency", _LATENCIES), ("throughput", SPEEDS)):
        if not any(r in chosen for r in better) and not (what == "throughput" and tokens):
            weak = weakly_recognised(_rest(header, chosen), what)
            if len(weak) > 1:
                raise DataError(_ambiguous(where, weak, header))
            for role in weak:
                chosen[what] = _declared(what, role.column, units[what], where) if what in units else role
    chosen |= _by_cells(table, chosen)
    named = recognise(chosen["depth"].column) if "depth" in chosen else None
    is_depth = named is not None and named.role == "depth"
    per_job = "depth" in chosen and "jobs" in chosen and (bool({"jobs", "depth"} & declared.keys()) or is_depth)
    _check_complete(chosen, header, where)
    return Roles(chosen, _rest(header, chosen), per_job)


def _loads(
    found: Sequence[ColumnRole], chosen: Mapping[str, ColumnRole], where: str, header: Sequence[str]
) -> dict[str, ColumnRole]:
    """The load among recognised columns, where none is declared, with the number of jobs where requests are counted.

    A depth, a delay or a rate takes precedence over a number of clients, and that over a number of threads.
    """
    new: dict[str, ColumnRole] = {}
    jobs = [r for r in found if r.role == "jobs"]
    load = next((chosen[r] for r in LOAD_ROLES if r in chosen), None)
    if load is None:
        candidates = [r for r in found if r.role in LOAD_ROLES] or [r for r in found if r.role == "clients"] or jobs
        if len(candidates) > 1:
            raise DataError(_ambiguous(where, candidates, header))
        if not candidates:
            return {}
        load = replace(candidates[0], role="depth" if candidates[0].role in ("clients", "jobs") else candidates[0].role)
        new[load.role] = load
    others = [r for r in jobs if r.column != load.column]
    named = [r for r in others if "job" in r.column.lower()] or others
    if load.role == "depth" and "jobs" not in chosen and len(named) == 1:
        new["jobs"] = named[0]
    return new


def _by_cells(table: TextTable, chosen: Mapping[str, ColumnRole]) -> dict[str, ColumnRole]:
    """Roles recognised from cells: block sizes with units, and the words of a mix.

    A role that is taken, or that two columns could have, is not assigned.
    """
    found: dict[str, list[ColumnRole]] = {"block": [], "mix": []}
    for column in _rest(table.header, chosen):
        filled = [cells[column] for _, cells in table.rows if cells[column]]
        if filled and _BLOCK_NAME.fullmatch(plain_name(column)) and all(block_bytes(c) is not None for c in filled):
            found["block"].append(ColumnRole("block", column, unit=IN_CELLS))
        elif filled and all(c.lower() in _MIX_WORDS or parse_mix(c).read_fraction in (0.0, 1.0) for c in filled):
            found["mix"].append(ColumnRole("mix", column))
    return {role: roles[0] for role, roles in found.items() if len(roles) == 1 and role not in chosen}


def _all_declared(
    header: Sequence[str], declared: Mapping[str, str], units: Mapping[str, str], where: str
) -> dict[str, ColumnRole]:
    """The roles that the user declared, a column or a value each."""
    chosen: dict[str, ColumnRole] = {}
    for asked, column in declared.items():
        lower = column.lower()
        kind = "delay" if "delay" in lower or "pause" in lower else "arrival_rate" if "rate" in lower else "depth"
        role = kind if asked == "load" else asked
        constant = None if column in header else _constant(role, column)
        if column not in header and constant is None:
            raise DataError(f"{where} has no column {column!r} (declared as {asked}); {_found(header)}")
        if role in chosen:
            raise DataError(f"{where}: {column!r} and {chosen[role].column!r} are both declared as {role}; keep one")
        known = ColumnRole(role, column, constant=constant)
        chosen[role] = known if constant is not None else _declared(role, column, units.get(asked), where)
    return chosen


def _rest(header: Sequence[str], chosen: Mapping[str, ColumnRole]) -> tuple[str, ...]:
    used = {role.column for role in chosen.values()}
    return tuple(column for column in header if column not in used)


def _declared(role: str, column: str, unit: str | None, where: str) -> ColumnRole:
    """A declared column; without a declared unit, the one in its name, or the role's usual one."""
    if not UNITS[role]:
        return ColumnRole(role, column)
    unit = unit if unit is not None else unit_in_name(role, column)
    if unit is None and role == "latency":
        return ColumnRole(role, column, unit=OPEN_UNIT)
    if unit is None:
        usual = _USUAL_UNIT.get(role.removeprefix("read_").removeprefix("write_").partition("_")[0], "us")
        raise DataError(
            f"{where}: the unit of column {column!r} ({role}) is not in its name; say it, for example "
            f"{role}={column}:{usual}"
        )
    return ColumnRole(role, column, unit_scale(role, unit), unit)


def _constant(role: str, text: str) -> float | None:
    """The SI value declared in place of a column, or None where the text is not a value."""
    try:
        if role in ("block", "buffer"):
            return float(parse_bytes(text))
        if role in ("read_percent", "write_percent"):
            return float(text.removesuffix("%")) / 100
        return float(text) if role in (*LOAD_ROLES, "jobs") else None
    except ValueError:
        return None


def _check_role(role: str) -> None:
    if role not in UNITS:
        raise DataError(f"invalid role {role!r}: expected one of {', '.join(UNITS)}")


# --- error messages ---------------------------------------------------------------------------------------------------


_DECLARED = {
    "load": "load=COLUMN",
    "latency": "latency=COLUMN:ms",
    "throughput": "throughput=COLUMN",
    "block": "block=COLUMN:KiB",
}


def columns_option(parts: Sequence[str]) -> str:
    """The option ``--columns`` with these parts, each ``role=column``, quoted as a shell needs it.

    >>> columns_option(["latency=Latency (ms):ms"])
    "--columns 'latency=Latency (ms):ms'"
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(parts)
    text = line.getvalue()
    return f"--columns {text}" if re.fullmatch(r"[\w=,:./-]+", text) else f"--columns '{text}'"


def _found(header: Sequence[str]) -> str:
    """The columns of a table in words."""
    more = f" and {len(header) - _MOST_NAMES} more" if len(header) > _MOST_NAMES else ""
    return f"its columns are {', '.join(header[:_MOST_NAMES])}{more}"


def _ambiguous(where: str, fitting: Sequence[ColumnRole], header: Sequence[str]) -> str:
    """The error message for columns that fit one role; it names two."""
    first, second, *_ = fitting
    role = "load" if first.role in _COUNTS else first.role
    return (
        f"{where}: both {first.column!r} and {second.column!r} can be the {role}; say which, for example "
        f"{columns_option([f'{role}={second.column}'])} ({_found(header)})"
    )


def _check_complete(roles: Mapping[str, ColumnRole], header: Sequence[str], where: str) -> None:
    """Raise DataError where columns are missing; of latency and throughput one may be, by Little's law."""
    lacking = [] if any(r in roles for r in LOAD_ROLES) else ["a load"]
    per_request = any("throughput" in r for r in roles) or "block" in roles or "delay" in roles
    speed = any(r in roles for r in SPEEDS)
    if not any(r in roles for r in _LATENCIES) and not ("depth" in roles and speed and per_request):
        lacking.append("a latency with its unit")
    if not speed and not ("depth" in roles and "latency" in roles and roles["latency"].unit != OPEN_UNIT):
        lacking.append("a throughput (or a bandwidth and the block size)")
    elif speed and not per_request:
        lacking.append("a block size (or an IOPS column)")
    if lacking:
        tokens = "; tokens are not requests, nor is the time to the first token a response time"
        parts = ",".join(_DECLARED[what.split()[1]] for what in lacking)
        raise DataError(
            f"{where}: {' and '.join(lacking)} cannot be found in its columns; {_found(header)}"
            f"{tokens if counts_tokens(header) else ''}; declare what is missing, for example --columns {parts} (a "
            "value works too: load=1, block=4KiB)"
        )


_UNITS = ("s", "ms", "us", "ns")
#: The range of X R / N in which a reading may be right.
_LEAST, _MOST = 0.5, 1.25
_STEADY = 1.25
"""A series whose X R varies by no more than this factor is repeated measurements of one load."""
TIME_COLUMN = re.compile(r"(?i:(?:.*_)?(?:timestamp|time|date|datetime|epoch|elapsed|second|seconds|s))")
LOAD_OVER_TIME = "outstanding"

Records = Sequence[Mapping[str, Any]]
WORDS = {"latency_s": "latency", "throughput_per_s": "throughput"}


def settle(records: Sequence[dict[str, Any]], roles: Roles, name: str) -> tuple[Roles, list[Finding]]:
    """The roles with every unit known, and findings; converts the latencies of ``records`` to seconds in place.

    Raises DataError with the declaration to write where the law cannot decide: the load is not a number of requests,
    none of the units fits, or several do.
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


def complete(records: list[dict[str, Any]], name: str) -> list[Finding]:
    """Compute the missing value of each record in place: R = N / X or X = N / R. A Finding says so.

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
    """A finding of severity info from the reader of tables."""
    return Finding(check, "info", message, because, remedy)
