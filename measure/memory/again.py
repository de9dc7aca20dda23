"""Which points of a memory sweep to measure again: those of which a repeat is flagged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from measure.flagged import TRIES, flags
from measure.memory.plan import AGAIN, MemoryPlan, Point
from measure.sweep import Sweep

More = Callable[[Sweep], Sequence[Point]]


def flagged_again(plan: MemoryPlan) -> More:
    """A ``more`` for :func:`measure.memory.probe.run_memory`: each flagged point again, twice at most.

    Points of the plan match by the names of their raw files. What is measured again stands beside what was measured
    before; nothing is replaced.
    """
    points = {point.key: point for point in plan.points()}
    tries: Counter[str] = Counter()

    def more(sweep: Sweep) -> list[Point]:
        table = sweep.points.assign(flag=flags(sweep), file=sweep.points["source"].str.removesuffix(".json"))
        table["key"] = table["file"].str.partition(AGAIN)[0]
        chosen = []
        for key, rows in table.groupby("key", sort=False):
            name = str(key)
            if name in points and (rows["flag"] != "").any() and tries[name] < TRIES:
                tries[name] += 1
                chosen.append(points[name].once_more(rows["file"].nunique()))
        return chosen

    return more
