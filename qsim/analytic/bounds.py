"""Bounds on closed systems, from the demands and the think time alone.

With the demands Dᵢ of M stations, D their sum, Dmax the largest and Z the think time, for any law and order of service,

    N/(Z + N·D) <= X(N) <= min( N/(Z + D), 1/max(D_i/c_i) ),    max( D, N·max(D_i/c_i) - Z ) <= R(N) <= N·D.

The two upper bounds on X cross at N* = (Z + D)/max(D_i/c_i), the knee.  Networks of single exponential servers have
tighter ones:

**Balanced**: of all with total demand D the one of equal demands has the highest throughput, of those with bottleneck
demand Dmax the one whose D/Dmax stations all have it the lowest; both have closed formulas,

    R(N) >= D + D/M·(N-1)·D/(D + Z),   R(N) <= D + Dmax·(N-1)·N·D/(N·D + Z).

**Proportional**: mean value analysis says X(N) = N/(Z + D + Σ Dᵢ·Lᵢ(N-1)); queue shares lie between Dᵢ/D and
Dᵢ^(N-1)/Σ D^(N-1), and the asymptotic bounds enclose X(N-1) in Σ Lᵢ(N-1) = N - 1 - Z·X(N-1).

**Geometric**: each queue that is no bottleneck lies between Σ yᵢᵏ and Σ Yᵢᵏ for k = 1..n, yᵢ = Dᵢ·n/(Z + D + Dmax·n)
and Yᵢ = Dᵢ·X⁺(n) by the proportional bound.  The rest is at the bottlenecks: with b = Z + D + Dmax·(N-1) - Σ (Dmax -
Dᵢ)·Lᵢ(N-1), mean value analysis is X(N)·(b - Z·Dmax·X(N-1)) = N, and (N-1)/N·X(N) <= X(N-1) <= X(N) makes it square,

    2N/(b⁻ + √(b⁻² - 4·Z·Dmax·(N-1))) <= X(N) <= 2N/(b⁺ + √(b⁺² - 4·Z·Dmax·N)).

Source: Denning & Buzen (1978), ACM Computing Surveys 10; Lazowska et al. (1984), Quantitative System Performance,
chapter 5; Zahorjan, Sevcik, Eager & Galler (1982), Communications of the ACM 25; Hsieh & Lam (1987), Performance
Evaluation 7; Casale, Muntz & Serazzi (2008), IEEE Trans. Computers 57(6), 780-794.

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
    method: str
    kind: Kind = "bound"


@dataclass(frozen=True)
class _Loads:
    """Checked arguments: populations N, think time Z, demands, their sum D and the largest per server."""

    N: FloatArray
    Z: float
    demands: FloatArray
    D: float
    largest: float

    @property
    def saturated(self) -> FloatArray:
        """N·Dmax - Z, below which the response time cannot be: the bottleneck serves everyone in a cycle."""
        return self.N * self.largest - self.Z

    def bounds(self, low: FloatArray, high: FloatArray, method: str) -> Bounds:
        """Bounds from those on the response time, by Little's law."""
        knee = (self.Z + self.D) / self.largest
        return Bounds(self.N, self.N / (self.Z + high), self.N / (self.Z + low), low, high, knee, method)


def _loads(
    populations: npt.ArrayLike,
    think_time: float,
    demands: Sequence[float],
    servers: Sequence[int] | None = None,
    least: float = 1.0,
) -> _Loads:
    """Check the arguments; raises ValueError naming the bad one."""
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
    if len(c) != len(D):
        raise InvalidParameterError(
            "servers", f"must have as many entries as demands ({len(D)}), not {len(c)}", value=len(c)
        )
    return _Loads(N, Z, np.array(D), math.fsum(D), float(np.max(np.array(D) / c)))


def asymptotic_bounds(
    populations: npt.ArrayLike, think_time: float, demands: Sequence[float], servers: Sequence[int] | None = None
) -> Bounds:
    """Bounds for any service distribution and any order of service.

    ``populations``: numbers > 0, not necessarily whole (for drawing); ``demands``: service time per cycle at each
    station; ``servers``: how many at each (one, when left out).  Raises ValueError naming the bad parameter.

    >>> asymptotic_bounds([1, 8, 64], think_time=1.0, demands=[0.25]).throughput_high.tolist()
    [0.8, 4.0, 4.0]
    """
    g = _loads(populations, think_time, demands, servers, least=0.0)
    return Bounds(
        population=g.N,
        throughput_low=g.N / (g.Z + g.N * g.D),
        throughput_high=np.minimum(g.N / (g.Z + g.D), 1 / g.largest),
        response_time_low=np.maximum(g.D, g.saturated),
        response_time_high=g.N * g.D,
        knee=(g.Z + g.D) / g.largest,
        method="asymptotic bounds (Denning & Buzen 1978)",
    )


def largest_population(
    response_time: float, think_time: float, demands: Sequence[float], servers: Sequence[int] | None = None
) -> float:
    """The most customers, not necessarily a whole number, that the asymptotic bounds allow for a response time limit.

    Source: Jain (1991), The Art of Computer Systems Performance Analysis, example 33.8.  Raises ValueError for a limit
    below the total demand, which not even one customer meets.

    >>> largest_population(100, think_time=18, demands=[5, 4, 3])
    23.6
    """
    R, g = _check.positive("response_time", response_time), _loads(1, think_time, demands, servers)
    if R < g.D:
        raise InvalidParameterError(
            "response_time", f"must be at least the total demand {g.D:.6g}, not {response_time!r}", value=response_time
        )
    return (R + g.Z) / g.largest


def balanced_bounds(populations: npt.ArrayLike, think_time: float, demands: Sequence[float]) -> Bounds:
    """Bounds for networks of single servers with product form and a delay; ``populations`` >= 1.

    >>> bounds = balanced_bounds([4], think_time=1.0, demands=[0.25, 0.5])
    >>> float(bounds.throughput_low[0].round(3)), float(bounds.throughput_high[0].round(3))
    (1.391, 1.792)
    """
    g = _loads(populations, think_time, demands)
    low = g.D + g.D / g.demands.size * (g.N - 1) * (g.D / (g.D + g.Z))
    high = g.D + g.largest * (g.N - 1) * (g.N * g.D / (g.N * g.D + g.Z))
    method = "balanced system bounds (Zahorjan, Sevcik, Eager & Galler 1982)"
    return g.bounds(np.maximum(low, g.saturated), high, method)


def proportional_bounds(populations: npt.ArrayLike, think_time: float, demands: Sequence[float]) -> Bounds:
    """The same, closer.

    >>> bounds = proportional_bounds([4], think_time=1.0, demands=[0.25, 0.5])
    >>> float(bounds.throughput_low[0].round(3)), float(bounds.throughput_high[0].round(3))
    (1.465, 1.75)
    """
    g = _loads(populations, think_time, demands)
    N, Z, D = g.N, g.Z, g.D
    # X(N-1) by the asymptotic bounds; both are 0 at N = 1.
    most = np.minimum((N - 1) / (Z + D), 1 / g.largest)
    least = (N - 1) / (Z + np.maximum(N - 1, 1) * D)
    even = float((g.demands**2).sum()) / D
    with np.errstate(under="ignore"):  # powers of the smaller demands may vanish next to the largest
        relative = (g.demands / g.largest)[:, None]
        uneven = g.largest * (relative**N).sum(axis=0) / (relative ** (N - 1)).sum(axis=0)
    low, high = D + even * np.maximum(N - 1 - Z * most, 0.0), D + uneven * (N - 1 - Z * least)
    return g.bounds(np.maximum(low, g.saturated), high, "proportional bounds (Hsieh & Lam 1987)")


def geometric_bounds(populations: npt.ArrayLike, think_time: float, demands: Sequence[float]) -> Bounds:
    """The same, closest as a rule; with few customers and much think time the asymptotic ones can be closer.

    >>> bounds = geometric_bounds([4], think_time=1.0, demands=[0.25, 0.5])
    >>> float(bounds.throughput_low[0].round(3)), float(bounds.throughput_high[0].round(3))
    (1.539, 1.806)
    """
    g = _loads(populations, think_time, demands)
    N, Z, D, largest = g.N, g.Z, g.D, g.largest
    others = g.demands[g.demands < largest * (1 - 1e-12)][:, None]  # rounding apart, no bottlenecks
    # X(N-1) by proportional bounds, which start at one customer; without any nothing is queued.
    most = proportional_bounds(np.maximum(N - 1, 1), Z, g.demands.tolist()).throughput_high
    rest = Z + D + largest * (N - 1)
    b_low = rest - ((largest - others) * _geometric_sum(others * ((N - 1) / rest), N - 1)).sum(axis=0)
    b_high = rest - ((largest - others) * _geometric_sum(others * most, N - 1)).sum(axis=0)
    low = 2 * N / (b_low + np.sqrt(np.maximum(b_low**2 - 4 * Z * largest * (N - 1), 0.0)))
    # Without a real root the inequality excludes nothing, and the asymptotic bound stands.
    under_root = b_high**2 - 4 * Z * largest * N
    root = 2 * N / (b_high + np.sqrt(np.maximum(under_root, 0.0)))
    high = np.where((under_root >= 0) & (b_high > 0), root, np.minimum(N / (Z + D), 1 / largest))
    return g.bounds(np.maximum(N / high - Z, 0.0), N / low - Z, "geometric bounds (Casale, Muntz & Serazzi 2008)")


def _geometric_sum(ratio: FloatArray, terms: FloatArray) -> FloatArray:
    """ratio + ratio² + ... + ratio^terms, 0 <= ratio < 1."""
    return np.asarray(ratio * -np.expm1(terms * np.log(np.maximum(ratio, 1e-300))) / (1 - ratio))
