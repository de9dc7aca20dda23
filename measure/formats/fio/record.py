"""One measured point of fio, from any of its formats: options, rates, latencies; several pooled as one.

fio's output may hold several JSON documents, messages between them, or a truncated document. Each is an object with
"fio version" and a list of jobs. Of the snapshots of a run (``--status-interval``) the last one counts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from measure.findings import Finding
from measure.formats.fio.latency_bins import Histogram, summed

# Engines that finish one request before they start the next, so that iodepth has no effect (fio: FIO_SYNCIO).
_SYNC = """
sync psync vsync pvsync pvsync2 mmap splice sg falloc ftruncate filecreate filestat filedelete e4defrag dev-dax libpmem
pmemblk cpuio exec
"""
SYNC_ENGINES = frozenset(_SYNC.split())
DEFAULT_ENGINE = "psync"
MOSTLY_PERCENT = 99.9
"""The share of time at depth 1 from which a record without options is one of depth 1, percent."""
MORE_THAN = 1.2  # more requests in flight than this times what so many jobs can hold come from more jobs
IMPOSSIBLE = 1e18  # more than any count, rate or time in nanoseconds that a run can show

Published = Mapping[str, tuple[float, str]]
"""Column of a figure that was corrected -> what fio printed, and the origin (:mod:`measure.origin`)."""
RATE, LATENCY = "throughput_per_s", "latency_s"

HOST_TIME = "host_cpu_s"  # the column of processor time per request, seconds; absent where unknown

_SIZE = re.compile(r"^\s*(\d{1,18}(?:\.\d{1,18})?)\s*([kmgt]?)(i?b)?\s*$", re.IGNORECASE)


@dataclass(frozen=True)
class Moments:
    """A latency distribution as fio reports it: mean, standard deviation, percentiles, and the bins of json+.

    Seconds; NaN where fio did not report it. ``kind`` is "lat" (total) or "clat" (completion only, without submission).
    """

    mean_s: float
    sd_s: float
    kind: str
    percentiles_s: Mapping[float, float] = field(default_factory=dict)
    histogram: Histogram | None = None

    def percentile_s(self, percent: float) -> float:
        """The percentile in seconds, NaN where it was not recorded."""
        return self.percentiles_s.get(percent, math.nan)


@dataclass(frozen=True)
class FioRecord:
    """One measured point of fio: a job, or all clones of a job together, both directions together.

    ``options`` are the job's and the global ones as strings (absent where left at fio's default). ``error`` is
    fio's errno (0: none). Rates are per second, sizes in bytes, times in seconds. ``all_options`` is False where the
    output holds only some of the options. ``directions`` has reads and writes apart, where fio reports them so:
    {"read": (requests/s, latency), "write": ...}. ``cpu_s`` is the processor time of its jobs, seconds, NaN where
    unknown. ``published`` has fio's own rate and mean latency where they were corrected. ``group`` names its group in a
    run: jobs of one group start at once. It is empty where unknown.
    """

    source: str
    job: str
    options: Mapping[str, str]
    throughput_per_s: float
    bandwidth_bytes_per_s: float
    latency: Moments
    read_fraction: float
    requests: int
    runtime_s: float
    records: int
    error: int
    version: str
    started_at: str
    device: str = ""
    iodepth_levels: Mapping[str, float] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    all_options: bool = True
    directions: Mapping[str, tuple[float, Moments]] = field(default_factory=dict)
    cpu_s: float = math.nan
    published: Published = field(default_factory=dict)
    group: str = ""

    @property
    def engine(self) -> str:
        """The I/O engine; fio's default on Linux where none is given."""
        return self.options.get("ioengine", DEFAULT_ENGINE).partition(":")[0]

    @property
    def pattern(self) -> str | None:
        """ "random" or "sequential"; None where the options were not recorded."""
        rw = self.options.get("rw", "").partition(":")[0]
        if not rw:
            return None if not self.options else "sequential"
        return "random" if rw.startswith("rand") else "sequential"

    @property
    def jobs(self) -> int:
        """Number of clones: their records where each has its own, numjobs where they were reported as a group."""
        asked = whole(self.options.get("numjobs", ""))
        grouped = is_set(self.options, "group_reporting")
        return asked if grouped and self.records == 1 else self.records

    @property
    def depth(self) -> int | None:
        """Outstanding requests per job: iodepth, but 1 for synchronous engines; None where it was not recorded.

        Without options it is 1 where fio never had more outstanding, and X R says that as many jobs as records ran.
        """
        outstanding = self.throughput_per_s * self.latency.mean_s
        is_lone = positive(self.iodepth_levels.get("1")) >= MOSTLY_PERCENT and outstanding <= MORE_THAN * self.records
        if not self.options and not is_lone:
            return None
        named = "ioengine" in self.options or (self.all_options and bool(self.options))
        if self.engine in SYNC_ENGINES and named:
            return 1
        return whole(self.options.get("iodepth", ""))

    @property
    def block_bytes(self) -> float:
        """The block size, bytes: the option where it is one plain size, else bandwidth over throughput."""
        size = parse_fio_size(self.options.get("bs", ""))
        if size is not None and not any(is_set(self.options, k) for k in ("bssplit", "bsrange", "bs_unaligned")):
            return float(size)
        if not self.throughput_per_s:
            return math.nan
        return near_power_of_two(round(self.bandwidth_bytes_per_s / self.throughput_per_s), tolerance=0.01)


def near_power_of_two(value: float, tolerance: float) -> float:
    """``value``, or the power of two that it misses by at most the relative ``tolerance`` (fio 2.1 rounds IOPS)."""
    power = 2.0 ** round(math.log2(value)) if value > 0 else value
    return power if abs(value - power) <= tolerance * power else float(value)


def parse_fio_size(text: str) -> int | None:
    """Bytes of a fio size ("4k", "4096", "128KiB", "4k,8k": the first), None where it is not a plain size."""
    match = _SIZE.match(text.partition(",")[0])
    if match is None:
        return None
    scale = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}[match.group(2).lower()]
    return round(float(match.group(1)) * 1024.0**scale)


@dataclass(frozen=True)
class Flow:
    """One direction of one job ("" where both were reported as one): rates, counts, and latencies."""

    rate: float
    bandwidth: float
    requests: float
    reads: float
    runtime_s: float
    latency: Moments
    direction: str = ""
    published: Published = field(default_factory=dict)


def record_of(flows: Sequence[Flow], findings: Iterable[Finding] = (), **known: Any) -> FioRecord:
    """One record of all ``flows`` together; ``known`` are its other fields."""
    rate, requests = math.fsum(f.rate for f in flows), math.fsum(f.requests for f in flows)
    record = FioRecord(
        throughput_per_s=rate,
        bandwidth_bytes_per_s=math.fsum(f.bandwidth for f in flows),
        latency=pooled([(f.rate, f.latency) for f in flows if f.rate]),
        read_fraction=math.fsum(f.reads for f in flows) / requests if requests else math.nan,
        requests=int(requests),
        runtime_s=max((f.runtime_s for f in flows), default=0.0),
        directions=_by_direction((f.direction, f.rate, f.latency) for f in flows if f.direction and f.rate),
        findings=tuple(findings),
        published=_published((f.rate, f.latency, f.published) for f in flows if f.rate),
        **known,
    )
    if record.latency.kind != "clat":
        return record
    said = "has completion latency (clat) only; the time to submit is missing from it"
    because = "disable_lat, a histogram log (always of clat), or a tool that dropped the field"
    remedy = "measure with total latency (no disable_lat, no gtod_reduce)"
    message = f"{record.source}: job {record.job!r} {said}"
    only = Finding("completion-latency-only", "warning", message, because, remedy)
    return replace(record, findings=(*record.findings, only))


def _published(parts: Iterable[tuple[float, Moments, Published]]) -> dict[str, tuple[float, str]]:
    """What fio printed of several flows together, of the figures that were corrected in any of them."""
    parts = list(parts)
    origins = {name: origin for _, _, published in parts for name, (_, origin) in published.items()}
    rates = [published.get(RATE, (rate, ""))[0] for rate, _, published in parts]
    times = [published.get(LATENCY, (latency.mean_s, ""))[0] for _, latency, published in parts]
    total = math.fsum(rates)
    mean = math.fsum(rate * time for rate, time in zip(rates, times, strict=True)) / total if total else math.nan
    return {name: (total if name == RATE else mean, origin) for name, origin in origins.items()}


def _by_direction(flows: Iterable[tuple[str, float, Moments]]) -> dict[str, tuple[float, Moments]]:
    """The rate and the latency of all reads, and of all writes."""
    parts: dict[str, list[tuple[float, Moments]]] = {"read": [], "write": []}
    for direction, rate, latency in flows:
        parts[direction].append((rate, latency))
    return {d: (math.fsum(rate for rate, _ in each), pooled(each)) for d, each in parts.items() if each}


def added(records: Sequence[FioRecord]) -> FioRecord:
    """One record of jobs or hosts that ran at the same time; fields that differ are those of the first."""
    if len(records) == 1:
        return records[0]
    requests = sum(r.requests for r in records)
    return replace(
        records[0],
        throughput_per_s=math.fsum(r.throughput_per_s for r in records),
        bandwidth_bytes_per_s=math.fsum(r.bandwidth_bytes_per_s for r in records),
        latency=pooled([(r.throughput_per_s, r.latency) for r in records]),
        read_fraction=math.fsum(r.read_fraction * r.requests for r in records) / requests if requests else math.nan,
        requests=requests,
        runtime_s=max(r.runtime_s for r in records),
        error=next((r.error for r in records if r.error), 0),
        findings=tuple(dict.fromkeys(f for r in records for f in r.findings)),
        directions=_by_direction((name, *part) for r in records for name, part in r.directions.items()),
        cpu_s=math.fsum(r.cpu_s for r in records),
        published=_published((r.throughput_per_s, r.latency, r.published) for r in records),
    )


def pooled(parts: Sequence[tuple[float, Moments]]) -> Moments:
    """Several latency distributions as one, weighted by their rates; variances by the law of total variance."""
    if len(parts) == 1:
        return parts[0][1]
    total = math.fsum(rate for rate, _ in parts)
    if not total:
        return Moments(math.nan, math.nan, "")
    mean = math.fsum(rate * m.mean_s for rate, m in parts) / total
    second = math.fsum(rate * (m.sd_s**2 + m.mean_s**2) for rate, m in parts) / total
    kind = "clat" if any(m.kind == "clat" for _, m in parts) else "lat"
    sd = math.sqrt(max(0.0, second - mean**2))
    histograms = [m.histogram for _, m in parts if m.histogram is not None]
    if len(histograms) < len(parts):
        return Moments(mean, sd, kind)
    whole_histogram = summed(histograms)
    percentiles = {p: whole_histogram.quantile(p / 100) for p in (50.0, 95.0, 99.0, 99.9)}
    return Moments(mean, sd, kind, percentiles, whole_histogram)


def is_set(options: Mapping[str, str], key: str) -> bool:
    return options.get(key, "0").strip().lower() not in ("0", "no", "false", "none")


def whole(text: str) -> int:
    """A count of at least 1 (iodepth, numjobs); 1, fio's default, where the text is not one."""
    return max(1, int(text)) if re.fullmatch(r"\s*\d{1,9}\s*", text) else 1


def check_record(record: FioRecord) -> Iterator[Finding]:
    """Findings on one record; the importer adds the curve and the load."""
    asked = record.options.get("iodepth", "1").strip()
    if record.engine not in SYNC_ENGINES or record.depth != 1 or asked in ("1", ""):
        return
    engine = f"{record.engine}{'' if 'ioengine' in record.options else ' (the default)'}"
    taken = f"which keeps one request outstanding; the load is taken as {record.jobs}."
    again = "run again with --ioengine=io_uring or --ioengine=libaio (and --direct=1)"
    yield Finding(
        "depth-ignored",
        "warning",
        f"{record.source}: job {record.job!r} asked for iodepth={asked} with the engine {engine}, {taken}",
        "the depth was meant and a synchronous engine was left in place.",
        f"{again}, or with --numjobs in place of the depth.",
    )


def host_columns(record: FioRecord) -> dict[str, float]:
    """The column of processor time per request of a point; no column where fio does not report it."""
    known = record.cpu_s > 0 and record.requests
    return {HOST_TIME: record.cpu_s / record.requests} if known else {}


def is_direct(options: Mapping[str, str]) -> bool:
    """Whether fio's options bypass the page cache."""
    return options.get("direct", "0") not in ("0", "") or options.get("buffered") == "0"


MAX_FAILED_DOCUMENTS = 64  # a bound on the work that a hostile or damaged text can cause

_START = re.compile(r'\{\s*"fio version"')


def fio_documents(text: str) -> tuple[list[dict[str, Any]], bool]:
    """Every fio document in the text, and whether one is truncated."""
    decoder = json.JSONDecoder()
    found: list[dict[str, Any]] = []
    failed, end = 0, 0
    for match in _START.finditer(text):
        if match.start() < end:
            continue
        try:
            document, end = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            failed += 1
            if failed == MAX_FAILED_DOCUMENTS:
                break
            continue
        if any(isinstance(document.get(key), list) for key in ("jobs", "client_stats")):
            found.append(document)
    return found, failed > 0


def jobs_of(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The jobs of a document; of fio's clients those of each, without the sum of all, which may have run in turn."""
    listed = document["jobs"] if isinstance(document.get("jobs"), list) else document.get("client_stats", [])
    return [job for job in listed if isinstance(job, dict) and job.get("jobname") != ALL_CLIENTS]


ALL_CLIENTS = "All clients"


def last_of_runs(documents: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last document of each run: the only one, or the last of the cumulative snapshots of --status-interval."""
    last: list[dict[str, Any]] = []
    for document in documents:
        if last and _continues(last[-1], document):
            last.pop()
        last.append(document)
    return last


def _continues(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> bool:
    """Whether ``later`` is a further snapshot of the same run: same jobs, same start, counters that only grew."""

    def identity(document: Mapping[str, Any]) -> list[Any]:
        return [[j.get("jobname"), j.get("groupid"), j.get("job options")] for j in jobs_of(document)]

    def progress(document: Mapping[str, Any]) -> tuple[float, float]:
        parts = [section_of(j, d) for j in jobs_of(document) for d in ("read", "write", "trim", "mixed")]
        return max((number_in(p, "runtime") for p in parts), default=0.0), sum(number_in(p, "io_bytes") for p in parts)

    if earlier.get("fio version") != later.get("fio version") or identity(earlier) != identity(later):
        return False
    (runtime_0, bytes_0), (runtime_1, bytes_1) = progress(earlier), progress(later)
    if runtime_1 < runtime_0 or bytes_1 < bytes_0:
        return False
    time_0, time_1 = number_in(earlier, "timestamp_ms"), number_in(later, "timestamp_ms")
    if not time_0 or not time_1:
        return runtime_1 > runtime_0
    return abs((time_1 - time_0) - (runtime_1 - runtime_0)) <= max(500.0, 0.25 * (runtime_1 - runtime_0))


def section_of(parent: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The object under a key; empty where there is none."""
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def number_in(section: Mapping[str, Any], key: str) -> float:
    """The number under a key; 0 where it is missing or impossible."""
    return positive(section.get(key))


def positive(value: Any) -> float:
    """A positive number from a number or its text; 0 for anything else, or above ``IMPOSSIBLE``."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if 0 < number < IMPOSSIBLE else 0.0
