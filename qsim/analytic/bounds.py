"""Asymptotic bounds: what a closed system can do at best and at worst, from demands alone.

With D the total service demand of a cycle, Z the think time, and D_i/c_i the demand per server at station i:
throughput passes neither the bottleneck nor the population's own pace, and at worst everyone waits for
everyone else's whole demand:

    N/(Z + N·D) <= X(N) <= min( N/(Z + D), 1/max(D_i/c_i) ),    max( D, N·max(D_i/c_i) - Z ) <= R(N) <= N·D.

The two upper bounds on X cross at N* = (Z + D)/max(D_i/c_i), the knee.

Source: Denning & Buzen (1978), ACM Computing Surveys 10; Lazowska et al. (1984), Quantitative System
Performance, section 5.2 and table 5.2.

>>> b = asymptotic_bounds([20], think_time=120, demands=[9.2, 8])
>>> round(float(b.throughput_high[0]), 4), round(float(b.response_time_low[0]), 9)
(0.1087, 64.0)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from qsim import _check
from qsim._types import FloatArray


@dataclass(frozen=True)
class Bounds:
    """Bounds at several populations (arrays of one length), and the population at which the upper ones cross."""

    population: FloatArray
    throughput_low: FloatArray
    throughput_high: FloatArray
    response_time_low: FloatArray
    response_time_high: FloatArray
    knee: float


def asymptotic_bounds(
    populations: npt.ArrayLike, think_time: float, demands: Sequence[float], servers: Sequence[int] | None = None
) -> Bounds:
    """Bounds for any service distribution and any order of service.

    ``populations``: numbers > 0, not necessarily whole (for drawing); ``demands``: service time per cycle at each
    station; ``servers``: how many at each (one, when left out).  Raises ValueError naming the bad parameter.
    """
    N = np.atleast_1d(np.asarray(populations, dtype=np.float64))
    if N.size == 0 or not np.all((N > 0) & np.isfinite(N)):
        raise ValueError(f"populations must be positive and finite, and not empty, not {populations!r}")
    Z = _check.non_negative("think_time", think_time)
    D = [_check.positive(f"demands[{i}]", d) for i, d in enumerate(demands)]
    if not D:
        raise ValueError("demands must not be empty: give the service time per cycle of each station")
    c = [1] * len(D) if servers is None else [_check.count(f"servers[{i}]", s) for i, s in enumerate(servers)]
    if len(c) != len(D):
        raise ValueError(f"servers must have as many entries as demands ({len(D)}), not {len(c)}")
    total = math.fsum(D)
    bottleneck = max(d / m for d, m in zip(D, c, strict=True))
    return Bounds(
        population=N,
        throughput_low=N / (Z + N * total),
        throughput_high=np.minimum(N / (Z + total), 1 / bottleneck),
        response_time_low=np.maximum(total, N * bottleneck - Z),
        response_time_high=N * total,
        knee=(Z + total) / bottleneck,
    )
