"""The kept points of a fio sweep as rows: what fio printed, joined with what was asked for.

fio names the options of the last of several sections only, so that depth, jobs and direction are taken from the
request. A closed point lies at its outstanding requests. An open one lies at the rate that was measured (the mean over
its repeats): fio rounds the gaps between arrivals, and a run is a sample. Each job's window begins with a request, so
that n requests of N jobs in T seconds are (n - N) / T arrivals a second.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from measure.errors import DataError, StoreError
from measure.findings import Finding
from measure.fio.command import submitters_of
from measure.fio.workload import MAX_JOBS, FioJob
from measure.formats.fio.json_output import parse_fio
from measure.formats.fio.record import SYNC_ENGINES, FioRecord, added
from measure.formats.fio.steady_state import noted_columns
from measure.formats.fio.sweep import Placed, why_unusable
from measure.machine.scheduling_delay import noted_lateness
from measure.store.stored_point import StoredPoint
from measure.sweep import describe_series
from measure.units import format_bytes, format_rate
from measure.watching.device_counters import noted_device

BUSY = 0.05  # the share of its time that a submitting job may be busy
SHORT = 0.05  # how much less than asked may arrive before the device counts as overloaded
_ERRORS = 3.0  # standard errors of a Poisson count that are no shortfall


@dataclass(frozen=True)
class MeasuredPoint:
    """A kept point: the record of one host, the workload that was asked for, which repeat it is, further columns."""

    record: FioRecord
    job: FioJob
    repeat: int
    columns: Mapping[str, Any] = field(default_factory=dict)


def measured(text: str, point: StoredPoint) -> list[MeasuredPoint]:
    """The finished point of which fio printed ``text``, once for each host that measured it."""
    job = job_of(point)
    records = joined(parse_fio(text, point.raw.name if point.raw else point.key), job)
    columns = {
        **_place_in_time(point),
        **_ceiling(records),
        **noted_columns(point.record),
        **noted_lateness(point.record),
        **noted_device(point.record, job.read_percent / 100),
    }
    return [MeasuredPoint(record, job, int(point.asked("repeat")), columns) for record in records]


def near_ceiling(points: Iterable[MeasuredPoint]) -> list[Finding]:
    """Where the probe handed over more than half of what it can, with the host measured as well: said once."""
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


def _ceiling(records: Sequence[FioRecord]) -> dict[str, float]:
    """What the drive probe could hand over, measured by itself; nothing of fio."""
    known = records[0].options.get("ceiling_per_s")
    return {} if known is None else {"ceiling_per_s": float(known)}


def _place_in_time(point: StoredPoint) -> dict[str, int]:
    """The number of the point among those of its directory, which no clock changes; none in old records."""
    number = point.record.get("sequence")
    return {"sequence": number} if isinstance(number, int) else {}


def request_of(job: FioJob, repeat: int) -> dict[str, Any]:
    """What a record keeps of the workload that was asked for; the inverse of ``job_of``."""
    return {**asdict(job), "load": job.load, "repeat": repeat}


def job_of(point: StoredPoint) -> FioJob:
    """The workload that a kept point was asked for; StoreError where the record holds none."""
    request = point.record["request"]
    known = {f.name: request[f.name] for f in fields(FioJob) if f.name in request}
    try:
        return FioJob(**known)
    except (TypeError, ValueError) as error:
        raise StoreError(f"the record of point {point.key} holds no workload ({error}); remove it") from error


def why_no_point(text: str, key: str, job: FioJob) -> str:
    """Why fio's output is no usable point of ``job``; empty where it is."""
    try:
        records = joined(parse_fio(text, key), job)
    except DataError as error:
        return str(error)
    unusable = next((u for r in records if (u := why_unusable(r))), None)
    if unusable is not None:
        return unusable.message
    if job.is_open and any(_arrivals(r, job) <= 0 for r in records):
        return f"{key}: fewer requests than jobs came in the run; measure longer, or share them among fewer jobs"
    if any(sum(r.latency.bins_s.values()) < 0.98 * r.requests for r in records if r.latency.bins_s and job.is_open):
        return f"{key}: fio lost the latencies of some jobs; measure longer, or with a shorter ramp"
    return ""


def joined(records: Sequence[FioRecord], job: FioJob) -> list[FioRecord]:
    """One record per host, with the options as asked; DataError where a host reports other jobs than were asked for."""
    hosts: dict[str, list[FioRecord]] = {}
    for record in records:
        hosts.setdefault(record.host, []).append(record)
    for parts in hosts.values():
        if len(parts) != job.sections:
            raise DataError(f"{parts[0].source}: fio reported {len(parts)} jobs where {job.sections} were asked for")
    return [_as_asked(added(parts), job) for parts in hosts.values()]


def place(points: Iterable[MeasuredPoint]) -> tuple[list[Placed], list[Finding]]:
    """The rows of a table, and what is found about the arrivals. Points that the device could not take are left out."""
    points = list(points)
    names = _names(points)
    rates: dict[tuple[str, float], list[float]] = {}
    for name, point in zip(names, points, strict=True):
        if point.job.is_open:
            rates.setdefault((name, point.job.load), []).append(_rate(point.record, point.job))
    placed: list[Placed] = []
    findings: dict[tuple[str, str | None, float | None], Finding] = {}  # one of each kind for all repeats of a point
    strained: dict[str, list[MeasuredPoint]] = {}
    for name, point in zip(names, points, strict=True):
        record, job = point.record, point.job
        if not job.is_open:
            placed.append(Placed(record, name, job.load, point.repeat, point.columns))
            continue
        if (overloaded := _overloaded(record, job, name)) is not None:
            findings.setdefault((overloaded.check, name, job.load), overloaded)
            continue
        if _busy(record, job) > BUSY:
            strained.setdefault(name, []).append(point)
        measured_rates = rates[name, job.load]
        columns = {**point.columns, "asked_rate_per_s": job.load, "busy_share": _busy(record, job)}
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
    """The names of the curves: the workload, and of host and jobs what tells points apart."""
    bases = []
    for point in points:
        job = point.job
        parts = ["under Poisson arrivals"] if job.is_open else []
        parts += [f"from {point.record.host}"] if point.record.host else []
        bases.append(describe_series(job.block_bytes, job.read_percent / 100, job.pattern, parts))
    depths = _values_by_name(bases, points, lambda p: p.job.depth)
    shared = _values_by_name(
        [f"{base} {p.job.load}" for base, p in zip(bases, points, strict=True)], points, lambda p: p.job.jobs
    )
    ambiguous = {
        base for base, p in zip(bases, points, strict=True) if p.job.is_open and len(shared[f"{base} {p.job.load}"]) > 1
    }
    names = []
    for base, point in zip(bases, points, strict=True):
        jobs = point.job.jobs
        named = base in ambiguous if point.job.is_open else jobs > 1 and len(depths[base]) > 1
        names.append(f"{base} {jobs} jobs" if named else base)
    return names


def _values_by_name(
    names: Sequence[str], points: Sequence[MeasuredPoint], value: Callable[[MeasuredPoint], int]
) -> dict[str, set[int]]:
    values: dict[str, set[int]] = {}
    for name, point in zip(names, points, strict=True):
        values.setdefault(name, set()).add(value(point))
    return values


def _arrivals(record: FioRecord, job: FioJob) -> int:
    return record.requests - submitters_of(job)


def _rate(record: FioRecord, job: FioJob) -> float:
    """Arrivals a second, without the request with which each job's window begins."""
    return _arrivals(record, job) / record.runtime_s


def _busy(record: FioRecord, job: FioJob) -> float:
    """The share of its time that a job waits for its request: Little's law, shared among the jobs."""
    return record.throughput_per_s * record.latency.mean_s / submitters_of(job)


def _overloaded(record: FioRecord, job: FioJob, series: str) -> Finding | None:
    """Whether the device did not take what was asked for."""
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
    """What is said, once, of the points of a curve whose jobs were not free to send what arrived."""
    loads = sorted({p.job.load for p in points})
    busy = sorted(100 * _busy(p.record, p.job) for p in points)
    jobs = " or ".join(f"{n}" for n in sorted({submitters_of(p.job) for p in points}))
    shares = " to ".join(dict.fromkeys(f"{share:.0f}" for share in (busy[0], busy[-1])))
    several, rates = len(loads) > 1, ", ".join(format_rate(load) for load in loads)
    return Finding(
        "busy-submitters",
        "warning",
        f"each of the {jobs} jobs was busy {shares} % of the time{f' at {rates}' if several else ''}, so that "
        "arrivals waited for a job, which the latency does not hold.",
        f"too few jobs for {'these rates' if several else 'this rate'} and this latency.",
        _more_jobs(points),
        series,
        None if several else loads[0],
    )


def _more_jobs(points: Sequence[MeasuredPoint]) -> str:
    """How many jobs would be free enough at each rate, and at which rates no number is: a job takes 1/s or more."""
    needs: dict[float, int] = {}
    for p in points:
        need = math.ceil(_rate(p.record, p.job) * p.record.latency.mean_s / (0.8 * BUSY))
        needs[p.job.load] = max(need, needs.get(p.job.load, 0))
    enough = {load: need for load, need in sorted(needs.items()) if need <= min(load, MAX_JOBS)}
    if not enough:
        return "ask for lower rates."
    most = max(enough.values())
    if most > min(enough):  # more than the slowest of them can share
        remedy = "measure " + ", ".join(f"{format_rate(load)} with --jobs {need}" for load, need in enough.items())
    elif len(enough) < len(needs):
        remedy = f"measure {', '.join(map(format_rate, enough))} with more jobs: --jobs {most}"
    else:
        remedy = f"measure {'these rates' if len(needs) > 1 else 'this rate'} with more jobs: --jobs {most}"
    beyond = ", ".join(format_rate(load) for load in sorted(needs) if load not in enough)
    return f"{remedy}; no number of jobs does at {beyond}: ask for lower rates." if beyond else remedy
