"""The response time of a whole cycle, over single FCFS servers one after another, all think time together.

Nobody overtakes on the way, so what a customer waits for at each station is what it found: an arrival at the first sees
the network as it is with N - 1 customers, and the law of the cycle adds up over these states.  With rates μ(i), think
time Z and G the sum over n(0) + n(1) + ... = N - 1 of Zⁿ⁽⁰⁾/n(0)!·product of d(i)ⁿ⁽ⁱ⁾,

    E[e^(-sW)] = product of μ(i)/(μ(i) + s) · G at d(i) = 1/(μ(i) + s) / G at d(i) = 1/μ(i),

with G taken by Buzen's convolution, at complex s.

Source: Schassberger & Daduna (1983), J. ACM 30, "The time for a round trip in a cycle of exponential queues"; Kelly &
Pollett (1983), Adv. Appl. Prob. 15, "Sojourn times in closed queueing networks"; Buzen (1973), Comm. ACM 16.

>>> from qsim import Closed, Exponential, Station, solve
>>> round(solve(Closed(3, [Station(Exponential(1.0)), Station(Exponential(2.0))])).quantile(0.9), 4)
11.0236
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from qsim._types import ComplexArray
from qsim.analytic.times.inversion import InvertedTimes
from qsim.analytic.views import ClosedChain
from qsim.distributions import Exponential
from qsim.models import Station

MOST_STEPS = 20_000
"""Of the convolution: customers times stations."""


def follows(model: ClosedChain) -> bool:
    """Whether nobody overtakes: single exponential FCFS servers, each visited once, all delays in one place."""
    kinds = [stop.is_delay for stop in model.stations]
    changes = sum(a != b for a, b in pairwise([*kinds, kinds[0]]))
    return changes <= 2 and model.population * len(model.queueing) <= MOST_STEPS and all(map(_single, model.queueing))


def _single(station: Station) -> bool:
    plain = station.discipline == "FCFS" and station.capacity is None and station.speeds is None
    return plain and station.servers == 1 and station.visits == 1 and isinstance(station.time, Exponential)


def cycle_times(model: ClosedChain, mean: float) -> InvertedTimes | None:
    """W of a cycle whose mean response is ``mean``; None where their law is not known."""
    if not follows(model):
        return None
    means = [s.time.mean for s in model.queueing]
    others, Z = model.population - 1, model.think_time
    unit = max(*means, Z / max(others, 1))
    n = np.arange(1, others + 1)
    with np.errstate(divide="ignore"):
        logs = np.concatenate(([0.0], np.cumsum(np.log(Z / unit) - np.log(n)))) if others else np.zeros(1)
    thinking = np.exp(logs - logs.max())

    def constant(s: ComplexArray) -> ComplexArray:
        g = np.repeat(thinking[:, np.newaxis].astype(np.complex128), s.size, axis=1)
        for S in means:
            weight = S / unit / (1 + S * s)
            for k in range(1, others + 1):
                g[k] += weight * g[k - 1]
        return np.asarray(g[-1])

    whole = constant(np.zeros(1, dtype=np.complex128))[0]

    def response(s: ComplexArray) -> ComplexArray:
        return np.asarray(constant(s) / whole * np.prod([1 / (1 + S * s) for S in means], axis=0))

    return InvertedTimes(None, math.nan, mean, response=response)
