"""Times in a queue whose waiting room is a Markov chain, by uniformisation.

Let steps come at rate θ, at least as fast as anything happens.  The number of steps by time t is Poisson, whatever the
chain does, so

    P(T > t) = sum over n of Poisson(n; θt)·P(T lasts more than n steps),

a sum of positive terms.  The lasting is found step by step; a customer that has waited goes on through the phases of a
service.  After enough steps each takes the same share 1 - η of those left, and from there on the law is exponential:
near saturation, where steps go into the millions, these need not be taken.

Source: Jensen (1953), Skand. Aktuarietidskr. 36; Grassmann (1977), Comput. Oper. Res. 4.

>>> from qsim import MG1, Erlang, solve
>>> round(solve(MG1(0.8, Erlang(2, 1.0))).quantile(0.99), 3)
17.206
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from qsim._types import FloatArray
from qsim.analytic import invert as _invert
from qsim.distributions.base import Phases
from qsim.metrics import ExactTimes

Step: TypeAlias = Callable[[FloatArray], FloatArray]
Weigh: TypeAlias = Callable[[FloatArray], Any]

NEGLIGIBLE = 1e-17
BLOCK = 64
SETTLED, CALM_BLOCKS = 1e-11, 4
"""A rate of decay that changes by less, relatively, over this number of blocks of steps no longer changes."""
MOST_STEPS = 2_000_000
"""Some twenty seconds."""


def poisson_window(expected: float) -> tuple[int, FloatArray]:
    """The first n whose Poisson(n; ``expected``) counts, and the probabilities from there on, all that count.

    >>> first, weights = poisson_window(100.0)
    >>> first, round(float(weights.sum()), 12)
    (0, 1.0)
    """
    from scipy.special import gammaln, xlogy

    reach = 40 + 12 * math.sqrt(expected)
    first = max(0, int(expected - reach))
    n = np.arange(first, int(expected + reach) + 1)
    weights = np.exp(xlogy(n, expected) - expected - gammaln(n + 1))
    return first, np.asarray(weights[: int(np.flatnonzero(weights > 1e-18)[-1]) + 1])


class MarkovTimes(ExactTimes):
    """The distributions of W and Wq, from those who wait, step by step.

    ``start``: the states of those who wait, any array; ``step``: what a step does to them; ``weigh``: how states add up
    to a probability; ``service``: the phases of the service that follows; ``pace``: θ.
    """

    def __init__(self, start: FloatArray, step: Step, pace: float, service: Phases, weigh: Weigh = np.sum) -> None:
        self._state, self._step, self._pace, self._weigh = start, step, pace, weigh
        self._initial, generator = service
        self._serve = np.eye(generator.shape[0]) + generator / pace
        waits = float(weigh(start))
        self._in_service = max(0.0, 1 - waits) * self._initial
        self._waiting, self._present = [waits], [1.0]
        self._decay, self._calm = 0.0, 0

    def quantile(self, q: float, of: str) -> float:
        return _invert.quantile(lambda t: self.survival(t, of), q, 1 / self._pace)

    def survival(self, t: float, of: str) -> float:
        """P(W > t), or P(Wq > t)."""
        expected = self._pace * t
        first, weights = poisson_window(expected)
        self._extend(first + weights.size - 1)
        lasting = self._waiting if of == "Wq" else self._present
        known = min(len(lasting), first + weights.size)
        if self._decay and first >= len(lasting):  # all of it in the exponential part
            exponent = expected * -math.expm1(-self._decay) - (len(lasting) - 1) * self._decay
            return min(1.0, lasting[-1] * math.exp(-exponent))
        values = np.asarray(lasting[first:known])
        if self._decay:
            beyond = np.arange(1, first + weights.size - known + 1)
            values = np.append(values, lasting[-1] * np.exp(-self._decay * beyond))
        # Beyond the end of a list without a decay next to none is left.
        return min(1.0, float(values @ weights[: values.size] / weights.sum()))

    def _extend(self, steps: int) -> None:
        while len(self._present) <= steps and self._present[-1] > NEGLIGIBLE and not self._decay:
            self._state = self._step(self._state)
            waiting = float(self._weigh(self._state))
            begin = max(0.0, self._waiting[-1] - waiting)
            self._in_service = self._in_service @ self._serve + begin * self._initial
            self._waiting.append(waiting)
            self._present.append(waiting + float(self._in_service.sum()))
            if len(self._present) % BLOCK == 0 and len(self._present) > 2 * BLOCK and waiting > 0:
                self._settle()
            if len(self._present) > MOST_STEPS:
                raise ValueError("the time is too many steps away: simulate() estimates its percentiles")

    def _settle(self) -> None:
        """Note the decay a step once that of the last blocks, of both lists, is one and the same."""
        rates = [
            math.log(lasting[-1 - BLOCK - back] / lasting[-1 - back]) / BLOCK
            for lasting in (self._waiting, self._present)
            for back in (0, BLOCK)
        ]
        spread = max(rates) - min(rates)
        calm = min(rates) > 0 and spread <= SETTLED * max(rates) + 1e-15 / BLOCK
        self._calm = self._calm + 1 if calm else 0
        if self._calm >= CALM_BLOCKS:
            self._decay = rates[0]
