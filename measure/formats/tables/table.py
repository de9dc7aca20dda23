"""Tables of measurements as people publish them (CSV, TSV, semicolons), and qsim's tidy table.

Separate columns of reads and writes are joined to one stream: throughputs add, and the mean latency is weighted by
throughput, under which Little's law holds for the sum. A row with an empty cell where a number is needed is left out
with a Finding; a cell that is not a number is an error, because a typing mistake must not silently become a missing
point.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.by_law import (
    REQUESTS,
    WORDS,
    check_bandwidths,
    complete,
    completes,
    count_outstanding,
    note,
    outstanding,
    pipeline_of,
    pipelined,
    settle,
    with_load_over_time,
)
from measure.formats.tables.cells import TextTable, block_bytes, number, read_table, with_points, without_units
from measure.formats.tables.column_names import (
    IN_CELLS,
    LOAD_ROLES,
    TEXT_ROLES,
    ColumnRole,
    Roles,
    columns_option,
    is_mean_in_flight,
    load_noun,
    plain_name,
)
from measure.formats.tables.columns import assign_roles
from measure.formats.tables.counts import with_counted_rate
from measure.formats.tables.curves import (
    by_kind,
    by_series,
    remarks_below,
    split_jobs,
    split_series,
    split_settings,
    with_curves_apart,
    with_directions_apart,
    with_merged_cells,
    without_copies,
    without_sums,
)
from measure.formats.which_kind import said
from measure.loads import ArrivalRate, ClosedLoad, CountedLoad, Depth, InjectedDelay, Load, Outstanding, counted_in
from measure.origin import MEASURED, ORIGIN, PUBLISHED, Provenance, assumed, can_judge, computed
from measure.sweep import OPTIONAL, REQUIRED, Sweep, describe_series, of_several_kinds
from measure.units import CACHE_LINE_BYTES, counted, first_of, format_bytes, parse_mix

_WORDS = {"load": "load", **WORDS, "jobs": "number of jobs", "pipeline": "pipeline"}
_PERCENTILES = ("latency_sd", "latency_p50", "latency_p95", "latency_p99", "latency_p999")
_KINDS: Mapping[str, Load] = {"depth": Depth(), "delay": InjectedDelay(), "arrival_rate": ArrivalRate()}
_OWN_TEXT = frozenset({"series", "pattern", "source", "started_at", *ORIGIN.values()})
KEPT_UP = "the offered rate, with which the device keeps up"
_MOST_LINES = 10
_NUMBER = re.compile(r"([\d.]*\d) ?%?")
_VARIED = 1.5


def csv_sweep(
    text: str,
    columns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    *,
    name: str = "the table",
) -> Sweep:
    """The sweep in a text table.

    ``columns`` maps a role (load, jobs, latency, throughput, bandwidth, block, read_percent, series, ...) to the column
    that holds it, ``units`` a role to its unit; other roles are recognised by unambiguous names. Throughput comes from
    its own column, else from bandwidth / block, else, for a memory under an injected delay, from bandwidth / 64 bytes,
    else, for a number of outstanding requests, from load / latency.

    Raises DataError with one sentence for a table that is empty, ragged, lacks a column, or holds a cell that is not a
    number.
    """
    table = read_table(text, name)
    if columns is None and units is None and set(REQUIRED) <= set(table.header):
        return _own_table(table, name)
    table, summed = without_sums(table, name)
    names, cells = without_units(table.header, table.rows, name)
    table = replace(table, header=tuple(names.values()), rows=tuple(cells))
    columns = None if columns is None else {role: names.get(column, column) for role, column in columns.items()}
    table, merged = with_merged_cells(table, name)
    if parts := by_kind(table, columns, units, name):
        found = [said(_of_one_kind(part, roles or None, units, name), kind) for kind, (part, roles) in parts.items()]
        sweep = of_several_kinds(found) if len(found) > 1 else found[0]
    else:
        columns = {role: column for role, column in (columns or {}).items() if role != "think"} or None
        sweep = _of_one_kind(table, columns, units, name)
    return replace(sweep, findings=(*summed, *remarks_below(table, name), *merged, *sweep.findings))


def _of_one_kind(
    table: TextTable, columns: Mapping[str, str] | None, units: Mapping[str, str] | None, name: str
) -> Sweep:
    """The sweep in a table over one kind of load."""
    named = {"throughput", "latency", "series"} & (columns or {}).keys()
    table, side_by_side = (table, []) if named else with_curves_apart(table, name)
    table, counted_rate, quotient = with_counted_rate(table, {*(columns or {}).values()}, name)
    table, over_time = (table, []) if columns else with_load_over_time(table, name)
    roles = assign_roles(table, columns, units, name)
    table = with_points(table, roles.numeric, name)
    table, apart = with_directions_apart(table, roles, name)
    single, copied = without_copies(list(table.rows), roles, name)
    every = [(line, cells, _record(line, cells, roles, name)) for line, cells in single]
    rows, left_out = _whole(every, lambda record: _lacking(record, roles), name)
    records = [record for *_, record in rows]
    roles, settled = settle(records, roles, name)
    findings = [*side_by_side, *roles.findings, *settled, *copied, *apart, *left_out, *over_time, *counted_rate]
    roles, counted_jobs = count_outstanding(records, roles, name)
    load = counted_in(REQUESTS) if "pipeline" in roles else _load_of(roles.load, multiplied=roles.per_job)
    findings += counted_jobs + check_bandwidths(records, roles, load, name)
    if not completes(records):
        rows, left_out = _whole(rows, lambda record: [word for c, word in WORDS.items() if record[c] is None][:1], name)
        records = [record for *_, record in rows]
        findings += left_out
    findings += complete(records, roles.ignored, load, name)
    if "series" in roles:
        split_settings(records, roles)
    unused = roles.ignored
    if "series" not in roles.declared:
        unused, found = split_series(records, [cells for _, cells, _ in rows], roles, name)
        findings += found
    if "jobs" in roles and (roles.per_job or "series" not in roles):
        split_jobs(records, roles)
    if roles.rate_without_throughput:
        findings.append(_kept_up(roles, name))
    if unused := tuple(filter(None, unused)):
        findings += [*_failed(rows, unused, load, name), _unused(unused, name)]
    if isinstance(load, CountedLoad) and not {"jobs", "pipeline"} & roles.by_role.keys():
        found = _count_pipelines(records, load.plural, name)
        findings, load = findings + found, counted_in(REQUESTS) if found else load
    findings += _one_load(records, roles, unused, name)
    provenance = Provenance(tool="csv", source=name, details=_details(roles, records))
    measured_before: Counter[tuple[str, float]] = Counter()
    for record in records:
        point = (record["series"], record["load"])
        record |= {"repeat": measured_before[point], "source": name}
        measured_before[point] += 1
        if over_time:
            record[ORIGIN["load"]] = computed("X R")
        if quotient and ORIGIN["throughput_per_s"] not in record:
            record[ORIGIN["throughput_per_s"]] = computed(quotient)
        if isinstance(load, ClosedLoad) and "jobs" not in roles:
            record["depth"] = record["load"]
        for role in ("buffer", "pipeline"):
            record.pop(role, None)
    return Sweep(pd.DataFrame(records), load, provenance, tuple(findings), name=name)


def _kept_up(roles: Roles, name: str) -> Finding:
    message = f"{name} gives no throughput: it is assumed to be {roles.load.column!r}, {KEPT_UP}."
    remedy = "say which column is the throughput, if there is one: --columns throughput=COLUMN"
    because = "a device that falls behind serves less than it is offered."
    return Finding("assumed-throughput", "warning", message, because, remedy)


def _unused(unused: Sequence[str], name: str) -> Finding:
    what = f"{counted(len(unused), 'column')} not used: {first_of(unused, _MOST_LINES)}"
    remedy = "declare them if they matter: --columns ROLE=COLUMN (load, jobs, latency, throughput, block, series)."
    return note("columns", f"{name}: {what}.", remedy, "their names say nothing that is known here.")


_FAILED = re.compile(
    r"(?:.*_)?(?:errors|fail(?:ed|s|ures?)|timeouts|(?:error|failure)_?(?:rate|%|pct|percent))(?:[_/].*)?"
)
"""Names of columns that count answers that failed; "error" alone may be that of a mean."""


def _failed(rows: Sequence[_Row], unused: Sequence[str], load: Load, name: str) -> list[Finding]:
    """A finding for each unused column in which answers failed, with the row of the most."""
    found = []
    for column in (column for column in unused if _FAILED.fullmatch(plain_name(column).lower())):
        figures = [_NUMBER.fullmatch(cells[column].strip()) for _, cells, _ in rows]
        failed = [float(figure[1]) if figure else 0.0 for figure in figures]
        if (most := max(failed)) > 0:
            _, cells, record = rows[failed.index(most)]
            shown = f"{column!r} is {cells[column].strip()} at {load.at(record['load'])}"
            message = f"{name}: {shown}, and what failed is perhaps counted in the throughput and the latency."
            because = "an error is often quicker than an answer, a time-out slower."
            found.append(Finding("failed-answers", "warning", message, because, "mend the errors and run again."))
    return found


def _count_pipelines(records: list[dict[str, Any]], noun: str, name: str) -> list[Finding]:
    """Set the load of clients that each keep a whole number of requests outstanding, in place, to the requests.

    Nothing changes unless this holds for every curve, each over two loads or more, and both X and R were measured.
    """
    groups = by_series(records)
    if any(ORIGIN["load"] in r or not all(can_judge(r.get(o, MEASURED)) for o in ORIGIN.values()) for r in records):
        return []
    number_of = {s: pipeline_of(outstanding(group, with_jobs=False)) for s, group in groups.items()}
    if None in number_of.values() or any(len({r["load"] for r in group}) < 2 for group in groups.values()):
        return []
    found = []
    for series, group in groups.items():
        pipeline = number_of[series] or 1
        origin, finding = pipelined(noun, pipeline, name)
        found.append(finding if len(groups) == 1 else replace(finding, series=series))
        for record in group:
            record[PUBLISHED["load"]], record[ORIGIN["load"]] = record["load"], origin
            record["load"] *= pipeline
    return found


def _one_load(records: Sequence[Mapping[str, Any]], roles: Roles, unused: Sequence[str], name: str) -> list[Finding]:
    """A finding where the load is the same in every row, and the throughput is not."""
    rates = [record["throughput_per_s"] for record in records]
    same = len({record["load"] for record in records}) == 1 and len({r["series"] for r in records}) == 1
    if not same or len(rates) < 2 or max(rates) <= _VARIED * min(rates):
        return []
    column = roles.load.column
    message = (
        f"{name}: the load {column!r} is {records[0]['load']:g} in every row, and the throughput varies by a factor of "
        f"{max(rates) / min(rates):.2g}."
    )
    others = f", for example {columns_option([f'load={unused[0]}'])}" if unused else ""
    remedy = f"say which column is the load{others}; rows of one load are repeats."
    return [Finding("one-load", "warning", message, "something else than the load was varied.", remedy)]


# --- rows -------------------------------------------------------------------------------------------------------------


_Row = tuple[int, Mapping[str, str], dict[str, Any]]  # the line of a row, its cells, and its point


def _whole(
    rows: Sequence[_Row], lacking: Callable[[dict[str, Any]], list[str]], name: str
) -> tuple[list[_Row], list[Finding]]:
    """The rows that lack nothing, and findings on the others. DataError where none is whole."""
    whole: list[_Row] = []
    left_out: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        if words := lacking(row[2]):
            left_out[f"no {' and no '.join(words)} is given"].append(row[0])
        else:
            whole.append(row)
    if not whole:
        why = ", ".join(f"{reason} ({_lines(lines)})" for reason, lines in left_out.items())
        raise DataError(f"{name}: none of its {counted(len(rows), 'row')} is a whole point: {why}")
    return whole, [_left_out(name, reason, lines) for reason, lines in left_out.items()]


def _lacking(record: Mapping[str, Any], roles: Roles) -> list[str]:
    """What a point lacks; of a number of requests ``complete`` computes the latency or the throughput."""
    needed = ["load", *WORDS, *(r for r in ("jobs", "pipeline") if r in roles)]
    may_lack = roles.load.role == "depth" and any(record[c] is not None for c in WORDS)
    return [_WORDS[c] for c in needed if record[c] is None and not (may_lack and c in WORDS)]


def _record(line: int, cells: Mapping[str, str], roles: Roles, name: str) -> dict[str, Any]:
    """One tidy row; values are None where its cells hold no load, latency or throughput."""
    value = {role: _value(cells, r, line, name) for role, r in roles.by_role.items() if role not in TEXT_ROLES}
    text = {role: cells[roles[role].column] for role in TEXT_ROLES if role in roles}
    block, buffer = value.get("block"), value.get("buffer")
    # An injected delay means a memory: each access moves one cache line, whatever its stride.
    throughput, latency, bandwidth, share = _stream(value, CACHE_LINE_BYTES if "delay" in roles else block)
    if roles.rate_without_throughput:
        throughput = value["arrival_rate"]
    if throughput == 0:
        raise DataError(
            f"{name}: line {line} has a throughput of 0, at which no latency can have been measured; remove the row or "
            "measure the point again"
        )
    is_computed = "delay" not in roles and throughput is not None and not any(r.endswith("throughput") for r in value)
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
        **{role: value[role] for role in ("jobs", "pipeline") if role in value},
        **({ORIGIN["throughput_per_s"]: computed("bandwidth / block")} if is_computed else {}),
        **({ORIGIN["throughput_per_s"]: assumed(KEPT_UP)} if roles.rate_without_throughput else {}),
        **({"engine": text["engine"] or None} if "engine" in text else {}),
        **{f"{p}_s": value[p] for p in _PERCENTILES if p in value},
        **_directions(value, block),
    }


def _directions(value: Mapping[str, Number], block: Number) -> dict[str, Number]:
    """Columns of rate and latency of reads and of writes where the table has both; None where a direction is idle."""
    if not {"read_latency", "write_latency"} <= value.keys():
        return {}
    found: dict[str, Number] = {}
    for kind in ("read", "write"):
        moved = value.get(f"{kind}_bandwidth")
        rate = value.get(f"{kind}_throughput") or (moved / block if moved and block else None)
        found[f"{kind}_throughput_per_s"] = rate
        found[f"{kind}_latency_s"] = value[f"{kind}_latency"] if rate else None
    return found


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
        moved = bandwidth
        if "bandwidth" not in value and whole is not None and unit_bytes:
            moved = whole * unit_bytes
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
    return block_bytes(cell) if role.unit == IN_CELLS else number(cell, role, line, name)


def _left_out(name: str, reason: str, lines: list[int]) -> Finding:
    message = f"{name}: {counted(len(lines), 'row')} left out, because {reason} ({_lines(lines)})."
    because = "the export lost the cells, or the points were never measured."
    remedy = "fill the cells and run qsim audit on the table again, or measure the points."
    return Finding("rows-left-out", "warning", message, because, remedy)


def _lines(lines: Sequence[int]) -> str:
    shown = ", ".join(map(str, lines[:_MOST_LINES])) + (", ..." if len(lines) > _MOST_LINES else "")
    return f"{'line' if len(lines) == 1 else 'lines'} {shown}"


def _load_of(role: ColumnRole, *, multiplied: bool) -> Load:
    """The kind of load, with the table's word for requests (clients, threads), or the unit of its delay."""
    load = _KINDS[role.role]
    if role.role == "depth" and role.constant is None and is_mean_in_flight(role.column):
        return Outstanding(arrivals=True)
    if isinstance(load, InjectedDelay) and role.unit:
        return InjectedDelay(unit=role.unit)
    is_noun = isinstance(load, ClosedLoad) and role.constant is None and not multiplied
    return counted_in(load_noun(role.column)) if is_noun else load


def _details(roles: Roles, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    details: dict[str, Any] = {
        "columns": {r.role: f"{r.column}:{r.unit}" if r.unit else r.column for r in roles.by_role.values()}
    }
    given = {what for what in ("throughput", "bandwidth") if any(r.endswith(what) for r in roles.by_role)}
    if "block" in roles and "delay" not in roles and given == {"bandwidth"}:
        details["throughput_from"] = "bandwidth / block"
    if "buffer" in roles:
        details["buffer_bytes"] = {r["series"]: r["buffer"] for r in records if r["buffer"] is not None}
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
