"""The workload of one point of a fio sweep: how requests arrive, how large they are, where they go and what they do.

Closed: ``depth`` requests in each of ``jobs`` jobs circle between fio and the device, each submitted when one
completes. Open: requests arrive at ``arrival_rate_per_s`` as a Poisson process, whether or not the device keeps up;
``jobs`` is then the number of jobs among which the arrivals are shared, each submitting one request at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal, get_args

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
    """What one point asks for. Raises ValueError naming the field that cannot be measured."""

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
        """Arrivals at a rate, shared among ``jobs`` jobs or as many as :func:`submitters` says."""
        chosen = submitters(arrival_rate_per_s) if jobs is None else jobs
        return cls(1, chosen, block_bytes, read_percent, pattern, arrival_rate_per_s)

    @property
    def is_open(self) -> bool:
        """Whether requests arrive at a rate of their own."""
        return self.arrival_rate_per_s is not None

    @property
    def is_mix(self) -> bool:
        """Whether there are both reads and writes."""
        return 0 < self.read_percent < 100

    @property
    def sections(self) -> int:
        """How many groups of jobs fio reports: in an open mix, reads and writes come from jobs of their own."""
        return 2 if self.is_mix and self.is_open else 1

    @property
    def outstanding(self) -> int:
        """How many requests there can be at once: the load of a closed point."""
        return self.depth * self.jobs

    @property
    def load(self) -> float:
        """What varies along a curve: the outstanding requests, or the arrival rate that is asked for."""
        return float(self.outstanding) if self.arrival_rate_per_s is None else self.arrival_rate_per_s

    @property
    def curve(self) -> FioJob:
        """The same workload at the least load; equal for the points of one curve."""
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
        """A name that no other workload has, the same in every run; fit for a file name."""
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
    """How many jobs share the arrivals, so that a request seldom finds its job still busy with the one before.

    At most 400/s each, where a job is 5 % busy at a latency of 125 us, and 32 jobs at least; but of slow streams no
    more than give each 5/s, since a job needs many arrivals within a run.
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
    """Every combination of what is given. ValueError naming what is empty or wrong.

    ``jobs`` is how many jobs there are of each depth (default 1), or how many share the arrivals (default: as many as
    :func:`submitters` says).
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
