"""Times in any exponential c-server queue served first come, first served, from what an arrival finds there.

It does not matter why the arrival finds n customers: in a closed system, or one with limited places, only those
probabilities differ.  Source: Kleinrock (1975), Queueing Systems I, section 5.8; Cooper (1981), section 5.6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qsim.analytic import invert as _invert
from qsim.metrics import ExactTimes


@dataclass(frozen=True)
class FirstComeTimes(ExactTimes):
    """An arrival that finds n >= c waits for n - c + 1 departures at rate c/S, then is served.

    With k departures to wait for and x = t/S, P(wait + service > t) is the probability of fewer than k
    departures in c·x plus T(k) = sum over i >= k of ((c-1)/c)^(i-k)·Poisson(i; c·x): all terms positive.
    """

    seen: tuple[float, ...]
    """Probabilities of the number an arrival finds: 0, 1, 2, ..."""
    service_time: float
    servers: int

    def quantile(self, q: float, of: str) -> float:
        return _invert.quantile(lambda t: self.survival(t, of), q, self.service_time)

    def survival(self, t: float, of: str) -> float:
        return self.waiting_survival(t) if of == "Wq" else self.response_survival(t)

    def waiting_survival(self, t: float) -> float:
        """P(Wq > t)."""
        from scipy.special import gammaincc

        queued = np.asarray(self.seen[self.servers :])
        departures = np.arange(1, queued.size + 1)
        return float(queued @ gammaincc(departures, self.servers * t / self.service_time))

    def response_survival(self, t: float) -> float:
        """P(W > t)."""
        from scipy.special import gammaln, xlogy

        c, x = self.servers, t / self.service_time
        queued = np.asarray(self.seen[c:])
        at_once = math.fsum(self.seen[:c]) * math.exp(-x)
        if queued.size == 0:
            return at_once
        # T by its recursion T(k) = (c-1)/c·T(k+1) + Poisson(k; c·x), from where the Poisson terms have died out.
        last = int(max(queued.size, c * x) + 40 + 12 * math.sqrt(max(queued.size, c * x)))
        i = np.arange(last + 1)
        poisson = np.exp(xlogy(i, c * x) - c * x - gammaln(i + 1))
        remaining, tail = 0.0, np.empty(last + 1)
        for k in range(last, -1, -1):
            remaining = remaining * (c - 1) / c + poisson[k]
            tail[k] = remaining
        return at_once + self.waiting_survival(t) + float(queued @ tail[1 : queued.size + 1])
