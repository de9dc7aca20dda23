"""Reading fio's JSON: text in, records out. Pure functions; nothing is run and no file is opened.

fio's JSON changed over fifteen years, and people store it with messages around it. What is handled here:

- messages before and after the JSON, several documents in one text, cumulative ``--status-interval`` snapshots
  (the last of each run counts);
- fio 2.x (``lat``, ``clat`` in microseconds, ``io_bytes`` in KiB) and 3.x (``lat_ns``, bytes);
- ``jobs`` and ``client_stats``; ``global options`` as an object or a list; options absent because they are defaults;
- ``unified_rw_reporting`` mixed and both; one record per clone where ``group_reporting`` is off;
- jobs that ended with an error or measured nothing: a finding, never a number.

The latency is fio's total ``lat``, submission included, because that is what Little's law is about.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from measure.errors import DataError
from measure.findings import Finding
from measure.windows import Window, between_snapshots

# Engines that finish one request before they start the next, so that iodepth counts for nothing (fio: FIO_SYNCIO).
SYNC_ENGINES = frozenset({
    "sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "sg", "falloc", "ftruncate", "filecreate",
    "filestat", "filedelete", "e4defrag", "dev-dax", "libpmem", "pmemblk", "cpuio", "exec",
})  # fmt: skip
DEFAULT_ENGINE = "psync"
SERVER_PORT = 8765  # where fio --server listens

IMPOSSIBLE = 1e18  # more than any count, rate or time in nanoseconds that a run can show
MAX_JOBS = 10_000
MAX_FAILED_DOCUMENTS = 64  # a bound on the work that a hostile or damaged text can cause

_ALIASES = {"readwrite": "rw", "blocksize": "bs", "numjobs": "numjobs", "iodepth": "iodepth"}
_UNITS_S = {"_ns": 1e-9, "": 1e-6}  # fio 3.x and fio 2.x; fio has never written another suffix
_SIZE = re.compile(r"^\s*(\d{1,18}(?:\.\d{1,18})?)\s*([kmgt]?)(i?b)?\s*$", re.IGNORECASE)
_BIN_CONSTANT = "FIO_IO_U_PLAT_BITS"
_START = re.compile(r'\{\s*"fio version"')


@dataclass(frozen=True)
class Moments:
    """A latency distribution as fio reports it: count weight, mean, standard deviation, percentiles, json+ bins.

    Seconds; NaN where fio did not say. ``kind`` is "lat" (total) or "clat" (completion only, without submission).
    ``bins_s`` are {midpoint: count}; :func:`measure.latency_bins.histogram` gives their edges.
    """

    mean_s: float
    sd_s: float
    kind: str
    percentiles_s: Mapping[float, float] = field(default_factory=dict)
    percentiles_kind: str = ""
    bins_s: Mapping[float, int] = field(default_factory=dict)
    bins_kind: str = ""
    bins_unit_s: float = 1e-9

    def percentile_s(self, percent: float) -> float:
        """The percentile in seconds, NaN where it was not recorded."""
        return self.percentiles_s.get(percent, math.nan)


@dataclass(frozen=True)
class FioRecord:
    """One measured point of fio: a job, or all clones of a job together, both directions together.

    ``options`` are the job's and the global ones as strings (absent where left at fio's default). ``error`` is
    fio's errno (0: none). Rates are per second, sizes in bytes, times in seconds. ``windows`` tell how the run went
    where snapshots or logs were kept; ``all_options`` is False where the output tells some of the options only.
    ``directions`` tells reads and writes apart, {"read": (requests/s, latency), "write": ...}, where fio did.
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
    host: str = ""
    device: str = ""
    iodepth_levels: Mapping[str, float] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    windows: tuple[Window, ...] = ()
    all_options: bool = True
    directions: Mapping[str, tuple[float, Moments]] = field(default_factory=dict)

    @property
    def engine(self) -> str:
        """The I/O engine; fio's default on Linux where none was named."""
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
        """How many clones ran: the records where each has its own, numjobs where they were reported as a group."""
        asked = _whole(self.options.get("numjobs", "1"), 1)
        grouped = _is_set(self.options, "group_reporting")
        return asked if grouped and self.records == 1 else self.records

    @property
    def depth(self) -> int | None:
        """Outstanding requests per job: iodepth, but 1 for synchronous engines; None where it was not recorded."""
        if not self.options and self.iodepth_levels.get("1", 0.0) < 99.9:
            return None
        offloaded = self.options.get("io_submit_mode", "inline") == "offload"
        named = "ioengine" in self.options or (self.all_options and bool(self.options))
        if self.engine in SYNC_ENGINES and named and not offloaded:
            return 1
        return _whole(self.options.get("iodepth", "1"), 1)

    @property
    def block_bytes(self) -> float:
        """The block size: the option where it is one plain size, else bandwidth over throughput."""
        size = parse_fio_size(self.options.get("bs", ""))
        if size is not None and not any(_is_set(self.options, k) for k in ("bssplit", "bsrange", "bs_unaligned")):
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


def parse_fio(text: str, name: str) -> list[FioRecord]:
    """The records in one fio output; ``name`` is the file's name, for the messages.

    Records of failed jobs are among them, with ``error`` set. Raises DataError, in one sentence, where the text
    holds no fio JSON: empty, truncated, binary, another format, only error messages, or edited by hand.
    """
    documents, truncated = _documents(text, name)
    if not documents:
        raise DataError(_why_nothing(text, name, truncated))
    records = [record for snapshots in _runs(documents) for record in _records_of_run(snapshots, name)]
    if not records:
        raise DataError(f"{name}: fio wrote its JSON, but no job is in it; run the job again")
    if truncated:
        cut = Finding(
            "truncated-document", "warning", f"{name}: a further fio document in this file is cut off and was left out",
            remedy="measure that run again",
        )  # fmt: skip
        records[0] = replace(records[0], findings=(*records[0].findings, cut))
    return records


# --- finding the documents -----------------------------------------------------------------------------------------


def _documents(text: str, name: str) -> tuple[list[dict[str, Any]], bool]:
    """Every fio document in the text, and whether one was begun and not finished."""
    text = text.removeprefix("\ufeff")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if whole is not None:
        candidates = whole if isinstance(whole, list) else [whole]
        return [d for d in candidates if isinstance(d, dict) and _is_fio(d)], False
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
            if failed >= MAX_FAILED_DOCUMENTS:
                break
            continue
        if _is_fio(document):
            found.append(document)
    return found, failed > 0


def _is_fio(document: Mapping[str, Any]) -> bool:
    jobs = document.get("jobs", document.get("client_stats"))
    return "fio version" in document and isinstance(jobs, list)


def _why_nothing(text: str, name: str, truncated: bool) -> str:
    """One sentence: what the text is, if it is not fio's JSON."""
    again = "run fio with --output-format=json --output=FILE"
    body = text.strip("\ufeff \t\r\n")
    messages = [line.strip() for line in body.splitlines() if line.startswith(("fio:", "verify:"))]
    reasons = (
        (not body, "is empty; fio was stopped before it wrote anything, so measure again"),
        (
            "\x00" in text or text.count("\ufffd") > len(text) // 20,
            "is binary, not fio JSON; give the file that fio wrote with --output-format=json",
        ),
        (
            truncated or _START.search(text),
            "is cut off: its fio JSON has no end; fio was killed or the disk was full, so measure again",
        ),
        (re.match(r"\d;fio-", body), f"is fio's terse output, which lacks what is needed here; {again}"),
        (
            "verify failed" in body or any(m.startswith("verify:") for m in messages),
            f"holds no JSON: fio's data verification failed in this run; settle that, then {again}",
        ),
        (
            re.search(r"\(g=\d+\): rw=|^\s+(?:read|write)\s*: (?:IOPS|io)=", body, re.MULTILINE),
            f"is fio's human-readable report without JSON; {again}",
        ),
        (
            messages,
            f"holds no JSON, only fio's message {''.join(messages[:1])[:160]!r}; settle that, then {again}",
        ),
        (body[:1] in ("{", "["), f'is not fio JSON (no "fio version" with jobs in it); {again}'),
        (True, f"is not fio's JSON output; {again}"),
    )
    return f"{name} {next(sentence for holds, sentence in reasons if holds)}"


def _runs(documents: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """The documents of each run: one, or the cumulative snapshots that --status-interval writes."""
    runs: list[list[dict[str, Any]]] = []
    for document in documents:
        if runs and _continues(runs[-1][-1], document):
            runs[-1].append(document)
        else:
            runs.append([document])
    return runs


def _records_of_run(snapshots: Sequence[dict[str, Any]], name: str) -> list[FioRecord]:
    """The records of the last snapshot, each with the windows between the snapshots."""
    if len(snapshots) == 1:
        return list(_records(snapshots[0], name))
    seen = [list(_records(document, name)) for document in snapshots]
    last = seen[-1]
    whole = [records for records in seen if len(records) == len(last)]

    def counts(record: FioRecord) -> tuple[float, float, float]:
        completed = record.throughput_per_s * record.runtime_s
        return record.runtime_s, completed, completed * (record.latency.mean_s if completed else 0.0)

    return [replace(r, windows=between_snapshots([counts(s[i]) for s in whole])) for i, r in enumerate(last)]


def _continues(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> bool:
    """Whether ``later`` is a further snapshot of the same run: same jobs, same start, counters that only grew."""

    def jobs(document: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [j for j in document.get("jobs", document.get("client_stats", [])) if isinstance(j, dict)]

    def identity(document: Mapping[str, Any]) -> list[Any]:
        return [[j.get("jobname"), j.get("groupid"), j.get("job options")] for j in jobs(document)]

    def progress(document: Mapping[str, Any]) -> tuple[float, float]:
        parts = [_section(j, d) for j in jobs(document) for d in ("read", "write", "trim", "mixed")]
        return max((_number(p, "runtime") for p in parts), default=0.0), sum(_number(p, "io_bytes") for p in parts)

    if earlier.get("fio version") != later.get("fio version") or identity(earlier) != identity(later):
        return False
    (runtime_0, bytes_0), (runtime_1, bytes_1) = progress(earlier), progress(later)
    if runtime_1 < runtime_0 or bytes_1 < bytes_0:
        return False
    time_0, time_1 = _number(earlier, "timestamp_ms"), _number(later, "timestamp_ms")
    if not time_0 or not time_1:
        return runtime_1 > runtime_0
    return abs((time_1 - time_0) - (runtime_1 - runtime_0)) <= max(500.0, 0.25 * (runtime_1 - runtime_0))


# --- one document --------------------------------------------------------------------------------------------------


def _records(document: Mapping[str, Any], name: str) -> Iterator[FioRecord]:
    shared = _global_options(document.get("global options"))
    listed = document.get("jobs", document.get("client_stats", []))
    if len(listed) > MAX_JOBS:
        raise DataError(
            f"{name} lists {len(listed):,} jobs, more than the {MAX_JOBS:,} that are read; run fio with "
            "--group_reporting"
        )
    jobs = [j for j in document.get("jobs", document.get("client_stats", [])) if isinstance(j, dict)]
    groups: dict[str, list[dict[str, Any]]] = {}
    for job in jobs:
        if job.get("jobname") == "All clients":  # the sum of the others
            continue
        own = _options(job.get("job options"))
        key = json.dumps([job.get("jobname"), job.get("groupid"), _host(job), own], sort_keys=True, default=str)
        groups.setdefault(key, []).append(job)
    for clones in groups.values():
        own = _options(clones[0].get("job options"))
        # Clones exist only where numjobs asked for them; equal names alone are different jobs.
        asked = _whole({**shared, **own}.get("numjobs", "1"), 1)
        parts = [clones] if asked > 1 and own | shared else [[job] for job in clones]
        for part in parts:
            yield _record(document, part, {**shared, **own}, name)


def _record(
    document: Mapping[str, Any], clones: Sequence[Mapping[str, Any]], options: Mapping[str, str], name: str
) -> FioRecord:
    job = str(clones[0].get("jobname", ""))
    findings: list[Finding] = []
    flows = [flow for clone in clones for flow in _flows(clone, name, job, options)]
    rate = math.fsum(f.rate for f in flows)
    reads = math.fsum(f.reads for f in flows)
    total = math.fsum(f.requests for f in flows)
    latency = pooled([(f.rate, f.latency) for f in flows if f.rate > 0])
    error = next((e for c in clones if (e := int(_number(c, "error")))), 0)
    total_errors = sum(int(_number(c, "total_err")) for c in clones)
    if total_errors and not error:
        findings.append(Finding(
            "io-errors", "warning", f"{name}: job {job!r} went on after {total_errors} I/O error(s)",
            "a failing device or a full file system", "look at the kernel's log (dmesg), then measure again",
        ))  # fmt: skip
    if rate > 0 and latency.kind == "clat":
        findings.append(Finding(
            "completion-latency-only", "warning",
            f"{name}: job {job!r} has completion latency (clat) only; the time to submit is missing from it",
            "disable_lat or a tool that dropped the field",
            "measure with total latency (no disable_lat, no gtod_reduce)",
        ))  # fmt: skip
    asked = _whole(options.get("numjobs", "1"), 1)
    if asked > 1 and len(clones) == 1 and rate * latency.mean_s > 1.2 * _whole(options.get("iodepth", "1"), 1):
        # fio does not record the bare flag --group_reporting; more in flight than one clone can hold tells it.
        options = {**options, "group_reporting": "1"}
    if asked > 1 and len(clones) != asked and not (len(clones) == 1 and _is_set(options, "group_reporting")):
        findings.append(Finding(
            "clones-missing", "warning", f"{name}: job {job!r} asked for {asked} clones, {len(clones)} are reported",
            "clones that failed to start", "read fio's messages",
        ))  # fmt: skip
    if any(_is_set(options, key) for key in ("rate", "rate_iops", "thinktime")):
        findings.append(Finding(
            "rate-limited", "info",
            f"{name}: job {job!r} was limited in rate or paused between requests, so fewer requests were outstanding "
            "than its depth allows",
            "rate, rate_iops or thinktime was set, so the throughput is what was asked for and not what the device "
            "can do",
            "run again without rate=, rate_iops= and thinktime=, or read the run as open arrivals",
        ))  # fmt: skip
    runtime_s = max((f.runtime_s for f in flows), default=0.0)
    return FioRecord(
        source=name, job=job, options=dict(options), throughput_per_s=rate,
        bandwidth_bytes_per_s=math.fsum(f.bandwidth for f in flows), latency=latency,
        read_fraction=reads / total if total else math.nan, requests=int(total), runtime_s=runtime_s,
        records=len(clones), error=error, version=str(document.get("fio version", "")),
        started_at=_started_at(document, runtime_s), host=_host(clones[0]),
        device=options.get("filename", "") or _disk(document),
        iodepth_levels={str(k): _float(v) for k, v in _section(clones[0], "iodepth_level").items()},
        findings=tuple(findings), directions=_by_direction(flows),
    )  # fmt: skip


@dataclass(frozen=True)
class _Flow:
    """One direction of one clone; "" where both directions were reported as one."""

    rate: float
    bandwidth: float
    requests: float
    reads: float
    runtime_s: float
    latency: Moments
    direction: str = ""


def _by_direction(flows: Sequence[_Flow]) -> dict[str, tuple[float, Moments]]:
    if not all(f.direction for f in flows):
        return {}
    parts = {d: [(f.rate, f.latency) for f in flows if f.direction == d and f.rate > 0] for d in ("read", "write")}
    return {d: (math.fsum(rate for rate, _ in each), pooled(each)) for d, each in parts.items() if each}


def _flows(clone: Mapping[str, Any], name: str, job: str, options: Mapping[str, str]) -> Iterator[_Flow]:
    """The directions that did something; of unified reporting the mixed record only, as it holds them all."""
    rw = options.get("rw", "").partition(":")[0]
    read, write, mixed = (_section(clone, d) for d in ("read", "write", "mixed"))
    if mixed:
        flow = _flow(mixed, name, job, 0.0)
        if read or write:  # unified_rw_reporting=both
            r, w = _requests(read), _requests(write)
            fraction = r / (r + w) if r + w else math.nan
        else:
            fraction = _read_fraction_asked(rw, options)
        yield replace(flow, reads=fraction * flow.requests)
        return
    # Reads inside a write job come from verification only; without it somebody has edited the file.
    contradicted = {"write": read, "randwrite": read, "read": write, "randread": write}.get(rw, {})
    if _number(contradicted, "iops") > 0 and not _is_set(options, "verify"):
        other = "reads" if "write" in rw else "writes"
        raise DataError(
            f"{name}: job {job!r} was asked for rw={rw}, yet it records {other}; fio does not write this, so the file "
            "was edited; measure again or give the original"
        )
    for direction, section in (("read", read), ("write", write)):
        if section and (_number(section, "iops") > 0 or _number(section, "runtime") > 0):
            yield replace(_flow(section, name, job, 1.0 if direction == "read" else 0.0), direction=direction)


def _flow(section: Mapping[str, Any], name: str, job: str, read: float) -> _Flow:
    rate = _number(section, "iops")
    requests = _requests(section)
    runtime_s = _number(section, "runtime") / 1e3
    requests = requests or rate * runtime_s  # fio 2.1 has no total_ios
    bandwidth = _number(section, "bw_bytes") or _number(section, "bw") * 1024
    latency = _latency(section, name, job)
    return _Flow(rate, bandwidth, requests, read * requests, runtime_s, latency)


def _latency(section: Mapping[str, Any], name: str, job: str) -> Moments:
    """Total latency where there is one, else completion latency; percentiles of the total where they were asked for."""
    strange = [k for k in section if re.fullmatch(r"[sc]?lat_(?:us|ms|s)", k)]
    if strange:
        raise DataError(
            f"{name}: job {job!r} has the key {strange[0]!r}, which no version of fio writes; the file was edited, so "
            "its units cannot be trusted; give the original"
        )
    percentiles: dict[float, float] = {}
    percentiles_kind = ""
    bins: dict[float, int] = {}
    bins_kind, bins_unit_s = "", 1e-9
    mean, sd, kind = math.nan, math.nan, ""
    for base in ("lat", "clat"):
        for suffix, unit in _UNITS_S.items():
            stats = _section(section, base + suffix)
            if not stats:
                continue
            if not kind and _number(stats, "mean") > 0:
                mean, sd, kind = _number(stats, "mean") * unit, _number(stats, "stddev") * unit, base
            if not percentiles and (listed := _section(stats, "percentile")):
                percentiles = {_float(p): _float(v) * unit for p, v in listed.items() if _float(p) > 0}
                percentiles_kind = base
            if not bins and (listed := _section(stats, "bins")):
                bins, bins_kind, bins_unit_s = _bins(listed, unit), base, unit
    return Moments(mean, sd, kind, percentiles, percentiles_kind, bins, bins_kind, bins_unit_s)


def _bins(listed: Mapping[str, Any], unit_s: float) -> dict[float, int]:
    """{midpoint in seconds: count}. fio 2 names the bins by their numbers, and says so by its constants."""
    counted = {k: int(n) for k, v in listed.items() if (n := _float(v)) > 0 and k.isascii() and k.isdigit()}
    if _BIN_CONSTANT not in listed:
        return {_float(k) * unit_s: n for k, n in counted.items() if _float(k) > 0 or k == "0"}
    bits = int(_number(listed, _BIN_CONSTANT)) or 6
    made: dict[float, int] = {}
    for key, count in counted.items():
        number = int(key[:9])
        octave = max(0, (number >> min(bits, 16)) - 1)
        if octave < 60:
            made[(number - (octave << min(bits, 16)) + (0.5 if octave else 0.0)) * 2.0**octave * unit_s] = count
    return made


def pooled(parts: Sequence[tuple[float, Moments]]) -> Moments:
    """Several latency distributions as one, weighted by their rates; variances by the law of total variance."""
    if len(parts) == 1:
        return parts[0][1]
    total = math.fsum(rate for rate, _ in parts)
    if not parts or total <= 0:
        return Moments(math.nan, math.nan, "")
    mean = math.fsum(rate * m.mean_s for rate, m in parts) / total
    second = math.fsum(rate * (m.sd_s**2 + m.mean_s**2) for rate, m in parts) / total
    kind = "clat" if any(m.kind == "clat" for _, m in parts) else "lat"
    if not all(m.bins_s for _, m in parts):
        return Moments(mean, math.sqrt(max(0.0, second - mean**2)), kind)
    bins: dict[float, int] = {}
    for _, moments in parts:
        for latency, count in moments.bins_s.items():
            bins[latency] = bins.get(latency, 0) + count
    percentiles = {p: bin_quantile(bins, p / 100) for p in (50.0, 95.0, 99.0, 99.9)}
    kinds = {m.percentiles_kind for _, m in parts}
    bins_kinds = {m.bins_kind for _, m in parts}
    return Moments(
        mean, math.sqrt(max(0.0, second - mean**2)), kind, percentiles, kinds.pop() if len(kinds) == 1 else "", bins,
        bins_kinds.pop() if len(bins_kinds) == 1 else "", parts[0][1].bins_unit_s,
    )  # fmt: skip


def bin_quantile(bins: Mapping[float, int], fraction: float) -> float:
    """The latency below which ``fraction`` of the counted requests lie; bins are {latency: count}."""
    target = fraction * sum(bins.values())
    seen = 0
    for latency in sorted(bins):
        seen += bins[latency]
        if seen >= target:
            return latency
    return math.nan


# --- small readers -------------------------------------------------------------------------------------------------


def _global_options(value: Any) -> dict[str, str]:
    parts = value if isinstance(value, list) else [value]
    return {k: v for part in parts for k, v in _options(part).items()}


def _options(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {_ALIASES.get(str(k), str(k)): str(v) for k, v in value.items()}


def _is_set(options: Mapping[str, str], key: str) -> bool:
    return options.get(key, "0").strip().lower() not in ("0", "no", "false", "none")


def _section(parent: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _number(section: Mapping[str, Any], key: str) -> float:
    return _float(section.get(key))


def _float(value: Any) -> float:
    """A positive number that a drive could show, from a number or a string of one; 0 for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if 0 < number < IMPOSSIBLE else 0.0


def _whole(text: str, default: int) -> int:
    """A count of at least 1 (iodepth, numjobs); the default where the text is none."""
    return max(1, int(text)) if re.fullmatch(r"\s*\d{1,9}\s*", text) else default


def _requests(section: Mapping[str, Any]) -> float:
    return _number(section, "total_ios")


def _read_fraction_asked(rw: str, options: Mapping[str, str]) -> float:
    if rw in ("randrw", "rw", "readwrite"):
        return min(100.0, _float(options.get("rwmixread", "50"))) / 100
    return {"": 1.0 if options else math.nan, "read": 1.0, "randread": 1.0, "write": 0.0, "randwrite": 0.0}.get(
        rw, math.nan
    )


def _host(job: Mapping[str, Any]) -> str:
    """The host that a client's record came from, with its port where that is not fio's usual one."""
    name, port = str(job.get("hostname", "")), _number(job, "port")
    return f"{name}:{port:.0f}" if name and port and port != SERVER_PORT else name


def _disk(document: Mapping[str, Any]) -> str:
    disks = document.get("disk_util")
    if isinstance(disks, list) and disks and isinstance(disks[0], dict):
        return str(disks[0].get("name", ""))
    return ""


def _started_at(document: Mapping[str, Any], runtime_s: float) -> str:
    """When the run began, as finely as fio stamped its end (to the millisecond or second); empty without a stamp."""
    ended_ms = _number(document, "timestamp_ms")
    ended = ended_ms / 1e3 or _number(document, "timestamp")
    if not 0 < ended - runtime_s < 32503680000:  # the year 3000
        return ""
    resolution = "milliseconds" if ended_ms else "seconds"
    return datetime.fromtimestamp(ended - runtime_s, UTC).isoformat(timespec=resolution)
