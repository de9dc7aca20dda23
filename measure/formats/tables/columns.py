"""Which column of a table means what: declared by the user, or recognised by its name.

A *role* is what a column stands for. A sweep needs a load, a latency and a throughput (or a bandwidth with the size of
a block, from which the throughput follows). Where the load is a number of outstanding requests, one of latency and
throughput is enough: Little's law gives the other (:mod:`measure.formats.tables.unit_choice`).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from measure.errors import DataError
from measure.formats.tables.cells import IN_CELLS, TextTable, block_bytes
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
from measure.units import parse_bytes, parse_mix

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

    ``per_job`` says whether the load is that of one job, by its name or as declared, so that several jobs multiply it.
    """

    by_role: Mapping[str, ColumnRole]
    ignored: tuple[str, ...] = ()
    per_job: bool = False

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
    """``columns`` and ``units`` for ``load`` from what a user types after ``--columns``.

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
        role, equals, rest = (p.strip() for p in part.partition("="))
        if not equals or not rest:
            raise DataError(f"--columns: {part!r} is not role=column; write it like {EXAMPLE}")
        _check_role(role)
        if role in columns:
            raise DataError(f"--columns names the role {role!r} twice ({columns[role]!r} and {rest!r}); keep one")
        columns[role] = rest
        column, colon, unit = (p.strip() for p in rest.rpartition(":"))
        if colon and UNITS[role] and column:
            unit_scale(role, unit)
            columns[role], units[role] = column, unit
    if not columns:
        raise DataError(f"--columns is empty; write it like {EXAMPLE}")
    return columns, units


def assign_roles(
    table: TextTable, columns: Mapping[str, str] | None, units: Mapping[str, str] | None, where: str
) -> Roles:
    """Give every column of a table its role; ``columns`` and ``units`` by role go first.

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
                raise DataError(_ambiguous(where, chosen[role.role], role, header))
            chosen[role.role] = role
    for what, better in (("latency", _LATENCIES), ("throughput", SPEEDS)):
        if not any(r in chosen for r in better) and not (what == "throughput" and tokens):
            weak = weakly_recognised(_rest(header, chosen), what)
            if len(weak) > 1:
                raise DataError(_ambiguous(where, weak[0], weak[1], header))
            for role in weak:
                chosen[what] = _declared(what, role.column, units[what], where) if what in units else role
    chosen |= _by_cells(table, chosen)
    named = recognise(chosen["depth"].column) if "depth" in chosen else None
    is_depth = named is not None and named.role == "depth"
    per_job = {"depth", "jobs"} <= chosen.keys() and (bool({"jobs", "depth"} & declared.keys()) or is_depth)
    _check_complete(chosen, header, where)
    return Roles(chosen, _rest(header, chosen), per_job)


def _loads(
    found: Sequence[ColumnRole], chosen: Mapping[str, ColumnRole], where: str, header: Sequence[str]
) -> dict[str, ColumnRole]:
    """The load among recognised columns, where none is declared, and the jobs with a number of requests.

    A depth, a delay or a rate goes before a number of clients, and that before a number of threads.
    """
    new: dict[str, ColumnRole] = {}
    jobs = [r for r in found if r.role == "jobs"]
    load = next((chosen[r] for r in LOAD_ROLES if r in chosen), None)
    if load is None:
        candidates = [r for r in found if r.role in LOAD_ROLES] or [r for r in found if r.role == "clients"] or jobs
        if len(candidates) > 1:
            raise DataError(_ambiguous(where, candidates[0], candidates[1], header))
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
    """The roles that only cells show: a block with a unit in each, and the words of a mix.

    A role that is taken, or that two columns could have, is not given.
    """
    found: dict[str, list[ColumnRole]] = {"block": [], "mix": []}
    for column in _rest(table.header, chosen):
        filled = [c for c in table.column(column) if c]
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
    """The SI value that stands in place of a column, or None where the text is none."""
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


# --- what a refusal offers --------------------------------------------------------------------------------------------


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


def _ambiguous(where: str, first: ColumnRole, second: ColumnRole, header: Sequence[str]) -> str:
    """Why two columns for one role are refused."""
    role = "load" if first.role in _COUNTS else first.role
    return (
        f"{where}: both {first.column!r} and {second.column!r} can be the {role}; say which, for example "
        f"{columns_option([f'{role}={second.column}'])} ({_found(header)})"
    )


def _check_complete(roles: Mapping[str, ColumnRole], header: Sequence[str], where: str) -> None:
    """DataError where the columns do not make a point: by Little's law one of latency and throughput may be missing."""
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
