"""Which points of a plan to measure again: until the means are known well enough, or those that were flagged.

Each function gives a ``more`` for :func:`measure.store.measuring.measure`: it is asked when all is measured, and names
the plan's own workloads once more. A repeat stands beside those before it; nothing is replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pandas as pd

from measure.fio.plan import FioPlan
from measure.memory.plan import MemoryPlan
from measure.repeats import TRIES, flags, precision
from measure.store.measuring import More
from measure.sweep import Sweep
from qsim.errors import InvalidParameterError, must_be

FEWEST_REPEATS = 3
"""Two repeats have an interval, but one that is six times as wide as that of many with the same scatter."""
MOST_REPEATS = 10

Plan = FioPlan | MemoryPlan


def until_precise(plan: Plan, share: float, most: int = MOST_REPEATS) -> More[Sweep, Any]:
    """One more repeat of each load whose 95 % intervals reach further than ``share`` of the mean, up to ``most``.

    Looking after each repeat and stopping when the interval is narrow makes intervals that hold the truth a little
    less often than 95 % (Law (2015), section 9.4.1): see the pages.

    Raises ValueError for a share that is none, or fewer than ``FEWEST_REPEATS``.
    """
    must_be(0 < share < 1, "precision", share, "a share between 0 and 1, as 0.02 (2 %)")
    if most < FEWEST_REPEATS:
        raise InvalidParameterError(
            "most", f"is {most}", f"an interval takes {FEWEST_REPEATS} repeats at least", value=most
        )
    return lambda sweep: [
        plan.once_more(workload, rows)
        for workload, rows in _by_workload(plan, sweep.points)
        if len(rows) < most and precision(rows["throughput_per_s"], rows["latency_s"]) > share
    ]


def flagged_again(plan: Plan) -> More[Sweep, Any]:
    """One more repeat of each load that is flagged (see :func:`flags`), twice at most for each load."""
    tries: Counter[Any] = Counter()

    def more(sweep: Sweep) -> list[Any]:
        chosen = []
        for workload, rows in _by_workload(
            plan, sweep.points.assign(flag=flags(sweep.points, closed=sweep.load_type.is_closed))
        ):
            if (rows["flag"] != "").any() and tries[workload] < TRIES:
                tries[workload] += 1
                chosen.append(plan.once_more(workload, rows))
        return chosen

    return more


def either(*mores: More[Sweep, Any]) -> More[Sweep, Any]:
    """What any of ``mores`` names, each point once."""
    return lambda sweep: list({p.key: p for more in mores for p in more(sweep)}.values())


def _by_workload(plan: Plan, points: pd.DataFrame) -> Iterator[tuple[Any, pd.DataFrame]]:
    """The rows of each of the plan's workloads that has any, by the names of their raw files."""
    workloads = {source: plan.workload_of(str(source)) for source in points["source"].unique()}
    for workload in dict.fromkeys(w for w in workloads.values() if w is not None):
        yield workload, points[points["source"].map(workloads) == workload]
