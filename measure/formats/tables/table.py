"""Tables of measurements as people publish them (CSV, TSV, semicolons), and our own tidy table.

``csv_sweep(text)`` is a pure function of text. It finds the separator, reads the header, gives every column its role
(:mod:`measure.formats.tables.columns`), settles by Little's law what names leave open
(:mod:`measure.formats.tables.unit_choice`), converts the rows to SI units, and groups them into curves
(:mod:`measure.formats.tables.cells`). Reads and writes that are tabulated apart are joined to one stream: throughputs
add, and the mean latency is weighted by throughput, under which Little's law holds for the sum. A row with an empty
cell where a number is needed is left out with a Finding; a cell that is no number is an error, because a typing mistake
must not silently become a missing point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.cells import (
    IN_CELLS,
    TextTable,
    block_bytes,
    cell_seconds,
    check_one_loop,
    number,
    part_curves,
    read_table,
    roles_of_cells,
    with_points,
)
from measure.formats.tables.column_names import LOAD_ROLES, ColumnRole, load_noun
from measure.formats.tables.columns import TEXT_ROLES, Roles, assign_roles
from measure.formats.tables.unit_choice import complete, count_jobs, part_jobs, settle, with_load_over_time
from measure.loads import LOADS, LoadKind
from measure.spreadsheet import plain_cells
from measure.sweep import OPTIONAL, REQUIRED, Provenance, Sweep, describe_series
from measure.units import CACHE_LINE_BYTES, counted, format_bytes, parse_mix

_WORDS = {"load": "load", "latency_s": "latency", "throughput_per_s": "throughput", "jobs": "number of jobs"}
_PERCENTILES = ("latency_sd", "latency_p50", "latency_p95", "latency_p99", "latency_p999")


@dataclass
class Rows:
    """The points of a table, the cells of each, and the lines that are no point by the reason."""

    records: list[dict[str, Any]] = field(default_factory=list)
    cells: list[Mapping[str, str]] = field(default_factory=list)
    left_out: dict[str, list[int]] = field(default_factory=dict)


def rows_of(table: TextTable, roles: Roles, name: str, most: int | None = None) -> Rows:
    """The points of the first ``most`` rows. Where all lack a latency, or all a throughput, the law gives it later."""
    found = [(line, cells, _record(line, cells, roles, name)) for line, cells in table.rows[:most]]
    needed = ["load", "latency_s", "throughput_per_s", *(["jobs"] if "jobs" in roles else [])]
    if roles.load.role == "depth":
        told = {c: any(r[c] is not None for *_, r in found) for c in ("latency_s", "throughput_per_s")}
        needed = [c for c in needed if told.get(c, True) or not any(told.values())]
    rows = Rows()
    for line, cells, record in found:
        lacking = [_WORDS[c] for c in needed if record[c] is None]
        if lacking:
            rows.left_out.setdefault(f"no {' and no '.join(lacking)} is given", []).append(line)
        else:
            rows.records.append(record)
            rows.cells.append(cells)
    return rows


def _record(line: int, cells: Mapping[str, str], roles: Roles, name: str) -> dict[str, Any]:
    """One tidy row; None where its cells tell no load, latency or throughput."""
    value = {role: _value(cells, r, line, name) for role, r in roles.by_role.items() if role not in TEXT_ROLES}
    text = {role: cells[roles[role].column] for role in TEXT_ROLES if role in roles}
    block = value.get("block")
    # Under an injected delay it is a memory: each access moves one cache line, whatever its stride.
    joined = _join_directions(value, CACHE_LINE_BYTES if "delay" in roles else block)
    load = next((value[r] for r in LOAD_ROLES if r in value), None)
    if joined.throughput == 0:
        raise DataError(
            f"{name}: line {line} has a throughput of 0, at which no latency can have been measured; remove the row or "
            "measure the point again"
        )
    mix = parse_mix(text.get("mix", ""))
    written = value.get("write_percent")
    told = (value.get("read_percent"), None if written is None else 1 - written)
    read = next((f for f in (*told, joined.read_fraction, mix.read_fraction) if f is not None), None)
    pattern = text.get("pattern") or mix.pattern
    unknown = (text["mix"],) if text.get("mix") and read is None else (mix.note,) if mix.note else ()
    parts = [*unknown, *([f"buffer {_size(value['buffer'])}"] if value.get("buffer") else [])]
    return {
        "series": text.get("series") or describe_series(block, read, pattern, parts),
        "load": load,
        "throughput_per_s": joined.throughput,
        "latency_s": joined.latency,
        "bandwidth_bytes_per_s": joined.bandwidth,
        "block_bytes": block,
        "read_fraction": read,
        "pattern": pattern,
        "buffer": value.get("buffer"),
        **({"jobs": value["jobs"]} if "jobs" in value else {}),
        **({"engine": text["engine"] or None} if "engine" in text else {}),
        **{f"{p}_s": value[p] for p in _PERCENTILES if p in value},
    }


@dataclass(frozen=True)
class _Stream:
    throughput: float | None
    latency: float | None
    bandwidth: float | None
    read_fraction: float | None = None


def _join_directions(value: Mapping[str, float | None], unit_bytes: float | None) -> _Stream:
    """Throughput, mean latency and bandwidth of the whole stream, from one column each or from reads and writes."""
    if "latency" in value or not {"read_latency", "write_latency"} & value.keys():
        bandwidth = value.get("bandwidth")
        throughput = value.get("throughput")
        if "throughput" not in value:
            throughput = _per_unit(bandwidth, unit_bytes)
            if "bandwidth" not in value:
                return _under_one_latency(value, unit_bytes)
        if bandwidth is None and throughput is not None and unit_bytes:
            bandwidth = throughput * unit_bytes
        return _Stream(throughput, value.get("latency"), bandwidth)
    total = weighted = moved = 0.0
    reads = 0.0
    for direction in ("read", "write"):
        bandwidth = value.get(f"{direction}_bandwidth")
        throughput = value.get(f"{direction}_throughput")
        if throughput is None:
            throughput = _per_unit(bandwidth, unit_bytes)
        if not throughput:
            continue
        latency = value.get(f"{direction}_latency")
        if latency is None:
            return _Stream(throughput, None, None)
        total += throughput
        weighted += throughput * latency
        moved += bandwidth if bandwidth is not None else throughput * unit_bytes if unit_bytes else math.nan
        reads += throughput if direction == "read" else 0.0
    if not total:
        return _Stream(None, None, None)
    return _Stream(total, weighted / total, None if math.isnan(moved) else moved, reads / total)


def _under_one_latency(value: Mapping[str, float | None], unit_bytes: float | None) -> _Stream:
    """Reads and writes tabulated apart, with one latency of both, or none."""
    rates = {}
    for direction in ("read", "write"):
        rate = value.get(f"{direction}_throughput")
        rates[direction] = _per_unit(value.get(f"{direction}_bandwidth"), unit_bytes) if rate is None else rate
    total = sum(rate for rate in rates.values() if rate is not None)
    if not total:
        return _Stream(None, value.get("latency"), None)
    bandwidth = total * unit_bytes if unit_bytes else None
    return _Stream(total, value.get("latency"), bandwidth, (rates["read"] or 0.0) / total)


def _per_unit(bandwidth: float | None, unit_bytes: float | None) -> float | None:
    return bandwidth / unit_bytes if bandwidth is not None and unit_bytes else None


def _value(cells: Mapping[str, str], role: ColumnRole, line: int, name: str) -> float | None:
    """What the row holds of a role, in SI units; None where its cell is empty."""
    if role.constant is not None:
        return role.constant
    if role.unit == IN_CELLS:
        return block_bytes(cells[role.column]) if role.role == "block" else cell_seconds(cells[role.column])
    counted_or_rate = role.role in (*LOAD_ROLES, "jobs") or role.role.endswith("throughput")
    return number(cells[role.column], role.scale, line, role.column, name, may_have_prefix=counted_or_rate)


def _size(size: float | None) -> str:
    return format_bytes(size or 0.0)


_KINDS: Mapping[str, LoadKind] = {"depth": "queue_depth", "delay": "injected_delay", "arrival_rate": "arrival_rate"}
_OWN_TEXT = frozenset({"series", "pattern", "source", "started_at"})
_MOST_LINES = 10
_ENOUGH = 2000  # rows that tell a unit


def csv_sweep(
    text: str,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    *,
    name: str = "the table",
) -> Sweep:
    """The sweep in a text table.

    ``columns`` maps a role (load, jobs, latency, throughput, bandwidth, block, read_percent, series, ...) to the column
    that holds it, ``units`` a role to its unit; what is not declared is recognised by unambiguous names. ``name`` is
    the file's name for messages. Throughput comes from its own column, else from bandwidth / block, else, for a memory
    under an injected delay, from bandwidth / 64 bytes, else, for a number of outstanding requests, from load / latency.

    Raises DataError with one sentence for a table that is empty, ragged, lacks a column, or holds a cell that is not a
    number.
    """
    table = read_table(text, name)
    if columns is None and units is None and set(REQUIRED) <= set(table.header):
        return _own_table(table, name)
    over_time: list[Finding] = []
    if not columns:
        table, over_time = with_load_over_time(table, name)
    cells_of: Mapping[str, Sequence[str]] = {
        column: [cells[column] for _, cells in table.rows] for column in table.header
    }
    check_one_loop(cells_of, name)
    roles = assign_roles(table.header, columns, units, name, lambda rest, taken: roles_of_cells(rest, cells_of, taken))
    if "latency" in roles and _have_units(cells_of.get(roles["latency"].column, ())):
        roles = roles.using(replace(roles["latency"], scale=1.0, unit=IN_CELLS))
    table = with_points(table, _numeric_columns(roles), name)
    roles, findings = settle(roles, table.header, lambda r: rows_of(table, r, name, _ENOUGH).records, name)
    rows = rows_of(table, roles, name)
    if not rows.records:
        raise DataError(
            f"{name}: none of its {counted(len(table.rows), 'row')} is a whole point: {next(iter(rows.left_out))}"
        )
    findings += [_left_out(name, reason, lines) for reason, lines in rows.left_out.items()]
    findings += over_time
    kind = _KINDS[roles.load.role]
    multiplied = False
    if "jobs" in roles:
        multiplied, told = count_jobs(rows.records, roles, name)
        findings += told
    findings += complete(rows.records, name)
    unused = roles.ignored
    if "series" not in roles:
        _part_engines(rows.records)
        unused, parted = part_curves(rows.records, rows.cells, unused, name)
        findings += parted
    if "jobs" in roles and (multiplied or "series" not in roles):
        part_jobs(rows.records, roles)
    if unused:
        findings.append(
            Finding(
                "columns",
                "info",
                f"{name}: {counted(len(unused), 'column')} not used: {_listed(unused)}.",
                "their names say nothing that is known here.",
                "declare them if they matter: --columns ROLE=COLUMN (load, jobs, latency, throughput, block, series).",
            )
        )
    points = pd.DataFrame(rows.records)
    points["repeat"] = points.groupby(["series", "load"]).cumcount()
    points["source"] = name
    if LOADS[kind].is_closed and "jobs" not in roles:
        points["depth"] = points["load"]
    return Sweep(
        points.drop(columns="buffer"),
        kind,
        _unit_of(roles, kind, multiplied=multiplied),
        Provenance(tool="csv", source=name, details=_details(roles, points)),
        tuple(findings),
        name=name,
    )


def to_csv(sweep: Sweep) -> str:
    """The tidy table as CSV text, SI units in the column names; ``csv_sweep`` reads it back unchanged.

    Two comment lines at the top keep what the table itself does not say: the kind and the unit of the load.
    """
    filled = [c for c in (*REQUIRED, *OPTIONAL) if c in REQUIRED or sweep.points[c].notna().any()]
    head = f"# load_kind: {sweep.load_kind}\n# load_unit: {sweep.load_unit}\n"
    return head + str(plain_cells(sweep.points[filled]).to_csv(index=False, lineterminator="\n"))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_LINES} more" if len(names) > _MOST_LINES else ""
    return ", ".join(names[:_MOST_LINES]) + more


def _have_units(cells: Sequence[str]) -> bool:
    """Whether these are times that each have a unit: "20.5ms", "1.2 s"."""
    return any(cells) and all(cell_seconds(cell) is not None for cell in cells if cell)


def _numeric_columns(roles: Roles) -> list[str]:
    """The columns that hold numbers, by their roles."""
    given = [r for r in (*roles.by_role.values(), *roles.rivals) if r.constant is None and r.unit != IN_CELLS]
    return [r.column for r in given if r.role not in TEXT_ROLES]


def _unit_of(roles: Roles, kind: LoadKind, *, multiplied: bool) -> str:
    """The unit of the load: what the table calls its requests (clients, threads), or counts its delay in."""
    load = roles.load
    if LOADS[kind].is_delay and load.unit:
        return load.unit
    if LOADS[kind].is_closed and load.constant is None and not multiplied:
        return load_noun(load.column)
    return LOADS[kind].unit


def _details(roles: Roles, points: pd.DataFrame) -> dict[str, Any]:
    details: dict[str, Any] = {
        "throughput_from": _throughput_source(roles),
        "columns": {r.role: f"{r.column}:{r.unit}" if r.unit else r.column for r in roles.by_role.values()},
    }
    if "buffer" in roles:
        known = points.dropna(subset=["buffer"])
        details["buffer_bytes"] = {str(s): float(b) for s, b in zip(known["series"], known["buffer"], strict=True)}
    return details


def _part_engines(records: Sequence[dict[str, Any]]) -> None:
    """Each engine's points are curves of their own, where there are several: their latencies hold different things."""
    if len({r.get("engine") for r in records}) > 1:
        for record in records:
            record["series"] = f"{record['series']} {record['engine'] or 'without an engine'}"


def _left_out(name: str, reason: str, lines: list[int]) -> Finding:
    shown = ", ".join(map(str, lines[:_MOST_LINES])) + (", ..." if len(lines) > _MOST_LINES else "")
    where = f"{'line' if len(lines) == 1 else 'lines'} {shown}"
    return Finding(
        "rows-left-out",
        "warning",
        f"{name}: {counted(len(lines), 'row')} left out, because {reason} ({where}).",
        "the export lost the cells, or the points were never measured.",
        "fill the cells and run qsim audit on the table again, or measure the points.",
    )


def _throughput_source(roles: Roles) -> str:
    if any(r.endswith("throughput") for r in roles.by_role):
        return "its own column"
    if not any(r.endswith("bandwidth") for r in roles.by_role):
        return "load / latency"
    return "bandwidth / block" if "block" in roles and "delay" not in roles else "bandwidth / 64 bytes"


def _own_table(table: TextTable, name: str) -> Sweep:
    """A table that ``to_csv`` (or a sweep directory of ours) wrote: SI columns, nothing to convert."""
    records: list[dict[str, Any]] = []
    for line, cells in table.rows:
        records.append(
            {
                column: (cell or None) if column in _OWN_TEXT else number(cell, 1.0, line, column, name)
                for column, cell in cells.items()
                if column in REQUIRED or column in OPTIONAL
            }
        )
        for column in REQUIRED:
            if records[-1][column] is None:
                raise DataError(f"{name}: line {line} has no {column}; measure the point again or remove the line")
    kind = _noted_kind(table.notes.get("load_kind"), records, name)
    unit = table.notes.get("load_unit", LOADS[kind].unit)
    return Sweep(pd.DataFrame(records), kind, unit, Provenance(tool="csv", source=name), name=name)


def _noted_kind(noted: str | None, records: Iterable[Mapping[str, Any]], name: str) -> LoadKind:
    if noted is not None:
        if noted in LOADS:
            return LOADS[noted].kind
        raise DataError(f"{name}: load_kind {noted!r} is unknown; it is one of {', '.join(LOADS)}")
    # Without the note: cache lines as requests and no depth mean a memory under an injected delay.
    is_memory = all(
        r.get("depth") is None
        and r.get("bandwidth_bytes_per_s") is not None
        and math.isclose(r["bandwidth_bytes_per_s"], r["throughput_per_s"] * CACHE_LINE_BYTES, rel_tol=1e-6)
        for r in records
    )
    return "injected_delay" if is_memory else "queue_depth"
