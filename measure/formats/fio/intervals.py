"""The throughput of a run over its time, as fio logs it beside its result.

fio counts the requests of each of some 25 intervals of a run (``write_iops_log`` with ``log_avg_msec``). Its helper
thread does so, and no request is slowed: with fio's null engine, at 3 million requests a second, runs with and without
the log were alike within 2 %, where a log of latencies (``write_lat_log``) took a quarter of the throughput.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from measure.machine.process import Finished, run_tool

INTERVALS = 25
SHORTEST_INTERVAL_S = 0.02

_LINE = re.compile(r"^(\d{1,15}), ?(\d{1,15}), ?\d")


@dataclass(frozen=True)
class Intervals:
    """The throughput of a run, interval by interval: their ends in seconds since the start, and requests a second."""

    end_s: tuple[float, ...] = ()
    throughput_per_s: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.end_s)

    def to_dict(self) -> dict[str, list[float]]:
        """JSON-ready."""
        return {"end_s": list(self.end_s), "throughput_per_s": list(self.throughput_per_s)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Sequence[float]]) -> Intervals:
        """The inverse of ``to_dict``."""
        return cls(tuple(map(float, values["end_s"])), tuple(map(float, values["throughput_per_s"])))

    def completed(self, times_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """The requests completed up to each of ``times_s`` (m,), evenly within an interval."""
        edges = np.concatenate([[0.0], self.end_s])
        counts = np.concatenate([[0.0], np.cumsum(np.diff(edges) * np.array(self.throughput_per_s))])
        return np.asarray(np.interp(times_s, edges, counts), float)


def run_with_intervals(
    argv: Sequence[str],
    runtime_s: float,
    timeout_s: float,
    folder: Path,
    on_tick: Callable[[float], None] | None = None,
) -> tuple[Finished, Intervals]:
    """Run a fio command that measures for ``runtime_s``, and its intervals with it.

    The logs are left in ``folder``, an absolute path to an empty one. Options before the first job's name are for all
    jobs. A command that asks for logs itself is run as it is, in ``folder``, since fio has one averaging for all of
    them. Raises as :func:`measure.machine.process.run_tool`.
    """
    if any(option.startswith("--write_") for option in argv):
        return run_tool(argv, timeout_s, folder, on_tick=on_tick), Intervals()
    logged = (argv[0], *interval_options(runtime_s, f"{folder}/run"), *argv[1:])
    finished = run_tool(logged, timeout_s, on_tick=on_tick)
    texts = [path.read_text("ascii", "replace") for path in folder.glob("run_iops*.log")]
    return finished, read_interval_logs(texts)


def interval_options(runtime_s: float, prefix: str) -> tuple[str, ...]:
    """fio's options that log the throughput of a run of ``runtime_s`` to ``prefix``_iops.1.log and so on."""
    each_s = max(SHORTEST_INTERVAL_S, runtime_s / INTERVALS)
    return (f"--write_iops_log={prefix}", f"--log_avg_msec={round(each_s * 1e3)}")


def read_interval_logs(texts: Iterable[str]) -> Intervals:
    """The throughput of all jobs together, from the text of each job's ``_iops`` log; no intervals where none is whole.

    A line is the time in ms, the requests a second since the line before, and the direction; reads and writes are
    added. Lines that are none of fio's are left out, as the last one of a run that was stopped.
    """
    jobs = [job for job in map(_one_job, texts) if len(job)]
    if not jobs:
        return Intervals()
    end = min(job.end_s[-1] for job in jobs)
    longest = max(jobs, key=len)
    times = np.array([t for t in longest.end_s if t <= end] or [end])
    counts = np.sum([job.completed(times) for job in jobs], axis=0)
    lengths = np.diff(times, prepend=0.0)
    return Intervals(tuple(times.tolist()), tuple((np.diff(counts, prepend=0.0) / lengths).tolist()))


def _one_job(text: str) -> Intervals:
    rates: dict[float, float] = {}
    for line in text.splitlines():
        if match := _LINE.match(line):
            time_s = float(match[1]) / 1e3
            rates[time_s] = rates.get(time_s, 0.0) + float(match[2])
    ends = sorted(t for t in rates if t > 0)
    return Intervals(tuple(ends), tuple(rates[t] for t in ends))
