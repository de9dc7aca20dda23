"""Where requests become so large that bandwidth and no longer their number is the limit.

A request of b bytes takes the device alpha for being a request and beta for each of its bytes, so that the mean time
between completions is 1/X = alpha + beta b. Small requests approach the IOPS limit 1/alpha, large ones the bandwidth
limit 1/beta. The crossover b* = alpha/beta is where these two asymptotes cross: a request of that size costs as much
for being one as for its bytes, and throughput and bandwidth are both at half of their limits.

The parameters are found by least squares on log(1/X), so that every size counts alike; the intervals are those of
the linearised fit (t distribution, m - 2 degrees of freedom for m sizes), and there are none for two sizes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrate.fitting.curve_fit import LEVEL
from calibrate.inference.parameters import Array

_SMALLEST_SHARE = 1e-6  # of a term, below which it is not identifiable


@dataclass(frozen=True)
class Crossover:
    """The two limits and the size at which they cross, with its interval (None where there is none).

    ``inside`` is whether the crossover lies among the sizes that were measured; outside it is an extrapolation.
    ``error_pct`` is the mean absolute error of the law at the measured sizes (None for two, which it always meets).
    """

    iops_limit_per_s: float
    bandwidth_limit_bytes_per_s: float
    size_bytes: float
    low_bytes: float | None
    high_bytes: float | None
    inside: bool
    error_pct: float | None

    def throughput_per_s(self, size_bytes: Array) -> Array:
        """X(b) = 1 / (alpha + beta b)."""
        return np.asarray(1 / (1 / self.iops_limit_per_s + size_bytes / self.bandwidth_limit_bytes_per_s))


def crossover(size_bytes: Array, throughput_per_s: Array, level: float = LEVEL) -> Crossover | None:
    """The crossover of one curve; None where the sizes do not show both limits.

    ``size_bytes``, ``throughput_per_s`` (m,) at m >= 2 different sizes, all positive.
    """
    b, gap = np.asarray(size_bytes, dtype=float), 1 / np.asarray(throughput_per_s, dtype=float)
    if len(np.unique(b)) < 2:
        return None
    from scipy.optimize import least_squares

    start = np.log([gap.min(), gap.max() / b.max()])

    def residuals(x: Array) -> Array:
        return np.asarray(np.log((np.exp(x[0]) + np.exp(x[1]) * b) / gap))

    found = least_squares(residuals, start, method="lm")
    alpha, beta = np.exp(found.x)
    shares = (alpha / (alpha + beta * b.min()), beta * b.max() / (alpha + beta * b.max()))
    if not np.isfinite(found.x).all() or min(shares) < _SMALLEST_SHARE:
        return None
    low, high = _interval(found.x, np.asarray(found.jac), found.fun, level)
    size = float(alpha / beta)
    return Crossover(
        float(1 / alpha), float(1 / beta), size, low, high, bool(b.min() <= size <= b.max()),
        float(100 * np.mean(np.abs(np.exp(found.fun) - 1))) if len(b) > 2 else None,
    )  # fmt: skip


def _interval(x: Array, jacobian: Array, residuals: Array, level: float) -> tuple[float | None, float | None]:
    """The interval of exp(x0 - x1)."""
    freedom = len(residuals) - 2
    information = jacobian.T @ jacobian
    if freedom < 1 or np.linalg.cond(information) > 1e12:
        return None, None
    from scipy.special import stdtrit

    contrast = np.array([1.0, -1.0])
    variance = float(residuals @ residuals) / freedom * float(contrast @ np.linalg.solve(information, contrast))
    half = float(stdtrit(freedom, 0.5 + level / 2)) * np.sqrt(variance)
    if half > np.log(1e3):  # open by a factor of a thousand either way: nothing is known
        return None, None
    size = float(x[0] - x[1])
    return float(np.exp(size - half)), float(np.exp(size + half))
