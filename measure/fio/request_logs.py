"""fio's logs beside a point's result: its throughput over the run, and on request every request.

fio counts the requests of each of some 25 intervals of a run (``write_iops_log`` with ``log_avg_msec``). Its helper
thread does so, and no request is slowed: with fio's null engine, at 3 million requests a second, runs with and without
the log were alike within 2 %, where a log of latencies (``write_lat_log``) took a quarter of the throughput.

The log of every request fio keeps in memory and writes when the point ends, one file for each job, about 30 bytes a
request. The files of a point are joined, in the order of the jobs and with every line as fio wrote it, and kept as one.
``samples`` gives the requests of each point of such a sweep.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from measure.errors import StoreError
from measure.fio.plan import FioPlan, FioPoint
from measure.formats.fio.log_records import log_name
from measure.formats.fio.logs import LatencyLog, read_latency_log
from measure.formats.fio.steady_state import Intervals, read_interval_logs
from measure.machine.host import storage_behind
from measure.machine.process import Finished, run_tool
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
    logged = (argv[0], *interval_options(runtime_s, f"{folder}/run"), *argv[1:])
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
    return Samples({
        (str(series), float(load), int(repeat)): logs[stem]
        for series, load, repeat, source in sweep.points[["series", "load", "repeat", "source"]].itertuples(index=False)
        if (stem := PurePosixPath(str(source)).stem) in logs
    })  # fmt: skip
