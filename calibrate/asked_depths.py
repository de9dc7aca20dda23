"""Which of the measured depths to calibrate on, before anything is fitted: a rule about the points alone.

The first and a deep one, for the latency of a lone request and the peak. Where the two asymptotes cross that these draw
decides about the third. At a shallow crossing the knee hangs on the latency of the busy device, from which that of a
lone request may be off by a third, and depth 2 tells it. At a deeper one, and where the device is full from depth 2 on,
it is the bend that is not known, and that shows a little beyond the crossing. The rule and its numbers are from 52
public sweeps (docs/explanation-models.md). Which depth to measure after other points: :mod:`calibrate.probe_depths`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrate.past_the_peak import DECLINE_FROM
from calibrate.points import Points
from calibrate.posterior import Array
from measure.errors import DataError

ASKED = 3

DEEP = 128
"""The deep one of the depths asked for, or the nearest to it: far enough past most knees to show the peak, and not yet
where throughput may fall again."""

BUSY = 8
"""The shallow one where two are all: the latency of a device that is kept awake."""

SHALLOW_CROSSING = (2.0, 5.0)
"""Asymptotes that cross between these depths ask for depth 2, where the device is busy and not yet full..."""

BEYOND = 1.4
"""...others for a depth so many times beyond their crossing..."""

LEAST_BEYOND = 4
"""...and none below this: an onset of coalescing, which ends about here, would not be told from the bend."""

SATURATED = 2.0
"""The deep point must lie so many times above the crossing that it shows, else the third lies deeper..."""

REACH = 4.0
"""...by about this factor."""


def asked_loads(points: Points) -> list[float]:
    """The depths of ``points`` that the model asks for, three at most, one after another.

    It begins with the first depth and the one nearest to ``DEEP``, and only what was measured at these decides about
    the third. At least one point is left to hold the prediction against, and where there are but two or three, the two
    ends are all. Of another kind of load: ``Points.default_use``.
    """
    if points.load_kind != "queue_depth":
        return points.default_use()
    asked = sorted({float(points.load[0]), _deep(points.load)})
    rest = points.load[(points.load < DECLINE_FROM) & ~np.isin(points.load, asked)]
    if len(asked) == 2 and len(points) > ASKED and len(rest):
        used = points.choose(asked)
        asked.append(float(rest[third(used.load, used.throughput_per_s, rest)]))
    return sorted(asked)


def asked_pair(points: Points) -> list[float]:
    """The two depths of ``points`` that tell most of those between and beyond them: the nearest to 8 and to ``DEEP``.

    A lone request is a special case, and of depths below the pair it says little. Raises DataError where ``points`` are
    no queue depths, or fewer than two.
    """
    if points.load_kind != "queue_depth" or len(points) < 2:
        raise DataError(f"{points.series}: a pair of queue depths is asked for, and there is none to choose")
    deep = _deep(points.load)
    shallow = points.load[points.load < deep]
    return [float(shallow[_nearest(shallow, BUSY)]), deep]


def _deep(loads: Array) -> float:
    """The one of ``loads`` (m,), the first excepted, nearest to ``DEEP``; past a peak only where that is all."""
    deeper = loads[1:][loads[1:] < DECLINE_FROM]
    return float(deeper[_nearest(deeper, DEEP)] if len(deeper) else loads[-1])


def third(used: Sequence[float] | Array, throughput_per_s: Sequence[float] | Array, loads: Array) -> int:
    """Which of ``loads`` (m,) to measure after the two ``used``, by the crossing R Xmax of their asymptotes.

    Deeper than both where the deep one lies too near to the crossing to have shown a peak.
    """
    crossing = used[0] * throughput_per_s[1] / throughput_per_s[0]
    deeper = np.flatnonzero(loads > used[1])
    if crossing > used[1] / SATURATED and len(deeper):
        return int(deeper[_nearest(loads[deeper], REACH * used[1])])
    low, high = SHALLOW_CROSSING
    if used[0] < low <= crossing < high:
        return _nearest(loads, low)
    far = np.where(loads < min(LEAST_BEYOND, loads.max()), np.inf, loads)
    return _nearest(far, max(LEAST_BEYOND, BEYOND * crossing))


def _nearest(loads: Array, wanted: float) -> int:
    """The index of the one of ``loads`` (m,) nearest to ``wanted`` by ratio, the shallower of two as near."""
    return int(np.argmin(np.abs(np.log(loads / wanted))))
