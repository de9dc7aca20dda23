"""The rows of a table as points in SI units: reads and writes joined, and rows that are no point by the reason.

Tables that tabulate reads and writes apart are joined to one stream: throughputs add, and the mean latency is weighted
by throughput, which is the weighting under which Little's law holds for the sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from measure.errors import DataError
from measure.formats.tables.cells import IN_CELLS, block_bytes, number
from measure.formats.tables.column_names import LOAD_ROLES, ColumnRole
from measure.formats.tables.columns import TEXT_ROLES, Roles
from measure.formats.tables.text import TextTable
from measure.read_write_mix import parse_mix
from measure.sweep import describe_series
from measure.units import CACHE_LINE_BYTES, format_bytes

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
        "load": load, "throughput_per_s": joined.throughput, "latency_s": joined.latency,
        "bandwidth_bytes_per_s": joined.bandwidth, "block_bytes": block, "read_fraction": read, "pattern": pattern,
        "buffer": value.get("buffer"), **({"jobs": value["jobs"]} if "jobs" in value else {}),
        **({"engine": text["engine"] or None} if "engine" in text else {}),
        **{f"{p}_s": value[p] for p in _PERCENTILES if p in value},
    }  # fmt: skip


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
        return block_bytes(cells[role.column])
    return number(cells[role.column], role.scale, line, role.column, name)


def _size(size: float | None) -> str:
    return format_bytes(size or 0.0)
