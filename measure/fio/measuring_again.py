"""Which points of a plan to measure again: until the means are known well enough, or those that were flagged.

Each function gives a ``more`` for :func:`measure.fio.sweep.run_fio`: it is asked when all is measured, and names
further repeats of the plan's own workloads. A repeat stands beside those before it; nothing is replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pandas as pd

from measure.fio.plan import FioPlan, FioPoint
from measure.fio.workload import FioJob
from measure.flagged import TRIES, flags
from measure.repeats import precision
from measure.sweep import Sweep
from qsim.errors import InvalidParameterError

More = Callable[[Sweep], Sequence[FioPoint]]

FEWEST_REPEATS = 3
"""Two repeats have an interval, but one that is six times as wide as that of many with the same scatter."""
MOST_REPEATS = 10


def until_precise(plan: FioPlan, share: float, most: int = MOST_REPEATS) -> More:
    """One more repeat of each load whose 95 % intervals reach further than ``share`` of the mean, up to ``most``.

    Looking after each repeat and stopping when the interval is narrow makes intervals that hold the truth a little
    less often than 95 % (Law (2015), section 9.4.1): see the pages.

    Raises ValueError for a share that is none, or fewer than ``FEWEST_REPEATS``.
    """
    if not 0 < share < 1:
        raise InvalidParameterError(
            "precision", f"is {share:g}", "it must be a share between 0 and 1, as 0.02 (2 %)", value=share
        )
    if most < FEWEST_REPEATS:
        raise InvalidParameterError(
            "most", f"is {most}", f"an interval takes {FEWEST_REPEATS} repeats at least", value=most
        )

    def more(sweep: Sweep) -> list[FioPoint]:
        return [
            plan.point(job, _next(rows)) for job, rows in _by_job(plan, sweep.points)
            if len(rows) < most and precision(rows["throughput_per_s"], rows["latency_s"]) > share
        ]  # fmt: skip

    return more


def flagged_again(plan: FioPlan) -> More:
    """One more repeat of each load that is flagged (see :func:`flags`), twice at most for each load."""
    tries: dict[FioJob, int] = {}

    def more(sweep: Sweep) -> list[FioPoint]:
        chosen = []
        for job, rows in _by_job(plan, sweep.points.assign(flag=flags(sweep))):
            if (rows["flag"] != "").any() and tries.get(job, 0) < TRIES:
                tries[job] = tries.get(job, 0) + 1
                chosen.append(plan.point(job, _next(rows)))
        return chosen

    return more


def either(*mores: More) -> More:
    """What any of ``mores`` names, each point once."""
    return lambda sweep: list({p.key: p for more in mores for p in more(sweep)}.values())


def _by_job(plan: FioPlan, points: pd.DataFrame) -> Iterator[tuple[FioJob, pd.DataFrame]]:
    """The rows of each of the plan's workloads that has any, by the names of their raw files."""
    keys = points["source"].astype(str).str.rpartition(".r")[0]
    for job in dict.fromkeys(p.job for p in plan.points):
        rows = points[keys == job.key]
        if len(rows):
            yield job, rows


def _next(rows: pd.DataFrame) -> int:
    return int(rows["repeat"].max()) + 1
