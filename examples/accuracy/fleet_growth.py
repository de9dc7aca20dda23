"""How long a fleet of drives takes to read and fit, and the memory it needs; sweeps of 7 points.

python fleet_growth.py                           writes the table of howto-measure-a-drive.md, in twenty minutes
python fleet_growth.py DRIVES,DRIVES... WORKERS  a row for each number of drives, printed only
python fleet_growth.py DRIVES [WORKERS]          the processor time of one fleet

The drives are p-norms of about 600 k/s and 80 µs, 5 % apart, with noise of 2 %. 10,000 of them are wanted in 3 minutes
on two cores: 36 ms each. The table: this process alone (to 1,000 drives), processes, and a Dask cluster of as many
here, once these have started.
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
from on_page import write_table

from calibrate.fleet.drives import fit_fleet
from calibrate.fleet.workers import dask_workers, processes

DRIVES, WORKERS = (100, 1000, 10_000), 2
MOST_ALONE = 1000  # larger fleets are left to the workers: a process alone takes as many times longer
DEPTHS = 2.0 ** np.arange(7)
HEADER = "queue_depth,iops,latency_us,block_size_KiB,read_pct\n"


def rates(count: int) -> Iterator[np.ndarray]:
    """The throughputs of each drive at ``DEPTHS``."""
    random = np.random.default_rng(1)
    for _ in range(count):
        idle, peak = np.array([80e-6, 6e5]) * np.exp(0.05 * random.normal(size=2))
        yield ((DEPTHS / idle) ** -2.6 + peak**-2.6) ** (-1 / 2.6) * np.exp(0.02 * random.normal(size=7))


def write_drives(folder: Path, count: int) -> None:
    """A table for each drive."""
    for i, rate in enumerate(rates(count)):
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
    yield f"| drives | this process, s | {workers} processes, s | {workers} of Dask, s |"
    yield "|---:|---:|---:|---:|"
    with processes(workers) as ours, dask(workers) as others:
        _row(workers, [None, ours, others])  # by which the workers import what they need
        for count in counts:
            yield _row(count, [None, ours, others] if count <= MOST_ALONE else [ours, others])


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
    alone = " |" * (3 - len(executors))
    return f"| {count} |{alone} {' | '.join(f'{s:.1f}' for s in took)} |"


def main(drives: str = "", workers: str = "") -> None:
    """The time of one fleet, or a table of several: on the page where no others were asked for."""
    counts = [int(n) for n in drives.split(",")] if drives else DRIVES
    if len(counts) == 1:
        one(counts[0], int(workers or 1))
        return
    rows = []
    for row in growth(counts, int(workers or WORKERS)):
        rows.append(row)
        print(row, flush=True)
    if not drives:
        write_table("howto-measure-a-drive.md", "growth of fleets", "\n".join(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
