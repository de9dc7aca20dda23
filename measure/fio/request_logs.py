"""fio's logs beside a point's result: its throughput over the run, and on request every request.

fio counts the requests of each of some 25 intervals of a run (``write_iops_log`` with ``log_avg_msec``). Its helper
thread does so, and no request is slowed: with fio's null engine, at 3 million requests a second, runs with and without
the log were alike within 2 %, where a log of latencies (``write_lat_log``) took a quarter of the throughput.

The log of every request fio keeps in memory and writes when the point ends, one file for each job, about 30 bytes a
request. The files of a point are joined, in the order of the jobs and with every line as fio wrote it, and kept as one.
``samples`` gives the requests of each point of such a sweep.

A known device logs each request that it served: when it arrived, and how long it waited and was served. Of the requests
of a point (those that arrived while its fio ran, after the ramp) that gives the law that was really served and the
response time as the queue had it, so that three things can be told apart: the noise of a finite draw (served against
asked), the error of a formula (solved against served), and what the way adds (fio's latency against the served
response).
"""

from __future__ import annotations

import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from measure.errors import StoreError
from measure.fio.command import split_program, stagger_s
from measure.fio.plan import FioPlan, FioPoint
from measure.fio.points import job_of
from measure.formats.fio.log_records import log_name
from measure.formats.fio.logs import LatencyLog, read_latency_log
from measure.formats.fio.steady_state import Intervals, read_interval_logs
from measure.machine.host import storage_behind
from measure.machine.process import Finished, run_tool
from measure.store.directory import SweepStore
from measure.store.stored_point import StoredPoint
from measure.sweep import Sweep
from measure.units import format_bytes, format_rate

INTERVALS = 25
SHORTEST_INTERVAL_S = 0.02
SUFFIX = "_lat.log"
LINE_BYTES = 30
FASTEST_PER_S = 200_000  # the rate that is made room for where it is not known beforehand
SPARE_BYTES = 64 * 2**20
_FOLDER = ".logs-"
_JOB = re.compile(r"_lat\.(\d{1,6})\.log$")
Key = tuple[str, float, int]


def log_bytes(plan: FioPlan, points: Sequence[FioPoint]) -> float:
    """How large the logs of the points may become; 0 where the plan keeps none."""
    if not plan.log:
        return 0.0
    rates = (p.job.load if p.job.is_open else FASTEST_PER_S for p in points)
    return sum(LINE_BYTES * rate * plan.runtime_s for rate in rates)


def check_room(plan: FioPlan, points: Sequence[FioPoint], directory: Path) -> None:
    """StoreError where the logs of ``points`` may not fit into ``directory``."""
    needed, free = log_bytes(plan, points), storage_behind(directory).free_bytes
    if needed and free < needed + SPARE_BYTES:
        raise StoreError(
            f"{directory} has {format_bytes(free)} free, and the logs of {len(points)} points may take "
            f"{format_bytes(needed)} ({LINE_BYTES} bytes a request, at {format_rate(FASTEST_PER_S)} where the rate is "
            "not known); name another directory, shorten the runtime, or measure without logs"
        )


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
    program, options = split_program(argv)
    logged = (*program, *interval_options(runtime_s, f"{folder}/run"), *options)
    finished = run_tool(logged, timeout_s, on_tick=on_tick)
    texts = [path.read_text("ascii", "replace") for path in folder.glob("run_iops*.log")]
    return finished, read_interval_logs(texts)


def interval_options(runtime_s: float, prefix: str) -> tuple[str, ...]:
    """fio's options that log the throughput of a run of ``runtime_s`` to ``prefix``_iops.1.log and so on."""
    each_s = max(SHORTEST_INTERVAL_S, runtime_s / INTERVALS)
    return (f"--write_iops_log={prefix}", f"--log_avg_msec={round(each_s * 1e3)}")


@contextmanager
def log_folder(directory: Path) -> Iterator[Path]:
    """A folder in the sweep's directory for fio to write its logs into, removed at the end.

    What killed runs left of theirs is removed: only for who holds the directory.
    """
    for left in directory.glob(f"{_FOLDER}*"):
        shutil.rmtree(left)
    with tempfile.TemporaryDirectory(prefix=_FOLDER, dir=directory.absolute()) as folder:
        yield Path(folder)


def joined_log(folder: Path) -> Path | None:
    """The logs that one point left in ``folder`` as one file; None where there is none."""
    parts = {int(match[1]): path for path in folder.iterdir() if (match := _JOB.search(path.name))}
    if not parts:
        return None
    whole = folder / "whole.log"
    with whole.open("wb") as target:
        for _, path in sorted(parts.items()):
            with path.open("rb") as source:
                shutil.copyfileobj(source, target, 2**20)
            path.unlink()
    return whole


@dataclass(frozen=True)
class Samples(Mapping[Key, LatencyLog]):
    """{(series, load, repeat): its requests}, each read from its log when it is asked for.

    Logs can be far larger than memory when taken together, so none is stored. The latencies of one job are in the
    order in which they ended; jobs follow each other.
    """

    paths: Mapping[Key, Path]

    def __getitem__(self, key: Key) -> LatencyLog:
        """Raises KeyError where the point has no log, DataError where the log cannot be read."""
        return read_latency_log(self.paths[key])

    def __iter__(self) -> Iterator[Key]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


def samples(sweep: Sweep) -> Samples:
    """The requests of those points of a sweep of which a log of latencies is there; means over intervals are none.

    >>> from measure import load_dataset
    >>> len(samples(load_dataset("003-ssd-read")))  # a published table has no log
    0
    """
    logs = {
        name.stem: path
        for path in sweep.raw
        if (name := log_name(path.name)) is not None and name.kind == "lat" and name.job is None
    }
    return Samples(
        {
            (str(series), float(load), int(repeat)): logs[stem]
            for series, load, repeat, source in sweep.points[["series", "load", "repeat", "source"]].itertuples(
                index=False
            )
            if (stem := PurePosixPath(str(source)).stem) in logs
        }
    )


FOLDER = "served"
COLUMNS = 4
BATCHES = 20

Log = NDArray[np.float64]


@dataclass(frozen=True)
class Served:
    """What was served at one point; times in seconds, and squared coefficients of variation.

    ``response_error_s`` is the standard error of the mean response, from 20 batches of consecutive requests (Law and
    Kelton, Simulation Modeling and Analysis, section 9.5.3: batch means); NaN where there are fewer than 20 a batch.
    """

    served_requests: int
    served_rate_per_s: float
    served_gap_scv: float
    served_service_s: float
    served_service_scv: float
    served_response_s: float
    served_response_error_s: float
    served_late_s: float


def read_logs(directory: Path) -> Log:
    """All logs in a sweep directory as one table (n, 4), by time of arrival: arrived, waited, served, late.

    An incomplete last row (the device was killed while it wrote) is left out.
    """
    parts = [np.empty((0, COLUMNS))]
    for path in sorted((directory / FOLDER).glob("*.log")):
        raw = path.read_bytes()
        row = 8 * COLUMNS
        parts.append(np.frombuffer(raw[: len(raw) // row * row], dtype=np.float64).reshape(-1, COLUMNS))
    log = np.concatenate(parts)
    return np.asarray(log[np.argsort(log[:, 0], kind="stable")])


def served_between(
    log: Log, start: float, end: float, ramp_s: float = 0.0, runtime_s: float = math.inf, delay_s: float = 0.0
) -> Served | None:
    """What was served of the requests that arrived between ``start`` and ``end`` (seconds since 1970).

    Of these only the ones of ``runtime_s`` seconds count, after ``ramp_s`` seconds from the first of them: fio's jobs
    end one by one after their time. ``delay_s`` is what a response takes beside its wait and its service. None where
    there are fewer than two.
    """
    rows = log[(log[:, 0] >= start) & (log[:, 0] <= end)]
    if len(rows):
        begin = rows[0, 0] + ramp_s
        rows = rows[(rows[:, 0] >= begin) & (rows[:, 0] <= begin + runtime_s)]
    if len(rows) < 2:
        return None
    gaps, service, response = np.diff(rows[:, 0]), rows[:, 2], rows[:, 1] + rows[:, 2] + delay_s
    return Served(
        served_requests=len(rows),
        served_rate_per_s=float(1 / gaps.mean()),
        served_gap_scv=_scv(gaps),
        served_service_s=float(service.mean()),
        served_service_scv=_scv(service),
        served_response_s=float(response.mean()),
        served_response_error_s=_batch_error(response),
        served_late_s=float(rows[:, 3].mean()),
    )


def with_served(table: pd.DataFrame, store: SweepStore, points: Iterable[StoredPoint]) -> pd.DataFrame:
    """The table of a sweep with the fields of :class:`Served` as columns, where its directory holds a device's log."""
    log, settings = read_logs(store.directory), store.manifest["settings"]
    delay_s = float(store.manifest["provenance"].get("details", {}).get("truth", {}).get("delay_s", 0.0))
    if not len(log):
        return table
    rows: dict[str, Mapping[str, float]] = {}
    for point in points:
        if point.raw is not None:
            start, end = (datetime.fromisoformat(point.record[k]).timestamp() for k in ("started_at", "ended_at"))
            begun = settings["ramp_s"] + stagger_s(job_of(point))  # all jobs are counted then, and none has ended
            counted = settings["ramp_s"] + settings["runtime_s"] - begun
            found = served_between(log, start, end, begun, counted, delay_s)
            if found is not None:
                rows[point.raw.name] = asdict(found)
    served = pd.DataFrame.from_dict(rows, orient="index")
    return table.join(served, on="source")


def _scv(values: NDArray[np.float64]) -> float:
    mean = float(values.mean())
    return float(values.var() / mean**2) if mean > 0 else math.nan


def _batch_error(values: NDArray[np.float64]) -> float:
    size = len(values) // BATCHES
    if size < BATCHES:
        return math.nan
    means = values[: size * BATCHES].reshape(BATCHES, size).mean(axis=1)
    return float(means.std(ddof=1) / math.sqrt(BATCHES))
