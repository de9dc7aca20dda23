"""The command by which fio measures one workload.

Why the commands are as they are:

- ``direct=1``: the drive is measured, not the page cache. ``thread=1``: one process, which can be killed as a whole.
- ``norandommap=1``: addresses are drawn independently, as the models' random routing supposes; fio's map of visited
  blocks costs memory and time and makes the end of a pass unlike its beginning.
- ``randseed``: another sequence of addresses for each point and repeat, the same when a point is measured again, so
  that no point finds the blocks of the one before it in a cache of the drive.
- ``lat_percentiles=1``: percentiles of the total latency, the one that Little's law is about.
- The file is written once from end to end with incompressible data first: reads of blocks never written touch no
  medium, and writes to an empty drive are faster than any later ones.
- A synchronous engine ignores the depth: its outstanding requests are as many jobs.
- io_uring rounds the depth up to a power of two (fio 3.33 keeps 8 requests outstanding where 6 were asked for), so
  that another depth is shared among jobs of 4 and 2.
- Open loop: many synchronous jobs, each a Poisson process at a small share of the rate; together they are a Poisson
  process at the whole rate. A single job with ``rate_iops`` is none: it waits for what is in flight before it sleeps,
  and starts the clock after the wait. fio takes whole rates, so that some jobs take one request a second more.
  A job begins with a request, and its counted time with another, so the jobs of slow streams start in groups, one
  after another: all at once they would be a burst, and near saturation its queue stays for most of a run. (fio 3.33
  draws the times of ``startdelay=0-2s`` from the later half of that range, and at times all alike; so they are given.)
  In a mix, reads and writes come from jobs of their own: two Poisson processes together are one whose requests have
  random directions.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Sequence
from typing import Final

from measure.fio.workload import FioJob
from measure.formats.fio.record import SYNC_ENGINES
from measure.machine.own_file import Target

PROBE: Final = "probe"
"""The engine that is a program of this package, for where fio is not (:mod:`measure.drive.probe`)."""

ROUNDING = frozenset({"io_uring", "io_uring_cmd"})

STAGGER_GAPS = 4
"""The jobs of an open loop start within this many mean gaps between the arrivals of one. Their first requests then come
at a quarter of the rate, with those of the jobs that run, which rise meanwhile: hardly more than is asked for."""

MOST_STARTS, SHORTEST_STEP_S = 8, 0.1
"""Groups that start one after another, and the least time between two of them: fio looks no more often."""


def common_options(file: Target | None, uri: str, engine: str, runtime_s: float, ramp_s: float) -> list[str]:
    """What the points of a sweep share; ``file`` is None for a network block device (``uri``).

    fio takes whole numbers with a unit, so times are in ms.
    """
    options = [f"--ioengine={engine}"]
    if file is None:
        options += [f"--uri={uri}"]
    else:
        options += [f"--filename={file.path}", f"--size={file.size_bytes}", "--direct=1"]
        options += ["--allow_file_create=0"]  # our file has its full size; fio must never make another one longer
    options += ["--thread=1", "--time_based=1", f"--runtime={round(runtime_s * 1e3)}ms"]
    options += [f"--ramp_time={round(ramp_s * 1e3)}ms"] if ramp_s > 0 else []
    return [*options, "--norandommap=1", "--group_reporting=1", "--lat_percentiles=1"]


def program(engine: str) -> tuple[str, ...]:
    """The words that start the program: fio, or the probe in this Python without the current directory's modules."""
    return (sys.executable, "-P", "-m", "measure.drive.probe") if engine == PROBE else ("fio",)


def split_program(argv: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words that start the program, and its options.

    >>> split_program(("fio", "--name=a"))
    (('fio',), ('--name=a',))
    """
    start = next((i for i, word in enumerate(argv) if word.startswith("--")), len(argv))
    return tuple(argv[:start]), tuple(argv[start:])


def point_command(key: str, job: FioJob, engine: str, common: Sequence[str], seed: int) -> tuple[str, ...]:
    """The command of the point ``key`` with the ``common_options``; the same for the same arguments."""
    general = [*program(engine), "--output-format=json+", "--eta=never"]
    if job.read_percent == 100:
        general.append("--readonly")
    shared = [f"--bs={job.block_bytes}", f"--randseed={zlib.crc32(f'{seed} {key}'.encode())}", *common]
    if job.is_open:
        shared.append("--rate_process=poisson")
    sections = _sections(job, engine)
    if len(sections) == 1:
        return (*general, f"--name={key}", *sections[0], *shared)
    return (*general, "--name=global", *shared, *(o for section in sections for o in (f"--name={key}", *section)))


def stagger_s(job: FioJob) -> float:
    """The seconds within which the jobs of a point start; 0 where all start at once."""
    whole_s = STAGGER_GAPS * job.jobs / job.load if job.is_open else 0.0
    return whole_s if whole_s >= 2 * SHORTEST_STEP_S else 0.0


def _sections(job: FioJob, engine: str) -> list[list[str]]:
    """The options of each kind of job that runs at the same time."""
    if not job.is_open:
        mix = [f"--rwmixread={job.read_percent}"] if job.is_mix else []
        return [[f"--rw={job.rw}", *options, *mix] for options in _outstanding(job.depth, job.jobs, engine)]
    random = "rand" if job.pattern == "random" else ""
    sections, before = [], ""
    for direction, jobs, each in _shares(job):
        for count, later in _starts(jobs, stagger_s(job)):
            apart = ["--new_group=1"] if before and before != direction else []  # reads and writes are reported apart
            own = [f"--numjobs={count}", "--iodepth=1", f"--rate_iops={each}", *later]
            sections.append([*apart, f"--rw={random}{direction}", *own])
            before = direction
    return sections


def _outstanding(depth: int, jobs: int, engine: str) -> list[list[str]]:
    """Options that keep ``depth`` requests outstanding in each of ``jobs`` jobs, by as many sections as that takes."""
    if engine in SYNC_ENGINES:
        return [["--iodepth=1", f"--numjobs={depth * jobs}"]]
    depths = [2**bit for bit in range(depth.bit_length()) if depth >> bit & 1] if engine in ROUNDING else [depth]
    return [[f"--iodepth={d}", f"--numjobs={jobs}"] for d in reversed(depths)]


def _starts(jobs: int, within_s: float) -> list[tuple[int, list[str]]]:
    """Parts of the jobs, and when each of them starts, as an option of fio."""
    starts = max(1, min(jobs, MOST_STARTS, int(within_s / SHORTEST_STEP_S)))
    ends = [jobs * k // starts for k in range(starts + 1)]
    return [
        (ends[k + 1] - ends[k], [f"--startdelay={round(1e3 * within_s * k / starts)}ms"] if k else [])
        for k in range(starts)
    ]


def submitters_of(job: FioJob) -> int:
    """How many jobs share the arrivals of an open point, both directions together."""
    return sum(count for _, count, _ in _shares(job))


def _shares(job: FioJob) -> list[tuple[str, int, int]]:
    """(direction, jobs, requests/s of each): each direction has its part of the jobs; whole rates that add up."""
    rate = round(job.load)
    reads = round(rate * job.read_percent / 100)
    reads = min(max(1, reads), rate - 1) if job.is_mix else reads
    shares = []
    for direction, arrivals in (("read", reads), ("write", rate - reads)):
        if arrivals:
            jobs = min(arrivals, max(1, round(job.jobs * arrivals / rate)))
            each, more = divmod(arrivals, jobs)
            shares += [(direction, n, r) for r, n in ((each + 1, more), (each, jobs - more)) if n]
    return shares
