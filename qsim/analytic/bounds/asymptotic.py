"""Bounds on closed systems.  Asymptotic bounds: what a closed system can do at best and at worst, from demands alone.

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

Tighter ones, for single servers: :mod:`~qsim.analytic.bounds.balanced`, :mod:`~qsim.analytic.bounds.proportional`
and :mod:`~qsim.analytic.bounds.geometric`.
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
    """Bounds at several populations (arrays of one length), and the population at which the upper ones cross.

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
    method: str = "asymptotic bounds (Denning & Buzen 1978)"
    kind: Kind = "bound"


@dataclass(frozen=True)
class Loads:
    """Checked arguments of bounds on networks of single servers and a delay."""

    populations: FloatArray
    think_time: float
    demands: FloatArray

    @property
    def total(self) -> float:
        """D, the demand of a cycle."""
        return float(self.demands.sum())

    @property
    def largest(self) -> float:
        """The demand at the bottleneck."""
        return float(self.demands.max())

    @property
    def saturated(self) -> FloatArray:
        """N·Dmax - Z, below which the response time cannot be: the bottleneck serves everyone in a cycle."""
        return self.populations * self.largest - self.think_time

    def bounds(self, response_time_low: FloatArray, response_time_high: FloatArray, method: str) -> Bounds:
        """Bounds from those on the response time, by Little's law."""
        N, Z = self.populations, self.think_time
        return Bounds(
            population=N,
            throughput_low=N / (Z + response_time_high),
            throughput_high=N / (Z + response_time_low),
            response_time_low=response_time_low,
            response_time_high=response_time_high,
            knee=(Z + self.total) / self.largest,
            method=method,
        )


def loads(populations: npt.ArrayLike, think_time: float, demands: Sequence[float]) -> Loads:
    """Check the arguments; raises ValueError naming the bad one.  Populations must be at least 1."""
    N = _populations(populations)
    if np.any(N < 1):
        raise InvalidParameterError(
            "populations", f"must be at least 1 for these bounds, not {populations!r}", value=populations
        )
    return Loads(N, _check.non_negative("think_time", think_time), _demands(demands))


def _populations(populations: npt.ArrayLike) -> FloatArray:
    given = [populations] if np.ndim(populations) == 0 else _check.sequence("populations", populations)
    if not len(given):
        raise InvalidParameterError("populations", "must not be empty", "give at least one number of customers")
    return np.array([_check.positive(f"populations[{i}]", n) for i, n in enumerate(given)])


def _demands(demands: Sequence[float]) -> FloatArray:
    D = [_check.positive(f"demands[{i}]", d) for i, d in enumerate(_check.sequence("demands", demands))]
    if not D:
        raise InvalidParameterError("demands", "must not be empty", "give the service time per cycle of each station")
    return np.array(D)


def _per_server(demands: Sequence[float], servers: Sequence[int] | None) -> tuple[float, float]:
    """D, and the largest demand per server."""
    D = _demands(demands)
    c = [1] * D.size if servers is None else _check.counts("servers", servers)
    if len(c) != D.size:
        raise InvalidParameterError(
            "servers", f"must have as many entries as demands ({D.size}), not {len(c)}", value=len(c)
        )
    return float(math.fsum(D)), float(np.max(D / c))


def asymptotic_bounds(
    populations: npt.ArrayLike, think_time: float, demands: Sequence[float], servers: Sequence[int] | None = None
) -> Bounds:
    """Bounds for any service distribution and any order of service.

    ``populations``: numbers > 0, not necessarily whole (for drawing); ``demands``: service time per cycle at each
    station; ``servers``: how many at each (one, when left out).  Raises ValueError naming the bad parameter.

    >>> asymptotic_bounds([1, 8, 64], think_time=1.0, demands=[0.25]).throughput_high.tolist()
    [0.8, 4.0, 4.0]
    """
    N = _populations(populations)
    Z = _check.non_negative("think_time", think_time)
    total, bottleneck = _per_server(demands, servers)
    return Bounds(
        population=N,
        throughput_low=N / (Z + N * total),
        throughput_high=np.minimum(N / (Z + total), 1 / bottleneck),
        response_time_low=np.maximum(total, N * bottleneck - Z),
        response_time_high=N * total,
        knee=(Z + total) / bottleneck,
    )


def largest_population(
    response_time: float, think_time: float, demands: Sequence[float], servers: Sequence[int] | None = None
) -> float:
    """The most customers, not necessarily a whole number, that the asymptotic bounds allow for a response time limit.

    max(D, N·max(D_i/c_i) - Z) <= R solved for N: no system with more customers stays within the limit, however
    regular its service.  Raises ValueError for a limit below the total demand, which not even one customer meets.
    Source: Jain (1991), The Art of Computer Systems Performance Analysis, example 33.8.

    >>> largest_population(100, think_time=18, demands=[5, 4, 3])
    23.6
    """
    R = _check.positive("response_time", response_time)
    Z = _check.non_negative("think_time", think_time)
    total, bottleneck = _per_server(demands, servers)
    if R < total:
        raise InvalidParameterError(
            "response_time",
            f"must be at least the total demand {total:.6g}, not {response_time!r}",
            value=response_time,
        )
    return (R + Z) / bottleneck
