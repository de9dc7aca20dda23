"""Bounds on closed systems, from the demands and the think time alone.

With the demands Dᵢ of M stations, D their sum, Dmax the largest and Z the think time, for any law and order of service,

    N/(Z + N·D) <= X(N) <= min( N/(Z + D), 1/max(D_i/c_i) ),    max( D, N·max(D_i/c_i) - Z ) <= R(N) <= N·D.

The two upper bounds on X cross at N* = (Z + D)/max(D_i/c_i), the knee.  Networks of single exponential servers have
tighter ones: for a given total demand D, throughput is highest when all demands are equal; for a given bottleneck
demand Dmax, it is lowest with D/Dmax stations of that demand,

    R(N) >= D + D/M·(N-1)·D/(D + Z),   R(N) <= D + Dmax·(N-1)·N·D/(N·D + Z).

Source: Denning & Buzen (1978), ACM Computing Surveys 10; Lazowska et al. (1984), Quantitative System Performance,
chapter 5; Zahorjan, Sevcik, Eager & Galler (1982), Communications of the ACM 25.

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
from qsim.errors import InvalidParameterError
from qsim.metrics import Kind


@dataclass(frozen=True)
class Bounds:
    """Bounds at several populations (arrays of one length), and the population at which the upper bounds on X cross.

    >>> from qsim import asymptotic_bounds
    >>> bounds = asymptotic_bounds([1, 8, 64], think_time=1.0, demands=[0.25])
    >>> bounds.knee
    5.0
    >>> bounds.throughput_high.tolist()
    [0.8, 4.0, 4.0]
    """

    population: FloatArray
    throughput_low: FloatArray
    throughput_high: FloatArray
    response_time_low: FloatArray
    response_time_high: FloatArray
    knee: float
    method: str
    kind: Kind = "bound"


def _checked(
    populations: npt.ArrayLike, think_time: float, demands: Sequence[float], servers: Sequence[int] | None, least: float
) -> tuple[FloatArray, float, float, float]:
    """Populations N, think time Z, total demand D and the largest demand per server; ValueError naming the bad one."""
    given = [populations] if np.ndim(populations) == 0 else _check.sequence("populations", populations)
    if not len(given):
        raise InvalidParameterError("populations", "must not be empty", "give at least one number of customers")
    N = np.array([_check.positive(f"populations[{i}]", n) for i, n in enumerate(given)])
    if np.any(least > N):
        raise InvalidParameterError(
            "populations", f"must be at least {least:g} for these bounds, not {populations!r}", value=populations
        )
    Z = _check.non_negative("think_time", think_time)
    D = [_check.positive(f"demands[{i}]", d) for i, d in enumerate(_check.sequence("demands", demands))]
    if not D:
        raise InvalidParameterError("demands", "must not be empty", "give the service time per cycle of each station")
    c = [1] * len(D) if servers is None else _check.counts("servers", servers)
    _check.as_many("servers", c, "demands", len(D))
    return N, Z, math.fsum(D), float(np.max(np.array(D) / c))


def asymptotic_bounds(
    populations: npt.ArrayLike, think_time: float, demands: Sequence[float], servers: Sequence[int] | None = None
) -> Bounds:
    """Bounds for any service distribution and any order of service.

    ``populations``: numbers > 0, not necessarily whole (for drawing); ``demands``: service time per cycle at each
    station; ``servers``: how many at each (one, when left out).  Raises ValueError naming the bad parameter.

    >>> asymptotic_bounds([1, 8, 64], think_time=1.0, demands=[0.25]).throughput_high.tolist()
    [0.8, 4.0, 4.0]
    """
    N, Z, D, largest = _checked(populations, think_time, demands, servers, least=0.0)
    return Bounds(
        population=N,
        throughput_low=N / (Z + N * D),
        throughput_high=np.minimum(N / (Z + D), 1 / largest),
        response_time_low=np.maximum(D, N * largest - Z),
        response_time_high=N * D,
        knee=(Z + D) / largest,
        method="asymptotic bounds (Denning & Buzen 1978)",
    )


def balanced_bounds(populations: npt.ArrayLike, think_time: float, demands: Sequence[float]) -> Bounds:
    """Bounds for networks of single servers with product form and a delay; ``populations`` >= 1.

    >>> bounds = balanced_bounds([4], think_time=1.0, demands=[0.25, 0.5])
    >>> float(bounds.throughput_low[0].round(3)), float(bounds.throughput_high[0].round(3))
    (1.391, 1.792)
    """
    N, Z, D, largest = _checked(populations, think_time, demands, None, least=1.0)
    low = np.maximum(D + D / len(demands) * (N - 1) * (D / (D + Z)), N * largest - Z)
    high = D + largest * (N - 1) * (N * D / (N * D + Z))
    method = "balanced system bounds (Zahorjan, Sevcik, Eager & Galler 1982)"
    return Bounds(N, N / (Z + high), N / (Z + low), low, high, (Z + D) / largest, method)
