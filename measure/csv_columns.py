"""Which column of a table means what, and in which unit: declared by the user, or recognised by its name.

A *role* is what a column stands for. A sweep needs a load, a latency, and a throughput (or a bandwidth with the size
of a block, from which the throughput follows). A name is recognised only where nothing is left to guess: ``latency_us``
is, ``latency`` is not, because a wrong unit gives a wrong curve without an error.

Units follow what storage tools print:

- a *block* of "4 KB" or "4k" has 4096 bytes (no drive has blocks of 4000), and ``kB`` is 1000;
- a *bandwidth* in "KB/s" is fio's, 1024 bytes a second, while ``kB/s``, ``MB/s`` and ``GB/s`` are decimal;
- bits (``Mbps``) are refused: they are too often written for bytes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from measure.errors import DataError
from measure.units import parse_bytes

_TIME = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "usec": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_RATE = {"/s": 1.0, "iops": 1.0, "IOPS": 1.0, "k/s": 1e3, "kiops": 1e3, "kIOPS": 1e3, "M/s": 1e6, "MIOPS": 1e6}
BLOCK_UNITS = {
    "B": 1.0, "bytes": 1.0, "kB": 1e3,
    "k": 2.0**10, "K": 2.0**10, "KB": 2.0**10, "KiB": 2.0**10,
    "m": 2.0**20, "M": 2.0**20, "MB": 2.0**20, "MiB": 2.0**20,
}  # fmt: skip
_BANDWIDTH = {
    "B/s": 1.0, "bytes/s": 1.0, "kB/s": 1e3, "KB/s": 2.0**10, "KiB/s": 2.0**10,
    "MB/s": 1e6, "MiB/s": 2.0**20, "GB/s": 1e9, "GiB/s": 2.0**30,
}  # fmt: skip
_READ = {"%": 0.01, "fraction": 1.0}
_DELAY = {"cycles": 1.0, "ns": 1.0, "us": 1.0}  # kept as the tool counts it; the unit goes to Sweep.load_unit

_LOAD = {**_DELAY, **_RATE}

#: Role -> the units it may have. Roles without units map to an empty table.
UNITS: Mapping[str, Mapping[str, float]] = {
    "load": _LOAD, "depth": {}, "delay": _DELAY, "arrival_rate": _RATE,
    "latency": _TIME, "read_latency": _TIME, "write_latency": _TIME,
    "throughput": _RATE, "read_throughput": _RATE, "write_throughput": _RATE,
    "bandwidth": _BANDWIDTH, "read_bandwidth": _BANDWIDTH, "write_bandwidth": _BANDWIDTH,
    "block": BLOCK_UNITS, "buffer": BLOCK_UNITS, "read_percent": _READ, "write_percent": _READ,
    "latency_sd": _TIME, "latency_p50": _TIME, "latency_p95": _TIME, "latency_p99": _TIME, "latency_p999": _TIME,
    "series": {}, "mix": {}, "pattern": {}, "engine": {},
}  # fmt: skip

#: What a column of this role is in when nobody says otherwise; roles that are absent here must be given a unit.
DEFAULT_UNIT = {"throughput": "/s", "read_throughput": "/s", "write_throughput": "/s", "arrival_rate": "/s",
                "read_percent": "%", "write_percent": "%", "delay": "cycles"}  # fmt: skip

LOAD_ROLES = ("load", "depth", "delay", "arrival_rate")
TEXT_ROLES = frozenset({"series", "mix", "pattern", "engine"})

_MOST_NAMES = 20

EXAMPLE = "--columns load=io_depth,latency=latency_us:us,throughput=iops"

_MEAN = r"(?:(?:mean|avg|average)_)?"
_TIME_UNIT = r"_(?P<unit>s|sec|ms|msec|us|usec|µs|μs|ns)"
_BW_UNIT = r"(?P<unit>(?:[kKMG]i?)?B(?:/s|ps|_per_s|/sec|_s))"
_BLOCK_UNIT = r"_(?P<unit>B|bytes|k|K|kB|KB|KiB|MB|MiB)"
_LATENCY = r"(?i:lat|latency|response_time)(?i:_mean|_avg)?"
_NAMES: tuple[tuple[str, str], ...] = (
    ("depth", r"(?i:(?:queue|io)_?depth|qd|depth|outstanding(?:_requests)?)"),
    ("delay", r"(?i:inject(?:ed|ion)?_?delay|delay)(?:_(?P<unit>cycles|ns|us))?"),
    ("arrival_rate", r"(?i:arrival_rate|asked_rate)(?i:_per_s)?"),
    ("latency", rf"(?i:{_MEAN}){_LATENCY}{_TIME_UNIT}"),
    ("read_latency", rf"(?i:read_{_MEAN}){_LATENCY}{_TIME_UNIT}"),
    ("write_latency", rf"(?i:write_{_MEAN}){_LATENCY}{_TIME_UNIT}"),
    ("throughput", r"(?:(?i:iops)(?:_(?P<unit>k))?|(?i:(?:throughput|requests|completions)_per_s))"),
    ("read_throughput", r"(?i:read_iops)(?:_(?P<unit>k))?"),
    ("write_throughput", r"(?i:write_iops)(?:_(?P<unit>k))?"),
    ("bandwidth", rf"(?:(?i:bandwidth|bw|throughput)_)?{_BW_UNIT}"),
    ("read_bandwidth", rf"(?i:read)_(?:(?i:bandwidth|bw)_)?{_BW_UNIT}"),
    ("write_bandwidth", rf"(?i:write)_(?:(?i:bandwidth|bw)_)?{_BW_UNIT}"),
    ("block", rf"(?i:block|block_?size|bs|access_size|io_size){_BLOCK_UNIT}"),
    ("buffer", rf"(?i:buffer|buffer_?size){_BLOCK_UNIT}"),
    ("read_percent", r"(?i:reads?_?(?:pct|percent|%)|rwmixread|percent(?:age)?_of_reads?(?:_?%)?)"),
    ("write_percent", r"(?i:writes?_?(?:pct|percent|%)|rwmixwrite|percent(?:age)?_of_writes?(?:_?%)?)"),
    ("latency_sd", rf"(?i:lat|latency)_(?i:sd|std|stddev){_TIME_UNIT}"),
    ("latency_p50", rf"(?i:(?:lat|latency)_)?p50{_TIME_UNIT}"),
    ("latency_p95", rf"(?i:(?:lat|latency)_)?p95{_TIME_UNIT}"),
    ("latency_p99", rf"(?i:(?:lat|latency)_)?p99{_TIME_UNIT}"),
    ("latency_p999", rf"(?i:(?:lat|latency)_)?p99_?9{_TIME_UNIT}"),
    ("mix", r"(?i:mix|direction|rw|read_?write(?:_mix)?|traffic)"),
    ("series", r"(?i:series)"),
    ("pattern", r"(?i:pattern)"),
    ("engine", r"(?i:(?:io_?)?engine)"),
)
_COMPILED = tuple((role, re.compile(pattern)) for role, pattern in _NAMES)
_UNIT_SUFFIX = re.compile(r"(?:^|_)(?P<unit>[A-Za-zµμ%]+(?:/s|/sec|_per_s)?)$")


@dataclass(frozen=True)
class Role:
    """One column with its meaning: ``column`` as the table spells it, the factor that makes SI of it, the unit.

    ``constant`` is the SI value where the user declared a value for all rows ("load=1") instead of a column.
    """

    role: str
    column: str
    scale: float = 1.0
    unit: str = ""
    constant: float | None = None


@dataclass(frozen=True)
class Roles:
    """The columns of one table by role, and the columns that mean nothing to us."""

    by_role: Mapping[str, Role]
    ignored: tuple[str, ...] = field(default=())

    def __contains__(self, role: str) -> bool:
        return role in self.by_role

    def __getitem__(self, role: str) -> Role:
        return self.by_role[role]


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
        column, colon, unit = rest.rpartition(":")
        if colon and UNITS[role] and column.strip():
            _unit_scale(role, unit.strip())
            columns[role], units[role] = column.strip(), unit.strip()
        else:
            columns[role] = rest
    if not columns:
        raise DataError(f"--columns is empty; write it like {EXAMPLE}")
    return columns, units


def assign_roles(
    header: Sequence[str],
    columns: Mapping[str, str] | None,
    units: Mapping[str, str] | None,
    where: str,
    further: Callable[[Sequence[str], Mapping[str, Role]], Iterable[Role]] | None = None,
) -> Roles:
    """Give every column of ``header`` its role; ``columns`` (role -> column) and ``units`` (role -> unit) go first.

    A load, a block or a read percentage may be one value for the whole table instead of a column: ``load=1``,
    ``block=4KiB``, ``read_percent=100``. The role
    "load" becomes "delay" or "arrival_rate" where the column's name says so, else "depth". ``further`` gives roles to
    columns that neither a declaration nor a name tells, from these columns and the roles that are taken.

    Raises DataError naming ``where``, the columns found and the declaration to write: for an unknown role, column or
    unit, for two columns that fit one role, for a missing unit, and where load, latency or throughput is missing.
    """
    declared = dict(columns or {})
    units = dict(units or {})
    for role in (*declared, *units):
        _check_role(role)
    chosen = _all_declared(header, declared, units, where)
    for column in header:
        if column in declared.values():
            continue
        found = recognise(column)
        if found is None or (found.role in LOAD_ROLES and any(r in chosen for r in LOAD_ROLES)):
            if found is not None and not any(r in declared for r in LOAD_ROLES):
                raise DataError(_ambiguous(where, chosen, found, header))
            continue
        if found.role in chosen:
            if found.role not in declared:
                raise DataError(_ambiguous(where, chosen, found, header))
            continue
        unit = units.get(found.role)
        chosen[found.role] = found if unit is None else _declared(found.role, column, unit, where)
    if further is not None:
        chosen |= {role.role: role for role in further(_rest(header, chosen), chosen)}
    roles = Roles(chosen, _rest(header, chosen))
    _check_complete(roles, header, where)
    return roles


def _all_declared(
    header: Sequence[str], declared: Mapping[str, str], units: Mapping[str, str], where: str
) -> dict[str, Role]:
    """The roles that the user declared, a column or a value each."""
    chosen: dict[str, Role] = {}
    for asked, column in declared.items():
        role = _kind_of_load(column) if asked == "load" else asked
        constant = None if column in header else _constant(role, column)
        if column not in header and constant is None:
            raise DataError(f"{where} has no column {column!r} (asked for as {asked}); {_found(header)}")
        if role in chosen:
            raise DataError(f"{where}: {column!r} and {chosen[role].column!r} are both declared as {role}; keep one")
        if constant is not None:
            chosen[role] = Role(role, column, constant=constant)
        else:
            chosen[role] = _declared(role, column, units.get(asked), where)
    return chosen


def _rest(header: Sequence[str], chosen: Mapping[str, Role]) -> tuple[str, ...]:
    used = {role.column for role in chosen.values()}
    return tuple(column for column in header if column not in used)


def recognise(column: str) -> Role | None:
    """The role of a column whose name leaves nothing to guess, or None.

    >>> recognise("Latency (us)").role, recognise("latency")
    ('latency', None)
    """
    name = re.sub(r"[\s\-\[\]().]+", "_", column.strip()).strip("_")
    for role, pattern in _COMPILED:
        match = pattern.fullmatch(name)
        if match is None:
            continue
        unit = match.groupdict().get("unit")
        if unit is None:
            unit = DEFAULT_UNIT.get(role, "")
        return Role(role, column, _unit_scale(role, unit) if unit else 1.0, unit)
    return None


def _declared(role: str, column: str, unit: str | None, where: str) -> Role:
    """A declared column; without a declared unit, the one in its name, or the role's usual one."""
    if not UNITS[role]:
        return Role(role, column)
    if unit is None:
        suffix = _UNIT_SUFFIX.search(re.sub(r"[\s\-\[\]().]+", "_", column.strip()).strip("_"))
        if suffix is not None and _normal_unit(role, suffix["unit"]) in UNITS[role]:
            unit = suffix["unit"]
        elif role in DEFAULT_UNIT:
            unit = DEFAULT_UNIT[role]
        else:
            raise DataError(
                f"{where}: the unit of column {column!r} ({role}) is not in its name; say it, for example "
                f"{role}={column}:{next(iter(u for u in UNITS[role] if u not in ('s', 'B', 'B/s')))}"
            )
    return Role(role, column, _unit_scale(role, unit), unit)


def _kind_of_load(column: str) -> str:
    """Which kind of load a column holds that was declared as "load"."""
    lower = column.lower()
    if "delay" in lower or "pause" in lower:
        return "delay"
    return "arrival_rate" if "rate" in lower else "depth"


def _constant(role: str, text: str) -> float | None:
    """The SI value that stands in place of a column, or None where the text is none."""
    try:
        if role in ("block", "buffer"):
            return float(parse_bytes(text))
        if role in ("read_percent", "write_percent"):
            return float(text.removesuffix("%")) / 100
        return float(text) if role in LOAD_ROLES else None
    except ValueError:
        return None


def _check_role(role: str) -> None:
    if role not in UNITS:
        raise DataError(f"{role!r} is no role of a column; the roles are {', '.join(UNITS)}")


def _normal_unit(role: str, unit: str) -> str:
    if UNITS[role] is _BANDWIDTH:
        return re.sub(r"(?:ps|_per_s|/sec|_s)$", "/s", unit)
    if UNITS[role] is _RATE and unit in ("k", "M"):
        return f"{unit}/s"
    return unit


def _unit_scale(role: str, unit: str) -> float:
    table = UNITS[role]
    scale = table.get(_normal_unit(role, unit))
    if scale is None:
        if table is _BANDWIDTH and re.search(r"bit|b(?:/s|ps)$", unit):
            raise DataError(f"{role} in {unit!r} are bits; give the column in bytes, for example {role}=NAME:MB/s")
        choice = f"use {', '.join(table)}" if table else "it takes none"
        raise DataError(f"{unit!r} is no unit of {role}; {choice}")
    return scale


def _found(header: Sequence[str]) -> str:
    more = f" and {len(header) - _MOST_NAMES} more" if len(header) > _MOST_NAMES else ""
    return f"its columns are {', '.join(header[:_MOST_NAMES])}{more}"


def _ambiguous(where: str, chosen: Mapping[str, Role], second: Role, header: Sequence[str]) -> str:
    kinds = LOAD_ROLES if second.role in LOAD_ROLES else (second.role,)
    first = next(chosen[k].column for k in kinds if k in chosen)
    role = "load" if second.role in LOAD_ROLES else second.role
    return (
        f"{where}: both {first!r} and {second.column!r} can be the {role}; say which, for example "
        f"--columns {role}={second.column} ({_found(header)})"
    )


def _check_complete(roles: Roles, header: Sequence[str], where: str) -> None:
    lacking = []
    if not any(r in roles for r in LOAD_ROLES):
        lacking.append("a load")
    if "latency" not in roles and not ("read_latency" in roles or "write_latency" in roles):
        lacking.append("a latency with its unit")
    speeds = ("throughput", "read_throughput", "write_throughput", "bandwidth", "read_bandwidth", "write_bandwidth")
    if not any(r in roles for r in speeds):
        lacking.append("a throughput (or a bandwidth and the block size)")
    elif not any("throughput" in r for r in roles.by_role) and "block" not in roles and "delay" not in roles:
        lacking.append("a block size (or an IOPS column)")
    if lacking:
        raise DataError(
            f"{where}: {' and '.join(lacking)} cannot be told from its columns; {_found(header)}; "
            f"declare them, for example {EXAMPLE} (a value works too: load=1, block=4KiB)"
        )
