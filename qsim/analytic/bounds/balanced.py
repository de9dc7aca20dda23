"""Balanced system bounds: a closed network against the two whose stations all have equal demands.

Of all networks of single exponential servers with total demand D, the one that is balanced has the highest
throughput; of those with bottleneck demand Dmax, the one whose D/Dmax stations all have that demand has the lowest.
Balanced networks have closed formulas, so with M stations, Dave = D/M and think time Z:

    X(N) <= min( 1/Dmax,  N/(Z + D + Dave·(N-1)·D/(D + Z)) ),
    X(N) >= N/(Z + D + Dmax·(N-1)·N·D/(N·D + Z)).

Source: Zahorjan, Sevcik, Eager & Galler (1982), Communications of the ACM 25, "Balanced job bound analysis of
queueing networks"; Lazowska et al. (1984), Quantitative System Performance, section 5.4 and table 5.3.

>>> b = balanced_bounds([10], think_time=18, demands=[5, 4, 3])
>>> round(float(b.throughput_low[0]), 9), round(float(b.response_time_high[0]), 8)
(0.144654088, 51.13043478)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from qsim.analytic.bounds.asymptotic import Bounds, loads

METHOD = "balanced system bounds (Zahorjan, Sevcik, Eager & Galler 1982)"


def balanced_bounds(populations: npt.ArrayLike, think_time: float, demands: Sequence[float]) -> Bounds:
    """Bounds for networks of single servers with product form and a delay.

    ``populations``: numbers >= 1; ``demands``: service time per cycle at each station.  Raises ValueError naming the
    bad parameter.

    >>> bounds = balanced_bounds([4], think_time=1.0, demands=[0.25, 0.5])
    >>> float(bounds.throughput_low[0].round(3)), float(bounds.throughput_high[0].round(3))
    (1.391, 1.792)
    """
    given = loads(populations, think_time, demands)
    N, Z, D = given.populations, given.think_time, given.total
    low = D + (D / given.demands.size) * (N - 1) * (D / (D + Z))
    high = D + given.largest * (N - 1) * (N * D / (N * D + Z))
    return given.bounds(np.maximum(low, given.saturated), high, METHOD)
