"""Which loads to begin with, and which to calibrate on where others are held out: one recommendation for every command.

Of queue depths 1 and 32, and with three 1, 8 and 64, or the nearest that were measured. Over 554 public sweeps, mean
errors over the whole curve from 1 to 64 are 10.0 % from the pair and 5.7 % from the three, and N* is within a factor
1.41 of its value from all points on 92 and on 98 % of them. Of other loads: the two ends, and the middle.

>>> recommended([1.0, 2, 4, 8, 16, 32, 64, 128], 3)
[1.0, 8.0, 64.0]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrate.models.past_the_peak import DECLINE_FROM
from measure.loads import LOADS, LoadKind

if TYPE_CHECKING:
    from calibrate.points import Points

PAIR: tuple[float, ...] = (1.0, 32.0)
TRIPLE: tuple[float, ...] = LOADS["queue_depth"].default_points

ENOUGH = 6
"""From so many measured loads on three are calibrated on, and as many are left to compare with; from fewer, two."""

MIDDLE = 0.65
"""The share of the highest bandwidth to measure beside the ends: about where the steady climb shows best."""


def recommended(depths: Sequence[float], count: int) -> list[float]:
    """Of the measured ``depths``, those nearest (by ratio) to the recommended two or three, ascending.

    Depths where throughput may fall again are taken only where there is nothing else.
    """
    shallow = [n for n in depths if n < DECLINE_FROM]
    kept = np.array(sorted(shallow if len(shallow) > 1 else depths), dtype=float)
    wanted = PAIR if count < len(TRIPLE) else TRIPLE
    return sorted({float(kept[np.argmin(np.abs(np.log(kept / n)))]) for n in wanted})


def to_calibrate_on(points: Points) -> list[float]:
    """The loads of ``points`` to calibrate on where the others are held out: two of few depths, three of many."""
    if points.load_type.is_closed:
        return to_begin_with(points.load_kind, points.load.tolist())
    load = (
        points.load
        if points.not_poisson is None or (~points.not_poisson).sum() < 2
        else points.load[~points.not_poisson]
    )
    inner = load[1:-1]
    if not len(inner):
        return sorted({float(load[0]), float(load[-1])})
    if points.load_type.is_delay:
        rates = np.log(points.throughput_per_s)
        middle = inner[np.argmin(np.abs(rates[1:-1] - 0.5 * (rates[0] + rates[-1])))]
    elif points.load_type.is_bandwidth:
        middle = inner[np.argmin(np.abs(inner - MIDDLE * load[-1]))]
    else:
        middle = inner[np.argmin(np.abs(inner - 0.5 * (load[0] + load[-1])))]
    return sorted({float(load[0]), float(middle), float(load[-1])})


def to_begin_with(kind: LoadKind, loads: Sequence[float]) -> list[float]:
    """Of the ``loads`` that can be measured, those to measure first, ascending: a plan has no throughputs yet.

    >>> to_begin_with("queue_depth", [1, 2, 4, 8, 16, 32, 64]), to_begin_with("queue_depth", [1, 8, 32, 64])
    ([1.0, 8.0, 64.0], [1.0, 32.0])
    """
    if LOADS[kind].is_closed:
        return recommended(loads, 2 if len(loads) < ENOUGH else 3)
    wanted = LOADS[kind].default_points or (min(loads), 0.5 * (min(loads) + max(loads)), max(loads))
    found = sorted({float(min(loads, key=lambda n, at=at: (abs(n - at), n))) for at in wanted})  # type: ignore[misc]
    if len(found) < len(wanted) <= len(loads):  # two of them are nearest to one: the ends and the middle
        ordered = sorted(float(n) for n in loads)
        return [ordered[0], ordered[len(ordered) // 2], ordered[-1]]
    return found
