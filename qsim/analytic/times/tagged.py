"""Times of one customer among others, where services are exponential: it is served when a chain says so.

While the customer that is followed is in the chain with j others, one comes at rate ``up[j]``, one goes at rate
``down[j]``, and its own turn comes at rate ``done[j]``.  With c servers of rate μ and m = j + 1 present,

- **PS**, each has min(c, m)/m servers: done = μ·min(c, m)/m, down = j·done, and done means over;
- **SIRO**, j the others that wait: done = cμ/(j + 1), down = j·done, and done means that a service begins.

The time is taken step by step (:mod:`qsim.analytic.times.uniformisation`).

Source: Coffman, Muntz & Trotter (1970), J. ACM 17 (PS); Kingman (1962), Proc. Cambridge Phil. Soc. 58, and Carter &
Cooper (1972), Oper. Res. 20 (SIRO); both solve the chain by transforms.

>>> from qsim import Exponential, Open, solve
>>> shared = solve(Open(Exponential(1 / 0.8), Exponential(1.0), discipline="PS"))
>>> round(shared.quantile(0.5), 3), round(shared.variance(), 3)
(2.352, 58.333)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from qsim._types import FloatArray
from qsim.analytic import invert as _invert
from qsim.analytic.times.uniformisation import poisson_window
from qsim.metrics import ExactTimes

NEGLIGIBLE = 1e-15
MOST_OTHERS = 20_000


@dataclass
class TaggedTimes(ExactTimes):
    """The time until the turn comes, which is W itself; or Wq, where ``service_rate`` says what follows."""

    start: FloatArray
    """The probability of finding j others in the chain; adds up to less than one where some do not wait."""
    up: FloatArray
    down: FloatArray
    done: FloatArray
    service_rate: float = 0.0
    _there: list[float] = field(init=False)
    _present: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self._state = self.start
        self._pace = float((self.up + self.down + self.done).max())
        self._in_service = 1 - float(self.start.sum()) if self.service_rate else 0.0
        self._there, self._present = [float(self.start.sum())], [1.0]

    def survival(self, t: float, of: str) -> float:
        if of == "Wq" and not self.service_rate:
            raise ValueError("the law of Wq is not known where service is shared: that of W is")
        first, weights = poisson_window(self._pace * t)
        self._extend(first + weights.size)
        lasting = np.asarray((self._there if of == "Wq" else self._present)[first : first + weights.size])
        return min(1.0, float(lasting @ weights[: lasting.size]))

    def quantile(self, q: float, of: str) -> float:
        return _invert.quantile(lambda t: self.survival(t, of), q, 1 / float(self.done.max()))

    def _extend(self, steps: int) -> None:
        up, down, done = self.up / self._pace, self.down / self._pace, self.done / self._pace
        stay = 1 - up - down - done
        ends = self.service_rate / self._pace
        while len(self._there) < steps and self._present[-1] > NEGLIGIBLE:
            state = self._state
            moved = stay * state
            moved[1:] += (up * state)[:-1]
            moved[:-1] += (down * state)[1:]
            begins = float(done @ state) if self.service_rate else 0.0
            self._in_service = self._in_service * (1 - ends) + begins
            self._state = moved
            there = float(moved.sum())
            self._there.append(there)
            self._present.append(there + self._in_service)


def others(load: float, limit: int | None) -> int | None:
    """How many others to follow: ``limit``, or where that is None as many as a load per server below 1 brings.

    None for more than a table holds.
    """
    most = limit if limit is not None else 50 + math.ceil(45 / -math.log(load)) if load > 0 else 1
    return most if most <= MOST_OTHERS else None


def sharing(found: FloatArray, arrival_rate: float, service_rate: float, servers: int) -> TaggedTimes:
    """PS on c servers; ``found``: the number present that an arrival finds, up to one place less than there are."""
    present = np.arange(1, found.size + 1)
    done = service_rate * np.minimum(servers, present) / present
    up = np.full(found.size, arrival_rate)
    up[-1] = 0.0  # places end here, or so many are never present
    return TaggedTimes(found, up, (present - 1) * done, done)


def in_random_order(found: FloatArray, arrival_rate: float, service_rate: float, servers: int) -> TaggedTimes:
    """SIRO on c servers; ``found`` as for :func:`sharing`."""
    waiting = found[servers:]
    if waiting.size == 0:
        waiting = np.zeros(1)
    others_waiting = np.arange(waiting.size)
    done = servers * service_rate / (others_waiting + 1)
    up = np.full(waiting.size, arrival_rate)
    up[-1] = 0.0
    return TaggedTimes(waiting, up, others_waiting * done, done, service_rate)
