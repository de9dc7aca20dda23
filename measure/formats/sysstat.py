"""Reads the text of iostat -x, of sysstat 10 to 12, in every unit it prints.

The number outstanding (``avgqu-sz`` before sysstat 12) has more digits than a response time below a millisecond (0.11
ms), so Little's law gives the response time; the printed ``await`` stands beside it, as published, and divides it
between reads and writes. iostat does not say what sends the requests: Poisson arrivals are assumed. Its first report
counts from the machine's start and is left out. Without -t, an interval of one second is assumed.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.block_device_counts import DeviceInterval, watched_sweep
from measure.origin import computed
from measure.sweep import Sweep
from measure.text_files import HEAD_BYTES

_BYTES = {"sec/s": 512.0, "kB/s": 1024.0, "MB/s": 2.0**20}
_STAMPS = ("%m/%d/%y %H:%M:%S", "%m/%d/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%Y-%m-%dT%H:%M:%S%z")


@dataclass(frozen=True)
class Report:
    """One device in one report: the columns by name, its time, and its interval in seconds (None: unknown)."""

    device: str
    columns: Mapping[str, float]
    time: datetime | None
    seconds: float | None = None


def looks_like_sysstat(text: str) -> bool:
    """Whether the text is a log of iostat -x."""
    return re.search(r"^Device\b.*%util", text[:HEAD_BYTES], re.MULTILINE) is not None


def sysstat_sweep(text: str, name: str) -> Sweep:
    """The sweep of the steady stretches in a log. DataError as ``watched_sweep``, and for an invalid line."""
    reports = _timed(_reports(text, name))
    busy = {r.device for r in reports if r.columns.get("r/s") or r.columns.get("w/s")}
    printed = all({"aqu-sz", "avgqu-sz"} & r.columns.keys() for r in reports)
    origins = {"latency_origin": computed("N / X")} if printed else {"load_origin": computed("X R")}
    sweep = watched_sweep([_interval(r) for r in reports if r.device in busy], "iostat", name, origins)
    if all(r.seconds is not None for r in reports):
        return sweep
    taken = "1 s is taken, on which only the length of the steady stretches depends"
    message = f"the log does not say how long its intervals are: {taken}"
    unsaid = Finding("interval-length", "info", message, remedy="run iostat with -t")
    return replace(sweep, findings=(*sweep.findings, unsaid))


def _interval(report: Report) -> DeviceInterval:
    c, seconds = defaultdict(float, report.columns), report.seconds or 1.0
    reads, writes, alike = seconds * c["r/s"], seconds * c["w/s"], c["await"]
    times = [reads * c.get("r_await", alike), writes * c.get("w_await", alike)]
    scale, printed_s = 1e-3, math.nan
    every = c.get("aqu-sz", c.get("avgqu-sz"))
    if every is not None:  # it includes discards and flushes
        outstanding = max(0.0, every - sum(c[f"{way}/s"] * c[f"{way}_await"] / 1e3 for way in "df"))
        if sum(times):
            printed_s = 1e-3 * sum(times)
        else:  # too short for the two digits of await
            times = [reads, writes]
        scale = outstanding * seconds / (sum(times) or math.inf)
    moved = [sum(c[f"{way}{unit}"] * size for unit, size in _BYTES.items()) for way in "rw"]
    return DeviceInterval(
        report.device,
        "" if report.time is None else report.time.isoformat(),
        seconds,
        reads,
        times[0] * scale,
        seconds * moved[0],
        writes,
        times[1] * scale,
        seconds * moved[1],
        printed_s=printed_s,
    )


def _reports(text: str, name: str) -> list[Report]:
    header: list[str] = []
    stamp: datetime | None = None
    rows: list[Report] = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split()
        if not cells:
            header = []
        elif cells[0].rstrip(":") == "Device":
            header = cells[1:]
        elif header and len(cells) == len(header) + 1:
            try:
                values = [float(cell.replace(",", ".")) for cell in cells[1:]]
            except ValueError as error:
                raise DataError(f"{name}, line {number}: {error}; it was edited or damaged: remove the line") from error
            rows.append(Report(cells[0], dict(zip(header, values, strict=True)), stamp))
        else:
            stamp = _stamp(line.strip()) or stamp
    if not rows:
        raise DataError(f"{name} holds no report of a device; run iostat -x -d 1")
    return rows


def _timed(rows: Sequence[Report]) -> list[Report]:
    """The reports without the first of each device, with the seconds since the previous one where both have a time."""
    last: dict[str, Report] = {}
    timed = []
    for row in rows:
        before = last.get(row.device)
        last[row.device] = row
        if before is not None:
            apart = (row.time - before.time).total_seconds() if row.time and before.time else 0.0
            timed.append(replace(row, seconds=apart if apart > 0 else None))  # a clock may be set back
    return timed or list(rows)


def _stamp(line: str) -> datetime | None:
    """A date and time as iostat -t prints it; None for another line."""
    for form in _STAMPS:
        with suppress(ValueError):
            return datetime.strptime(line, form).replace(tzinfo=None)
    return None
