"""Which column of a table means what: declared by the user, or recognised by its name.

A *role* is what a column stands for. A sweep needs a load, a latency and a throughput (or a bandwidth with the size of
a block, from which the throughput follows). Where the load is a number of outstanding requests, one of latency and
throughput is enough: Little's law gives the other (:mod:`measure.formats.tables.unit_choice`).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from measure.errors import DataError
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
from measure.units import parse_bytes

TEXT_ROLES = frozenset({"series", "mix", "pattern", "engine"})
EXAMPLE = "--columns load=io_depth,latency=latency_us:us,throughput=iops"

_USUAL_UNIT = {"latency": "us", "bandwidth": "MB/s", "block": "KiB", "buffer": "KiB", "load": "ns"}


@dataclass(frozen=True)
class Roles:
    """The columns of one table by role, and the columns that mean nothing to us.

    ``rivals`` are further columns that may be the throughput; ``per_job`` says whether the load is that of one job, by
    its name or as declared, so that several jobs multiply it; ``declared`` are the roles that the user gave.
    """

    by_role: Mapping[str, ColumnRole]
    ignored: tuple[str, ...] = field(default=())
    rivals: tuple[ColumnRole, ...] = ()
    per_job: bool = False
    declared: frozenset[str] = frozenset()

    def __contains__(self, role: str) -> bool:
        return role in self.by_role

    def __getitem__(self, role: str) -> ColumnRole:
        return self.by_role[role]

    def using(self, role: ColumnRole) -> Roles:
        """The same with another column, or another unit, for one role."""
        return replace(self, by_role={**self.by_role, role.role: role})

    @property
    def load(self) -> ColumnRole:
        """The role of the load: depth, delay or arrival_rate."""
        return next(self.by_role[r] for r in LOAD_ROLES if r in self.by_role)


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
            unit_scale(role, unit.strip())
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
    further: Callable[[Sequence[str], Mapping[str, ColumnRole]], Iterable[ColumnRole]] | None = None,
) -> Roles:
    """Give every column of ``header`` its role; ``columns`` (role -> column) and ``units`` (role -> unit) go first.

    A load, a number of jobs, a block or a read percentage may be one value for the whole table instead of a column:
    ``load=1``, ``jobs=4``, ``block=4KiB``, ``read_percent=100``. The role "load" becomes "delay" or "arrival_rate"
    where the column's name says so, else "depth". ``further`` gives roles to columns that neither a declaration nor a
    name tells, from these columns and the roles that are taken. A latency whose unit is unknown has ``OPEN_UNIT``.

    Raises DataError naming ``where``, the columns found and the declaration to write: for an unknown role, column or
    unit, for two columns that fit one role, and where load, latency or throughput is missing.
    """
    declared, units = dict(columns or {}), dict(units or {})
    for name in (*declared, *units):
        _check_role(name)
    chosen = _all_declared(header, declared, units, where)
    found = _recognised(header, set(declared.values()), units, where)
    chosen |= _loads(found, chosen, where, header)
    rivals: list[ColumnRole] = []
    for role in found:
        if role.role in (*LOAD_ROLES, "clients", "jobs"):
            continue
        if role.role not in chosen:
            chosen[role.role] = role
        elif role.role not in declared:
            if role.role != "throughput":
                raise DataError(ambiguous(where, chosen[role.role], role, header))
            rivals.append(role)
    chosen |= _weakly(header, chosen, units, where)
    if further is not None:
        chosen |= {role.role: role for role in further(_rest(header, chosen), chosen)}
    roles = Roles(chosen, _rest(header, chosen), tuple(rivals), _is_per_job(chosen, declared), frozenset(declared))
    check_complete(roles.by_role, header, where)
    return roles


# --- what is declared, and what is recognised -----------------------------------------------------------------------


def _recognised(header: Sequence[str], declared: set[str], units: Mapping[str, str], where: str) -> list[ColumnRole]:
    """The columns that are not declared and that a name tells, with their declared units."""
    found = [role for column in header if column not in declared and (role := recognise(column)) is not None]
    if counts_tokens(header):
        found = [r for r in found if not (r.role == "throughput" and "tps" in plain_name(r.column).lower())]
    return [_declared(r.role, r.column, units[r.role], where) if r.role in units else r for r in found]


def _loads(
    found: Sequence[ColumnRole], chosen: Mapping[str, ColumnRole], where: str, header: Sequence[str]
) -> dict[str, ColumnRole]:
    """The load among recognised columns, where none is declared, and the jobs beside a number of requests.

    A depth, a delay or a rate goes before a number of clients, and that before a number of threads.
    """
    new: dict[str, ColumnRole] = {}
    jobs = [r for r in found if r.role == "jobs"]
    load = next((chosen[r] for r in LOAD_ROLES if r in chosen), None)
    if load is None:
        candidates = [r for r in found if r.role in LOAD_ROLES] or [r for r in found if r.role == "clients"] or jobs
        if len(candidates) > 1:
            raise DataError(ambiguous(where, candidates[0], candidates[1], header))
        if not candidates:
            return {}
        load = replace(candidates[0], role="depth" if candidates[0].role in ("clients", "jobs") else candidates[0].role)
        new[load.role] = load
    beside = [r for r in jobs if r.column != load.column]
    named = [r for r in beside if "job" in r.column.lower()] or beside
    if load.role == "depth" and "jobs" not in chosen and len(named) == 1:
        new["jobs"] = named[0]
    return new


def _is_per_job(chosen: Mapping[str, ColumnRole], declared: Mapping[str, str]) -> bool:
    """Whether jobs multiply the load: it is named as the depth of one job, or declared as a depth or beside jobs."""
    if "depth" not in chosen or "jobs" not in chosen:
        return False
    named = recognise(chosen["depth"].column)
    return "jobs" in declared or "depth" in declared or (named is not None and named.role == "depth")


def _weakly(
    header: Sequence[str], chosen: Mapping[str, ColumnRole], units: Mapping[str, str], where: str
) -> dict[str, ColumnRole]:
    """A latency or a throughput by a name that leaves something open, where nothing better is there."""
    new: dict[str, ColumnRole] = {}
    rest = [c for c in header if c not in {r.column for r in chosen.values()}]
    for role, better in (
        ("latency", ("latency", "read_latency", "write_latency")),
        ("throughput", (*SPEEDS, *(("throughput",) if counts_tokens(header) else ()))),
    ):
        if any(r in chosen for r in better) or (role == "throughput" and counts_tokens(header)):
            continue
        found = weakly_recognised(rest, role)
        if len(found) > 1:
            raise DataError(ambiguous(where, found[0], found[1], header))
        if found:
            new[role] = _declared(role, found[0].column, units[role], where) if role in units else found[0]
    return new


def _all_declared(
    header: Sequence[str], declared: Mapping[str, str], units: Mapping[str, str], where: str
) -> dict[str, ColumnRole]:
    """The roles that the user declared, a column or a value each."""
    chosen: dict[str, ColumnRole] = {}
    for asked, column in declared.items():
        role = _kind_of_load(column) if asked == "load" else asked
        constant = None if column in header else _constant(role, column)
        if column not in header and constant is None:
            raise DataError(f"{where} has no column {column!r} (declared as {asked}); {found_columns(header)}")
        if role in chosen:
            raise DataError(f"{where}: {column!r} and {chosen[role].column!r} are both declared as {role}; keep one")
        if constant is not None:
            chosen[role] = ColumnRole(role, column, constant=constant)
        else:
            chosen[role] = _declared(role, column, units.get(asked), where)
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
        return float(text) if role in (*LOAD_ROLES, "jobs") else None
    except ValueError:
        return None


def _check_role(role: str) -> None:
    if role not in UNITS:
        raise DataError(f"invalid role {role!r}: expected one of {', '.join(UNITS)}")


_MOST_NAMES = 20
_MOMENT = r"(?i:timestamp|date|epoch|elapsed)"
_NO_BLOCK = "a block size (or an IOPS column)"
_LIKELY = {
    "load": r"depth|qd|user|client|conc|conn|load|thread|^n$",
    "latency": r"lat|time|ttft|mean|avg|[_(][mu]s|rt",
    "throughput": r"/s|per_s|ps$|thr|rate|tok|bw",
}


def ready_line(header: Sequence[str], chosen: Mapping[str, ColumnRole]) -> str:
    """A ``--columns`` line of the table's own names, to be looked over: what is not known is guessed.

    >>> ready_line(["users", "time", "rate"], {})
    '--columns load=users,latency=time:ms,throughput=rate'
    """
    rest = [c for c in header if c not in {r.column for r in chosen.values()}]
    parts = []
    for role, words in _LIKELY.items():
        roles = LOAD_ROLES if role == "load" else (role,)
        known = next((chosen[r] for r in roles if r in chosen), None)
        column = known.column if known else _likeliest([c for c in rest if not re.search(_MOMENT, c)], words)
        rest = [c for c in rest if c != column]
        if not column and role == "load":
            parts.append("load=1")
        if not column:
            continue
        is_rate = role == "load" and not known and re.search(_LIKELY["throughput"], column.lower())
        name = "arrival_rate" if is_rate else role
        unit = known.unit if known and known.unit != OPEN_UNIT else unit_in_name("latency", column) or "ms"
        parts.append(f"{role}={column}:{unit}" if role == "latency" else f"{name}={column}")
    return columns_option(parts)


def columns_option(parts: Sequence[str]) -> str:
    """The option ``--columns`` with these parts, each ``role=column``, quoted as a shell needs it.

    >>> columns_option(["latency=Latency (ms):ms"])
    "--columns 'latency=Latency (ms):ms'"
    """
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(parts)
    text = line.getvalue()
    return f"--columns {text}" if re.fullmatch(r"[\w=,:./-]+", text) else f"--columns '{text}'"


def _likeliest(columns: Sequence[str], words: str) -> str:
    """The first column that has one of these words in its name, else the first one; "" where there is none."""
    found = [c for c in columns if re.search(words, c.lower())]
    return found[0] if found else columns[0] if columns else ""


def found_columns(header: Sequence[str]) -> str:
    more = f" and {len(header) - _MOST_NAMES} more" if len(header) > _MOST_NAMES else ""
    return f"its columns are {', '.join(header[:_MOST_NAMES])}{more}"


def ambiguous(where: str, first: ColumnRole, second: ColumnRole, header: Sequence[str]) -> str:
    role = "load" if first.role in (*LOAD_ROLES, "clients", "jobs") else first.role
    return (
        f"{where}: both {first.column!r} and {second.column!r} can be the {role}; say which, for example "
        f"{columns_option([f'{role}={second.column}'])} ({found_columns(header)})"
    )


def check_complete(roles: Mapping[str, ColumnRole], header: Sequence[str], where: str) -> None:
    """DataError where the columns do not make a point: by Little's law one of latency and throughput may be missing."""
    lacking = []
    latency = any(r in roles for r in ("latency", "read_latency", "write_latency"))
    if not any(r in roles for r in LOAD_ROLES):
        lacking.append("a load")
    per_request = any("throughput" in r for r in roles) or "block" in roles or "delay" in roles
    speed = any(r in roles for r in SPEEDS)
    if not latency and not ("depth" in roles and speed and per_request):
        lacking.append("a latency with its unit")
    if not speed and not ("depth" in roles and "latency" in roles and roles["latency"].unit != OPEN_UNIT):
        lacking.append("a throughput (or a bandwidth and the block size)")
    elif speed and not per_request:
        lacking.append(_NO_BLOCK)
    if not lacking:
        return
    told = f"{' and '.join(lacking)} cannot be found in its columns; {found_columns(header)}"
    if counts_tokens(header):
        raise DataError(
            f"{where}: {told}. Tokens are not requests, and the time to the first token is not the whole response: "
            f"give requests/s and whole latencies, or, if each token is a request: {ready_line(header, roles)}"
        )
    if lacking == [_NO_BLOCK]:
        raise DataError(f"{where}: {told}; declare it, for example --columns block=4KiB")
    line = ready_line(header, roles)
    if "latency=" not in line or "throughput=" not in line:
        raise DataError(
            f"{where}: {told}; add the column that is missing (where the load is a number of outstanding requests, one "
            "of latency and throughput is enough)"
        )
    raise DataError(f"{where}: {told}; declare them, for example {line} (a value works too: load=1, block=4KiB)")
