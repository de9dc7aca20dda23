"""Bandwidth-latency curves: families by read ratio as the Mess benchmark publishes them, and multiload's table.

Three forms are known. Mess's CSV (Esmaili-Dokht et al., "A Mess of Memory System Benchmarking, Simulation and
Application Profiling", MICRO 2024) has a column ``pause``, the loaders' idle loop between requests, with the bandwidth
in GB/s and the latency in ns: a curve over an injected delay, one for each read percentage. Mess's text files, one per
read percentage (``bwlat_70.txt``), hold bandwidth in MB/s and latency and nothing else. multiload (of multichase)
prints a table with ChaseNS and LdAvgMibs.

Without a pause, the load is the bandwidth itself (load_kind "bandwidth"). Bandwidth is an answer of the memory,
not something that was asked of it, so only the latency can be predicted, and where a curve bends back one bandwidth has
two latencies.
"""

from __future__ import annotations

import csv
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.column_names import UNITS
from measure.sweep import Provenance, Sweep, describe_series
from measure.text_files import check_rows
from measure.units import CACHE_LINE_BYTES, counted

_MESS_COLUMNS = frozenset({"pause", "bandwidth_mean", "latency_mean"})
_MESS_RATIO = ("read_pct_rounded", "rw_ratio")
_MULTILOAD_COLUMNS = frozenset({"ChaseNS", "LdAvgMibs", "LoadThds"})
_PAIR = re.compile(r"^\s*[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?[ \t,;]+[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?\s*$")
_FILE_NAME = re.compile(r"bwlat_(\d{1,3})\b")
_LOOK_AT_LINES = 20
_MIB = 2.0**20


def looks_like_curves(text: str) -> bool:
    """Whether the text is one of the three forms."""
    return any(looks_like(text) for looks_like in _KNOWN_BY.values())


def looks_like_mess_table(text: str) -> bool:
    """Whether the first line has the columns of Mess's CSV."""
    return _MESS_COLUMNS <= set(_cells(_lines(text)[0]))


def looks_like_multiload(text: str) -> bool:
    """Whether a line has the columns of multiload's table."""
    return "LdAvgMibs" in text and any(_MULTILOAD_COLUMNS <= set(_cells(line)) for line in _lines(text))


def looks_like_pairs(text: str) -> bool:
    """Whether the first lines hold two numbers each and nothing else."""
    lines = [line for line in _lines(text[:65536])[:_LOOK_AT_LINES] if line.strip()]
    return len(lines) > 1 and all(len(line) < 200 and _PAIR.match(line) for line in lines)


_KNOWN_BY = {
    "Mess's table": looks_like_mess_table,
    "multiload's table": looks_like_multiload,
    "pairs of numbers": looks_like_pairs,
}


def curves_sweep(texts: Mapping[str, str], units: Mapping[str, str] | None = None) -> Sweep:
    """One sweep of bandwidth-latency files of one form, {name: text}; one curve per read percentage.

    ``units`` ({"latency": "ns", "bandwidth": "MB/s"}) are those of text files, which tell none themselves; without,
    they are read as MB/s and ns, and a Finding says so. Raises DataError naming the file and the line of what is no
    number.
    """
    for name, text in texts.items():
        check_rows(text.count("\n"), name)
    forms = {_form(text, name) for name, text in texts.items()}
    if len(forms) > 1:
        raise DataError(
            f"{', '.join(texts)}: {' and '.join(sorted(forms))} cannot be one sweep; load one form at a time"
        )
    form = forms.pop()
    read = {"Mess's table": _mess_rows, "multiload's table": _multiload_rows, "pairs of numbers": _pair_rows}[form]
    rows: list[dict[str, Any]] = []
    findings: list[Finding] = []
    details: dict[str, Any] = {"form": form}
    for name, text in texts.items():
        found = read(text, name, dict(units or {}))
        rows += _named(found, name, several=len(texts) > 1)
        findings += _left_out(found, name)
    _part_files(rows)
    kept = [row for row in rows if row["throughput_per_s"] > 0]
    idle = {row["series"]: row["latency_s"] for row in rows if row["throughput_per_s"] == 0}
    if idle:
        details["idle_latency_s"] = idle
    if not kept:
        raise DataError(
            f"{next(iter(texts))}: no row has a bandwidth above zero, so there is no curve; give the original"
        )
    more = f" and {counted(len(texts) - 1, 'more file')}" if len(texts) > 1 else ""
    findings += _assumed_unit(kept, units, form, f"{next(iter(texts))}{more}")
    table = pd.DataFrame(kept)
    table["repeat"] = table.groupby(["series", "load"]).cumcount()
    by_pause = form == "Mess's table"
    if by_pause and len({row["load"] for row in kept}) < 2:
        raise DataError(f"{next(iter(texts))}: every row has the same pause, so there is no curve over it")
    return Sweep(
        table,
        "injected_delay" if by_pause else "bandwidth",
        "pauses" if by_pause else "B/s",
        Provenance(tool={"multiload's table": "multiload"}.get(form, "mess"), source=", ".join(texts), details=details),
        tuple(findings),
        name=next(iter(texts)) if len(texts) == 1 else "",
    )


def _form(text: str, name: str) -> str:
    form = next((form for form, looks_like in _KNOWN_BY.items() if looks_like(text)), None)
    if form is None:
        raise DataError(f"{name} is not a bandwidth-latency file of Mess or multiload; load it as CSV with --columns")
    return form


def _mess_rows(text: str, name: str, _: Mapping[str, str]) -> list[dict[str, Any]]:
    """Mess's CSV: GB/s and ns, as its own scripts write them."""
    header, lines = _table(text, name, _MESS_COLUMNS)
    ratio = next((c for c in _MESS_RATIO if c in header), None)
    rows = []
    for number, cells in lines:
        percent = _number(cells[ratio], number, name) if ratio else math.nan
        rows.append(
            _row(
                _number(cells["pause"], number, name),
                _number(cells["bandwidth_mean"], number, name) * 1e9,
                _number(cells["latency_mean"], number, name) / 1e9,
                percent / 100,
                name,
            )
        )
    return rows


def _multiload_rows(text: str, name: str, _: Mapping[str, str]) -> list[dict[str, Any]]:
    """multiload's table: MiB/s of the loaders and of the chasers together, ns, and the number of loaders."""
    header, lines = _table(text, name, _MULTILOAD_COLUMNS, messages=True)
    rows = []
    for number, cells in lines:
        moved = _number(cells["LdAvgMibs"], number, name)
        if "ChaseMibs" in header:
            moved += _number(cells["ChaseMibs"], number, name)
        row = _row(moved * _MIB, moved * _MIB, _number(cells["ChaseNS"], number, name) / 1e9, math.nan, name)
        row["jobs"] = _number(cells["LoadThds"], number, name)
        row["series"] = cells.get("MemLdArg", "") or "all points"
        rows.append(row)
    return rows


def _pair_rows(text: str, name: str, units: Mapping[str, str]) -> list[dict[str, Any]]:
    """Two columns without names: bandwidth, latency; the read percentage is in the file's name."""
    bandwidth_scale = _scale("bandwidth", units.get("bandwidth", "MB/s"), name)
    latency_scale = _scale("latency", units.get("latency", "ns"), name)
    match = _FILE_NAME.search(name)
    percent = float(match[1]) if match and int(match[1]) <= 100 else math.nan
    rows = []
    for number, line in enumerate(_lines(text), 1):
        if not line.strip():
            continue
        cells = re.split(r"[ \t,;]+", line.strip())
        if len(cells) != 2:
            raise DataError(f"{name}: line {number} has {len(cells)} numbers where two belong; give the original file")
        bandwidth = _number(cells[0], number, name) * bandwidth_scale
        rows.append(_row(bandwidth, bandwidth, _number(cells[1], number, name) * latency_scale, percent / 100, name))
    return rows


def _row(load: float, bandwidth: float, latency_s: float, read: float, name: str) -> dict[str, Any]:
    if not latency_s > 0 or (not 0 <= read <= 1 and not math.isnan(read)):
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


def _named(rows: list[dict[str, Any]], name: str, several: bool) -> list[dict[str, Any]]:
    """Rows of a file whose name tells no ratio go under the file's name, where there are several files."""
    if several and all(row["series"] == "all points" for row in rows):
        for row in rows:
            row["series"] = name
    return rows


def _part_files(rows: list[dict[str, Any]]) -> None:
    """Curves of one name in several files are those of several machines, and no repeats: the file's name goes first."""
    files: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        files[row["series"]].add(row["source"])
    if any(len(names) > 1 for names in files.values()):
        for row in rows:
            row["series"] = f"{row['source']}: {row['series']}"


def _left_out(rows: Sequence[Mapping[str, Any]], name: str) -> list[Finding]:
    found = []
    negative = [row for row in rows if row["throughput_per_s"] < 0]
    if negative:
        found.append(
            Finding(
                "rows-left-out",
                "warning",
                f"{name}: {counted(len(negative), 'row')} left out, with a bandwidth below zero (the first: "
                f"{negative[0]['bandwidth_bytes_per_s'] / 1e6:.4g} MB/s).",
                "the curve was smoothed or shifted after it was measured.",
                "use the measured points where they are published.",
            )
        )
    zero = [row for row in rows if row["throughput_per_s"] == 0]
    if zero:
        low, high = (1e9 * f(row["latency_s"] for row in zero) for f in (min, max))
        idle = f"{low:.4g} ns" if low == high else f"{low:.4g} to {high:.4g} ns"
        found.append(
            Finding(
                "idle-point",
                "info",
                f"{name}: {counted(len(zero), 'row')} with a bandwidth of zero: idle latency, {idle}, no "
                "point of a curve.",
                "the tool sets the bandwidth of its longest pause to zero.",
                "nothing is to be done; a row of the tool's own log tells the bandwidth of that pause.",
            )
        )
    return found


def _assumed_unit(
    rows: Sequence[Mapping[str, Any]], units: Mapping[str, str] | None, form: str, name: str
) -> list[Finding]:
    """Two bare columns tell no unit, but the idle end does: a chaser alone keeps one line of 64 bytes in flight."""
    if form != "pairs of numbers" or (units and "latency" in units):
        return []
    idlest = min(rows, key=lambda row: float(row["bandwidth_bytes_per_s"]))
    lines = idlest["throughput_per_s"] * idlest["latency_s"]
    remedy = "say the units, for example --columns bandwidth=1:MB/s,latency=2:ns."
    evidence = (
        f"{name}: no unit is named; read as MB/s and ns. At the lowest bandwidth, "
        f"{idlest['throughput_per_s'] * 64e-6:.4g} "
        f"MB/s, bandwidth x latency is then {lines:.3g} lines of {CACHE_LINE_BYTES} B in flight"
    )
    if 0.9 <= lines <= 1.3:
        message = f"{evidence}, as a pointer chase alone has it; so the units are right."
        return [Finding("latency-unit", "info", message, "the columns are as most tools write them.", remedy)]
    return [
        Finding(
            "latency-unit",
            "warning",
            f"{evidence}, so that nothing confirms the units.",
            "the latency may be in cycles of the CPU, as Mess's simulator takes it; divide by the clock in GHz then.",
            remedy,
        )
    ]


def _lines(text: str) -> list[str]:
    """The lines by line ends alone; ``str.splitlines`` would also cut at form feeds and the like."""
    return re.split(r"\r\n|\r|\n", text.removeprefix("\ufeff"))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split(",")] if len(line) < 4000 else []


def _table(
    text: str, name: str, needed: frozenset[str], *, messages: bool = False
) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """The header and the rows under it, with their line numbers; messages before the header are passed over.

    ``messages`` may stand between the rows too, which begin with a whole number then.
    """
    lines = _lines(text)
    start = next(i for i, line in enumerate(lines) if needed <= set(_cells(line)))
    header = _cells(lines[start])
    rows = []
    for number, line in enumerate(lines[start + 1 :], start + 2):
        cells = next(csv.reader([line]), []) if len(line) < 4000 and "\0" not in line else []
        if not line.strip() or [c.strip() for c in cells] == header:
            continue
        if messages and not re.match(r"\s*\d+\s*,", line):
            continue
        if len(cells) != len(header):
            raise DataError(
                f"{name}: line {number} has {len(cells)} cells under {len(header)} columns; it is cut or damaged"
            )
        rows.append((number, dict(zip(header, (c.strip() for c in cells), strict=True))))
    if not rows:
        raise DataError(f"{name} has a header but no row; measure again or give the original")
    return header, rows


def _number(cell: str, line: int, name: str) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not abs(value) < 1e15:
        raise DataError(f"{name}: {cell[:40]!r} in line {line} is not a number; correct the cell or give the original")
    return value


def _scale(role: str, unit: str, name: str) -> float:
    scale = UNITS[role].get(unit)
    if scale is None:
        raise DataError(f"{name}: invalid unit {unit!r} of {role}: expected one of {', '.join(UNITS[role])}")
    return scale
