"""fio's outputs as a Sweep: which records are points of one curve, at which load, and which are not points.

Points of one curve differ in depth only: block size, direction and pattern name it, and whatever else differs
between the files (engine, device, number of jobs, folder, job) is added to the name. Where the depth is constant and
the number of jobs varies, as with synchronous engines, the jobs are the load.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from measure.errors import DataError
from measure.findings import LOAD_KIND, Finding, Severity, unreadable
from measure.formats.fio.json_output import parse_fio
from measure.formats.fio.logs import choose_logs, record_of_logs
from measure.formats.fio.ramp import LIMITING, SEARCHED
from measure.formats.fio.record import (
    LATENCY,
    RATE,
    FioRecord,
    check_record,
    host_columns,
    is_direct,
    is_set,
    near_power_of_two,
)
from measure.formats.fio.text_output import looks_like_normal, looks_like_terse, parse_normal, parse_terse
from measure.formats.which_kind import FEW_BUSY, ORIGIN_OF_KIND, PACES
from measure.loads import ArrivalRate, Depth, Load
from measure.origin import MEASURED, ORIGIN, PUBLISHED, Provenance, computed
from measure.sweep import Sweep, describe_series, distinct

BEYOND_ERRORS = 2**31
LIMITED = "limited in rate"


def read_fio(text: str, name: str) -> list[FioRecord]:
    """The records in one output of fio: its JSON where there is any, else its report, else terse lines.

    ``name`` is the file's name, for the messages. Raises DataError in one sentence where there is none.
    """
    if '"fio version"' not in text:
        if looks_like_normal(text):
            return parse_normal(text, name)
        if looks_like_terse(text):
            return parse_terse(text, name)
    return parse_fio(text, name)


def fio_sweep(texts: Mapping[str, str]) -> Sweep:
    """The sweep in one or many fio outputs, {name: text}; names tell files apart and appear in messages.

    A text that cannot be read, a failed job and a job without requests become findings. Raises DataError where no point
    is left: with one text its own sentence, else the number of texts and the first sentence.
    """
    records: list[FioRecord] = []
    refusals: list[str] = []
    for name, text in texts.items():
        try:
            records.extend(read_fio(text, name))
        except DataError as error:
            refusals.append(str(error))
    return sweep_of_all(records, [unreadable(refusal, "error") for refusal in refusals], refusals)


def log_sweep(paths: Sequence[Path]) -> Sweep:
    """The sweep in fio's logs alone, a point for each run; DataError where none of them holds latencies."""
    groups = choose_logs(paths)
    if not groups:
        raise DataError(
            f"{paths[0].name} logs no latency of requests (bandwidth, IOPS or submission only); give NAME_lat.1.log "
            "or fio's JSON"
        )
    records, refusals = [], []
    for name, files in groups:
        try:
            records.append(record_of_logs(name, files))
        except DataError as error:
            refusals.append(str(error))
    return sweep_of_all(records, map(unreadable, refusals), refusals)


def sweep_of_all(records: Iterable[FioRecord], findings: Iterable[Finding] = (), refusals: Iterable[str] = ()) -> Sweep:
    """The sweep of the ``records`` that are points; ``findings`` and ``refusals`` are about texts that were not read.

    Raises DataError with the first refusal where no point is left.
    """
    findings, refusals, usable = list(findings), list(refusals), []
    for record in records:
        reason = why_unusable(record)
        if reason is None:
            usable.append(record)
        else:
            refusals.append(reason.message)
            findings.append(reason)
    if not usable:
        if not refusals:
            raise DataError("no fio output was given; name at least one file")
        count = f" (and {len(refusals) - 1} more like it)" if len(refusals) > 1 else ""
        raise DataError(f"{refusals[0]}{count}")
    return _of_its_kind([_point(record) for record in usable], findings)


def sweep_of_points(points: Sequence[Placed], findings: Iterable[Finding] = ()) -> Sweep:
    """The table of records whose curve and load are known; one row each, and their findings after ``findings``."""
    import pandas as pd

    found = list(findings)
    for point in points:
        noticed = (*point.record.findings, *check_record(point.record))
        found += [replace(f, series=point.series, load=point.load) for f in noticed]
        if point.record.depth is None:
            taken = f"the load is taken as throughput x latency = {point.outstanding:.4g}"
            where = f"{point.record.source}: job {point.record.job!r}"
            message = f"{where} does not record its depth; {taken}, so Little's law cannot be checked"
            because = "terse output, an fio before 2.17, or a log, which do not hold the options"
            remedy = "measure with fio 3 and --output-format=json+, or with qsim measure fio, which keep them"
            place = (point.series, point.load)
            found.append(Finding("depth-not-recorded", "warning", message, because, remedy, *place))
    order = {name: i for i, name in enumerate(dict.fromkeys(p.series for p in points))}
    rows = _rows(points)
    rows.sort(key=lambda row: (order[row["series"]], row["load"], row["repeat"]))
    return Sweep(
        pd.DataFrame(rows),
        provenance=_provenance([p.record for p in points]),
        findings=tuple(found),
        name=points[0].record.source if len(points) == 1 else "",
        latencies={
            (r.source, r.throughput_per_s, r.latency.mean_s): r.latency.histogram
            for r in (p.record for p in points)
            if r.latency.histogram is not None
        },
    )


def _of_its_kind(points: Sequence[Placed], findings: Iterable[Finding]) -> Sweep:
    """The sweep over depths; over arrivals where fio came at random and left most of its depth idle."""
    if any(_unchecked(p.record) != LIMITED or p.outstanding >= FEW_BUSY * p.load for p in points):
        named = _named(points)
        return sweep_of_points(named, [*findings, *_at_once(named)])
    options = [p.record.options for p in points]
    kind: Load = Depth()
    if all(given.get("rate_process") == "poisson" for given in options):
        points = [replace(p, load=p.record.throughput_per_s) for p in points]
        kind, known = ArrivalRate(), {ORIGIN_OF_KIND: "Poisson arrivals, as fio's option says"}
    else:
        known = {PACES: ", ".join(key for key in LIMITING if any(is_set(given, key) for given in options))}
    sweep = sweep_of_points(_named(points), findings)
    details = {**sweep.provenance.details, **known}
    return replace(sweep, load_type=kind, provenance=replace(sweep.provenance, details=details))


_LATER = ("startdelay", "wait_for")  # options by which a job starts after others of its group


def _at_once(points: Sequence[Placed]) -> Iterator[Finding]:
    """A finding for jobs of one run that kept one device busy together: an error where one curve holds several."""
    groups: dict[tuple[str, str, str], list[Placed]] = defaultdict(list)
    for point in points:
        record = point.record
        if record.group and not any(is_set(record.options, key) for key in _LATER):
            groups[record.source, record.group, record.device].append(point)
    several = len({point.record.source for point in points}) > 1
    for (source, *_), jobs in groups.items():
        series = [point.series for point in jobs]
        for curve in dict.fromkeys(series) if len(jobs) > 1 else ():
            total = math.fsum(point.load for point in jobs)
            names = ", ".join(repr(point.record.job) for point in jobs[:_MOST_JOBS])
            names += ", ..." if len(jobs) > _MOST_JOBS else ""
            in_all = f"so that up to {total:g} requests were outstanding in all."
            message = f"{f'{source}: ' if several else ''}the jobs {names} ran at once, {in_all}"
            because = "no stonewall stands between these jobs, and fio starts all of them together."
            remedy = (
                "write stonewall into each job, and run again; where they ran one after another: --columns think=0."
            )
            severity: Severity = "error" if series.count(curve) > 1 else "warning"
            yield Finding(LOAD_KIND, severity, message, because, remedy, series=curve)


_MOST_JOBS = 4


def why_unusable(record: FioRecord) -> Finding | None:
    """Why the record is not a point; None where it is one."""
    if record.error:
        known = record.error < BEYOND_ERRORS
        said = os.strerror(record.error) if known else "no error number of any system"
        settle = "so its numbers are not used; settle the cause, then measure again"
        check, why = "job-failed", f"ended with error {record.error} ({said}), {settle}"
        because = "a full disk, a missing permission, no direct I/O on this file system, or a device that fails."
        remedy = "run this job by itself with --error_dump=1, and read the end of dmesg."
    elif record.throughput_per_s <= 0:
        check, why = "no-requests", "completed no read or write; measure again, for longer"
        because = "the run was shorter than one request, or it was stopped."
        remedy = "run it with --time_based=1 --runtime=30."
        if "trim" in record.options.get("rw", ""):
            why, because = "only trimmed, and reads and writes are what is read", "its rw names trims alone."
            remedy = "run it with --rw=randread or --rw=randwrite."
    elif not record.latency.mean_s > 0:
        check, why = (
            "no-latency",
            "recorded no latency; measure again without gtod_reduce, disable_lat and disable_clat",
        )
        because = "one of these options was given to save the time of looking at the clock."
        remedy = "run it with --gtod_reduce=0 --disable_lat=0 --disable_clat=0."
    else:
        return None
    return Finding(check, "error", f"{record.source}: job {record.job!r} {why}", because, remedy)


@dataclass(frozen=True)
class Placed:
    """A record with its curve's name, its load, its repeat number (None: by its time), and further columns."""

    record: FioRecord
    series: str
    load: float
    repeat: int | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)

    @property
    def outstanding(self) -> float:
        """Little's law: the mean number of outstanding requests, from throughput and latency."""
        return self.record.throughput_per_s * self.record.latency.mean_s


def _point(record: FioRecord) -> Placed:
    """The record at its load, on a curve named by block, mix and pattern alone."""
    point = Placed(record, describe_series(record.block_bytes, _round_mix(record), record.pattern), math.nan)
    if _searched(record):
        return replace(point, load=float(f"{point.outstanding:.3g}"))
    if record.depth is not None:
        return replace(point, load=float(record.depth * record.jobs))
    return replace(point, load=near_power_of_two(max(1, round(point.outstanding)), tolerance=0.05))


def _searched(record: FioRecord) -> bool:
    """Whether fio varied the depth in search of a latency."""
    return any(f.check == SEARCHED for f in record.findings)


_SCATTER = 0.015  # a counted share of reads is that of a whole 5 % within this distance


def _round_mix(record: FioRecord) -> float:
    """The read fraction that names the curve: the option's where known, else the counted one, which scatters."""
    as_counted = round(record.read_fraction, 2)
    if record.options.get("rw", "").partition(":")[0] not in ("randrw", "rw", "readwrite"):
        return as_counted
    if not record.all_options and "rwmixread" not in record.options:
        near = round(20 * record.read_fraction) / 20
        return near if abs(record.read_fraction - near) <= _SCATTER else as_counted
    try:
        return min(1.0, max(0.0, float(record.options.get("rwmixread", "50")) / 100))
    except ValueError:
        return as_counted


def _named(points: Sequence[Placed]) -> list[Placed]:
    """The points with full curve names, from everything that differs between them."""
    names = [[point.series] for point in points]
    for members in _curves(names):
        for dimension in (_folder, _device, _engine, _buffered):
            values = {i: dimension(points[i].record) for i in members}
            for i in members if len(set(values.values())) > 1 else ():
                names[i] += filter(None, [values[i]])
    for members in _curves(names):
        for i in members if len({points[i].record.depth for i in members}) > 1 else ():
            names[i] += [f"{jobs} jobs"] if (jobs := points[i].record.jobs) > 1 else []
    for members in _curves(names):
        # Two jobs of one file at the same load differ in something that the name lacks.
        seen: dict[tuple[str, float], set[str]] = defaultdict(set)
        for i in members:
            seen[points[i].record.source, points[i].load].add(points[i].record.job)
        for i in members if any(len(jobs) > 1 for jobs in seen.values()) else ():
            names[i].append(f"({points[i].record.job})")
    return [replace(p, series=" ".join(name)) for p, name in zip(points, names, strict=True)]


def _curves(names: Sequence[Sequence[str]]) -> list[list[int]]:
    """The places of equal names."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, name in enumerate(names):
        places[" ".join(name)].append(place)
    return list(places.values())


def _folder(record: FioRecord) -> str:
    folder = PurePosixPath(record.source).parent.name
    return f"in {folder}" if folder else ""


def _device(record: FioRecord) -> str:
    return f"on {record.device}" if record.device else ""


def _engine(record: FioRecord) -> str:
    known = bool(record.options) and (record.all_options or "ioengine" in record.options)
    return record.engine if known else ""


def _buffered(record: FioRecord) -> str:
    return "" if is_direct(record.options) or not record.options or not record.all_options else "buffered"


def _rows(points: Sequence[Placed]) -> list[dict[str, Any]]:
    seen: dict[tuple[str, float], int] = defaultdict(int)
    rows = []
    for point in sorted(points, key=lambda p: p.record.started_at):
        record, latency = point.record, point.record.latency
        rows.append(
            {
                "series": point.series,
                "load": point.load,
                "throughput_per_s": record.throughput_per_s,
                "latency_s": latency.mean_s,
                "bandwidth_bytes_per_s": record.bandwidth_bytes_per_s or math.nan,
                "block_bytes": record.block_bytes,
                "read_fraction": record.read_fraction,
                "pattern": record.pattern,
                "depth": math.nan if record.depth is None or _searched(record) else record.depth,
                "jobs": math.nan if record.depth is None else record.jobs,
                "repeat": seen[point.series, point.load] if point.repeat is None else point.repeat,
                "latency_sd_s": latency.sd_s,
                "latency_p50_s": latency.percentile_s(50.0),
                "latency_p95_s": latency.percentile_s(95.0),
                "latency_p99_s": latency.percentile_s(99.0),
                "latency_p999_s": latency.percentile_s(99.9),
                "source": record.source,
                "started_at": record.started_at or None,
                "engine": _engine(record) or None,
                "requests": record.requests,
                "runtime_s": record.runtime_s,
                "unchecked": _unchecked(record),
                **_published(record),
                **_directions(record),
                **host_columns(record),
                **point.columns,
            }
        )
        seen[point.series, point.load] += 1
    return rows


def _published(record: FioRecord) -> dict[str, Any]:
    """The origins of rate and latency, and what fio printed where they were corrected."""
    known = {name: record.published.get(name, (math.nan, MEASURED)) for name in (RATE, LATENCY)}
    origins = {ORIGIN[name]: origin for name, (_, origin) in known.items()}
    if _searched(record) or record.depth is None:
        origins[ORIGIN["load"]] = computed("X R")
    return origins | {PUBLISHED[name]: printed for name, (printed, _) in known.items()}


def _directions(record: FioRecord) -> dict[str, float]:
    """Columns of rate and latency of reads and of writes where there were both; else no columns."""
    if len(record.directions) < 2:
        return {}
    rates = {f"{d}_throughput_per_s": rate for d, (rate, _) in record.directions.items()}
    means = {f"{d}_latency_s": latency.mean_s for d, (_, latency) in record.directions.items()}
    return rates | means | {f"{d}_latency_sd_s": latency.sd_s for d, (_, latency) in record.directions.items()}


def _unchecked(record: FioRecord) -> str | None:
    """Why N = X R cannot be checked at this point, or None."""
    if record.depth is None:
        return "the depth is unknown"
    if _searched(record):
        return "fio varied the depth"
    return LIMITED if any(f.check == "rate-limited" for f in record.findings) else None


def _provenance(records: Sequence[FioRecord]) -> Provenance:
    first = records[0]
    details: dict[str, Any] = {"engines": distinct(r.engine for r in records if r.options)}
    shared = {k: v for k, v in first.options.items() if all(r.options.get(k) == v for r in records)}
    details["options" if all(r.all_options for r in records) else "known_options"] = shared
    sources = list(dict.fromkeys(r.source for r in records))
    return Provenance(
        tool="fio",
        tool_version=distinct(r.version for r in records),
        device=distinct(r.device for r in records),
        started_at=min((r.started_at for r in records if r.started_at), default=""),
        source=sources[0] if len(sources) == 1 else f"{len(sources)} fio outputs",
        details=details,
    )
