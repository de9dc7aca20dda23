"""How long a fleet of drives takes to read and fit, and the memory it needs: processor time a sweep of 7 points.

The drives are p-norms of about 600 k/s and 80 µs, 5 % apart, with noise of 2 %. 10,000 of them are wanted in 3 minutes
on two cores: 36 ms each. For several numbers of drives, how the time grows: of this process alone, of processes and of
a Dask cluster of as many here, once these have started.

Run with: python examples/bench_fleet.py [drives[,drives...] [workers]]
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from calibrate.fleet.drives import fit_fleet
from calibrate.fleet.workers import dask_workers, processes

DEPTHS = 2.0 ** np.arange(7)
HEADER = "queue_depth,iops,latency_us,block_size_KiB,read_pct\n"


def write_drives(folder: Path, count: int) -> None:
    """A table for each drive."""
    random = np.random.default_rng(1)
    for i in range(count):
        idle, peak = np.array([80e-6, 6e5]) * np.exp(0.05 * random.normal(size=2))
        rate = ((DEPTHS / idle) ** -2.6 + peak**-2.6) ** (-1 / 2.6) * np.exp(0.02 * random.normal(size=7))
        rows = [f"{n:g},{x:.1f},{1e6 * n / x:.3f},4,100\n" for n, x in zip(DEPTHS, rate, strict=True)]
        (folder / f"drive-{i:05}.csv").write_text(HEADER + "".join(rows))


def processor_s() -> float:
    """Of this process and those that it has ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def one(drives: int, workers: int) -> None:
    """Write, fit, and print."""
    with tempfile.TemporaryDirectory() as name:
        write_drives(Path(name), drives)
        wall_s, used_s = time.perf_counter(), processor_s()
        with processes(workers) as executor:
            found = fit_fleet([name], executor)
        wall_s, used_s = time.perf_counter() - wall_s, processor_s() - used_s
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    if workers == 1:  # what other processes used is known when they end
        each = f"{1e3 * used_s / drives:.1f} ms of processor time each"
    else:
        each = f"{1e3 * wall_s / drives:.1f} ms each on {workers} workers"
    print(f"{len(found.drives)} drives, {len(found.odd)} odd: {wall_s:.1f} s, {each}")
    print(f"{peak >> 10} MiB of memory at most in one process")


@contextmanager
def dask(workers: int) -> Iterator[Executor]:
    """The executor of a cluster of so many processes of this machine."""
    from distributed import LocalCluster

    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=":0", worker_dashboard_address=":0"
    )
    with cluster, dask_workers(cluster.scheduler_address) as executor:
        yield executor


def growth(counts: Sequence[int], workers: int) -> Iterator[str]:
    """A row for each number of drives, by workers that have started."""
    yield f"| drives | this process, s | {workers} processes, s | {workers} of Dask, s |\n|---:|---:|---:|---:|"
    with processes(workers) as ours, dask(workers) as others:
        _row(workers, [None, ours, others])  # by which the workers import what they need
        for count in counts:
            yield _row(count, [None, ours, others])


def _row(count: int, executors: Sequence[Executor | None]) -> str:
    took, tables = [], []
    with tempfile.TemporaryDirectory() as name:
        write_drives(Path(name), count)
        for executor in executors:
            start = time.perf_counter()
            tables.append(fit_fleet([name], executor).drives)
            took.append(time.perf_counter() - start)
    if not all(table.equals(tables[0]) for table in tables):
        sys.exit(f"{count} drives: the tables differ")
    return f"| {count} | {' | '.join(f'{s:.1f}' for s in took)} |"


def main(drives: str = "50", workers: str = "1") -> None:
    """The time of one fleet, or a table of several."""
    counts = [int(n) for n in drives.split(",")]
    if len(counts) == 1:
        one(counts[0], int(workers))
        return
    for row in growth(counts, int(workers)):
        print(row, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
