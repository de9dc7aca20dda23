"""Reads fio's JSON of fifteen years: text in, records out.

Handled are messages around it and several documents (:mod:`measure.formats.fio.record`); fio 2.x (``lat``, ``clat`` in
microseconds, ``io_bytes`` in KiB) and 3.x (``lat_ns``, bytes); ``global options`` as an object or a list;
``unified_rw_reporting`` mixed and both; one record per clone where ``group_reporting`` is off; and ``client_stats``:
the same job on several hosts is one point. The latency is fio's total ``lat``, as that is what Little's law is about.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.fio.latency_bins import Histogram
from measure.formats.fio.latency_bins import counted as counted_latencies
from measure.formats.fio.ramp import (
    AGREES,
    LATENCY_REASON,
    LIMITING,
    RATE_REASON,
    SEARCHED,
    RampCount,
    counted_by_bytes,
    fixed_block_bytes,
    has_ramp,
)
from measure.formats.fio.record import (
    LATENCY,
    MORE_THAN,
    RATE,
    FioRecord,
    Flow,
    Moments,
    fio_documents,
    is_set,
    jobs_of,
    last_of_runs,
    number_in,
    positive,
    record_of,
    section_of,
    whole,
)
from measure.units import counted

MAX_JOBS = 10_000
YEAR_3000_S = 32_503_680_000  # a stamp from here on is damaged

_ALIASES = {"readwrite": "rw", "blocksize": "bs"}
_AGAIN = "run fio with --output-format=json --output=FILE"
_UNITS_S = {"_ns": 1e-9, "": 1e-6}  # fio 3.x and fio 2.x; fio has never written another suffix


def parse_fio(text: str, name: str) -> list[FioRecord]:
    """The records in one fio output; ``name`` is the file's name, for the messages.

    Records of failed jobs are included, with ``error`` set. Raises DataError, in one sentence, where the text
    holds no fio JSON: empty, truncated, binary, another format, only error messages, or edited by hand.
    """
    documents, truncated = fio_documents(text)
    if not documents:
        if truncated:
            raise DataError(
                f"{name} is cut off: its fio JSON has no end; fio was killed or the disk was full, so measure again"
            )
        raise DataError(f'{name} is not fio\'s JSON (no "fio version" with jobs in it); {_AGAIN}')
    records = [
        replace(record, group=f"{run} {record.group}")
        for run, document in enumerate(last_of_runs(documents))
        for record in _records(document, name)
    ]
    if not records:
        raise DataError(f"{name}: fio wrote its JSON, but no job is in it; run the job again")
    if truncated:
        message = f"{name}: a further fio document in this file is cut off and was left out"
        because = "fio was stopped while it wrote, or the disk was full"
        remedy = "measure that run again; df says what room is left"
        cut = Finding("truncated-document", "warning", message, because, remedy)
        records[0] = replace(records[0], findings=(*records[0].findings, cut))
    return records


def _records(document: Mapping[str, Any], name: str) -> Iterator[FioRecord]:
    shared = _options(document.get("global options"))
    jobs = jobs_of(document)
    if len(jobs) > MAX_JOBS:
        raise DataError(
            f"{name} lists {len(jobs):,} jobs, more than the {MAX_JOBS:,} that are read; run fio with --group_reporting"
        )
    groups: dict[str, list[dict[str, Any]]] = {}
    for job in jobs:
        own = _options(job.get("job options"))
        key = json.dumps([job.get("jobname"), job.get("groupid"), own], sort_keys=True, default=str)
        groups.setdefault(key, []).append(job)
    for clones in groups.values():
        options = {**shared, **_options(clones[0].get("job options"))}
        # Only numjobs and several hosts make clones; jobs of equal names without them are different jobs.
        hosts = {(job.get("hostname"), job.get("port")) for job in clones}
        is_cloned = whole(options.get("numjobs", "")) > 1 or len(hosts) == len(clones)
        parts = [clones] if is_cloned else [[job] for job in clones]
        for part in parts:
            yield _record(document, part, options, name)


def _record(
    document: Mapping[str, Any], clones: Sequence[Mapping[str, Any]], options: Mapping[str, str], name: str
) -> FioRecord:
    job = str(clones[0].get("jobname", ""))
    flows = [flow for clone in clones for flow in _flows(clone, name, job, options)]
    outstanding = math.fsum(f.rate * f.latency.mean_s for f in flows if f.rate)
    asked = whole(options.get("numjobs", ""))
    limited = any(is_set(options, key) for key in LIMITING)
    runtime_s = max((f.runtime_s for f in flows), default=0.0)
    record = record_of(
        flows,
        _findings(clones, flows, options, f"{name}: job {job!r}"),
        source=name,
        job=job,
        options=dict(options),
        records=len(clones),
        error=next((e for c in clones if (e := int(number_in(c, "error")))), 0),
        version=str(document.get("fio version", "")),
        started_at=_started_at(document, runtime_s),
        device=options.get("filename", "") or _disk(document),
        iodepth_levels={str(k): positive(v) for k, v in section_of(clones[0], "iodepth_level").items()},
        cpu_s=processor_time(clones, runtime_s, max(asked, len(clones))),
        group=str(clones[0].get("groupid", "")),
    )
    if asked > 1 and len(clones) == 1 and (limited or outstanding > MORE_THAN * (record.depth or 1)):
        # fio does not record the bare flag --group_reporting; more in flight than one clone can hold implies it, and a
        # limit, below which fewer may be in flight, leaves but that reason for a single record.
        record = replace(record, options={**options, "group_reporting": "1"})
    return record


def _findings(
    clones: Sequence[Mapping[str, Any]], flows: Sequence[Flow], options: Mapping[str, str], where: str
) -> Iterator[Finding]:
    """What is said of a job beside its numbers."""
    if errors := sum(int(number_in(c, "total_err")) for c in clones):
        message = f"{where} went on after {counted(errors, 'I/O error')}"
        remedy = "look at the kernel's log (dmesg), then measure again"
        yield Finding("io-errors", "warning", message, "a failing device or a full file system", remedy)
    if any(is_set(options, key) for key in LIMITING):
        paused = "was limited in rate or paused between requests, so fewer requests were outstanding"
        because = "so the throughput is what was asked for and not what the device can do"
        yield Finding(
            "rate-limited",
            "info",
            f"{where} {paused} than its depth allows",
            f"rate, rate_iops or thinktime was set, {because}",
            "run again without rate=, rate_iops= and thinktime=, or read the run as open arrivals",
        )
    if is_set(options, "latency_target"):
        reached = f"{options.get('iodepth', '1')}, and ended at {number_in(clones[0], 'latency_depth'):g}"
        kept = f"the depth that keeps a latency of {options['latency_target']}, up to {reached}"
        message = f"{where} searched {kept}; its load is throughput x latency"
        because = "iodepth is only the ceiling of such a run, in which the depth varied"
        yield Finding(SEARCHED, "info", message, because, "run a fixed depth without latency_target")
    requests = math.fsum(f.requests for f in flows)
    in_flight = whole(options.get("iodepth", "")) * whole(options.get("numjobs", ""))
    fixed = all(fixed_block_bytes(options, f.direction or "mixed") is not None for f in flows)
    if has_ramp(options) and not fixed and in_flight > AGREES * requests:
        missing = f"up to {in_flight} requests in flight at its end are missing from the"
        because = "fio leaves requests in flight at the end of a ramp out of iops"
        yield Finding(
            "ramp-not-counted",
            "warning",
            f"{where} ran after a ramp, and {missing} {counted(int(requests), 'request')} that fio counted.",
            f"{because}, and blocks of several sizes do not tell their number.",
            "measure with one block size (bs=), with a longer runtime, or without ramp_time.",
        )


def processor_time(clones: Sequence[Mapping[str, Any]], runtime_s: float, jobs: int) -> float:
    """The processor time of ``clones`` (records of fio's JSON), user and kernel, seconds; NaN where one lacks it.

    fio gives shares of ``job_runtime``, without interrupts and the kernel's own threads; a job that polls is at 100 %.
    Where a clone lacks its run time, ``jobs`` times ``runtime_s`` is shared evenly among the clones.
    """
    total = 0.0
    for clone in clones:
        if not ("usr_cpu" in clone and "sys_cpu" in clone):
            return math.nan
        share = (number_in(clone, "usr_cpu") + number_in(clone, "sys_cpu")) / 100
        total += share * (number_in(clone, "job_runtime") / 1e3 or runtime_s * jobs / len(clones))
    return total


def _flows(clone: Mapping[str, Any], name: str, job: str, options: Mapping[str, str]) -> Iterator[Flow]:
    """The directions that did something; with unified reporting the mixed record only, as it holds them all."""
    rw = options.get("rw", "").partition(":")[0]
    read, write, mixed = (section_of(clone, d) for d in ("read", "write", "mixed"))
    if mixed:
        flow = _flow(mixed, name, job, math.nan, "mixed", options)
        if read or write:  # unified_rw_reporting=both
            reads = number_in(read, "total_ios")
            total = reads + number_in(write, "total_ios")
            fraction = reads / total if total else math.nan
        else:
            fraction = _read_fraction_asked(rw, options)
        yield replace(flow, reads=fraction * flow.requests)
        return
    # Reads inside a write job come from verification only; without it somebody has edited the file.
    contradicted = {"write": read, "randwrite": read, "read": write, "randread": write}.get(rw, {})
    if number_in(contradicted, "iops") and not is_set(options, "verify"):
        other = "reads" if "write" in rw else "writes"
        raise DataError(
            f"{name}: job {job!r} was asked for rw={rw}, yet it records {other}; fio does not write this, so the file "
            "was edited; measure again or give the original"
        )
    for direction, section in (("read", read), ("write", write)):
        if number_in(section, "iops") or number_in(section, "runtime"):
            share = 1.0 if direction == "read" else 0.0
            yield replace(_flow(section, name, job, share, direction, options), direction=direction)


def _flow(
    section: Mapping[str, Any], name: str, job: str, read: float, direction: str, options: Mapping[str, str]
) -> Flow:
    rate = number_in(section, "iops")
    runtime_s = number_in(section, "runtime") / 1e3
    requests = number_in(section, "total_ios") or rate * runtime_s  # fio 2.1 has no total_ios
    bandwidth = number_in(section, "bw_bytes") or number_in(section, "bw") * 1024
    flow = Flow(rate, bandwidth, requests, read * requests, runtime_s, _latency(section, name, job))
    recounts = rate and has_ramp(options) and not any(is_set(options, key) for key in LIMITING)
    block_bytes = fixed_block_bytes(options, direction) if recounts else None
    if block_bytes is None:
        return flow
    counted_anew = counted_by_bytes(_moved_bytes(section, bandwidth), block_bytes, requests, runtime_s)
    return flow if counted_anew is None else _recounted(flow, read, counted_anew)


def _moved_bytes(section: Mapping[str, Any], bandwidth: float) -> float:
    """The bytes that a section moved: ``io_bytes`` is in KiB in fio 2; 0 where it contradicts its bandwidth."""
    moved, by_rate = number_in(section, "io_bytes"), bandwidth * number_in(section, "runtime") / 1e3
    return next((moved * unit for unit in (1, 1024) if abs(moved * unit - by_rate) <= 0.05 * by_rate), 0.0)


def _recounted(flow: Flow, read: float, completed: RampCount) -> Flow:
    """The flow with its rate by all requests that completed, and its latency without the wait at the end of the run."""
    rate, latency = completed.requests / flow.runtime_s, flow.latency
    published = {RATE: (flow.rate, RATE_REASON)}
    if AGREES * latency.mean_s < completed.too_long_s < latency.mean_s:
        published[LATENCY] = (latency.mean_s, LATENCY_REASON)
        latency = replace(latency, mean_s=latency.mean_s - completed.too_long_s)
    requests, reads = completed.requests, read * completed.requests
    return replace(flow, rate=rate, latency=latency, published=published, requests=requests, reads=reads)


def _latency(section: Mapping[str, Any], name: str, job: str) -> Moments:
    """Total latency where there is one, else completion latency; percentiles of the total where fio has them."""
    strange = [k for k in section if re.fullmatch(r"[sc]?lat_(?:us|ms|s)", k)]
    if strange:
        raise DataError(
            f"{name}: job {job!r} has the key {strange[0]!r}, which no version of fio writes; the file was edited, so "
            "its units cannot be trusted; give the original"
        )
    percentiles: dict[float, float] = {}
    histogram: Histogram | None = None
    mean, sd, kind = math.nan, math.nan, ""
    for base in ("lat", "clat"):
        for suffix, unit in _UNITS_S.items():
            stats = section_of(section, base + suffix)
            if not stats:
                continue
            if not kind and number_in(stats, "mean"):
                mean, sd, kind = number_in(stats, "mean") * unit, number_in(stats, "stddev") * unit, base
            if not percentiles and (listed := section_of(stats, "percentile")):
                percentiles = {positive(p): positive(v) * unit for p, v in listed.items() if positive(p)}
            if histogram is None and (listed := section_of(stats, "bins")):
                _refuse_damaged(listed, name, job)
                bins = {positive(middle): int(n) for middle, v in listed.items() if (n := positive(v))}
                histogram = counted_latencies(bins, unit, base) if bins else None
    return Moments(mean, sd, kind, percentiles, histogram)


def _refuse_damaged(listed: Mapping[str, Any], name: str, job: str) -> None:
    """Raise DataError for a bin that is not a number, or without a count."""
    for key, count in listed.items():
        if not (key.isascii() and key.isdigit()) or not re.fullmatch(r"\d+(?:\.0*)?", str(count)):
            raise DataError(
                f"{name}: job {job!r} counts {str(count)[:20]} in the bin {key[:20]!r} of its histogram, which no "
                "version of fio does; the file was edited or damaged: give the original, or measure the point again"
            )


def _options(value: Any) -> dict[str, str]:
    """fio's options under an object, or a list of objects, by their usual names."""
    parts = [part for part in (value if isinstance(value, list) else [value]) if isinstance(part, dict)]
    return {_ALIASES.get(str(k), str(k)): str(v) for part in parts for k, v in part.items()}


def _read_fraction_asked(rw: str, options: Mapping[str, str]) -> float:
    way = rw.removeprefix("rand")
    if way in ("rw", "readwrite"):
        return min(100.0, positive(options.get("rwmixread", "50"))) / 100
    return {"": 1.0 if options else math.nan, "read": 1.0, "write": 0.0}.get(way, math.nan)


def _disk(document: Mapping[str, Any]) -> str:
    disks = document.get("disk_util")
    return str(disks[0].get("name", "")) if isinstance(disks, list) and disks and isinstance(disks[0], dict) else ""


def _started_at(document: Mapping[str, Any], runtime_s: float) -> str:
    """Start time of the run, ISO 8601, as precise as fio's stamp of its end (ms or s); empty without a stamp."""
    ended_ms = number_in(document, "timestamp_ms")
    ended = ended_ms / 1e3 or number_in(document, "timestamp")
    if not ended or ended >= YEAR_3000_S:
        return ""
    resolution = "milliseconds" if ended_ms else "seconds"
    return datetime.fromtimestamp(ended - runtime_s, UTC).isoformat(timespec=resolution)
