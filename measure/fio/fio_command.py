"""The workload of one point of a fio sweep, and the command that measures it.

Closed: ``depth`` requests in each of ``jobs`` jobs circle between fio and the device, each submitted when one
completes. Open: requests arrive at ``arrival_rate_per_s`` as a Poisson process, whether or not the device keeps up;
``jobs`` is then the number of jobs among which the arrivals are shared, each submitting one request at a time.

Reasons for the options:

- ``direct=1``: the drive is measured, not the page cache. ``thread=1``: one process, which can be killed as a whole.
- ``norandommap=1``: addresses are drawn independently, as the models' random routing assumes; fio's map of visited
  blocks costs memory and time and makes the end of a pass differ from its beginning.
- ``randseed``: another sequence of addresses for each point and repeat, the same when a point is measured again, so
  that no point finds the blocks of the previous one in a cache of the drive.
- ``lat_percentiles=1``: percentiles of the total latency, which Little's law is about.
- The file is first written once from end to end with incompressible data: reads of blocks never written touch no
  medium, and writes to an empty drive are faster than later ones.
- A synchronous engine ignores the depth: each outstanding request is a job.
- io_uring rounds the depth up to a power of two (fio 3.33 keeps 8 requests outstanding at depth 6), so that
  another depth is split among jobs of powers of two (4 and 2).
- Open loop: many synchronous jobs, each a Poisson process at a small share of the rate; together they are a Poisson
  process at the whole rate. A single job with ``rate_iops`` is not: it waits for requests in flight before it sleeps,
  and starts the clock after the wait. fio takes whole rates, so that some jobs have one request a second more.
  A job begins with a request, and its counted time with another, so the jobs of slow streams start in groups, one
  after another: all at once they would be a burst, and near saturation its queue lasts for most of a run. (fio 3.33
  draws the times of ``startdelay=0-2s`` from the later half of that range, sometimes all equal; so they are given.)
  In a mix, reads and writes come from separate jobs: two Poisson processes together are one whose requests have
  random directions.
"""

from __future__ import annotations

import math
import sys
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final, Literal, get_args

from measure.formats.fio.record import SYNC_ENGINES
from measure.machine.own_file import Target
from qsim.errors import InvalidParameterError, must_be

Pattern = Literal["random", "sequential"]

MAX_DEPTH = 65536
MAX_JOBS = 2048
MAX_RATE_PER_S = 5_000_000
USUAL_SUBMITTERS = 32
FASTEST_SUBMITTER_PER_S = 400  # a job is 5 % busy where a request takes 125 us
SLOWEST_SUBMITTER_PER_S = 5  # and here where it takes 10 ms


@dataclass(frozen=True)
class FioJob:
    """The workload of one point. Raises ValueError naming an invalid field."""

    depth: int
    jobs: int
    block_bytes: int
    read_percent: int
    pattern: Pattern
    arrival_rate_per_s: float | None = None

    def __post_init__(self) -> None:
        rate = self.arrival_rate_per_s
        whole_block = _whole(self.block_bytes, 512, 2**30) and self.block_bytes % 512 == 0
        rules: tuple[tuple[str, bool, str], ...] = (
            ("arrival_rate_per_s", rate is None or 1 <= rate <= MAX_RATE_PER_S, f"from 1/s to {MAX_RATE_PER_S}/s"),
            ("depth", _whole(self.depth, 1, MAX_DEPTH), f"a whole number from 1 to {MAX_DEPTH}"),
            ("depth", rate is None or self.depth == 1, "1 where requests arrive at a rate: they have no depth"),
            ("jobs", _whole(self.jobs, 1, MAX_JOBS), f"a whole number from 1 to {MAX_JOBS}"),
            ("jobs", rate is None or not self.jobs > rate, f"at most the arrivals a second ({rate})"),
            ("block_bytes", whole_block, "a multiple of 512 bytes, as 4096"),
            ("read_percent", _whole(self.read_percent, 0, 100), "a whole number from 0 (writes) to 100 (reads)"),
            ("pattern", self.pattern in get_args(Pattern), "random or sequential"),
            ("arrival_rate_per_s", rate is None or rate >= 2 or not self.is_mix, "2/s at least for reads and writes"),
        )
        for name, holds, wanted in rules:
            must_be(holds, name, getattr(self, name), wanted)
        for name in ("depth", "jobs", "block_bytes", "read_percent"):  # 8.0 and numpy's 8 make the same key as 8
            object.__setattr__(self, name, int(getattr(self, name)))

    @classmethod
    def open(
        cls,
        arrival_rate_per_s: float,
        *,
        block_bytes: int = 4096,
        read_percent: int = 100,
        pattern: Pattern = "random",
        jobs: int | None = None,
    ) -> FioJob:
        """Arrivals at a rate, shared among ``jobs`` jobs (default: :func:`submitters`)."""
        chosen = submitters(arrival_rate_per_s) if jobs is None else jobs
        return cls(1, chosen, block_bytes, read_percent, pattern, arrival_rate_per_s)

    @property
    def is_open(self) -> bool:
        """Whether requests arrive at a given rate."""
        return self.arrival_rate_per_s is not None

    @property
    def is_mix(self) -> bool:
        """Whether there are both reads and writes."""
        return 0 < self.read_percent < 100

    @property
    def sections(self) -> int:
        """Number of groups of jobs that fio reports: in an open mix, reads and writes come from separate jobs."""
        return 2 if self.is_mix and self.is_open else 1

    @property
    def outstanding(self) -> int:
        """The most requests outstanding: the load of a closed point."""
        return self.depth * self.jobs

    @property
    def load(self) -> float:
        """The load: outstanding requests, or the requested arrival rate per second."""
        return float(self.outstanding) if self.arrival_rate_per_s is None else self.arrival_rate_per_s

    @property
    def curve(self) -> FioJob:
        """The workload at the least load; equal for the points of one curve."""
        if self.is_open:
            return replace(self, arrival_rate_per_s=2.0, jobs=1)
        return replace(self, depth=1)

    @property
    def rw(self) -> str:
        """fio's name of direction and pattern."""
        mixed = {100: "read", 0: "write"}.get(self.read_percent, "rw")
        return f"rand{mixed}" if self.pattern == "random" else mixed

    @property
    def key(self) -> str:
        """A unique name of the workload, the same in every run; valid as a file name."""
        kind = f"{self.rw}{self.read_percent}" if self.is_mix else self.rw
        load = f"d{self.depth}" if self.arrival_rate_per_s is None else f"rate{self.arrival_rate_per_s:.12g}"
        return f"{self.block_bytes}-{kind}-{load}-j{self.jobs}"

    @property
    def load_text(self) -> str:
        """The load in words."""
        if self.arrival_rate_per_s is not None:
            return f"{self.arrival_rate_per_s:.6g} arrivals/s"
        return f"depth {self.depth}" + (f" in each of {self.jobs} jobs" if self.jobs > 1 else "")


def submitters(arrival_rate_per_s: float) -> int:
    """Number of jobs that share the arrivals, so that a request seldom finds its job busy with the previous one.

    At most 400/s each, where a job is 5 % busy at a latency of 125 us, and at least 32 jobs; but for slow streams only
    so many that each gets 5/s, since a job needs many arrivals within a run.
    """
    wanted = max(USUAL_SUBMITTERS, math.ceil(arrival_rate_per_s / FASTEST_SUBMITTER_PER_S))
    return max(1, min(wanted, math.floor(arrival_rate_per_s / SLOWEST_SUBMITTER_PER_S), MAX_JOBS))


def _whole(value: Any, low: int, high: int) -> bool:
    return bool(value == int(value) and low <= value <= high) if math.isfinite(value) else False


def combinations(
    depths: Sequence[int],
    *,
    block_bytes: int | Sequence[int] = 4096,
    read_percent: int | Sequence[int] = 100,
    pattern: Pattern | Sequence[Pattern] = "random",
    jobs: int | Sequence[int] | None = None,
    arrival_rates: Sequence[float] | None = None,
) -> list[FioJob]:
    """Every combination of the given values. ValueError naming an empty or invalid one.

    ``jobs`` is the number of jobs of each depth (default 1), or the number that share the arrivals (default:
    :func:`submitters`).
    """
    axes: dict[str, Sequence[Any]] = {
        "pattern": (pattern,) if isinstance(pattern, str) else pattern,
        "read_percent": _several(read_percent),
        "block_bytes": _several(block_bytes),
        "jobs": _several(jobs),
        "depths" if arrival_rates is None else "arrival_rates": depths if arrival_rates is None else arrival_rates,
    }
    for name, values in axes.items():
        if not len(values):
            raise InvalidParameterError(name, "is empty", "give at least one")
    if arrival_rates is None:
        return [FioJob(n, 1 if count is None else count, b, r, p) for p, r, b, count, n in product(*axes.values())]
    return [
        FioJob.open(rate, block_bytes=b, read_percent=r, pattern=p, jobs=count)
        for p, r, b, count, rate in product(*axes.values())
    ]


def _several(value: int | Sequence[int] | None) -> Sequence[int | None]:
    return tuple(value) if isinstance(value, Iterable) else (value,)


def in_order(workloads: Sequence[FioJob]) -> list[FioJob]:
    """The workloads of one round: curve by curve as the curves appear, each by its load."""
    curves = {curve: i for i, curve in enumerate(dict.fromkeys(w.curve for w in workloads))}
    return sorted(workloads, key=lambda w: (curves[w.curve], w.load))


PROBE: Final = "probe"  # the engine that is a program of this package, for machines without fio (:mod:`measure.drive`)

ROUNDING = frozenset({"io_uring", "io_uring_cmd"})

STAGGER_GAPS = 4
"""The jobs of an open loop start within this number of mean gaps of one job. Their first requests then add a quarter
of the rate to those of the jobs already running: hardly more than the requested rate in all."""

MOST_STARTS, SHORTEST_STEP_S = 8, 0.1
"""The most groups of jobs that start in turn, and the least time between two, seconds: fio's own resolution."""


def common_options(file: Target | None, uri: str, engine: str, runtime_s: float, ramp_s: float) -> list[str]:
    """The options common to all points of a sweep; ``file`` is None for a network block device (``uri``).

    fio takes whole numbers with a unit, so times are in ms.
    """
    options = [f"--ioengine={engine}"]
    if file is None:
        options += [f"--uri={uri}"]
    else:
        options += [f"--filename={file.path}", f"--size={file.size_bytes}", "--direct=1"]
        options += ["--allow_file_create=0"]  # qsim's file has its full size; fio must not extend another
    options += ["--thread=1", "--time_based=1", f"--runtime={round(runtime_s * 1e3)}ms"]
    options += [f"--ramp_time={round(ramp_s * 1e3)}ms"] if ramp_s > 0 else []
    return [*options, "--norandommap=1", "--group_reporting=1", "--lat_percentiles=1"]


def program(engine: str) -> tuple[str, ...]:
    """The words that start the program: fio, or the probe in this Python without the current directory's modules."""
    return (sys.executable, "-P", "-m", "measure.drive") if engine == PROBE else ("fio",)


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
    """Options, by section, that keep ``depth`` requests outstanding in each of ``jobs`` jobs."""
    if engine in SYNC_ENGINES:
        return [["--iodepth=1", f"--numjobs={depth * jobs}"]]
    depths = [2**bit for bit in range(depth.bit_length()) if depth >> bit & 1] if engine in ROUNDING else [depth]
    return [[f"--iodepth={d}", f"--numjobs={jobs}"] for d in reversed(depths)]


def _starts(jobs: int, within_s: float) -> list[tuple[int, list[str]]]:
    """Groups of jobs: the number of each, and fio's option for its start."""
    starts = max(1, min(jobs, MOST_STARTS, int(within_s / SHORTEST_STEP_S)))
    ends = [jobs * k // starts for k in range(starts + 1)]
    return [
        (ends[k + 1] - ends[k], [f"--startdelay={round(1e3 * within_s * k / starts)}ms"] if k else [])
        for k in range(starts)
    ]


def submitters_of(job: FioJob) -> int:
    """Number of jobs that share the arrivals of an open point, both directions together."""
    return sum(count for _, count, _ in _shares(job))


def _shares(job: FioJob) -> list[tuple[str, int, int]]:
    """(direction, jobs, requests/s of each job) for each direction; whole rates that add up."""
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
