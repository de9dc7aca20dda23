"""How fast a device is under users who think and under arrivals, whose rates the load sets and not the device.

There the throughput hardly shows a slower device, and near the peak a response time shows a few percent as a multiple.
A device that is k times as fast has k times the throughput with as many requests outstanding, and their number is X R
under any kind of load (Little's law). So its speed is its throughput over that of the old curve X(n) at its own n.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrate.inference.parameters import Array

REACH = 2.0  # the old curve goes on to as many times its largest n, and its throughput is level beyond


def speeds_of(rates: Sequence[Array], times: Sequence[Array]) -> list[Array]:
    """The speeds (rounds, m) of the runs of each sweep, from their rates and response times; the last sweep is new.

    1 is that of the old sweeps' mean. Between its points, and beyond them, the old response time is a straight line
    over n, as that of one server. Where the new sweep has more outstanding than that reaches, its loss may be larger.

    >>> old, half_as_fast = np.array([[9.8, 48.9, 50.0]]), np.array([[9.6, 25.0, 25.0]])
    >>> waits = np.array([[0.02, 0.023, 1.0]]), np.array([[0.042, 1.0, 3.0]])
    >>> [speeds.round(1).tolist() for speeds in speeds_of([old, half_as_fast], waits)]
    [[[1.0, 1.0, 1.0]], [[0.5, 0.5, 0.5]]]
    """
    means = [(np.nanmean(x, axis=0), np.nanmean(x * r, axis=0)) for x, r in zip(rates[:-1], times[:-1], strict=True)]
    rate, outstanding = (np.exp(np.mean([np.log(mean[i]) for mean in means], axis=0)) for i in (0, 1))
    order = np.argsort(outstanding)
    n, r = outstanding[order], (outstanding / rate)[order]
    return [of * _response(of * seen, n, r) / (of * seen) for of, seen in zip(rates, times, strict=True)]


def _response(at: Array, n: Array, r: Array) -> Array:
    """The response times of the curve at numbers outstanding (rounds, m), by its points ``n``, ``r`` (k,)."""
    below, above = np.minimum(at - n[0], 0.0), np.clip(at - n[-1], 0.0, (REACH - 1) * n[-1])
    line = np.interp(at, n, r) + _slope(n[:2], r[:2]) * below + _slope(n[-2:], r[-2:]) * above
    return np.asarray(line * np.maximum(at / (REACH * n[-1]), 1.0))


def _slope(n: Array, r: Array) -> float:
    """dR / dn between two points, from 0 (idle) to R / n (no more throughput); of one point that of an idle device."""
    return float(np.clip((r[-1] - r[0]) / (n[-1] - n[0]), 0.0, (r / n).min())) if n[-1] > n[0] else 0.0
