"""Reads bandwidth-latency curves: families by read ratio as the Mess benchmark publishes them.

Mess's CSV (Esmaili-Dokht et al., "A Mess of Memory System Benchmarking, Simulation and Application Profiling", MICRO
2024) has a column ``pause``, the loaders' idle loop between requests, with the bandwidth in GB/s and the latency in ns:
a curve over an injected delay, one for each read percentage. Mess's text files, one per read percentage
(``bwlat_70.txt``), hold bandwidth in MB/s and latency and nothing else. A header above the two may name them, with
their units, the latency's in ns.

Without a pause, the load is the bandwidth itself (``Bandwidth``). Bandwidth is a result, not a setting, so
only the latency can be predicted, and where a curve bends back one bandwidth has two latencies.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.cells import check_rows, read_table
from measure.formats.tables.column_names import recognise, unit_scale
from measure.loads import Bandwidth, InjectedDelay
from measure.origin import Provenance
from measure.sweep import Sweep, describe_series
from measure.text_files import HEAD_BYTES
from measure.units import CACHE_LINE_BYTES, counted, plain_number

_COLUMNS = ("pause", "bandwidth_mean", "latency_mean")
_RATIOS = ("read_pct_rounded", "rw_ratio")
_NUMBER = r"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
_PAIR = re.compile(rf"^\s*{_NUMBER}[ \t,;]+{_NUMBER}\s*$")
_FILE_NAME = re.compile(r"bwlat_(100|\d{1,2})\b")
_LOOK_AT_LINES = 20
_USUAL = {"bandwidth": "MB/s", "latency": "ns"}
_MOST = 1e15  # larger numbers are no bandwidth and no latency
_LEAST_LINES, _MOST_LINES = 0.9, 1.3
"""Lines in flight at the idle end where the units are right: one, and what the loaders add."""

Row = dict[str, Any]


def looks_like_curves(text: str) -> bool:
    """Whether the text is Mess's CSV, its text files, or such pairs under a header."""
    return looks_like_pairs(text) or _looks_like_table(text) or bool(_titles(text))


def _titles(text: str) -> dict[str, str]:
    """The unit of each of two columns, a bandwidth and a latency in ns, by the header above them; empty for others."""
    header, _, rest = text.lstrip("\ufeff\r\n").partition("\n")
    cells = re.split("[,;\t]", header.strip())
    found = [recognise(cell.strip(' "')) for cell in cells] if len(cells) == 2 else []
    units = {one.role: one.unit for one in found if one is not None and one.unit}
    is_pair = units.keys() == {"bandwidth", "latency"} and units["latency"] == "ns"
    return units if is_pair and looks_like_pairs(rest) else {}


def _looks_like_table(text: str) -> bool:
    """Whether the first line has the columns of Mess's CSV."""
    return set(_COLUMNS) <= {cell.strip() for cell in _lines(text[:HEAD_BYTES])[0].split(",")}


def looks_like_pairs(text: str) -> bool:
    """Whether the first lines hold two numbers each and nothing else."""
    lines = [line for line in _lines(text[:HEAD_BYTES])[:_LOOK_AT_LINES] if line.strip()]
    return len(lines) > 1 and all(map(_PAIR.match, lines))


def curves_sweep(texts: Mapping[str, str], units: Mapping[str, str] | None = None) -> Sweep:
    """One sweep of bandwidth-latency files of one form, {name: text}; one curve per read percentage.

    ``units`` ({"latency": "ns", "bandwidth": "MB/s"}) are those of text files without a header; MB/s and ns are assumed
    else, and a Finding says so. DataError naming the file and the line of a cell that is not a number.
    """
    for name, text in texts.items():
        check_rows(text.count("\n"), name)
        if not looks_like_curves(text):
            raise DataError(f"{name} is not a bandwidth-latency file of Mess; load it as CSV with --columns")
    tables = [_looks_like_table(text) for text in texts.values()]
    if len(set(tables)) > 1:
        raise DataError(f"{', '.join(texts)}: tables and pairs of numbers cannot be one sweep; load one form at a time")
    by_pause, first = tables[0], next(iter(texts))
    rows: list[Row] = []
    findings: list[Finding] = []
    for name, text in texts.items():
        found = list(_table_rows(text, name) if by_pause else _pair_rows(text, name, units or {}))
        if len(texts) > 1 and all(row["series"] == "all points" for row in found):  # the name has no ratio
            found = [{**row, "series": name} for row in found]
        rows += found
        findings += _left_out(found, name)
    curves = {(row["source"], row["series"]) for row in rows}
    if len(curves) > len({series for _, series in curves}):  # these are several machines, not repeats
        rows = [{**row, "series": f"{row['source']}: {row['series']}"} for row in rows]
    kept = [row for row in rows if row["throughput_per_s"] > 0]
    if not kept:
        raise DataError(f"{first}: no row has a bandwidth above zero, so it holds no curve; give the original file")
    if by_pause and len({row["load"] for row in kept}) < 2:
        raise DataError(f"{first}: every row has the same pause, so there is no curve over it")
    if not by_pause and "latency" not in (units or {}) and not all(map(_titles, texts.values())):
        more = f" and {counted(len(texts) - 1, 'more file')}" if len(texts) > 1 else ""
        findings.append(_assumed_unit(kept, f"{first}{more}"))
    idle = {row["series"]: row["latency_s"] for row in rows if row["throughput_per_s"] == 0}
    form = "Mess's table" if by_pause else "pairs of numbers"
    details = {"form": form, **({"idle_latency_s": idle} if idle else {})}
    table = pd.DataFrame(kept)
    table["repeat"] = table.groupby(["series", "load"]).cumcount()
    return Sweep(
        table,
        InjectedDelay(unit="pauses") if by_pause else Bandwidth(),
        Provenance(tool="mess", source=", ".join(texts), details=details),
        tuple(findings),
        name=first if len(texts) == 1 else "",
    )


def _table_rows(text: str, name: str) -> Iterator[Row]:
    """Rows of Mess's CSV: GB/s and ns, as its own scripts write them; repeated headers are skipped."""
    table, lines = read_table(text, name), _lines(text)
    ratio = next((c for c in _RATIOS if c in table.header), None)
    for line, cells in table.rows:
        if tuple(cells.values()) == table.header:
            continue
        if lines[line - 1].count(",") < len(table.header) - 1:
            raise DataError(f"{name}: line {line} has fewer cells than the header; it is cut or damaged")
        pause, bandwidth, latency = (_number(cells[c], line, name) for c in _COLUMNS)
        percent = _number(cells[ratio], line, name) if ratio else math.nan
        yield _row(pause, bandwidth * 1e9, latency / 1e9, percent / 100, name)


def _pair_rows(text: str, name: str, units: Mapping[str, str]) -> Iterator[Row]:
    """Rows of two columns: bandwidth, latency, or as their header says; the read percentage is in the file's name."""
    titles = _titles(text)
    scales = {role: unit_scale(role, units.get(role, titles.get(role, usual))) for role, usual in _USUAL.items()}
    match = _FILE_NAME.search(name)
    percent = float(match[1]) if match else math.nan
    filled = [(number, line) for number, line in enumerate(_lines(text), 1) if line.strip()]
    for number, line in filled[1 if titles else 0 :]:
        cells = re.split(r"[ \t,;]+", line.strip())
        if len(cells) != 2:
            raise DataError(f"{name}: line {number} has {len(cells)} numbers where two belong; give the original file")
        order = titles or _USUAL
        values = {role: _number(c, number, name) * scales[role] for c, role in zip(cells, order, strict=True)}
        yield _row(values["bandwidth"], values["bandwidth"], values["latency"], percent / 100, name)


def _row(load: float, bandwidth: float, latency_s: float, read: float, name: str) -> Row:
    if not latency_s > 0 or read < 0 or read > 1:
        raise DataError(
            f"{name}: a latency of {latency_s * 1e9:g} ns at {bandwidth / 1e9:g} GB/s and {100 * read:g} % reads "
            "cannot be right; remove the row or give the original"
        )
    return {
        "series": describe_series(None, read, None),
        "load": load,
        "throughput_per_s": bandwidth / CACHE_LINE_BYTES,
        "latency_s": latency_s,
        "bandwidth_bytes_per_s": bandwidth,
        "block_bytes": float(CACHE_LINE_BYTES),
        "read_fraction": read,
        "source": name,
    }


def _left_out(rows: Sequence[Row], name: str) -> Iterator[Finding]:
    if negative := [row["bandwidth_bytes_per_s"] for row in rows if row["throughput_per_s"] < 0]:
        first = f"the first: {plain_number(negative[0] / 1e6, 4)} MB/s"
        message = f"{name}: {counted(len(negative), 'row')} left out, with a bandwidth below zero ({first})."
        because = "the curve was smoothed or shifted after it was measured."
        remedy = "use the measured points where they are published."
        yield Finding("rows-left-out", "warning", message, because, remedy)
    if zero := [1e9 * row["latency_s"] for row in rows if row["throughput_per_s"] == 0]:
        idle = f"{min(zero):.4g} ns" if min(zero) == max(zero) else f"{min(zero):.4g} to {max(zero):.4g} ns"
        which = f"{counted(len(zero), 'row')} with a bandwidth of zero"
        message = f"{name}: {which}: idle latency, {idle}, no point of a curve."
        because = "the tool sets the bandwidth of its longest pause to zero."
        remedy = "nothing is to be done; a row of the tool's own log tells the bandwidth of that pause."
        yield Finding("idle-point", "info", message, because, remedy)


def _assumed_unit(rows: Sequence[Row], name: str) -> Finding:
    """The finding on assumed units, checked at the idle end, where a chaser keeps one line of 64 bytes in flight."""
    idlest = min(rows, key=lambda row: float(row["bandwidth_bytes_per_s"]))
    lines = idlest["throughput_per_s"] * idlest["latency_s"]
    right = _LEAST_LINES <= lines <= _MOST_LINES
    message = (
        f"{name}: no unit is named; read as MB/s and ns. At the lowest bandwidth, "
        f"{plain_number(idlest['bandwidth_bytes_per_s'] / 1e6, 4)} MB/s, bandwidth x latency is then "
        f"{plain_number(lines)} lines of {CACHE_LINE_BYTES} B in flight, "
        f"{'as' if right else 'not 1 as'} a pointer chase alone has it."
    )
    because = "" if right else "the latency may be in cycles of the CPU; divide by the clock in GHz then."
    remedy = "say the units, as --columns bandwidth=1:MB/s,latency=2:ns."
    return Finding("latency-unit", "info" if right else "warning", message, because, remedy)


def _lines(text: str) -> list[str]:
    """The lines, split at line ends alone; ``str.splitlines`` would also split at form feeds and the like."""
    return re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))


def _number(cell: str, line: int, name: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not abs(value) < _MOST:
        raise DataError(f"{name}: {cell[:40]!r} in line {line} is not a number; correct the cell or give the original")
    return value
