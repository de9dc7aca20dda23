"""The logs that fio writes with its result, as points of a sweep: one line per request, or one histogram per interval.

``--write_lat_log=NAME`` writes NAME_lat.1.log, NAME_clat.1.log and NAME_slat.1.log (one set per job), whose lines are
time in ms, latency, direction (0 read, 1 write, 2 trim) and block size, and from version 3 on perhaps the offset and
the priority. ``--write_hist_log=NAME`` writes NAME_clat_hist.1.log: time, direction, block size and the counts of all
bins (see :mod:`measure.formats.fio.latency_bins`). Latencies are in ns from version 3 on and in us before; a log of
requests does not say which, so five columns and more mean version 3, and four are assumed to be version 3, with a
Finding.

A log whose lines are means over ``log_avg_msec`` (block size 0) counts intervals and not requests: it gives no
distribution.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from io import BufferedReader
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.fio.latency_bins import BINS_FIO_3, Histogram, bin_edges, bin_of, coarse_edges
from measure.formats.fio.record import FioRecord, Flow, Moments, record_of
from measure.text_files import LONGEST_LINE, Lines, check_readable, read_head, shown_name

LONGEST_RUN_S = 31 * 86400.0  # a log with a later time is damaged
CLOCK_S = 1e-3  # the resolution of the times of a log
MOST_NS = 2.0**53  # the largest latency: up to here a float holds every whole number
MOST_OF_A_REQUEST = 7  # columns
_MOST_QUOTED = 120  # characters
HISTOGRAMS_AT_ONCE, REQUESTS_AT_ONCE, BLOCKS_AT_ONCE = 1_000, 400_000, 2
"""Lines of a piece, and block sizes of it that are kept: two show that there is not one alone."""

Table = NDArray[np.float64]


@dataclass(frozen=True)
class LogSummary:
    """One log, read to its end: counts, moments in seconds, and histogram.

    ``unit_known`` is False where the unit of the latencies is assumed; ``cut`` is True where the last line is
    incomplete.
    """

    name: str
    requests: int
    reads: int
    runtime_s: float
    mean_s: float
    sd_s: float
    block_bytes: float
    bandwidth_bytes_per_s: float
    histogram: Histogram
    averaged: bool
    unit_known: bool
    cut: bool


def _pieces(file: Path, name: str, direction: int, rows: int, **options: Any) -> Iterator[tuple[Table, bool]]:
    """The numbers of a log in pieces of ``rows`` lines, and whether the last line is cut. DataError for another one."""
    import pandas as pd

    check_readable(file)
    before = 0
    try:
        with (
            BufferedReader(Lines(file), LONGEST_LINE) as lines,
            pd.read_csv(
                lines,
                header=None,
                dtype=np.float64,
                engine="c",
                chunksize=rows,
                skipinitialspace=True,
                encoding="latin-1",
                quoting=csv.QUOTE_NONE,
                **options,
            ) as chunks,
        ):
            for chunk in chunks:
                table = chunk.to_numpy(np.float64)
                cut = len(table) < rows and bool(np.isnan(table[-1]).any())
                table = table[:-1] if cut else table
                with np.errstate(invalid="ignore"):
                    good = ((table >= 0) & (table < MOST_NS)).all(axis=1) & (table[:, direction] <= 2)
                if not good.all():
                    raise DataError(
                        f"{file}: line {before + int(np.argmin(good)) + 1} is not a line of a {name}; "
                        "the log was edited or damaged, so measure again"
                    )
                before += len(table)
                if len(table):
                    yield table, cut
    except (ValueError, OverflowError, MemoryError) as error:  # pandas' ParserError and EmptyDataError are ValueErrors
        if isinstance(error, DataError):
            raise
        said = " ".join(str(error).split())[:_MOST_QUOTED]
        raise DataError(
            f"{file} is not a {name} of fio after line {before} ({said}); give the log as fio wrote it"
        ) from error


@dataclass
class _Counts:
    """What both kinds of log count."""

    file: Path
    requests: int = 0
    reads: int = 0
    moved: float = 0.0
    last_s: float = 0.0
    blocks: set[float] = field(default_factory=set)

    def add(self, time_ms: Table, direction: Table, block: Table, each: NDArray[np.int64]) -> None:
        """Add the lines of a piece, (m,) of each, with so many requests ``each``."""
        self.last_s = max(self.last_s, float(time_ms.max()) / 1e3)
        if self.last_s > LONGEST_RUN_S:
            days = f"{self.last_s / 86400:.0f} days"
            raise DataError(f"{self.file} spans {days}; no run does, so its times are damaged")
        self.requests += int(each.sum())
        self.reads += int(each[direction == 0].sum())
        self.moved += float(each @ block)
        self.blocks.update(np.unique(block)[:BLOCKS_AT_ONCE].tolist())

    def summary(self, mean_s: float, sd_s: float, histogram: Histogram, **known: bool) -> LogSummary:
        """The log as a whole."""
        runtime_s = max(self.last_s, CLOCK_S)
        return LogSummary(
            name=shown_name(self.file.name),
            requests=self.requests,
            reads=self.reads,
            runtime_s=runtime_s,
            mean_s=mean_s,
            sd_s=sd_s,
            block_bytes=(next(iter(self.blocks)) if len(self.blocks) == 1 else math.nan) or math.nan,
            bandwidth_bytes_per_s=self.moved / runtime_s,
            histogram=histogram,
            **known,
        )


def summarise(file: Path) -> LogSummary:
    """Counts, moments and histogram of a log of requests or of histograms, in one pass and little memory.

    Raises DataError naming the file and the invalid line.
    """
    columns = read_head(file).partition("\n")[0].count(",") + 1
    return _summarise_histograms(file) if columns > MOST_OF_A_REQUEST else _summarise_requests(file, columns)


def _summarise_histograms(file: Path) -> LogSummary:
    total: NDArray[np.int64] | int = 0
    seen, cut = _Counts(file), False
    for table, cut in _pieces(file, "histogram log", 1, HISTOGRAMS_AT_ONCE):  # noqa: B007  (that of the last piece counts)
        counts = table[:, 3:].astype(np.int64)
        total = total + counts.sum(axis=0)
        seen.add(table[:, 0], table[:, 1], table[:, 2], counts.sum(axis=1))
    if isinstance(total, int) or not total.any():
        raise DataError(f"{file} holds no whole histogram; measure again, for longer than --log_hist_msec")
    try:
        lower, upper, unit_s = coarse_edges(len(total))
    except DataError as error:
        raise DataError(f"{file} cannot be read as a histogram log of fio's: {error}") from error
    full = np.flatnonzero(total)
    scale = round(1 / unit_s)
    made = Histogram(lower[full] / scale, upper[full] / scale, total[full])
    return seen.summary(made.mean_s, made.sd_s, made, averaged=False, unit_known=True, cut=cut)


def _summarise_requests(file: Path, columns: int) -> LogSummary:
    mean = second = 0.0
    counted = np.zeros(BINS_FIO_3, dtype=np.int64)
    seen, cut = _Counts(file), False
    names = {"names": ["time", "value", "direction", "block"], "usecols": [0, 1, 2, 3], "index_col": False}
    for table, cut in _pieces(file, "latency log", 2, REQUESTS_AT_ONCE, **names):  # noqa: B007  (that of the last piece counts)
        time_ms, value, direction, block = np.ascontiguousarray(table.T)
        count = seen.requests
        seen.add(time_ms, direction, block, np.ones(len(block), dtype=np.int64))
        counted += np.bincount(np.minimum(bin_of(value), BINS_FIO_3 - 1), minlength=BINS_FIO_3)
        n, value = len(value), value / 1e9
        step = float(value.mean()) - mean  # Chan, Golub and LeVeque 1983, eq. 2.1: moments of two parts joined
        second += float(((value - value.mean()) ** 2).sum()) + step**2 * count * n / (count + n)
        mean += step * n / (count + n)
    if not seen.requests:
        raise DataError(f"{file} holds no whole line of a latency log; measure again with --write_lat_log=NAME")
    full = np.flatnonzero(counted)
    lower, upper = bin_edges(full)
    made = Histogram(lower / 1e9, upper / 1e9, counted[full])
    sd = math.sqrt(second / seen.requests)
    return seen.summary(mean, sd, made, averaged=seen.blocks == {0.0}, unit_known=columns > 4, cut=cut)


LogKind = Literal["lat", "clat", "slat", "clat_hist", "bw", "iops"]

_NAME = re.compile(r"^(?P<stem>.*)_(?P<kind>[sc]?lat|clat_hist|bw|iops)(?:\.\d{1,6})?\.log$", re.IGNORECASE)
_PLOT_NAME = re.compile(
    r"^(?P<rw>rand(?:read|write|rw)|read|write|rw|readwrite)-iodepth-(?P<depth>\d{1,5})-numjobs-"
    r"(?P<jobs>\d{1,5})$"
)


@dataclass(frozen=True)
class LogName:
    """The parts of a log's name: the stem before the kind, and the kind."""

    stem: str
    kind: LogKind

    @property
    def options(self) -> dict[str, str]:
        """fio's options, where the stem is of fio-plot's form (``randread-iodepth-8-numjobs-2``); else none."""
        match = _PLOT_NAME.match(Path(self.stem).name)
        return {"rw": match["rw"], "iodepth": match["depth"], "numjobs": match["jobs"]} if match else {}


def log_name(name: str) -> LogName | None:
    """The parts of a fio log's name, or None for another name.

    >>> log_name("randread-iodepth-8-numjobs-1_clat_hist.1.log").kind
    'clat_hist'
    """
    match = _NAME.match(shown_name(name))
    if match is None:
        return None
    return LogName(match["stem"], match["kind"].lower())  # type: ignore[arg-type]


#: The log that is read where a run has several: total latency first, then completion latency, then histograms.
_PREFERENCE: tuple[LogKind, ...] = ("lat", "clat", "clat_hist")
_PERCENTILES = (50.0, 95.0, 99.0, 99.9)


def choose_logs(paths: Iterable[Path]) -> list[tuple[LogName, list[Path]]]:
    """The logs of each run, a file per job, of one kind; without those of bandwidth, IOPS and submission."""
    runs: dict[tuple[Path, str], dict[LogKind, list[Path]]] = {}
    for path in paths:
        found = log_name(path.name)
        if found is not None and found.kind in _PREFERENCE:
            runs.setdefault((path.parent, found.stem), {}).setdefault(found.kind, []).append(path)
    chosen = [(stem, next(k for k in _PREFERENCE if k in kinds), kinds) for (_, stem), kinds in runs.items()]
    return [(LogName(stem, kind), sorted(kinds[kind])) for stem, kind, kinds in chosen]


def record_of_logs(name: LogName, files: Sequence[Path]) -> FioRecord:
    """One record of the logs of a run; depth and direction are known where the name has fio-plot's form.

    Raises DataError where a log is invalid, or holds means over intervals instead of requests.
    """
    logs = [summarise(path) for path in files]
    for log, path in zip(logs, files, strict=True):
        if log.averaged:
            raise DataError(
                f"{path} holds means over intervals (log_avg_msec), not requests, so neither rate nor percentiles "
                "can be had from it; give fio's JSON, or measure again without --log_avg_msec"
            )
    kind = "lat" if name.kind == "lat" else "clat"
    blocks = {log.block_bytes for log in logs}
    options = dict(name.options)
    if options and len(blocks) == 1 and math.isfinite(block := blocks.pop()):
        options["bs"] = f"{block:.0f}"
    if options and len(logs) == 1 and options["numjobs"] != "1":
        options["group_reporting"] = "1"
    return record_of(
        [_flow(log, kind) for log in logs],
        _findings(logs),
        source=shown_name(files[0].name),
        job=Path(name.stem).name,
        options=options,
        records=len(logs),
        error=0,
        version="",
        started_at="",
        all_options=False,
    )


def _flow(log: LogSummary, kind: str) -> Flow:
    percentiles = {p: log.histogram.quantile(p / 100) for p in _PERCENTILES}
    latency = Moments(log.mean_s, log.sd_s, kind, percentiles, replace(log.histogram, kind=kind))
    rate = log.requests / log.runtime_s
    return Flow(rate, log.bandwidth_bytes_per_s, log.requests, log.reads, log.runtime_s, latency)


def _findings(logs: Sequence[LogSummary]) -> Iterator[Finding]:
    if not all(log.unit_known for log in logs):
        taken = f"they are taken as ns, so that the mean is {logs[0].mean_s * 1e9:.4g} ns."
        message = f"{logs[0].name} does not tell the unit of its latencies; {taken}"
        because = "fio logs ns since version 3 and us before; a drive's mean is not below some 2,000 ns."
        remedy = "look at the version of fio that wrote it (fio --version), or load the JSON of the same run."
        yield Finding("latency-unit", "warning", message, because, remedy)
    if cut := [log.name for log in logs if log.cut]:
        message = f"{cut[0]}: the last line is not whole and was left out."
        because = "fio was stopped, or the disk was full."
        yield Finding("truncated-log", "warning", message, because, "measure again to the end.")
