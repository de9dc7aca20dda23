"""Proportional bounds: queues are at least as uneven as the demands, and at most as their (N-1)-th powers.

Mean value analysis gives X(N) = N/(Z + D + Σ Dᵢ·Lᵢ(N-1)), with Σ Lᵢ(N-1) = N - 1 - Z·X(N-1) to be shared out among
the stations.  Shares between Dᵢ/D and Dᵢ^(N-1)/Σ D^(N-1) enclose Σ Dᵢ·Lᵢ, and asymptotic bounds enclose X(N-1):

    X(N) <= min( 1/Dmax, N/(Z + D + (Σ Dᵢ²/D)·(N - 1 - Z·X⁺)) ),
    X(N) >= N/(Z + D + (Σ Dᵢᴺ/Σ Dᵢ^(N-1))·(N - 1 - Z·X⁻)).

Source: Hsieh & Lam (1987), Performance Evaluation 7, "Two classes of performance bounds for closed queueing
networks"; in this non-iterative form, with X⁺ and X⁻ ours, Casale, Muntz & Serazzi (2008), IEEE Trans. Computers 57.

>>> b = proportional_bounds([5], think_time=0, demands=[0.1, 0.1, 0.09, 0.08])
>>> round(float(b.throughput_low[0]), 4), round(float(b.throughput_high[0]), 4)
(6.66, 6.7297)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from qsim.analytic.bounds.asymptotic import Bounds, loads

METHOD = "proportional bounds (Hsieh & Lam 1987)"


def proportional_bounds(populations: npt.ArrayLike, think_time: float, demands: Sequence[float]) -> Bounds:
    """Bounds for networks of single servers with product form and a delay.

    ``populations``: numbers >= 1; ``demands``: service time per cycle at each station.  Raises ValueError naming the
    bad parameter.

    >>> bounds = proportional_bounds([4], think_time=1.0, demands=[0.25, 0.5])
    >>> float(bounds.throughput_low[0].round(3)), float(bounds.throughput_high[0].round(3))
    (1.465, 1.75)
    """
    given = loads(populations, think_time, demands)
    N, Z, D, largest = given.populations, given.think_time, given.total, given.largest
    # X(N-1) by the asymptotic bounds; both are 0 at N = 1.
    most = np.minimum((N - 1) / (Z + D), 1 / largest)
    least = (N - 1) / (Z + np.maximum(N - 1, 1) * D)
    even = float((given.demands**2).sum()) / D
    with np.errstate(under="ignore"):  # powers of the smaller demands may vanish beside the largest
        relative = (given.demands / largest)[:, None]
        uneven = largest * (relative**N).sum(axis=0) / (relative ** (N - 1)).sum(axis=0)
    low = D + even * np.maximum(N - 1 - Z * most, 0.0)
    high = D + uneven * (N - 1 - Z * least)
    return given.bounds(np.maximum(low, given.saturated), high, METHOD)
