"""The workloads of a sweep: every combination of what is varied, and the order in which they are measured."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Literal

from measure.fio.workload import FioJob, Mixing, Pattern
from qsim.errors import InvalidParameterError

Order = Literal["ascending", "descending", "random"]


def combinations(
    depths: Sequence[int],
    *,
    block_bytes: int | Sequence[int] = 4096,
    read_percent: int | Sequence[int] = 100,
    pattern: Pattern | Sequence[Pattern] = "random",
    jobs: int | Sequence[int] | None = None,
    arrival_rates: Sequence[float] | None = None,
    mixing: Mixing = "mixed",
) -> list[FioJob]:
    """Every combination of what is given, as :func:`plan_fio` takes it. ValueError naming what is empty or wrong."""
    blocks, percents = _several(block_bytes), _several(read_percent)
    patterns: Sequence[Pattern] = (pattern,) if isinstance(pattern, str) else pattern
    for name, values in (("depths", depths if arrival_rates is None else (1,)), ("arrival_rates", arrival_rates),
                         ("block_bytes", blocks), ("read_percent", percents), ("pattern", patterns),
                         ("jobs", None if jobs is None else _several(jobs))):  # fmt: skip
        if values is not None and not len(values):
            raise InvalidParameterError(name, "is empty", "give at least one")
    workloads: list[FioJob] = []
    for pattern_, percent, block in product(patterns, percents, blocks):
        if arrival_rates is not None:
            workloads += [
                FioJob.open(rate, block_bytes=block, read_percent=percent, pattern=pattern_, jobs=count)
                for count, rate in product([None] if jobs is None else _several(jobs), arrival_rates)
            ]
        else:
            workloads += [
                FioJob(depth, count, block, percent, pattern_, mixing=mixing)
                for count, depth in product([1] if jobs is None else _several(jobs), depths)
            ]
    return workloads


def _several(value: int | Sequence[int]) -> Sequence[int]:
    return tuple(value) if isinstance(value, Iterable) else (value,)


def in_order(workloads: Sequence[FioJob], order: Order, seed: int) -> list[FioJob]:
    """The workloads of one round: in random order, or curve by curve as the curves appear, each by its load."""
    if order == "random":
        return random.Random(seed).sample(list(workloads), len(workloads))
    curves = {curve: i for i, curve in enumerate(dict.fromkeys(w.curve for w in workloads))}
    sign = -1 if order == "descending" else 1
    return sorted(workloads, key=lambda w: (curves[w.curve], sign * w.load))
