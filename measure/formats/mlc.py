"""Reads the output of Intel's Memory Latency Checker under ``--loaded_latency``.

MLC makes other threads stream through memory with an idle loop of a given number of core cycles between bursts (the
*injected delay*, the think time of a closed system) while one thread chases pointers and is timed. Each row of its
table is one delay: the chaser's mean latency in ns and the total bandwidth in decimal MB/s.

Every loaded-latency table is one curve, also in a whole terminal session. One request is one cache line of 64 bytes.
Of what a full run prints around the table, the idle latency and the peak bandwidth of reads are read too: the audit
compares the curve with them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.tables.cells import check_rows
from measure.loads import InjectedDelay
from measure.origin import Provenance
from measure.sweep import Sweep, describe_series
from measure.units import CACHE_LINE_BYTES, Mix, counted, format_bytes, parse_mix

_BEFORE = r"^[\s|*\"]{0,40}"  # prefixes of quoted lines
_HEADER = re.compile(rf"{_BEFORE}Inject\s+Latency\s+Bandwidth\s*$", re.IGNORECASE)
_UNITS = re.compile(rf"{_BEFORE}Delay\s+\((\w+)\)\s+(\S+)\s*$", re.IGNORECASE)
_RULE = re.compile(rf"{_BEFORE}=+\s*$")
_ROW = re.compile(r"^\s*(\d+)\s+(\d+\.\d+)\s+(\d+\.\d+)\s*$")
_NOTED_ROW = re.compile(rf"{_BEFORE}(\d{{5}})\s+(\d+\.\d+)\s+(\d+\.\d+)(?![\d.]).{{0,200}}$")
_CUT_ROW = re.compile(r"^\s*\d{5}(?:\s+[\d.]*)?(?:\s+[\d.]*)?\s*$")
_VERSION = re.compile(r"Memory Latency Checker\s*-\s*v(\S+)")
_COMMAND = re.compile(r"^\s*Command line parameters:\s*(.*?)\s*$")
_TRAFFIC = re.compile(r"^\s*Using\s+(.*?)\s+traffic type\s*$", re.IGNORECASE)
_BUFFER = re.compile(r"^\s*Using buffer size of\s+(\d+(?:\.\d+)?)\s*(K|M|G)i?B", re.IGNORECASE)
_SECTION = re.compile(r"^\s*Measuring\s+(.*?)(?:\s*\(in ns\))?[\s.]*$")
_IDLE_MATRIX = "idle latencies"
_MATRIX_ROW = re.compile(r"^\s*\d{1,4}(?:\s+-)*\s+\d{1,9}\.\d+(?:\s+(?:\d{1,9}\.\d+|-))*\s*$")
_CLOCKS = re.compile(r"Each iteration took\s+[\d.]+\s.{0,40}\(\s*(\d{1,9}(?:\.\d+)?)\s*ns\s*\)")
_ALL_READS = re.compile(r"^\s*ALL Reads\s*:\s*(\d{1,9}(?:\.\d+)?)\s*$")
_LONGEST_LINE = 400
_PREFIX = {"k": 2**10, "m": 2**20, "g": 2**30}

# The tool's own list of -Wn (readme of MLC 3.x): reads per write, and whether the writes bypass the caches.
W_FLAGS: Mapping[int, Mix] = {
    2: Mix(2 / 3),
    3: Mix(3 / 4),
    4: Mix(3 / 5),
    5: Mix(1 / 2),
    6: Mix(0.0, None, "non-temporal"),
    7: Mix(2 / 3, None, "non-temporal"),
    8: Mix(1 / 2, None, "non-temporal"),
    9: Mix(3 / 4, None, "non-temporal"),
    10: Mix(2 / 3, None, "non-temporal"),
    11: Mix(3 / 4),
    12: Mix(4 / 5),
}


@dataclass
class _Run:
    """One loaded-latency table with the settings printed before it; rows of delay (cycles), ns and MB/s."""

    source: str
    number: int
    version: str = ""
    command: str = ""
    traffic: str = ""
    buffer_bytes: float | None = None
    listed: Mapping[str, float] = field(default_factory=dict)
    rows: list[tuple[float, float, float]] = field(default_factory=list)
    cut: str = ""


@dataclass
class _Listed:
    """What MLC printed outside its loaded-latency tables: the titles of its sections, and figures in SI units.

    ``idle_latency_s`` is the smallest of the matrix (local memory) or the result of ``--idle_latency``,
    ``peak_bytes_per_s`` the peak of all reads. Of several the last one counts.
    """

    sections: list[str] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)

    def take(self, line: str) -> None:
        """Take a line outside a table."""
        if match := _SECTION.match(line):
            self.sections.append(match[1])
            if match[1].startswith(_IDLE_MATRIX):
                self.figures.pop("idle_latency_s", None)
        elif match := _CLOCKS.search(line):
            self.sections.append("idle latency")
            self.figures["idle_latency_s"] = float(match[1]) / 1e9
        elif match := _ALL_READS.match(line):
            self.figures["peak_bytes_per_s"] = float(match[1]) * 1e6
        elif self.sections and self.sections[-1].startswith(_IDLE_MATRIX) and _MATRIX_ROW.match(line):
            row = [float(value) / 1e9 for value in re.findall(r"\d+\.\d+", line)]
            self.figures["idle_latency_s"] = min([*row, self.figures.get("idle_latency_s", math.inf)])


def looks_like_mlc(text: str) -> bool:
    """Whether MLC wrote (part of) this text."""
    return "Memory Latency Checker" in text or any(_HEADER.match(line.lstrip("> ")) for line in text.splitlines())


def mlc_sweep(texts: Mapping[str, str]) -> Sweep:
    """One sweep of everything in ``texts`` (file name -> text); one curve per run.

    The load is the injected delay in core cycles, throughput in cache lines a second. ``provenance.details`` holds by
    curve ``buffer_bytes``, and ``listed`` with what was printed before the table.

    Raises DataError where a text holds no loaded-latency table, or no whole row.
    """
    runs = [run for source, text in texts.items() for run in _runs(source, text)]
    whole = [run for run in runs if run.rows]
    names = _name_runs(whole)
    points = pd.concat([_table(run, name) for run, name in zip(whole, names, strict=True)], ignore_index=True)
    points["repeat"] = points.groupby(["series", "load"]).cumcount()
    buffers = {n: r.buffer_bytes for r, n in zip(whole, names, strict=True) if r.buffer_bytes}
    listed = {name: run.listed for run, name in zip(whole, names, strict=True) if run.listed}
    provenance = Provenance(
        tool="mlc",
        tool_version=", ".join(dict.fromkeys(r.version for r in whole if r.version)),
        commands=tuple(f"mlc {r.command}".strip() for r in whole if r.command),
        source=", ".join(texts),
        details={**({"buffer_bytes": buffers} if buffers else {}), **({"listed": listed} if listed else {})},
    )
    findings = [_cut_finding(run, name) for run, name in zip(whole, names, strict=True) if run.cut]
    findings += [_cut_finding(run, "") for run in runs if not run.rows]
    return Sweep(points, InjectedDelay(), provenance, tuple(findings), name=next(iter(texts)))


def _runs(source: str, text: str) -> list[_Run]:
    """The runs in one text; DataError where none has a whole row."""
    check_rows(text.count("\n"), source)
    runs: list[_Run] = []
    version = command = traffic = ""
    buffer_bytes: float | None = None
    listed = _Listed()
    in_table = False
    for whole in text.splitlines():
        # MLC's lines are short: longer ones are of another file, and skipped. A mail quotes lines with "> ".
        line = whole.lstrip("> ") if len(whole) <= _LONGEST_LINE else ""
        if in_table and ((in_table := _take_row(line, runs[-1])) or runs[-1].cut):
            continue
        if match := _VERSION.search(line):
            version, command, traffic, buffer_bytes = match[1], "", "", None
        elif match := _COMMAND.match(line):
            command, traffic = match[1], ""
        elif match := _BUFFER.match(line):
            buffer_bytes = float(match[1]) * _PREFIX[match[2].lower()]
        elif match := _TRAFFIC.match(line):
            traffic = match[1]
        elif _HEADER.match(line):
            runs.append(_Run(source, len(runs) + 1, version, command, traffic, buffer_bytes, dict(listed.figures)))
            in_table = True
        else:
            listed.take(line)
    if not runs:
        held = f" (it holds {', '.join(dict.fromkeys(listed.sections))})" if listed.sections else ""
        raise DataError(f"{source}: MLC's output, but without a loaded-latency table{held}; run mlc --loaded_latency")
    if not any(run.rows for run in runs):
        raise DataError(f"{source}: the loaded-latency table ends before its first row; run MLC again")
    return runs


def _take_row(line: str, run: _Run) -> bool:
    """Read a line below the header; returns whether the next one may belong to the table as well."""
    if not line.strip() or _RULE.match(line):
        return True
    if units := _UNITS.match(line):
        if units[1].lower() != "ns" or not units[2].upper().startswith("MB"):
            raise DataError(
                f"{run.source}: MLC's table is in {units[1]} and {units[2]}, where ns and MB/sec were expected; "
                "load it as CSV with --columns"
            )
    elif row := _ROW.match(line) or _NOTED_ROW.match(line):
        run.rows.append((float(row[1]), float(row[2]), float(row[3])))
    else:
        run.cut = line.strip() if _CUT_ROW.match(line) else ""
        return False
    return True


def _name_runs(runs: Sequence[_Run]) -> list[str]:
    """A name for each run: its settings, with the file or the number of the run where needed to be unique."""
    plain = [_describe(run) for run in runs]
    names = []
    for run, name in zip(runs, plain, strict=True):
        files = [r.source for r, n in zip(runs, plain, strict=True) if n == name]
        label = f"{run.source}: {name}" if len(set(files)) > 1 else name
        names.append(f"{label} (run {run.number})" if files.count(run.source) > 1 else label)
    return names


def _mix(run: _Run) -> Mix:
    flag = re.search(r"(?:^|\s)-W\s*(\d{1,3})", run.command)
    if flag is not None and int(flag[1]) in W_FLAGS:
        return W_FLAGS[int(flag[1])]
    if flag is None and run.command and not run.traffic:
        return Mix(1.0)  # reads are the default of --loaded_latency
    return parse_mix(run.traffic)


def _stride(run: _Run) -> float:
    flag = re.search(r"(?:^|\s)-l\s*(\d{1,9})", run.command)
    return float(flag[1]) if flag else float(CACHE_LINE_BYTES)


def _describe(run: _Run) -> str:
    mix = _mix(run)
    parts = [mix.note] if mix.note else []
    if mix.read_fraction is None and run.traffic:
        parts.append(run.traffic)
    if _stride(run) != CACHE_LINE_BYTES:
        parts.append(f"stride {format_bytes(_stride(run))}")
    if re.search(r"(?:^|\s)-[rU]\b", run.command):
        parts.append("random")
    if re.search(r"(?:^|\s)-b\s*\d", run.command) and run.buffer_bytes:
        parts.append(f"buffer {format_bytes(run.buffer_bytes)}")
    return describe_series(None, mix.read_fraction, None, parts)


def _table(run: _Run, name: str) -> pd.DataFrame:
    delay, latency_ns, bandwidth_mb = (list(column) for column in zip(*run.rows, strict=True))
    bandwidth = [b * 1e6 for b in bandwidth_mb]
    for d, r, b in run.rows:
        if min(r, b) <= 0:
            raise DataError(
                f"{run.source}: {r:g} ns and {b:g} MB/s at delay {d:g} cannot be right; remove the row or run again"
            )
    return pd.DataFrame(
        {
            "series": name,
            "load": delay,
            "throughput_per_s": [b / CACHE_LINE_BYTES for b in bandwidth],
            "latency_s": [r / 1e9 for r in latency_ns],
            "bandwidth_bytes_per_s": bandwidth,
            "block_bytes": float(CACHE_LINE_BYTES),
            "read_fraction": _mix(run).read_fraction,
            "source": run.source,
        }
    )


def _cut_finding(run: _Run, name: str) -> Finding:
    where = f" in the middle of a row ({run.cut!r})" if run.cut else ""
    after = f"after {counted(len(run.rows), 'whole row')}; the rest of the curve is missing."
    message = f"{run.source}: the table of run {run.number} ends{where} {after}"
    because, remedy = "MLC was stopped, or the file was cut.", "run the sweep again to the end."
    return Finding("mlc-truncated", "warning", message, because, remedy, series=name or None)
