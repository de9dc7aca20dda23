"""fio's logs, by their names, as points of a sweep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from measure.errors import DataError
from measure.findings import Finding
from measure.formats.fio.logs import LogSummary, summarise
from measure.formats.fio.record import FioRecord, Flow, Moments, record_of

LogKind = Literal["lat", "clat", "slat", "clat_hist", "bw", "iops"]

_NAME = re.compile(r"^(?P<stem>.*)_(?P<kind>[sc]?lat|clat_hist|bw|iops)(?:\.\d{1,6})?\.log$", re.IGNORECASE)
_PLOT_NAME = re.compile(
    r"^(?P<rw>rand(?:read|write|rw)|read|write|rw|readwrite)-iodepth-(?P<depth>\d{1,5})-numjobs-"
    r"(?P<jobs>\d{1,5})$"
)


@dataclass(frozen=True)
class LogName:
    """What a log's name says: the part before the kind, and the kind."""

    stem: str
    kind: LogKind

    @property
    def options(self) -> dict[str, str]:
        """fio's options, where the stem is of fio-plot's form (``randread-iodepth-8-numjobs-2``); else none."""
        match = _PLOT_NAME.match(Path(self.stem).name)
        return {"rw": match["rw"], "iodepth": match["depth"], "numjobs": match["jobs"]} if match else {}


def log_name(name: str) -> LogName | None:
    """What the name of a log says, or None where it is no log of fio's.

    >>> log_name("randread-iodepth-8-numjobs-1_clat_hist.1.log").kind
    'clat_hist'
    """
    match = _NAME.match(name)
    if match is None:
        return None
    return LogName(match["stem"], match["kind"].lower())  # type: ignore[arg-type]


#: Which of several logs of one run to read: the total latency before completion alone, requests before histograms.
_PREFERENCE: tuple[LogKind, ...] = ("lat", "clat", "clat_hist")
_PERCENTILES = (50.0, 95.0, 99.0, 99.9)


def choose_logs(paths: Iterable[Path]) -> list[tuple[LogName, list[Path]]]:
    """The logs of each run, a file per job, of one kind; those of bandwidth, IOPS and submission are left aside."""
    runs: dict[tuple[Path, str], dict[LogKind, list[Path]]] = {}
    for path in paths:
        found = log_name(path.name)
        if found is not None and found.kind in _PREFERENCE:
            runs.setdefault((path.parent, found.stem), {}).setdefault(found.kind, []).append(path)
    chosen = [(stem, next(k for k in _PREFERENCE if k in kinds), kinds) for (_, stem), kinds in runs.items()]
    return [(LogName(stem, kind), sorted(kinds[kind])) for stem, kind, kinds in chosen]


def record_of_logs(name: LogName, files: Sequence[Path]) -> FioRecord:
    """One record of the logs of a run; depth and direction are known where the name has fio-plot's form.

    Raises DataError where a log is none, or holds means over intervals, which are no requests.
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
    if options and len(blocks) == 1 and (block := blocks.pop()) > 0:
        options["bs"] = f"{block:.0f}"
    if options and len(logs) == 1 and options["numjobs"] != "1":
        options["group_reporting"] = "1"
    return record_of(
        [_flow(log, kind) for log in logs],
        _findings(logs),
        source=files[0].name,
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
    latency = Moments(log.mean_s, log.sd_s, kind, percentiles, kind, replace(log.histogram, kind=kind))
    rate = log.requests / log.runtime_s
    return Flow(rate, log.bandwidth_bytes_per_s, log.requests, log.reads, log.runtime_s, latency)


def _findings(logs: Sequence[LogSummary]) -> Iterator[Finding]:
    if not all(log.unit_known for log in logs):
        yield Finding(
            "latency-unit",
            "warning",
            f"{logs[0].name} does not tell the unit of its latencies; they are taken as ns, so that the mean is "
            f"{logs[0].mean_s * 1e9:.4g} ns.",
            "fio logs ns since version 3 and us before; a drive's mean is not below some 2,000 ns.",
            "look at the version of fio that wrote it (fio --version), or load the JSON of the same run.",
        )
    cut = [log.name for log in logs if log.cut]
    if cut:
        yield Finding(
            "truncated-log",
            "warning",
            f"{cut[0]}: the last line is not whole and was left out.",
            "fio was stopped, or the disk was full.",
            "measure again to the end.",
        )
