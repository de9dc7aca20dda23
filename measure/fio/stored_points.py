"""The stored points of a fio sweep as rows: fio's output joined with the requested workload.

fio reports the options of only the last of several sections, so depth, jobs and direction come from the request. The
load of a closed point is its outstanding requests, that of an open one the measured rate (the mean over its repeats):
fio rounds the gaps between arrivals, and a run is a sample. Each job's window begins with a request, so n requests of
N jobs in T seconds are (n - N) / T arrivals a second.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from measure.errors import DataError, StoreError
from measure.findings import Finding
from measure.fio.fio_command import MAX_JOBS, FioJob, submitters_of
from measure.formats.fio.json_output import parse_fio
from measure.formats.fio.ramp import AGREES
from measure.formats.fio.record import RATE, SYNC_ENGINES, FioRecord, added
from measure.formats.fio.runs_as_sweep import Placed, why_unusable
from measure.formats.fio.steady_state import Intervals, noted_columns, rate_in_bursts
from measure.machine.scheduling_delay import noted_lateness
from measure.origin import corrected
from measure.store.directory import StoredPoint
from measure.sweep import IN_BURSTS, describe_series
from measure.units import counted, format_bytes, format_rate

UNDER_ARRIVALS = "under Poisson arrivals"  # what the name of an open curve has beside that of its workload
BUSY = 0.05  # the largest share of time that a submitting job may be busy
SHORT = 0.02  # relative shortfall of arrivals from which the device counts as overloaded
BURST_REASON = corrected(
    "whole bursts over whole periods; the device serves in bursts, and part of one more fell into the run"
)
_ERRORS = 3.0  # standard errors of a Poisson count that a shortfall must exceed


@dataclass(frozen=True)
class MeasuredPoint:
    """A stored point: its record, the requested workload, its repeat number, further columns."""

    record: FioRecord
    job: FioJob
    repeat: int
    columns: Mapping[str, Any] = field(default_factory=dict)


def measured(text: str, point: StoredPoint) -> MeasuredPoint:
    """The finished point, from fio's output ``text``."""
    job = job_of(point)
    record = joined(parse_fio(text, point.raw.name if point.raw else point.key), job)
    noted = {} if job.is_open else point.record.get("intervals", {})
    rate = _rate_in_bursts(record, Intervals.from_dict(noted)) if noted else None
    number, ceiling = point.record.get("sequence"), record.options.get("ceiling_per_s")
    columns = {
        **({"sequence": number} if isinstance(number, int) else {}),
        **({"ceiling_per_s": float(ceiling)} if ceiling is not None else {}),
        **(noted_columns(point.record) if rate is None else {IN_BURSTS: 1.0}),
        **noted_lateness(point.record),
    }
    return MeasuredPoint(record if rate is None else in_bursts(record, rate), job, int(point.asked("repeat")), columns)


def _rate_in_bursts(record: FioRecord, intervals: Intervals) -> float | None:
    printed = record.published.get(RATE, (record.throughput_per_s, ""))[0]
    return rate_in_bursts(intervals, round(printed * record.runtime_s), record.requests, record.runtime_s)


def in_bursts(record: FioRecord, rate_per_s: float) -> FioRecord:
    """The record of a run in regular bursts at ``rate_per_s``; as it was where its count agrees."""
    printed = record.throughput_per_s
    if abs(rate_per_s - printed) <= AGREES * printed:
        return record
    return replace(
        record,
        throughput_per_s=rate_per_s,
        bandwidth_bytes_per_s=record.bandwidth_bytes_per_s * rate_per_s / printed,
        published={**record.published, RATE: (record.published.get(RATE, (printed, ""))[0], BURST_REASON)},
    )


def near_ceiling(points: Iterable[MeasuredPoint]) -> list[Finding]:
    """One finding where the probe ran above half of its own ceiling, so that the host limits the result too."""
    shares = [(p, p.columns["ceiling_per_s"]) for p in points if "ceiling_per_s" in p.columns]
    over = [(p, most) for p, most in shares if p.record.throughput_per_s > most / 2]
    if not over:
        return []
    first, most = min(over, key=lambda pair: pair[0].job.load)
    return [
        Finding(
            "probe-ceiling",
            "warning",
            f"from {first.job.load_text} on the probe reached more than half of its ceiling: it can hand over "
            f"{format_rate(most)} of {format_bytes(first.job.block_bytes)} on this machine.",
            "a thread for each request takes processor time, which these points hold.",
            "install fio to go on: qsim measure fio.",
            load=first.job.load,
        )
    ]


def request_of(job: FioJob, repeat: int) -> dict[str, Any]:
    """The requested workload as stored in a record; the inverse of ``job_of``."""
    return {**asdict(job), "load": job.load, "repeat": repeat}


def job_of(point: StoredPoint) -> FioJob:
    """The requested workload of a stored point; StoreError where the record holds none."""
    request = point.record["request"]
    known = {f.name: request[f.name] for f in fields(FioJob) if f.name in request}
    try:
        return FioJob(**known)
    except (TypeError, ValueError) as error:
        raise StoreError(f"the record of point {point.key} holds no workload ({error}); remove it") from error


def why_no_point(text: str, key: str, job: FioJob) -> str:
    """Why fio's output is not a usable point of ``job``; empty where it is."""
    try:
        record = joined(parse_fio(text, key), job)
    except DataError as error:
        return str(error)
    if (unusable := why_unusable(record)) is not None:
        return unusable.message
    if job.is_open and _arrivals(record, job) <= 0:
        return f"{key}: fewer requests than jobs came in the run; measure longer, or share them among fewer jobs"
    bins = record.latency.histogram
    if job.is_open and bins is not None and bins.total < 0.98 * record.requests:
        return f"{key}: fio lost the latencies of some jobs; measure longer, or with a shorter ramp"
    return ""


def joined(records: Sequence[FioRecord], job: FioJob) -> FioRecord:
    """One record with the requested options; DataError where fio reports another number of jobs."""
    if len(records) != job.sections:
        raise DataError(f"{records[0].source}: fio reported {len(records)} jobs where {job.sections} were asked for")
    return _as_asked(added(records), job)


def place(points: Sequence[MeasuredPoint]) -> tuple[list[Placed], list[Finding]]:
    """The rows of a table, and findings on arrivals. Points at which the device was overloaded are left out."""
    names = _names(points)
    rates: dict[tuple[str, float], list[float]] = {}
    for name, point in zip(names, points, strict=True):
        if point.job.is_open:
            rates.setdefault((name, point.job.load), []).append(_rate(point.record, point.job))
    placed: list[Placed] = []
    findings: dict[tuple[str, float], Finding] = {}  # one for all repeats of a point
    strained: dict[str, list[MeasuredPoint]] = {}
    for name, point in zip(names, points, strict=True):
        record, job = point.record, point.job
        if not job.is_open:
            placed.append(Placed(record, name, job.load, point.repeat, point.columns))
            continue
        if (overloaded := _overloaded(record, job, name)) is not None:
            findings.setdefault((name, job.load), overloaded)
            continue
        busy = _busy(record, job)
        if busy > BUSY:
            strained.setdefault(name, []).append(point)
        measured_rates = rates[name, job.load]
        columns = {**point.columns, "asked_rate_per_s": job.load, "busy_share": busy}
        load = math.fsum(measured_rates) / len(measured_rates)
        scale = _rate(record, job) / record.throughput_per_s
        record = replace(
            record,
            throughput_per_s=record.throughput_per_s * scale,
            bandwidth_bytes_per_s=record.bandwidth_bytes_per_s * scale,
            findings=tuple(f for f in record.findings if f.check != "rate-limited"),
        )
        placed.append(Placed(record, name, load, point.repeat, columns))
    return placed, [*findings.values(), *(_busy_submitters(several, name) for name, several in strained.items())]


def _as_asked(record: FioRecord, job: FioJob) -> FioRecord:
    synchronous = record.engine in SYNC_ENGINES
    asked = {
        "rw": job.rw,
        "bs": str(job.block_bytes),
        "group_reporting": "1",
        "iodepth": "1" if synchronous else str(job.depth),
        "numjobs": str(job.outstanding if synchronous else job.jobs),
    }
    if job.is_mix:
        asked["rwmixread"] = str(job.read_percent)
    return replace(record, options={**record.options, **asked}, records=1)


def _names(points: Sequence[MeasuredPoint]) -> list[str]:
    """The names of the curves: the workload and, for closed ones, the number of jobs where depths vary too."""
    depths: dict[str, set[int]] = {}
    bases = []
    for job in (p.job for p in points):
        arrivals = [UNDER_ARRIVALS] if job.is_open else []
        bases.append(describe_series(job.block_bytes, job.read_percent / 100, job.pattern, arrivals))
        depths.setdefault(bases[-1], set()).add(job.depth)
    return [
        f"{base} {p.job.jobs} jobs" if p.job.jobs > 1 and len(depths[base]) > 1 else base
        for base, p in zip(bases, points, strict=True)
    ]


def _arrivals(record: FioRecord, job: FioJob) -> int:
    return record.requests - submitters_of(job)


def _rate(record: FioRecord, job: FioJob) -> float:
    """Arrivals a second, without the request with which each job's window begins."""
    return _arrivals(record, job) / record.runtime_s


def _busy(record: FioRecord, job: FioJob) -> float:
    """The share of time that a job waits for its request: X R over the number of jobs."""
    return record.throughput_per_s * record.latency.mean_s / submitters_of(job)


def _overloaded(record: FioRecord, job: FioJob, series: str) -> Finding | None:
    """The finding that the device did not sustain the requested rate, or None."""
    rate, busy, jobs = _rate(record, job), _busy(record, job), submitters_of(job)
    counting_error = _ERRORS / math.sqrt(job.load * record.runtime_s)
    if rate >= job.load * (1 - max(SHORT, counting_error)) or busy <= 0.5:
        return None
    return Finding(
        "overloaded",
        "error",
        f"{format_rate(job.load)} was asked for and {format_rate(rate)} came, with the {jobs} jobs busy "
        f"{100 * busy:.0f} % of the time, so the point is left out: its latency is that of {jobs} requests "
        "circulating, not of an open stream.",
        "the device cannot take this rate.",
        "ask for lower rates.",
        series,
        job.load,
    )


def _busy_submitters(points: Sequence[MeasuredPoint], series: str) -> Finding:
    """One finding for the points of a curve at which jobs were too busy to submit arrivals in time."""
    loads = sorted({p.job.load for p in points})
    most = max(points, key=lambda p: _busy(p.record, p.job))
    need = math.ceil(_rate(most.record, most.job) * most.record.latency.mean_s / (0.8 * BUSY))
    several = f" and at {counted(len(loads) - 1, 'other rate')}" if len(loads) > 1 else ""
    busy = f"{100 * _busy(most.record, most.job):.0f} % of the time at {format_rate(most.job.load)}{several}"
    return Finding(
        "busy-submitters",
        "warning",
        f"each of the {submitters_of(most.job)} jobs was busy {busy}, so that arrivals waited for a job, which the "
        "latency does not hold.",
        "too few jobs for this rate and this latency.",
        f"measure with more jobs: --jobs {need}."
        if need <= min(most.job.load, MAX_JOBS)
        else "ask for lower rates: no number of jobs does here.",
        series,
        loads[0] if len(loads) == 1 else None,
    )
