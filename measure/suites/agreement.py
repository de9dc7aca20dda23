"""Compares workloads that two suites both measured: whether they agree within their noise.

The noise of a single run is the relative standard deviation between repeats, pooled over the points of the compared
sweeps. A difference of logarithms is significant where it exceeds Student's t at 5 %, shared among all comparisons
(Bonferroni). Without repeats the noise is ``UNREPEATED``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from measure.findings import Finding
from measure.loads import ClosedLoad
from measure.sweep import Sweep
from measure.units import A_FACTOR, format_rate, plain_number

LEVEL = 0.05
UNREPEATED = 0.10
MANY = 1e6
Z95 = 1.96
Means = Mapping[Any, Any]
COLUMNS = [
    *("series", "block_bytes", "read_fraction", "pattern", "load"),
    *("throughput_per_s", "throughput_spread", "repeats"),
]


def disagreements(sweeps: Mapping[str, Sweep]) -> list[Finding]:
    """A finding for each workload on which two of the closed ``sweeps`` disagree, the largest difference first."""
    rows, pairs = _measured_twice(sweeps)
    if not pairs:
        return []
    freedom = sum(row["repeats"] - 1 for row in rows)
    squares = sum((row["repeats"] - 1) * row["throughput_spread"] ** 2 for row in rows if row["repeats"] > 1)
    noise = math.sqrt(squares / freedom) if freedom else UNREPEATED
    from scipy.special import stdtrit

    limit = float(stdtrit(freedom or MANY, 1 - LEVEL / 2 / len(pairs)))
    found = []
    for one, other in pairs:
        apart = _apart(one, other)
        seen = limit * noise * math.sqrt(1 / one["repeats"] + 1 / other["repeats"])
        if abs(apart) > seen:
            found.append((abs(apart), _finding(one, other, apart, seen)))
    return [finding for _, finding in sorted(found, key=lambda pair: -pair[0])]


def between_suites(sweeps: Mapping[str, Sweep]) -> float:
    """The relative standard deviation of a throughput between suites, over all workloads that two of them measured.

    It is the variation between runs of this drive on this day, noise included; 0 where nothing was measured twice.
    """
    _, pairs = _measured_twice(sweeps)
    return math.sqrt(sum(_apart(*pair) ** 2 for pair in pairs) / 2 / len(pairs)) if pairs else 0.0


def relative_ends(low: float, mean: float, high: float, moves: float) -> tuple[float, float] | None:
    """The ends of a mean's 95 % interval, as shares of it, widened by ``moves``, the variation between suites.

    None where nothing was repeated (NaN ends) and nothing measured twice.

    >>> [round(end, 2) for end in relative_ends(95.0, 100.0, 105.0, 0.03)]
    [0.93, 1.08]
    """
    own = math.log(high / low) / 2 if low > 0 and math.isfinite(high) else 0.0
    half = math.hypot(own, Z95 * moves)
    return (math.exp(-half), math.exp(half)) if half else None


def _measured_twice(sweeps: Mapping[str, Sweep]) -> tuple[list[Means], list[tuple[Means, Means]]]:
    """The means of all closed sweeps, and the pairs that two suites measured of one workload."""
    rows = [
        row for name, sweep in sweeps.items() if isinstance(sweep.load_type, ClosedLoad) for row in _means(name, sweep)
    ]
    same: dict[tuple[Any, ...], list[Means]] = {}
    for row in rows:
        place = (row["block_bytes"], np.round(row["read_fraction"], 1), row["pattern"], row["load"])
        if not any(map(pd.isna, place)):
            same.setdefault(place, []).append(row)
    return rows, [pair for _, means in sorted(same.items()) for pair in combinations(means, 2)]


def _apart(one: Means, other: Means) -> float:
    return math.log(other["throughput_per_s"] / one["throughput_per_s"])


def _means(name: str, sweep: Sweep) -> list[Means]:
    rows = sweep.mean_points()[COLUMNS].itertuples(index=False, name=None)
    return [dict(zip(COLUMNS, row, strict=True), suite=name) for row in rows]


def _finding(one: Means, other: Means, apart: float, seen: float) -> Finding:
    factor, explained = math.exp(abs(apart)), math.exp(seen)
    size, noise = (
        f"{plain_number(ratio, 2)} times" if factor > A_FACTOR else f"{100 * (ratio - 1):.0f} %"
        for ratio in (factor, explained)
    )
    rates = " and ".join(f"{format_rate(s['throughput_per_s'])} in {s['suite']}" for s in (one, other))
    return Finding(
        "suites-disagree",
        "warning",
        f"{one['series']} at depth {one['load']:g}: {rates}, {size} apart where their noise explains {noise}.",
        "the drive or the machine changed between the suites.",
        "take the interval of neither suite alone; measure both again on a quiet machine.",
        str(one["series"]),
        one["load"],
    )
