"""Assigns roles to the columns of a table: declared by the user, recognised by name, or found by Little's law.

A *role* is the quantity in a column. A sweep needs a load, a latency and a throughput (or a bandwidth with the block
size, from which the throughput follows). Names that say one thing are taken first, then names of rates and times by
their words; N = X R decides where several fit, or where a name leaves its meaning open. A column that could be what is
missing, and that the law does not settle, is asked about: a computed value never takes its place in silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.by_law import column_values, note, obeying, readings
from measure.formats.tables.cells import TextTable, block_bytes
from measure.formats.tables.column_names import (
    IN_CELLS,
    LOAD_ROLES,
    OPEN_UNIT,
    SPEEDS,
    ColumnRole,
    Roles,
    WordedName,
    check_role,
    columns_option,
    counts_tokens,
    declared_role,
    declared_roles,
    found_columns,
    is_achieved,
    is_mean_in_flight,
    may_be_a_mean,
    meaning_of,
    plain_name,
    recognise,
    unit_in_name,
    weakly_recognised,
    worded_name,
)
from measure.formats.tables.counts import counts_requests
from measure.units import parse_mix

LATENCIES = ("latency", "read_latency", "write_latency")
_COUNTS = (*LOAD_ROLES, "clients", "jobs")
_BLOCK_NAME = re.compile(r"(?i:block|block_?size|bs|access_size|io_size|request_size)")
_MIX_WORDS = frozenset({"randrw", "rw", "readwrite"})
_NEAR, _NEARER, _ALIKE = 0.10, 0.03, 0.01
"""Relative distances: within which N = X R chooses a column by its name, and without one; and of equal columns."""


def assign_roles(
    table: TextTable, columns: Mapping[str, str] | None, units: Mapping[str, str] | None, where: str
) -> Roles:
    """Give every column of a table its role; declared ``columns`` and ``units``, by role, take precedence.

    A load, a number of jobs, a pipeline, a block or a read percentage may be one value for the whole table instead of a
    column: ``load=1``, ``jobs=4``, ``block=4KiB``, ``read_percent=100``. The role "load" becomes "delay" or
    "arrival_rate" where the column's name says so, else "depth". A latency whose unit is unknown has ``OPEN_UNIT``.

    Raises DataError naming ``where``, the columns found and the declaration to write: for an unknown role, column or
    unit, for a column declared twice, for two columns that fit one role, for a column that may be a missing rate or
    time, and where load, latency or throughput is missing.
    """
    header, declared, units = table.header, dict(columns or {}), dict(units or {})
    for name in (*declared, *units):
        check_role(name)
    chosen = declared_roles(header, declared, units, where)
    tokens = counts_tokens(header)
    found = [r for c in header if c not in declared.values() and (r := recognise(c)) is not None and r.role != "think"]
    counts = [r for r in found if r.role in _COUNTS]
    fixed = len(table.rows) > 1 and all(np.ptp(column_values(table, r)) == 0 for r in counts)
    if not {*_COUNTS} & chosen.keys() and (fixed or not counts):
        pair = [] if {*SPEEDS} & chosen.keys() else _offered_and_achieved(table)
        replaced = {r.column for r in (*pair, *counts)} if pair else set()
        found = [r for r in found if r.column not in replaced]
        found += pair or ([] if counts else _loads_by_weak_names(table))
    found = [r for r in found if not (tokens and r.role == "throughput" and "tps" in plain_name(r.column).lower())]
    found = [_in_unit(r, units, where) for r in found]
    chosen |= _loads(found, chosen, where, header)
    search = _Search(table, where, tokens)
    named: dict[str, list[ColumnRole]] = {}
    for role in found:
        if role.role not in _COUNTS and role.role not in declared:
            named.setdefault(role.role, []).append(role)
    chosen |= {what: fitting[0] for what, fitting in named.items() if len(fitting) == 1}
    for what, fitting in named.items():
        if len(fitting) > 1:
            chosen[what] = search.one_of(what, fitting, chosen)
    for what in (w for w in ("throughput", "latency") if w in chosen and w not in declared):
        chosen[what] = search.among_rivals(chosen[what], chosen)
    for look in (search.by_words, search.by_the_law_alone):
        for what, better in (("throughput", SPEEDS), ("latency", LATENCIES)):
            if not any(role in chosen for role in better):
                chosen |= {r.role: _in_unit(r, units, where) for r in look(what, chosen)}
    chosen = _of_all_requests(chosen)
    chosen |= _by_cells(table, chosen)
    named_load = recognise(chosen["depth"].column) if "depth" in chosen else None
    is_depth = named_load is not None and named_load.role == "depth"
    per_job = "depth" in chosen and "jobs" in chosen and (bool({"jobs", "depth"} & declared.keys()) or is_depth)
    _check_complete(chosen, table, where)
    return Roles(chosen, _rest(header, chosen), per_job, frozenset(declared), tuple(search.findings))


def _in_unit(role: ColumnRole, units: Mapping[str, str], where: str) -> ColumnRole:
    """The column in the unit that the user declared for its role, if any."""
    return declared_role(role.role, role.column, units[role.role], where) if role.role in units else role


class _Search:
    """Looks for the rate and the mean time of a table; ``findings`` say what N = X R decided."""

    def __init__(self, table: TextTable, where: str, tokens: bool) -> None:
        self.table, self.where, self.tokens = table, where, tokens
        self.findings: list[Finding] = []

    def one_of(self, role: str, fitting: Sequence[ColumnRole], chosen: Mapping[str, ColumnRole]) -> ColumnRole:
        """The column, of several, for which alone N = X R holds, or the first of equal ones; else DataError."""
        used = [r for r in fitting if np.any(column_values(self.table, r) != 0)]
        if len(used) == 1:  # tools print a column of zeros for what they did not do
            return used[0]
        held = self._obeying(role, fitting, chosen, within=_NEAR, rows=2) if role in ("throughput", "latency") else []
        if len({r.column for r in held}) == 1:
            return self._decided(held[0], f"of {', '.join(repr(r.column) for r in fitting)}, ")
        values = [column_values(self.table, r) for r in fitting if r.unit != OPEN_UNIT]
        near = [np.allclose(each, values[0], rtol=_ALIKE, atol=0) for each in values[1:]]
        if len(self.table.rows) > 1 and len(values) == len(fitting) and all(near):
            names = " and ".join(repr(r.column) for r in fitting)
            message = f"{self.where}: {names} agree within {100 * _ALIKE:g} %; {fitting[0].column!r} is read."
            remedy = f"choose another: {columns_option([f'{role}={fitting[1].column}'])}"
            self.findings.append(note("decided-column", message, remedy))
            return fitting[0]
        raise DataError(_ambiguous(self.where, fitting, self.table.header))

    def among_rivals(self, first: ColumnRole, chosen: Mapping[str, ColumnRole]) -> ColumnRole:
        """The column named for its role, or another whose words say the same for which alone N = X R holds."""
        values = column_values(self.table, first)
        worded = [w.column for w in self._worded(chosen) if w.is_sure and w.column.role == first.role]
        rivals = [r for r in worded if not np.allclose(column_values(self.table, r), values, rtol=_ALIKE, atol=0)]
        others = {what: role for what, role in chosen.items() if what != first.role}
        held = self._obeying(first.role, [first, *rivals], others, within=_NEAR, rows=2) if rivals else []
        if len({role.column for role in held}) != 1:
            return first
        return self._decided(held[0], f"of {', '.join(repr(role.column) for role in (first, *rivals))}, ")

    def by_words(self, what: str, chosen: Mapping[str, ColumnRole]) -> list[ColumnRole]:
        """The rate or the mean time that a name's words say, best names first: one, or one each for reads and writes.

        Raises DataError for a name that may be what is missing where N = X R does not settle it.
        """
        rest = self._without_exact(chosen)
        worded = [w for w in self._worded(chosen) if w.column.role.endswith(what)]
        if self.tokens and what == "throughput":
            rest, known = [], [w for w in worded if w.column.unit != OPEN_UNIT]
            worded = [w for w in known if "tps" not in plain_name(w.column.column).lower()]
        sure = [w.column for w in worded if w.is_sure]
        for tier in (
            [r for r in sure if r.unit != OPEN_UNIT],
            weakly_recognised(rest, what),
            [r for r in sure if r.unit == OPEN_UNIT],
        ):
            if whole := [r for r in tier if r.role == what]:
                return whole if len(whole) == 1 else [self.one_of(what, whole, chosen)]
            if tier:
                return self._directions(what, tier, chosen)
        return self._doubtful(what, [w for w in worded if not w.is_sure], chosen)

    def by_the_law_alone(self, what: str, chosen: Mapping[str, ColumnRole]) -> list[ColumnRole]:
        """The column of a name that says nothing for which alone N = X R holds closely, as this role."""
        columns = [ColumnRole(what, c, unit=OPEN_UNIT) for c in self._without_exact(chosen) if may_be_a_mean(c)]
        held = self._obeying(what, columns, chosen, within=_NEARER, rows=3) if len(chosen) > 1 else []
        return [self._decided(held[0])] if len(held) == 1 else []

    def _directions(self, what: str, tier: Sequence[ColumnRole], chosen: Mapping[str, ColumnRole]) -> list[ColumnRole]:
        """One column for reads, one for writes; of one direction alone with an open unit, it is the whole."""
        by_role: dict[str, list[ColumnRole]] = {}
        for role in tier:
            by_role.setdefault(role.role, []).append(role)
        found = [each[0] if len(each) == 1 else self.one_of(role, each, chosen) for role, each in by_role.items()]
        if len(found) == 1 and found[0].unit == OPEN_UNIT:
            return [replace(found[0], role=what)]
        if any(r.unit == OPEN_UNIT for r in found):
            line = columns_option([f"{r.role}={r.column}:{_EXAMPLE_UNIT[what]}" for r in found])
            raise DataError(f"{self.where}: the unit of {found[0].column!r} is not in its name; say it: {line}")
        return found

    def _doubtful(self, what: str, worded: Sequence[WordedName], chosen: Mapping[str, ColumnRole]) -> list[ColumnRole]:
        """The one column that may be the rate or the time by its name, and is by N = X R. DataError where none is."""
        doubtful = [replace(w.column, role=what) for w in worded if self._is_measured(w.column)]
        if not doubtful:
            return []
        for within in (_NEAR, _NEARER):
            held = self._obeying(what, doubtful, chosen, within=within, rows=2)
            if len(held) == 1:
                return [self._decided(held[0])]
        column = doubtful[0]
        unit = _EXAMPLE_UNIT[what] if column.unit == OPEN_UNIT else column.unit
        line = columns_option([f"{what}={column.column}:{unit}"])
        if any(w.is_contradictory and w.column.column == column.column for w in worded):
            of, other = ("rate", "time") if what == "throughput" else ("time", "rate")
            why = f"has the name of a {of} and the unit of a {other}"
        else:
            why = f"may be the {what}, or something else, and N = X R does not tell"
        raise DataError(
            f"{self.where}: {column.column!r} {why}; if it is, say so: {line}, else take the column out "
            f"({found_columns(self.table.header)})"
        )

    def _is_measured(self, column: ColumnRole) -> bool:
        """Whether a column has numbers, and not one time in every row of several, as the length of the runs is."""
        values = column_values(self.table, column)
        is_constant = column.role.endswith("latency") and len(values) > 1 and bool(np.all(values == values[0]))
        return bool(np.isfinite(values).any()) and not is_constant

    def _obeying(
        self, what: str, candidates: Sequence[ColumnRole], chosen: Mapping[str, ColumnRole], *, within: float, rows: int
    ) -> list[ColumnRole]:
        """The candidates for a role, each in its unit, for which N = X R holds; none without a load that counts."""
        if "depth" not in chosen or not candidates:
            return []
        other = "latency" if what == "throughput" else "throughput"
        rest = [
            n for c in _rest(self.table.header, chosen) if (n := meaning_of(c)) is not None and n.column.role == other
        ]
        exact = [n.column for n in rest if recognise(n.column.column)]
        others = [chosen[other]] if other in chosen else exact or [n.column for n in rest]
        mine = [reading for each in candidates for reading in readings(each)]
        theirs = [reading for each in others for reading in readings(each)]
        rates, times = (mine, theirs) if what == "throughput" else (theirs, mine)
        alone = [chosen[r] for r in ("depth", "pipeline") if r in chosen]
        products = [alone, [*alone, chosen["jobs"]]] if "jobs" in chosen else [alone]
        pairs = [pair for n in products for pair in obeying(self.table, n, rates, times, within=within, rows=rows)]
        return list(dict.fromkeys(pair[what == "latency"] for pair in pairs))

    def _without_exact(self, chosen: Mapping[str, ColumnRole]) -> list[str]:
        """The columns without a role and without an unambiguous name."""
        return [c for c in _rest(self.table.header, chosen) if recognise(c) is None]

    def _worded(self, chosen: Mapping[str, ColumnRole]) -> list[WordedName]:
        return [w for c in self._without_exact(chosen) if (w := worded_name(c)) is not None]

    def _decided(self, role: ColumnRole, among: str = "") -> ColumnRole:
        unit = {"/s": "1/s", "k/s": "1000/s"}.get(role.unit, role.unit).replace("us", "µs")
        message = f"{self.where}: {among}{role.column!r} is read as {role.role} in {unit}: N = X R holds."
        remedy = f"declare another column if it is not: --columns {role.role}=COLUMN"
        self.findings.append(note("decided-column", message, remedy))
        return role


_EXAMPLE_UNIT = {"throughput": "/s", "latency": "ms"}


def _of_all_requests(chosen: Mapping[str, ColumnRole]) -> dict[str, ColumnRole]:
    """The roles, where the latency of one direction beside a rate of all requests is the latency of all."""
    found = dict(chosen)
    apart = [r for r in ("read_latency", "write_latency") if r in found]
    parted = any(r in found for r in SPEEDS if "_" in r)
    if len(apart) == 1 and "latency" not in found and not parted and any(r in found for r in SPEEDS):
        found["latency"] = replace(found.pop(apart[0]), role="latency")
    return found


def _loads_by_weak_names(table: TextTable) -> list[ColumnRole]:
    """The columns called "load" or "N" where they count from 1 on; without one, the rates that were asked for."""
    weak = weakly_recognised(table.header, "depth")
    values = {role: column_values(table, replace(role, unit="")) for role in weak}
    counted = [replace(r, unit="") for r, n in values.items() if len(n) and np.all((n >= 1) & (n == np.round(n)))]
    if len(counted) == 1 and _are_rates(table, column_values(table, counted[0])):
        return [ColumnRole("arrival_rate", counted[0].column, unit="/s")]
    asked = weakly_recognised(table.header, "arrival_rate")
    return counted or [replace(role, unit="/s") if role.unit == OPEN_UNIT else role for role in asked]


def _are_rates(table: TextTable, load: NDArray[np.float64]) -> bool:
    """Whether the loads are the throughput itself, though no time is near the second that N = X R then asks for."""
    sure = [n.column for n in map(meaning_of, table.header) if n is not None and n.is_sure]
    served = [column_values(table, r) for r in sure if r.role == "throughput"]
    times = [column_values(table, r) for r in sure if r.role.startswith("latency") and r.unit != OPEN_UNIT]
    if len(served) != 1 or not times or len(load) < 2 or not np.nanmax(times) < 1 - _NEAR:
        return False
    kept_up = served[0] / load
    return bool(abs(np.nanmedian(kept_up) - 1) < _NEARER and np.nanmax(kept_up) < 1 + _NEAR)


def _offered_and_achieved(table: TextTable) -> list[ColumnRole]:
    """The rates that were offered and achieved, where one of two is named so, and does not exceed the other."""
    known = {r.column: r for r in weakly_recognised(table.header, "arrival_rate")}
    known |= {c: n.column for c in table.header if (n := meaning_of(c)) is not None}
    achieved = [c for c in table.header if is_achieved(c)]
    offered = [r for c, r in known.items() if r.role in ("throughput", "arrival_rate") and c not in achieved]
    if len(achieved) != 1 or len(offered) != 1:
        return []
    asked = replace(offered[0], role="arrival_rate")
    if asked.unit == OPEN_UNIT:
        asked = replace(asked, scale=1.0, unit="/s")
    own = known.get(achieved[0])
    is_known = own is not None and own.unit != OPEN_UNIT
    served = replace(own if own and is_known else asked, role="throughput", column=achieved[0])
    rates = column_values(table, served), column_values(table, asked)
    return [asked, served] if np.all(rates[0] <= (1 + _NEAR) * rates[1]) else []


def _loads(
    found: Sequence[ColumnRole], chosen: Mapping[str, ColumnRole], where: str, header: Sequence[str]
) -> dict[str, ColumnRole]:
    """The load where none is declared (a depth, delay or rate, else clients, else threads), and the number of jobs."""
    new: dict[str, ColumnRole] = {}
    jobs = [r for r in found if r.role == "jobs"]
    load = next((chosen[r] for r in LOAD_ROLES if r in chosen), None)
    if load is None:
        set_ones = [r for r in found if r.role in LOAD_ROLES and not is_mean_in_flight(r.column)]
        candidates = (
            set_ones or [r for r in found if r.role in LOAD_ROLES] or [r for r in found if r.role == "clients"] or jobs
        )
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
    """Free roles that the cells of one column alone tell: block sizes with units, and the words of a mix."""
    found: dict[str, list[ColumnRole]] = {"block": [], "mix": []}
    for column in _rest(table.header, chosen):
        filled = [cells[column] for _, cells in table.rows if cells[column]]
        if filled and _BLOCK_NAME.fullmatch(plain_name(column)) and all(block_bytes(c) is not None for c in filled):
            found["block"].append(ColumnRole("block", column, unit=IN_CELLS))
        elif filled and all(c.lower() in _MIX_WORDS or parse_mix(c).read_fraction in (0.0, 1.0) for c in filled):
            found["mix"].append(ColumnRole("mix", column))
    return {role: roles[0] for role, roles in found.items() if len(roles) == 1 and role not in chosen}


def _rest(header: Sequence[str], chosen: Mapping[str, ColumnRole]) -> tuple[str, ...]:
    used = {role.column for role in chosen.values()}
    return tuple(column for column in header if column not in used)


# --- error messages ---------------------------------------------------------------------------------------------------


_EXAMPLES = {"load": "", "throughput": "", "latency": ":ms", "block": ":KiB"}  # role -> its unit in an example


def _example(roles: Mapping[str, ColumnRole], lacking: Sequence[str], table: TextTable) -> str:
    """The declaration of a load, a throughput, a latency and what lacks, by the table's own columns, or COLUMN."""
    rest = _rest(table.header, roles)
    plain = [
        c for c in rest if not (recognise(c) or worded_name(c) or unit_in_name("latency", c) or counts_requests(c))
    ]
    numbers = [c for c in plain if table.rows and np.all(np.isfinite(column_values(table, ColumnRole("", c))))]
    sizes = [f"block={c}:{unit}" for c in numbers if (unit := unit_in_name("block", c)) and "size" in c.lower()]
    free = [c for c in numbers if may_be_a_mean(c) or weakly_recognised([c], "depth")]  # no share, size or error count
    apart = {role for role, all_of in (("throughput", SPEEDS), ("latency", LATENCIES)) if {*all_of} & roles.keys()}
    parts = []
    for role, unit in _EXAMPLES.items():
        names = LOAD_ROLES if role == "load" else (role,)
        if known := next((roles[name] for name in names if name in roles), None):
            own = f":{known.unit}" if known.unit not in ("", OPEN_UNIT, IN_CELLS) else ""
            parts.append(f"{role}={known.column}{own or (unit if role == 'latency' else '')}")
        elif role == "block" and role in lacking and sizes:
            parts.append(sizes[0])
        elif role == "latency" and "latency_p50" in roles:
            parts.append(f"latency={roles['latency_p50'].column}:{roles['latency_p50'].unit}")
        elif role in lacking or role in {"load", "throughput", "latency"} - apart:
            parts.append(f"{role}={free.pop(0) if free else 'COLUMN'}{unit}")
    return columns_option(parts)


def _or_arrivals(roles: Mapping[str, ColumnRole], lacking: Sequence[str]) -> str:
    """The declaration of a table's only rate as that of its arrivals, where nothing but the load lacks."""
    if lacking != ["a load"] or not {"throughput", "latency"} <= roles.keys():
        return ""
    rate, latency = roles["throughput"], roles["latency"]
    units = ["/s" if rate.unit == OPEN_UNIT else rate.unit, "ms" if latency.unit == OPEN_UNIT else latency.unit]
    line = columns_option([f"arrival_rate={rate.column}:{units[0]}", f"latency={latency.column}:{units[1]}"])
    return f"; where requests arrived at the rate {rate.column!r}: {line}"


def _ambiguous(where: str, fitting: Sequence[ColumnRole], header: Sequence[str]) -> str:
    """The error message for columns that fit one role; it names two."""
    first, second, *_ = fitting
    role = "load" if first.role in _COUNTS else first.role
    return (
        f"{where}: both {first.column!r} and {second.column!r} can be the {role}; say which, for example "
        f"{columns_option([f'{role}={second.column}'])} ({found_columns(header)})"
    )


def _check_complete(roles: Mapping[str, ColumnRole], table: TextTable, where: str) -> None:
    """DataError where columns are missing; Little's law, or a rate of arrivals, may stand in for one."""
    lacking = [] if any(r in roles for r in LOAD_ROLES) else ["a load"]
    per_request = any("throughput" in r for r in roles) or "block" in roles or "delay" in roles
    speed = any(r in roles for r in SPEEDS)
    if not any(r in roles for r in LATENCIES) and not ("depth" in roles and speed and per_request):
        lacking.append("a latency with its unit")
    if not speed and not (
        {"depth", "arrival_rate"} & roles.keys() and "latency" in roles and roles["latency"].unit != OPEN_UNIT
    ):
        lacking.append("a throughput (or a bandwidth and the block size)")
    elif speed and not per_request:
        lacking.append("a block size (or an IOPS column)")
    parted = any("_" in r for r in SPEEDS if r in roles)
    if {"read_latency", "write_latency"} <= roles.keys() and "latency" not in roles and not parted:
        line = "--columns read_throughput=COLUMN,write_throughput=COLUMN"
        raise DataError(
            f"{where}: reads and writes have a latency each ({roles['read_latency'].column!r}, "
            f"{roles['write_latency'].column!r}) and no throughput each, so that their mean is unknown; say it: {line}"
        )
    if lacking:
        no_mean = "; tokens are not requests, nor is the time to the first token a response time"
        if not counts_tokens(table.header):
            no_mean = "; a median stands in for a mean only where you say so" if "latency_p50" in roles else ""
        example = _example(roles, [what.split()[1] for what in lacking], table)
        raise DataError(
            f"{where}: {' and '.join(lacking)} cannot be found in its columns; {found_columns(table.header)}"
            f"{no_mean}; three columns do, a load, a throughput and a mean "
            f"latency: declare them, for example {example} (a value works too: load=1, block=4KiB)"
            f"{_or_arrivals(roles, lacking)}"
        )
