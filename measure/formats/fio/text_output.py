"""Reads what fio prints as text: its report for people (the default output), of versions 2 and 3, and its terse output.

fio rounds the IOPS to three digits, so the rate is the number of issued requests over the run time where both are
known. Before 3.26 fio loses the carry of that rounding and prints 13,964 as ``13.0k`` (its issue 1117); there the
printed rate stays beside the corrected one, and of the bandwidth in two units the greater one is taken. Options that a
report lacks (direct, the file, limits) stay unknown. A text may hold many runs, as a terminal session does: each run's
announcement of a job (``name: (g=0): rw=...``) applies to the reports after it.

The terse output (--minimal, --output-format=terse), of versions 3 to 5, has a line of semicolons a job: the version,
fio's version, the job, its group and its error; then a section for each direction (reads, writes, and trims from
version 4 on), processor use and the depths reached. The depth is not written: the load is throughput x latency.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.fio.record import ALL_CLIENTS, RATE, FioRecord, Flow, Moments, positive, record_of
from measure.origin import corrected

_ANNOUNCED = re.compile(r"^(?P<job>\S.{0,200}?): \(g=(?P<group>\d{1,9})\): rw=(?P<rw>\w{1,20}), (?P<rest>.{0,300})$")
_REPORT = re.compile(
    r"^(?P<job>\S.{0,200}?): \(groupid=(?P<group>\d{1,9}), jobs=(?P<jobs>\d{1,9})\): err= ?(?P<error>\d{1,9})"
    r".{0,200}?: pid=(?P<pid>\d{1,12})"
)
_FLOW = re.compile(
    r"^ {1,4}(?P<way>read|write|trim|mixed): IOPS=(?P<iops>[\d.]{1,20})(?P<prefix>[kKMG]?),"
    r" BW=(?P<bw>[\d.]{1,20}\w{0,5}(?:/s)?)"
    r" \((?P<again>[^)]{0,60})\)\([^)/]{0,60}/(?P<ms>\d{1,12})msec\)"
)
_FLOW_2 = re.compile(
    r"^ {1,4}(?P<way>read|write|trim|mixed) {0,4}: io=[\d.]{1,20}\w{0,4}, bw=(?P<bw>[\d.]{1,20}\w{0,4}/s),"
    r" iops=(?P<iops>[\d.]{1,20}), runt= {0,9}(?P<ms>\d{1,12})msec"
)
_HOST = re.compile(r"^<[^<>]{1,100}> ")  # what fio's client puts before the lines of a server
_LATENCY = re.compile(
    r"^ {1,6}(?P<kind>[sc]?lat) \((?P<unit>[mnu]sec)\): min= ?[\d.]{1,20}\w? ?, max= ?[\d.]{1,20}\w? ?, "
    r"avg= {0,9}(?P<mean>[\d.]{1,30}) ?, stdev= {0,9}(?P<sd>[\d.]{1,30})"
)
_PERCENTILES = re.compile(r"^ {1,6}c?lat percentiles \((?P<unit>[mnu]sec)\):")
_PERCENTILE = re.compile(r"(\d{1,3}\.\d{1,9})th=\[ {0,20}(\d{1,18})\]")
_DEPTHS = re.compile(r"^ {1,4}IO depths {1,6}: (?P<list>.{1,200})$")
_ISSUED = re.compile(r"^ {1,8}issued (?:rwts?| {0,8}): total=(?:r=)?(\d{1,18})[,/](?:w=)?(\d{1,18})[,/]")
_VERSION = re.compile(r"^(fio-\d[\w.\-]{0,40})$")
_SECONDS = {"nsec": 1e-9, "usec": 1e-6, "msec": 1e-3}
_COUNT = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
_RATE = re.compile(r"([\d.]+)\s*((?:[kKMGT]i?)?)B?(?:/s)?$")
_RUN_TIME = 0.02
"""The most that rounding to three digits, or a run time in milliseconds, makes of a rate; relative."""
_THREE_DIGITS = 0.01
"""The most by which two units of one bandwidth differ where each is rounded to three digits."""
_CARRY = corrected("requests issued / run time; fio before 3.26 loses a carry where it rounds IOPS")
_LONGEST_LINE = 600
_MOST_REPORTS = 10_000


def looks_like_normal(text: str) -> bool:
    """Whether fio's human-readable report of a job is in the text."""
    pattern = r"^\S.{0,200}?: \(groupid=\d{1,9}, jobs=\d{1,9}\): err="
    return re.search(pattern, text, re.MULTILINE) is not None


@dataclass
class _Printed:
    """One direction as printed; seconds and 1/s. ``carry``: what a lost carry would add to the rate; 0 for none."""

    way: str
    rate: float
    carry: float
    bandwidth: float
    runtime_s: float
    moments: dict[str, tuple[float, float]] = field(default_factory=dict)
    percentiles: dict[float, float] = field(default_factory=dict)
    percentiles_unit_s: float | None = None

    def flow(self, issued: float) -> Flow:
        """The direction as a Flow, its rate from the requests ``issued``, its latency the total one where printed."""
        rate, published = self.rate, dict[str, tuple[float, str]]()
        if issued and self.runtime_s:
            finer = issued / self.runtime_s
            if 0.94 * self.carry <= finer - rate <= 1.01 * self.carry and self.carry:
                rate, published = finer, {RATE: (rate, _CARRY)}
            elif abs(finer - rate) <= max(1, _RUN_TIME * rate):
                rate = finer
        kind = next((k for k in ("lat", "clat") if k in self.moments), "")
        mean, sd = self.moments.get(kind, (math.nan, math.nan))
        requests = float(round(rate * self.runtime_s))
        reads = {"read": requests, "write": 0.0}.get(self.way, math.nan)
        latency = Moments(mean, sd, kind, self.percentiles)
        return Flow(rate, self.bandwidth, requests, reads, self.runtime_s, latency, published=published)


@dataclass
class _Announced:
    """A job's options, from the line before the run."""

    options: dict[str, str] = field(default_factory=dict)
    clones: bool = False


@dataclass
class _Report:
    """One report of one job (or of all its clones, or one snapshot of it), in the ``run``-th run of the text."""

    run: int
    job: str
    group: str
    jobs: int
    error: int
    pid: str
    announced: _Announced
    printed: dict[str, _Printed] = field(default_factory=dict)
    depths: dict[str, float] = field(default_factory=dict)
    issued: tuple[float, float] = (0.0, 0.0)

    def flows(self) -> list[Flow]:
        """The directions to count; "mixed" only where it stands alone (unified reporting)."""
        issued = dict(zip(("read", "write"), self.issued, strict=True))
        ways = [way for way in issued if way in self.printed] or [way for way in ("mixed",) if way in self.printed]
        return [self.printed[way].flow(issued.get(way, 0.0)) for way in ways]


def parse_normal(text: str, name: str) -> list[FioRecord]:
    """The records of one human-readable report; ``name`` is the file's name, for the messages.

    Of the snapshots of ``--status-interval`` the last counts. Raises DataError without a report of a job.
    """
    reports, version = _read(text, name)
    last = {(r.run, r.job, r.group, r.pid): r for r in reports if r.job != ALL_CLIENTS}
    jobs: dict[tuple[int, str, str, str], list[_Report]] = {}
    for (run, job, group, pid), report in last.items():
        jobs.setdefault((run, job, group, "" if report.announced.clones else pid), []).append(report)
    return [_record(clones, version, name) for clones in jobs.values()]


def _read(text: str, name: str) -> tuple[list[_Report], str]:
    announced: dict[tuple[int, str, str], _Announced] = {}
    reports: list[_Report] = []
    version, latest, printed = "", None, None
    run = 0
    for line in (_HOST.sub("", every[: _LONGEST_LINE + 1]) for every in text.splitlines()):
        if len(line) > _LONGEST_LINE:
            continue
        if match := _REPORT.match(line):
            job, group = match["job"], match["group"]
            known = announced.get((run, job, group), _Announced())
            reports.append(_Report(run, job, group, int(match["jobs"]), int(match["error"]), match["pid"], known))
            printed = None
            if len(reports) > _MOST_REPORTS:
                raise DataError(f"{name} holds more than {_MOST_REPORTS} reports of fio; give one run at a time")
        elif match := _ANNOUNCED.match(line):
            if reports and reports[-1].run == run:  # the reports of the previous run are complete
                run += 1
            latest = _Announced(_options(match["rw"], match["rest"]))
            announced[run, match["job"], match["group"]] = latest
        elif line == "..." and latest is not None:
            latest.clones = True
        elif match := _VERSION.match(line):
            version = match[1]
        elif reports:
            printed = _take(line, reports[-1], printed)
    if not reports:
        raise DataError(f"{name} holds no report of a fio job; run fio with --output-format=json --output=FILE")
    return reports, version


def _take(line: str, report: _Report, printed: _Printed | None) -> _Printed | None:
    """Add a line to the report, and return the direction that the next lines belong to."""
    if match := _FLOW.match(line):
        scale = _COUNT[match["prefix"]]
        carry = scale if re.search(r"\.0+$", match["iops"]) else 0.0
        bandwidth, again = _bytes_per_s(match["bw"]), _bytes_per_s(match["again"])
        bandwidth = again if again > (1 + _THREE_DIGITS) * bandwidth else bandwidth
        printed = _Printed(match["way"], positive(match["iops"]) * scale, carry, bandwidth, float(match["ms"]) / 1e3)
        report.printed.setdefault(match["way"], printed)
    elif match := _FLOW_2.match(line):
        bandwidth = _bytes_per_s(re.sub(r"(?<=[KMGT])B", "iB", match["bw"]))
        printed = _Printed(match["way"], positive(match["iops"]), 0.0, bandwidth, float(match["ms"]) / 1e3)
        report.printed.setdefault(match["way"], printed)
    elif printed is not None and (match := _LATENCY.match(line)):
        unit = _SECONDS[match["unit"]]
        mean, sd = positive(match["mean"]) * unit, positive(match["sd"]) * unit
        if mean:
            printed.moments.setdefault(match["kind"], (mean, sd))
    elif printed is not None and (match := _PERCENTILES.match(line)):
        printed.percentiles_unit_s = _SECONDS[match["unit"]]
    elif printed is not None and printed.percentiles_unit_s and line.lstrip().startswith("|"):
        found = {positive(p): positive(v) * printed.percentiles_unit_s for p, v in _PERCENTILE.findall(line)}
        printed.percentiles |= {p: v for p, v in found.items() if v}
    elif match := _DEPTHS.match(line):
        parts = (part.strip().partition("=") for part in match["list"].replace(">=", ">").split(","))
        report.depths = {k.replace(">", ">="): positive(v.rstrip("%")) for k, _, v in parts}
        printed = None
    elif match := _ISSUED.match(line):
        report.issued = (float(match[1]), float(match[2]))
    return printed


def _record(clones: Sequence[_Report], version: str, name: str) -> FioRecord:
    """One record of all clones of a job."""
    first = clones[0]
    options = dict(first.announced.options)
    if first.jobs > 1:  # reported as a group
        options |= {"numjobs": str(first.jobs), "group_reporting": "1"}
    return record_of(
        [flow for report in clones for flow in report.flows()],
        source=name,
        job=first.job,
        options=options,
        records=len(clones),
        error=next((r.error for r in clones if r.error), 0),
        version=version,
        started_at="",
        iodepth_levels=first.depths,
        all_options=False,
        group=f"{first.run} {first.group}",
    )


def _options(rw: str, rest: str) -> dict[str, str]:
    """rw, bs, ioengine and iodepth as fio's options; a range of block sizes is left out."""
    options = {"rw": rw}
    for key in ("ioengine", "iodepth"):
        if match := re.search(rf"\b{key}=([\w\-]{{1,40}})", rest):
            options[key] = match[1]
    way = "W" if rw in ("write", "randwrite") else "R"
    size = re.search(rf"\({way}\) ([\d.]+\w{{0,4}})-([\d.]+\w{{0,4}})", rest)
    if size is None:  # fio 2: reads/writes/trims
        before = r"[\d.]+\w{0,4}-[\d.]+\w{0,4}/" if way == "W" else ""
        size = re.search(rf"bs={before}([\d.]+\w{{0,4}})-([\d.]+\w{{0,4}})/", rest)
    if size is not None and size[1] == size[2]:
        options["bs"] = re.sub(r"i?B$", "", size[1])
    return options


def _bytes_per_s(text: str) -> float:
    """Bytes a second from fio's text: KiB, or kB with ``kb_base=1000``."""
    match = _RATE.match(text)
    if match is None:
        return 0.0
    base = 1024.0 if match[2].endswith("i") else 1000.0
    return positive(match[1]) * base ** " KMGT".index(match[2][:1].upper() or " ")


# --- terse output -----------------------------------------------------------------------------------------------------

_LINE = re.compile(r"^(?:\S+ )?([2-5]);fio-[\d.]", re.MULTILINE)
_SECTION = {"3": (41, 2), "4": (41, 3), "5": (47, 3)}
"""Version -> the fields of a direction's section, and how many sections there are."""
_FIRST, _LEVELS = 5, ("1", "2", "4", "8", "16", "32", ">=64")
_KIB, _MS, _US = 1024.0, 1e3, 1e6
_IOPS, _RUNTIME, _BANDWIDTH, _PERCENTS, _MEAN, _SD = 2, 3, 1, slice(12, 32), 34, 35
"""Places in a section, of the total latency where there are two."""
_PROCESSOR = 5


def looks_like_terse(text: str) -> bool:
    """Whether a line of terse output is in the text."""
    return _LINE.search(text) is not None


def parse_terse(text: str, name: str) -> list[FioRecord]:
    """The records of the lines, one a job. DataError for version 2, and for a line that is cut off."""
    lines: dict[tuple[str, str], list[FioRecord]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if (match := _LINE.match(line)) is None:
            continue
        if match[1] not in _SECTION:
            raise DataError(f"{name}: terse version 2 of fio has no total latency; run with --output-format=json")
        cells = line[match.start(1) :].split(";")
        width, sections = _SECTION[match[1]]
        if len(cells) < _FIRST + width * sections + _PROCESSOR + len(_LEVELS):
            raise DataError(f"{name}: line {number} of fio's terse output is cut off; measure that point again")
        lines.setdefault((cells[2], cells[3]), []).append(_terse_record(cells, width, sections, name))
    return [record for alike in lines.values() for record in _perhaps_clones(alike, name)]


def _perhaps_clones(records: Sequence[FioRecord], name: str) -> Iterator[FioRecord]:
    """The records of one job and group, the first of several at one depth with a Finding that they may be clones."""
    found: dict[str, list[FioRecord]] = {}
    for record in records:
        found.setdefault(max(record.iodepth_levels, key=record.iodepth_levels.__getitem__), []).append(record)
    for first, *others in found.values():
        lines = f"{1 + len(others)} lines of job {first.job!r}"
        message = f"{name}: {lines} at one depth are read as repeats that ran in turn."
        because = "terse output does not say whether they ran at once (numjobs without group_reporting)."
        remedy = "if they did, run again with --group_reporting or --output-format=json+: their rates add up."
        doubt = Finding("repeats-or-jobs", "warning", message, because, remedy)
        yield replace(first, findings=(*first.findings, doubt)) if others else first
        yield from others


def _terse_record(cells: Sequence[str], width: int, sections: int, name: str) -> FioRecord:
    parts = [cells[_FIRST + k * width : _FIRST + (k + 1) * width] for k in range(2)]
    flows = [_flow(part, way) for part, way in zip(parts, ("read", "write"), strict=True) if positive(part[_IOPS])]
    behind = _FIRST + width * sections + _PROCESSOR
    levels = {level: positive(cells[behind + k].rstrip("%")) for k, level in enumerate(_LEVELS)}
    return record_of(
        flows,
        source=name,
        job=cells[2],
        options={},
        records=1,
        error=int(positive(cells[4])),
        version=cells[1],
        started_at="",
        iodepth_levels=levels,
        all_options=False,
    )


def _flow(part: Sequence[str], way: str) -> Flow:
    """One direction; percentiles are those of the completion latency, the only ones that are written."""
    runtime_s, rate = positive(part[_RUNTIME]) / _MS, positive(part[_IOPS])
    listed = (cell.partition("%=") for cell in part[_PERCENTS])
    percentiles = {positive(p): positive(t) / _US for p, _, t in listed if positive(p) and positive(t)}
    requests = float(round(rate * runtime_s))
    latency = Moments(positive(part[_MEAN]) / _US, positive(part[_SD]) / _US, "lat", percentiles)
    reads = requests if way == "read" else 0.0
    return Flow(rate, positive(part[_BANDWIDTH]) * _KIB, requests, reads, runtime_s, latency, way)
