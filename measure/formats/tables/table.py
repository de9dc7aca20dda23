"""Tables of measurements as people publish them (CSV, TSV, semicolons), and qsim's tidy table.

``csv_sweep`` is a pure function of text, in one pass: cells (:mod:`measure.formats.tables.cells`), the role and unit of
every column (:mod:`measure.formats.tables.columns`), rows in SI units, curves. Separate columns of reads and writes
are joined to one stream: throughputs add, and the mean latency is weighted by throughput, under which Little's law
holds for the sum. A row with an empty cell where a number is needed is left out with a Finding; a cell that is not a
number is an error, because a typing mistake must not silently become a missing point.

Columns whose values recur distinguish curves. ``iodepth`` 8 with ``numjobs`` 4 are 32 outstanding requests; columns
that count all requests by their name (clients, connections) are not multiplied by threads. The audit checks both
against N = X R.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.cells import IN_CELLS, TextTable, block_bytes, number, read_table, with_points
from measure.formats.tables.column_names import LOAD_ROLES, ColumnRole, load_noun, plain_name
from measure.formats.tables.columns import (
    TEXT_ROLES,
    WORDS,
    Roles,
    assign_roles,
    columns_option,
    complete,
    note,
    settle,
    with_load_over_time,
)
from measure.loads import ArrivalRate, ClosedLoad, Depth, InjectedDelay, Load, counted_in
from measure.origin import ORIGIN
from measure.sweep import OPTIONAL, REQUIRED, Provenance, Sweep, describe_series
from measure.units import CACHE_LINE_BYTES, counted, format_bytes, parse_mix

_WORDS = {"load": "load", **WORDS, "jobs": "number of jobs"}
_PERCENTILES = ("latency_sd", "latency_p50", "latency_p95", "latency_p99", "latency_p999")
_KINDS: Mapping[str, Load] = {"depth": Depth(), "delay": InjectedDelay(), "arrival_rate": ArrivalRate()}
_OWN_TEXT = frozenset({"series", "pattern", "source", "started_at", *ORIGIN.values()})
_MOST_LINES = 10


def csv_sweep(
    text: str,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    *,
    name: str = "the table",
) -> Sweep:
    """The sweep in a text table.

    ``columns`` maps a role (load, jobs, latency, throughput, bandwidth, block, read_percent, series, ...) to the column
    that holds it, ``units`` a role to its unit; other roles are recognised by unambiguous names. ``name`` is
    the file's name for messages. Throughput comes from its own column, else from bandwidth / block, else, for a memory
    under an injected delay, from bandwidth / 64 bytes, else, for a number of outstanding requests, from load / latency.

    Raises DataError with one sentence for a table that is empty, ragged, lacks a column, or holds a cell that is not a
    number.
    """
    table = read_table(text, name)
    if columns is None and units is None and set(REQUIRED) <= set(table.header):
        return _own_table(table, name)
    table, over_time = (table, []) if columns else with_load_over_time(table, name)
    roles = assign_roles(table, columns, units, name)
    table = with_points(table, roles.numeric, name)
    rows = rows_of(table, roles, name)
    if not rows.records:
        raise DataError(
            f"{name}: none of its {counted(len(table.rows), 'row')} is a whole point: {next(iter(rows.left_out))}"
        )
    roles, findings = settle(rows.records, roles, name)
    findings += [_left_out(name, reason, lines) for reason, lines in rows.left_out.items()] + over_time
    if "jobs" in roles:
        findings += count_jobs(rows.records, roles, name)
    findings += complete(rows.records, name)
    unused = roles.ignored
    if "series" not in roles:
        unused, found = split_series(rows.records, rows.cells, unused, name)
        findings += found
    if "jobs" in roles and (roles.per_job or "series" not in roles):
        split_jobs(rows.records, roles)
    if unused:
        more = f" and {len(unused) - _MOST_LINES} more" if len(unused) > _MOST_LINES else ""
        what = f"{counted(len(unused), 'column')} not used: {', '.join(unused[:_MOST_LINES])}{more}"
        remedy = "declare them if they matter: --columns ROLE=COLUMN (load, jobs, latency, throughput, block, series)."
        findings.append(note("columns", f"{name}: {what}.", remedy, "their names say nothing that is known here."))
    load = _load_of(roles.load, multiplied=roles.per_job)
    points = pd.DataFrame(rows.records)
    points["repeat"] = points.groupby(["series", "load"]).cumcount()
    points["source"] = name
    if isinstance(load, ClosedLoad) and "jobs" not in roles:
        points["depth"] = points["load"]
    return Sweep(
        points.drop(columns="buffer"),
        load,
        Provenance(tool="csv", source=name, details=_details(roles, points)),
        tuple(findings),
        name=name,
    )


# --- rows -------------------------------------------------------------------------------------------------------------


@dataclass
class Rows:
    """The points of a table, the cells of each, and by reason the lines that are not points."""

    records: list[dict[str, Any]] = field(default_factory=list)
    cells: list[Mapping[str, str]] = field(default_factory=list)
    left_out: dict[str, list[int]] = field(default_factory=dict)


def rows_of(table: TextTable, roles: Roles, name: str) -> Rows:
    """The points of a table. Where all lack a latency, or all a throughput, ``complete`` adds it later."""
    found = [(line, cells, _record(line, cells, roles, name)) for line, cells in table.rows]
    needed = ["load", *WORDS, *(["jobs"] if "jobs" in roles else [])]
    given = {c for c in WORDS if any(record[c] is not None for *_, record in found)}
    if roles.load.role == "depth" and given:
        needed = [c for c in needed if c not in WORDS or c in given]
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
    """One tidy row; values are None where its cells hold no load, latency or throughput."""
    value = {role: _value(cells, r, line, name) for role, r in roles.by_role.items() if role not in TEXT_ROLES}
    text = {role: cells[roles[role].column] for role in TEXT_ROLES if role in roles}
    block, buffer = value.get("block"), value.get("buffer")
    # An injected delay means a memory: each access moves one cache line, whatever its stride.
    throughput, latency, bandwidth, share = _stream(value, CACHE_LINE_BYTES if "delay" in roles else block)
    if throughput == 0:
        raise DataError(
            f"{name}: line {line} has a throughput of 0, at which no latency can have been measured; remove the row or "
            "measure the point again"
        )
    mix = parse_mix(text.get("mix", ""))
    written = value.get("write_percent")
    shares = (value.get("read_percent"), None if written is None else 1 - written, share, mix.read_fraction)
    read = next((f for f in shares if f is not None), None)
    pattern = text.get("pattern") or mix.pattern
    unknown = text["mix"] if text.get("mix") and read is None else mix.note
    parts = [*([unknown] if unknown else []), *([f"buffer {format_bytes(buffer)}"] if buffer else [])]
    return {
        "series": text.get("series") or describe_series(block, read, pattern, parts),
        "load": next((value[r] for r in LOAD_ROLES if r in value), None),
        "throughput_per_s": throughput,
        "latency_s": latency,
        "bandwidth_bytes_per_s": bandwidth,
        "block_bytes": block,
        "read_fraction": read,
        "pattern": pattern,
        "buffer": buffer,
        **({"jobs": value["jobs"]} if "jobs" in value else {}),
        **({"engine": text["engine"] or None} if "engine" in text else {}),
        **{f"{p}_s": value[p] for p in _PERCENTILES if p in value},
    }


Number = float | None


def _stream(value: Mapping[str, Number], unit_bytes: Number) -> tuple[Number, Number, Number, Number]:
    """Throughput, mean latency, bandwidth and share of reads, from one column each or from reads and writes."""

    def rate(kind: str) -> Number:
        found, moved = value.get(f"{kind}throughput"), value.get(f"{kind}bandwidth")
        return moved / unit_bytes if found is None and moved is not None and unit_bytes else found

    latency, bandwidth = value.get("latency"), value.get("bandwidth")
    apart = "latency" not in value and bool({"read_latency", "write_latency"} & value.keys())
    if not apart and ("throughput" in value or "bandwidth" in value):
        whole = value["throughput"] if "throughput" in value else rate("")
        moved = whole * unit_bytes if bandwidth is None and whole is not None and unit_bytes else bandwidth
        return whole, latency, moved, None
    rates = {kind: rate(f"{kind}_") or 0.0 for kind in ("read", "write")}
    total = sum(rates.values())
    if not total:
        return None, latency, None, None
    moved = total * unit_bytes if unit_bytes else None
    if apart:
        latencies = {kind: value.get(f"{kind}_latency") for kind, x in rates.items() if x}
        if None in latencies.values():
            return total, None, None, None
        latency = sum(rates[kind] * r for kind, r in latencies.items() if r is not None) / total
        counts = [value.get(f"{kind}_bandwidth") or x * (unit_bytes or math.nan) for kind, x in rates.items() if x]
        moved = None if math.isnan(sum(counts)) else sum(counts)
    return total, latency, moved, rates["read"] / total


def _value(cells: Mapping[str, str], role: ColumnRole, line: int, name: str) -> Number:
    """The row's value of a role, in SI units; None where its cell is empty."""
    if role.constant is not None:
        return role.constant
    cell = cells[role.column]
    if role.unit == IN_CELLS:
        return block_bytes(cell)
    return number(cell, role, line, name)


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


def _load_of(role: ColumnRole, *, multiplied: bool) -> Load:
    """The kind of load, with the table's word for requests (clients, threads), or the unit of its delay."""
    load = _KINDS[role.role]
    if isinstance(load, InjectedDelay) and role.unit:
        return InjectedDelay(unit=role.unit)
    is_noun = isinstance(load, ClosedLoad) and role.constant is None and not multiplied
    return counted_in(load_noun(role.column)) if is_noun else load


def _details(roles: Roles, points: pd.DataFrame) -> dict[str, Any]:
    details: dict[str, Any] = {
        "columns": {r.role: f"{r.column}:{r.unit}" if r.unit else r.column for r in roles.by_role.values()}
    }
    given = {what for what in ("throughput", "bandwidth") if any(r.endswith(what) for r in roles.by_role)}
    if "block" in roles and "delay" not in roles and given == {"bandwidth"}:
        details["throughput_from"] = "bandwidth / block"
    if "buffer" in roles:
        known = points.dropna(subset=["buffer"])
        details["buffer_bytes"] = {str(s): float(b) for s, b in zip(known["series"], known["buffer"], strict=True)}
    return details


# --- qsim's tidy table ------------------------------------------------------------------------------------------------


def _own_table(table: TextTable, name: str) -> Sweep:
    """The sweep in the table of a sweep directory of qsim, in SI columns."""
    known = {c: ColumnRole("", c) for c in table.header if c in REQUIRED or c in OPTIONAL}
    records: list[dict[str, Any]] = []
    for line, cells in table.rows:
        read = {c: cells[c] or None if c in _OWN_TEXT else number(cells[c], r, line, name) for c, r in known.items()}
        for column in REQUIRED:
            if read[column] is None:
                raise DataError(f"{name}: line {line} has no {column}; measure the point again or remove the line")
        records.append(read)
    return Sweep(pd.DataFrame(records), provenance=Provenance(tool="csv", source=name), name=name)


Records = Sequence[dict[str, Any]]
_NO_CURVE = re.compile(
    r"(?i:rep(?:eat|lica(?:te)?|etition)?s?|runs?(?:_?(?:id|no|number))?|iter(?:ation)?s?|trials?|rounds?|samples?|seeds?"
    r"|try|attempt|pass|date|time|(?:.*_)?timestamp|index|idx|id|no|number|n)"
)
_SHOWN = 6


def count_jobs(records: Records, roles: Roles, name: str) -> list[Finding]:
    """Set ``load`` of each record, in place, to all outstanding requests, and ``depth`` to those of one job.

    Jobs multiply a load that is a depth by its name, or that was declared with them. Raises DataError for less than
    one job.
    """
    for record in records:
        if not record["jobs"] >= 1:
            raise DataError(f"{name}: {record['jobs']:g} jobs at load {record['load']:g} send nothing; correct the row")
        record["depth"] = record["load"] / (1.0 if roles.per_job else record["jobs"])
        record["load"] *= record["jobs"] if roles.per_job else 1.0
    if all(record["jobs"] == 1 for record in records):
        return []
    load, jobs = roles.load.column, roles["jobs"].column
    message = f"the load is {load} alone, which counts all {jobs}."
    remedy = f"if each of these has as many, say so: {columns_option([f'depth={load}', f'jobs={jobs}'])}"
    if roles.per_job:
        message = f"the load is {load} x {jobs}, what all jobs have outstanding."
        remedy = f"if {load} already counts all jobs, say so: --columns jobs=1"
    return [note("outstanding", f"{name}: {message}", remedy)]


def split_series(
    records: Records, rows: Sequence[Mapping[str, str]], ignored: Sequence[str], name: str
) -> tuple[tuple[str, ...], list[Finding]]:
    """Give ``records`` of different engines, and of different values in a column that separates curves, a series each.

    ``rows`` are the cells of the same rows, ``ignored`` the columns without a role. Returns the columns that separate
    no curves, and a finding for each that does. None does where no two records have the same curve and load. Unlike a
    measured value, which rarely recurs, each value of such a column occurs at two places or more.
    """
    if len({r.get("engine") for r in records}) > 1:  # their latencies include different parts
        for record in records:
            record["series"] = f"{record['series']} {record['engine'] or 'without an engine'}"
    places = [(record["series"], record["load"]) for record in records]
    shared: dict[tuple[str, float], list[int]] = defaultdict(list)
    for i, place in enumerate(places):
        shared[place].append(i)
    crowded = [group for group in shared.values() if len(group) > 1]
    columns = {column: [row[column] for row in rows] for column in ignored if crowded}
    separating = {column: values for column, values in columns.items() if _separates(column, values, places, crowded)}
    for i, record in enumerate(records):
        _extend(record, " ".join(f"{column} {values[i]}" for column, values in separating.items()))
    findings = []
    for column, values in separating.items():
        distinct = list(dict.fromkeys(values))
        shown = ", ".join(distinct[:_SHOWN]) + (", ..." if len(distinct) > _SHOWN else "")
        findings.append(
            note(
                "curves-by-column",
                f"{name}: rows at the same load differ in {column} ({shown}), and are curves of their own.",
                f"look whether they are repeats of one point instead: then rename the column {column!r} to repeat.",
                "they were measured under conditions of their own.",
            )
        )
    return tuple(column for column in ignored if column not in separating), findings


def _separates(
    column: str, values: Sequence[str], places: Sequence[tuple[str, float]], crowded: Sequence[Sequence[int]]
) -> bool:
    """Whether a column separates curves: values each at two places or more, several of them at one place."""
    if _NO_CURVE.fullmatch(plain_name(column)) or not all(values):
        return False
    at: dict[str, set[tuple[str, float]]] = defaultdict(set)
    for value, place in zip(values, places, strict=True):
        at[value].add(place)
    recur = all(len(found) > 1 for found in at.values())
    return recur and any(len({values[row] for row in group}) > 1 for group in crowded)


def split_jobs(records: Records, roles: Roles) -> None:
    """Give each number of jobs a series of its own where both depths and jobs vary, or where a load recurs.

    Rows with equal products of different depths and jobs are not repeats. A sweep of depths at one number of jobs is
    one curve, and so is a sweep of jobs at one depth.
    """
    noun = load_noun(roles["jobs"].column).replace("requests", "jobs")
    one = {"processes": "process"}.get(noun, noun.removesuffix("s"))
    members: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        members[record["series"]].append(record)
    for group in members.values():
        depths: dict[float, set[float]] = defaultdict(set)
        jobs: dict[float, set[float]] = defaultdict(set)
        for record in group:
            depths[record["jobs"]].add(record["load"])
            jobs[record["load"]].add(record["jobs"])
        if sum(len(d) > 1 for d in depths.values()) > 1 or any(len(j) > 1 for j in jobs.values()):
            for record in group:
                _extend(record, f"{record['jobs']:g} {one if record['jobs'] == 1 else noun}")


def _extend(record: dict[str, Any], words: str) -> None:
    """Add words to the name of the record's curve, or make them its name where it has none."""
    if words:
        is_unnamed = record["series"] == describe_series(None, None, None)
        record["series"] = words if is_unnamed else f"{record['series']} {words}"
