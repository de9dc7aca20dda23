"""The logs of iostat -x (text and JSON), of sysstat 10 to 12, in every unit they print.

Columns are known by their names: before sysstat 12 the number outstanding is ``avgqu-sz``, since then ``aqu-sz``; data
are in sectors, kB or MB. The number outstanding has more digits than a response time below a millisecond (0.11 ms), so
that Little's law gives the response time, and ``await`` only shares it between reads and writes.

The first report of iostat counts from the machine's start and is left out. iostat prints how long an interval was only
with -t; without, a second is taken.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.watched.interval import DeviceInterval
from measure.formats.watched.steady import watched_sweep
from measure.sweep import Sweep

_BYTES = {"sec/s": 512.0, "_sec/s": 512.0, "kB/s": 1024.0, "MB/s": 2.0**20}
_DATES = ("%m/%d/%y", "%m/%d/%Y", "%d/%m/%Y", "%d/%m/%y", "%d.%m.%Y", "%d.%m.%y", "%Y-%m-%d")
_TIMES = ("%H:%M:%S", "%I:%M:%S %p")


@dataclass(frozen=True)
class Report:
    """One device in one report: the columns by name, when it was, and over how many seconds (None: not said)."""

    device: str
    columns: Mapping[str, float]
    time: str = ""
    seconds: float | None = None


def looks_like_sysstat(text: str) -> bool:
    """Whether the text is a log of iostat -x."""
    return '"sysstat"' in text[:200] or bool(re.search(r"^Device\b.*%util", text[:65536], re.MULTILINE))


def sysstat_sweep(text: str, name: str) -> Sweep:
    """The steady stretches in a log. DataError as ``watched_sweep``, and naming a line that is none."""
    reports = _json_reports(text, name) if '"sysstat"' in text[:200] else list(_iostat_reports(text, name))
    busy = {r.device for r in reports if _rate(r.columns)}
    sweep = watched_sweep([_interval(r) for r in reports if r.device in busy], "iostat", name)
    if all(r.seconds is not None for r in reports):
        return sweep
    unsaid = Finding(
        "interval-length",
        "info",
        "the log does not say how long its intervals are: 1 s is taken, on which only the "
        "length of the steady stretches depends",
        remedy="run iostat with -t",
    )
    return replace(sweep, findings=(*sweep.findings, unsaid))


def _interval(report: Report) -> DeviceInterval:
    c, seconds = defaultdict(float, report.columns), report.seconds or 1.0
    reads, writes, others = (seconds * c[name] for name in ("r/s", "w/s", "tps"))
    outstanding, alike = _outstanding(c), c["await"]
    times = [n * ms for n, ms in ((reads, c.get("r_await", alike)), (writes, c.get("w_await", alike)), (others, alike))]
    scale = 1e-3
    if outstanding is not None:
        times = times if sum(times) else [reads, writes, others]  # too short for the two digits of await
        scale = outstanding * seconds / sum(times) if sum(times) else 0.0
    return DeviceInterval(
        report.device,
        report.time,
        seconds,
        reads,
        times[0] * scale,
        seconds * _data(c, "r"),
        writes,
        times[1] * scale,
        seconds * _data(c, "w"),
        others,
        times[2] * scale,
    )


def _outstanding(columns: defaultdict[str, float]) -> float | None:
    """Reads and writes outstanding: without discards and flushes, which the column counts too."""
    every = columns.get("aqu-sz", columns.get("avgqu-sz"))
    if every is None:
        return None
    besides = sum(columns[f"{way}/s"] * columns[f"{way}_await"] / 1e3 for way in "df")
    return max(0.0, every - besides)


def _rate(columns: Mapping[str, float]) -> float:
    return sum(columns.get(name, 0.0) for name in ("r/s", "w/s", "tps"))


def _data(columns: Mapping[str, float], way: str) -> float:
    """Bytes a second read or written, in whichever unit there is."""
    names = {f"{prefix}{unit}": size for unit, size in _BYTES.items() for prefix in (way, f"{way}d", f"{way}r")}
    return next((columns[name] * size for name, size in names.items() if name in columns), 0.0)


def _json_reports(text: str, name: str) -> list[Report]:
    try:
        reports = json.loads(text)["sysstat"]["hosts"][0]["statistics"]
        found = [
            (report.get("timestamp", ""), str(disk.pop("disk_device")), disk)
            for report in reports
            for disk in report.get("disk", [])
        ]
    except (json.JSONDecodeError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise DataError(
            f"{name} is damaged or cut off: {error}; run iostat -x -d -o JSON again, or keep its text"
        ) from error
    if not found:
        raise DataError(f"{name} holds no device; run iostat -x -d -o JSON 1")
    rows = [
        Report(device, {"%util" if k == "util" else k: float(v) for k, v in disk.items()}, _iso(stamp))
        for stamp, device, disk in found
    ]
    return _timed(rows)


def _iostat_reports(text: str, name: str) -> Iterator[Report]:
    """The reports of iostat's text but the first."""
    header: list[str] = []
    stamp = ""
    rows: list[Report] = []
    for number, line in enumerate(text.splitlines(), 1):
        cells = line.split()
        if not cells:
            header = []
        elif cells[0].rstrip(":") == "Device":
            header = cells[1:]
        elif header and len(cells) == len(header) + 1:
            rows.append(Report(cells[0], _numbers(header, cells[1:], f"{name}, line {number}"), stamp))
        else:
            stamp = _iso(line.strip()) or stamp
    if not rows:
        raise DataError(f"{name} holds no report of a device; run iostat -x -d 1")
    yield from _timed(rows)


def _timed(rows: list[Report]) -> list[Report]:
    """The reports but the first of each device, with the seconds since the one before where both were stamped."""
    last: dict[str, Report] = {}
    timed = []
    for row in rows:
        before = last.get(row.device)
        last[row.device] = row
        if before is not None:
            timed.append(replace(row, seconds=_apart(before.time, row.time)))
    return timed or rows


def _apart(before: str, after: str) -> float | None:
    """Seconds between two stamps; None where one is missing, or the clock was set back."""
    if not (before and after):
        return None
    seconds = (datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds()
    return seconds if seconds > 0 else None


def _numbers(header: list[str], cells: list[str], where: str) -> dict[str, float]:
    try:
        return {name: float(cell.replace(",", ".")) for name, cell in zip(header, cells, strict=True)}
    except ValueError as error:
        raise DataError(f"{where}: {error}; it was edited or damaged: remove the line") from error


def _iso(stamp: str) -> str:
    """A date and time as iostat -t prints it in any locale, as ISO 8601; empty where it is none."""
    forms = [f"{date} {clock}" for date in _DATES for clock in _TIMES]
    for form in ("%Y-%m-%dT%H:%M:%S%z", *forms):
        with suppress(ValueError):
            return datetime.strptime(stamp, form).replace(tzinfo=None).isoformat()
    return ""
