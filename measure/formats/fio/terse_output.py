"""Reading fio's terse output (``--output-format=terse``, versions 2 to 5): one line of semicolons per job.

The fields are those of fio's HOWTO, "Terse output": the version of the format, fio's version (from format 3 on), the
job, its group and error, then for reads and writes (and trims from format 4 on) KiB moved, KiB/s, IOPS, run time in ms,
minimum, maximum, mean and deviation of submission and completion latency in us, twenty percentiles, the same of the
total latency, and the bandwidth; then CPU shares, the depths reached and the latency buckets. Neither the options nor
the depth asked for are printed, so the load follows from Little's law, as for the JSON of old versions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.fio.record import IMPOSSIBLE, FioRecord, Moments, pooled

_LINE = re.compile(r"^[2-5];[^;\n]{0,200};[^;\n]{0,200};\d{1,9};", re.MULTILINE)
_PERCENTILES = 20
_DIRECTION = 4 + 4 + 4 + _PERCENTILES + 4 + 5
_EXTRA_FORMAT_5 = 6  # samples of the bandwidth, and five fields on the IOPS
_DEPTHS = ("1", "2", "4", "8", "16", "32", ">=64")
_MOST_JOBS = 10_000


def looks_like_terse(text: str) -> bool:
    """Whether a line of the text is terse output."""
    return _LINE.search(text) is not None


def parse_terse(text: str, name: str) -> list[FioRecord]:
    """The records of one terse output, one per line; ``name`` is the file's name, for the messages.

    Raises DataError naming the line where one is cut off or holds a field that is no number, or where there is none.
    """
    records = []
    for number, line in enumerate(text.split("\n"), 1):
        if _LINE.match(line):
            records.append(_record(line.strip().split(";"), name, number))
        if len(records) > _MOST_JOBS:
            raise DataError(f"{name} holds more than {_MOST_JOBS} lines of fio's terse output; give one run at a time")
    if not records:
        raise DataError(f"{name} holds no line of fio's terse output; run fio with --output-format=json --output=FILE")
    return records


@dataclass(frozen=True)
class _Flow:
    """One direction of one job: 1/s, bytes/s, requests, seconds."""

    rate: float
    bandwidth: float
    requests: float
    runtime_s: float
    latency: Moments


def _record(fields: Sequence[str], name: str, line: int) -> FioRecord:
    version = int(fields[0])
    names_tool = version > 2
    start = 5 if names_tool else 4
    width = _DIRECTION + (_EXTRA_FORMAT_5 if version == 5 else 0)
    depths_at = start + (3 if version >= 4 else 2) * width + 5
    if version == 2 and not all(f.endswith("%") for f in fields[depths_at : depths_at + len(_DEPTHS)]):
        depths_at += width  # fio 2 and later list trims in format 2 too
    if len(fields) < depths_at + len(_DEPTHS):
        raise DataError(
            f"{name}: line {line} of fio's terse output has {len(fields)} fields where format {version} has "
            f"{depths_at + len(_DEPTHS)} and more; it is cut off, so measure again"
        )
    job = fields[2 if names_tool else 1]
    reader = _Reader(name, line)
    flows = [reader.flow(fields[start + i * width : start + (i + 1) * width]) for i in range(2)]
    levels = {d: reader.number(fields[depths_at + i].rstrip("%")) for i, d in enumerate(_DEPTHS)}
    error = int(reader.number(fields[start - 1]))
    rate = math.fsum(f.rate for f in flows)
    total = math.fsum(f.requests for f in flows)
    latency = pooled([(f.rate, f.latency) for f in flows if f.rate > 0])
    findings = []
    if rate > 0 and latency.kind == "clat":
        findings.append(
            Finding(
                "completion-latency-only",
                "warning",
                f"{name}: job {job!r} has completion latency (clat) only; the time to submit is missing from it",
                "disable_lat",
                "measure again without --disable_lat and --gtod_reduce",
            )
        )
    return FioRecord(
        source=name,
        job=job,
        options={},
        throughput_per_s=rate,
        bandwidth_bytes_per_s=math.fsum(f.bandwidth for f in flows),
        latency=latency,
        read_fraction=flows[0].requests / total if total else math.nan,
        requests=round(total),
        runtime_s=max(f.runtime_s for f in flows),
        records=1,
        error=error,
        version=fields[1] if names_tool else "",
        started_at="",
        iodepth_levels=levels,
        findings=tuple(findings),
        all_options=False,
    )


@dataclass(frozen=True)
class _Reader:
    """Reads the fields of one line; knows where it is for the messages."""

    name: str
    line: int

    def number(self, field: str) -> float:
        """A number of zero or more; DataError for anything else."""
        try:
            value = float(field)
        except ValueError:
            value = math.nan
        if not 0 <= value < IMPOSSIBLE:
            raise DataError(
                f"{self.name}: line {self.line} of fio's terse output: expected a number, not {field[:40]!r}; "
                "the line was edited or damaged, so measure again"
            )
        return value

    def flow(self, fields: Sequence[str]) -> _Flow:
        """One direction; the rate from KiB and run time where that is finer than fio's whole number of IOPS."""
        moved_kib, kib_per_s, iops, runtime_ms = (self.number(f) for f in fields[:4])
        clat_mean, clat_sd = (self.number(f) for f in fields[10:12])
        percentiles: dict[float, float] = {}
        for field in fields[12 : 12 + _PERCENTILES]:
            percent, equals, value = field.partition("%=")
            if not equals:
                self.number(field)
            elif (p := self.number(percent)) > 0 and (v := self.number(value)) > 0:
                percentiles[p] = v / 1e6
        lat_mean, lat_sd = (self.number(f) for f in fields[14 + _PERCENTILES : 16 + _PERCENTILES])
        runtime_s = runtime_ms / 1e3
        mean, sd, kind = (lat_mean, lat_sd, "lat") if lat_mean > 0 else (clat_mean, clat_sd, "clat")
        latency = Moments(mean / 1e6 or math.nan, sd / 1e6, kind if mean > 0 else "", percentiles, "clat")
        bandwidth = moved_kib * 1024 / runtime_s if runtime_s else kib_per_s * 1024
        rate = _finer(iops, bandwidth)
        return _Flow(rate, bandwidth, rate * runtime_s, runtime_s, latency)


def _finer(iops: float, bandwidth: float) -> float:
    """The rate with the fraction that fio cut off, where a block of 2^k bytes explains it; else the whole number."""
    if iops < 1:
        return iops
    block = 2.0 ** math.floor(math.log2(max(bandwidth / iops, 1.0)))
    return bandwidth / block if iops <= bandwidth / block < iops + 1 else iops
