"""Geometric bounds: each queue that is no bottleneck between two geometric sums.

Such a queue has Lᵢ(n) = Σₖ Dᵢᵏ·X(n)·X(n-1)···X(n-k+1), between Σ yᵢᵏ and Σ Yᵢᵏ for k = 1..n, with

    yᵢ = Dᵢ·n/(Z + D + Dmax·n),   Yᵢ = Dᵢ·X⁺,

X⁺ being the proportional upper bound on X(n), as in the paper's tables.  The rest is at the bottlenecks.  With
b = Z + D + Dmax·(N-1) - Σ (Dmax - Dᵢ)·Lᵢ(N-1), mean value analysis says X(N)·(b - Z·Dmax·X(N-1)) = N, and
(N-1)/N·X(N) <= X(N-1) <= X(N) turns it into quadratic inequalities ("geometric square-root bounds"):

    2N/(b⁻ + √(b⁻² - 4·Z·Dmax·(N-1))) <= X(N) <= 2N/(b⁺ + √(b⁺² - 4·Z·Dmax·N)),

b⁻ with the lower and b⁺ with the upper bounds on the Lᵢ.  For Z = 0 both are N/b.  With few customers and much think
time the asymptotic upper bound can be the tighter one; these are the paper's, as they stand.

Source: Casale, Muntz & Serazzi (2008), IEEE Trans. Computers 57(6), 780-794, "Geometric bounds: a noniterative
analysis technique for closed queueing networks", eqs. 8 and 13.

>>> b = geometric_bounds([10], think_time=0, demands=[0.1, 0.1, 0.09, 0.08])
>>> round(float(b.throughput_low[0]), 4), round(float(b.throughput_high[0]), 4)
(8.1521, 8.269)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from qsim._types import FloatArray
from qsim.analytic.bounds.asymptotic import Bounds, loads
from qsim.analytic.bounds.proportional import proportional_bounds

METHOD = "geometric bounds (Casale, Muntz & Serazzi 2008)"


def geometric_bounds(populations: npt.ArrayLike, think_time: float, demands: Sequence[float]) -> Bounds:
    """Bounds for networks of single servers with product form and a delay.

    ``populations``: numbers >= 1; ``demands``: service time per cycle at each station.  Raises ValueError naming the
    bad parameter.

    >>> bounds = geometric_bounds([4], think_time=1.0, demands=[0.25, 0.5])
    >>> float(bounds.throughput_low[0].round(3)), float(bounds.throughput_high[0].round(3))
    (1.539, 1.806)
    """
    given = loads(populations, think_time, demands)
    N, Z, D, largest = given.populations, given.think_time, given.total, given.largest
    others = given.demands[given.demands < largest * (1 - 1e-12)][:, None]  # rounding apart, no bottlenecks
    # X(N-1) by proportional bounds, which start at one customer; without any nothing is queued.
    most = proportional_bounds(np.maximum(N - 1, 1), Z, given.demands.tolist()).throughput_high
    short = _geometric_sum(others * ((N - 1) / (Z + D + largest * (N - 1))), N - 1)
    long = _geometric_sum(others * most, N - 1)
    b_low = Z + D + largest * (N - 1) - ((largest - others) * short).sum(axis=0)
    b_high = Z + D + largest * (N - 1) - ((largest - others) * long).sum(axis=0)
    low = 2 * N / (b_low + np.sqrt(np.maximum(b_low**2 - 4 * Z * largest * (N - 1), 0.0)))
    # Without a real root the inequality excludes nothing, and the asymptotic bound stands.
    under_root = b_high**2 - 4 * Z * largest * N
    root = 2 * N / (b_high + np.sqrt(np.maximum(under_root, 0.0)))
    high = np.where((under_root >= 0) & (b_high > 0), root, np.minimum(N / (Z + D), 1 / largest))
    return given.bounds(np.maximum(N / high - Z, 0.0), N / low - Z, METHOD)


def _geometric_sum(ratio: FloatArray, terms: FloatArray) -> FloatArray:
    """ratio + ratio² + ... for so many terms, 0 <= ratio < 1."""
    return np.asarray(ratio * -np.expm1(terms * np.log(np.maximum(ratio, 1e-300))) / (1 - ratio))
