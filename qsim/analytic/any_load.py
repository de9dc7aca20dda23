"""A station that serves at the total rate X(n) while n are present, under any load: thinking customers or arrivals.

The curve X(n) is the station's; the load only says how customers come, which gives a birth-death chain:

    closed     n = N                                                 R = N / X(N)
    thinking   p(n) ~ N! / (N-n)! Z^-n / (X(1) ... X(n))             R = Z E[n] / (N - E[n]),  X = (N - E[n]) / Z
    open       p(n) ~ λ^n / (X(1) ... X(n))                          R = E[n] / λ

It is exact for exponential services, and for any law where the station shares its work (insensitivity; Kelly 1979,
section 3.3). Customers that are served first come, first served wait longer or shorter by V = (ca² + cs²) / 2 (Allen
and Cunneen 1990), ca² being that of the gaps between arrivals and cs² that of services. V acts inside the chain: where
all servers are busy, from n = X_peak / X(1) on, a step of ratio r becomes V r / (1 - r + V r), so that a geometric
queue r / (1 - r) becomes V times as long, and the chance to wait stays. For one server this is the mean of Pollaczek
and Khinchine. Gaps more even than exponential ones shorten the queue further, by the factor of Kraemer and
Langenbach-Belz (1976), exp(-2 (1 - rho) (1 - ca²)² / (3 rho (ca² + cs²))).

If X(n) is wrong by a small share e everywhere, ln R is wrong by s e: s is the ``sensitivity`` of a point to the curve,
1 for a closed load and Var n / E n for arrivals, which grows towards the peak.

Curves are rows, so that many possible stations are computed at once. X(n) is given at ``nodes``, between which the sums
are trapezoids; beyond the last node the last rate stays.

Source: Chandy, Herzog and Woo (1975), IBM J. Res. Dev. 19 (flow-equivalent servers); Kleinrock (1975), Queueing
Systems I, sections 3.2 and 3.8.

>>> n = nodes(200)
>>> mm1 = Curves(n, np.zeros((1, n.size))).under_arrivals(0.8)
>>> round(float(mm1.response[0]), 3), round(float(mm1.sensitivity[0]), 3)
(5.0, 5.0)
>>> eight_servers = Curves(n, np.log(np.minimum(n, 8) / 4)[None])
>>> repairman = eight_servers.under_thinking(population=80, think_time=10)
>>> round(float(repairman.throughput[0]), 3), round(float(repairman.response[0]), 2)
(2.0, 30.0)
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim._types import FloatArray
from qsim.analytic.open.birth_death import weights


class Spacing(NamedTuple):
    """Every whole number up to ``dense`` is a node; beyond, nodes lie sqrt(n) / ``per_deviation`` apart.

    The number at many servers varies by about sqrt(n).
    """

    dense: int = 64
    per_deviation: float = 3.0


FINE, COARSE = Spacing(), Spacing(16, 1.5)
"""Coarse chains are mostly within 0.5 % of fine ones, and a third as large."""

BISECTIONS = 20
"""Steps to the rate under which a mean number is present."""

LEAST, NEXT_TO_NONE = 1e-300, 1e-6

NONE = -300.0
"""The logarithm of a probability that adds nothing, and whose products with others are still floats."""

_LOG_GAMMA = np.frompyfunc(math.lgamma, 1, 1)


@lru_cache(maxsize=64)
def nodes(top: float, spacing: Spacing = FINE) -> FloatArray:
    """Numbers present (m,) at which X(n) is given: 1, 2, ... 64, then sqrt(n) / 3 apart, to ``top`` itself.

    >>> nodes(3).tolist(), nodes(80)[-4:].tolist()
    ([1.0, 2.0, 3.0], [72.0, 75.0, 78.0, 80.0])
    """
    last = max(math.ceil(top), 1)
    dense, steps = spacing.dense, 2 * spacing.per_deviation
    count = int(steps * (math.sqrt(last) - math.sqrt(dense))) if last > dense else 0
    far = np.rint((math.sqrt(dense) + np.arange(1, count + 1) / steps) ** 2)
    found = np.unique(np.concatenate([np.arange(1.0, min(dense, last) + 1), far[far < last], [float(last)]]))
    found.setflags(write=False)
    return found


@dataclass(frozen=True)
class Present:
    """What is present under a load, for each of w curves: arrays (w,), in the curves' unit of time.

    ``mean`` and ``variance`` of the number present, ``throughput``, mean ``response`` time, its ``sensitivity`` to the
    curve, and the probability ``beyond`` that more are present than are known. A rate that is not served has an
    infinite ``mean`` and ``response``.
    """

    mean: FloatArray
    variance: FloatArray
    throughput: FloatArray
    response: FloatArray
    sensitivity: FloatArray
    beyond: FloatArray


@dataclass(frozen=True, eq=False)
class Curves:
    """w stations by their curves: ``log_rate`` (w, m) is ln X(n) at ``n`` (m,), which are ``nodes``.

    ``known`` is the largest number present for which X(n) is known, ``spacing`` that of the nodes of populations.
    """

    n: FloatArray
    log_rate: FloatArray
    known: float = math.inf
    spacing: Spacing = FINE

    def closed(self, population: float) -> Present:
        """``population`` customers who come back at once."""
        rate = np.exp(self.log_rates_at(np.array([population]))[:, 0])
        ones = np.ones(len(rate))
        beyond = ones if population > self.known else 0 * ones
        return Present(population * ones, 0 * ones, rate, population / rate, ones, beyond)

    def under_thinking(self, population: float, think_time: float, variability: FloatArray | float = 1.0) -> Present:
        """``population`` customers, each of whom thinks for ``think_time`` on average before it comes again.

        ``variability`` is V, one or (w,), of services alone: (1 + cs²) / 2. The law of the thinking does not matter.
        """
        grid = _from_both_ends(population, self.spacing)
        work = grid.sums(self.log_rates_at(grid.n))
        steps = np.subtract(_thinking_steps(population, think_time, self.spacing), work, out=work)
        chain = _stretched(grid, steps, self._full, variability, np.zeros(len(steps)))
        less, variance = chain.moments(population)
        thinking, mean = np.maximum(-less, LEAST), np.maximum(chain.moments()[0], LEAST)  # either may be next to none
        variance = np.where(mean < NEXT_TO_NONE, mean, variance)  # as of the Poisson law, which it then is
        response = think_time * mean / thinking
        sensitivity = variance / mean * population / thinking
        return Present(mean, variance, thinking / think_time, response, sensitivity, chain.beyond(self.known))

    def under_arrivals(
        self,
        rate: FloatArray | float,
        variability: FloatArray | float = 1.0,
        *,
        gap_scv: float = 1.0,
        limited: bool = False,
    ) -> Present:
        """Customers who arrive at ``rate``, one, (w,) or several (k, 1), whatever is present.

        ``variability`` is V, one or (w,): (1 + cs²) / 2 for Poisson arrivals, cs² / 2 for evenly spaced ones, whose
        ``gap_scv`` is 0. Where it is ``limited``, no more than at the last node are ever present: the time before a
        queue grows past them. Several rates give arrays (k, w).
        """
        last = np.exp(self.log_rate[:, -1])
        rate = np.asarray(np.asarray(rate, dtype=float) + 0 * last)
        steps = self._grid.width * np.log(np.maximum(rate, LEAST))[..., None] - self._work
        served = rate < np.inf if limited else rate < last
        ratio = np.where(served & (not limited), rate / last, 0.0)
        chain = _stretched(self._grid, steps, self._full, variability, ratio)
        mean, variance = chain.moments()
        if gap_scv < 1:
            busy = rate / np.exp(self.log_rate.max(axis=1))
            mean = mean - (1 - _shorter(busy, np.asarray(variability), gap_scv)) * chain.waiting(self._full)
        mean, variance = (np.where(served, value, np.inf) for value in (mean, variance))
        sensitivity = np.where(served, variance / np.where(served, mean, 1.0), np.inf)
        beyond = np.where(served, chain.beyond(self.known), 1.0)
        return Present(mean, variance, np.minimum(rate, last), mean / np.maximum(rate, LEAST), sensitivity, beyond)

    def with_mean(self, mean: float, variability: FloatArray | float = 1.0) -> Present:
        """Arrivals at the rate, one for each curve, with ``mean`` customers present; the rate is the throughput."""
        last = np.exp(self.log_rate[:, -1])
        low, high = 0 * last, last
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            more = self.under_arrivals(middle, variability).mean > mean
            low, high = np.where(more, low, middle), np.where(more, middle, high)
        fixed = np.full(len(last), float(mean))
        found = self.under_arrivals(low, variability)
        return replace(found, mean=fixed, throughput=high, response=fixed / high, sensitivity=np.ones(len(last)))

    def log_rates_at(self, at: FloatArray) -> FloatArray:
        """ln X (w, k) at ``at`` (k,), linear in ln n between nodes; beyond the last node the last rate stays."""
        left, right, part = _between(self.n.tobytes(), np.asarray(at, dtype=float).tobytes())
        found, last = self.log_rate.take(left, axis=1), self.log_rate.take(right, axis=1)
        found += np.multiply(np.subtract(last, found, out=last), part, out=last)
        return found

    @cached_property
    def _grid(self) -> _Grid:
        return _Grid(self.n)

    @cached_property
    def _work(self) -> FloatArray:
        """The sums of ln X from node to node (w, m)."""
        return self._grid.sums(self.log_rate)

    @cached_property
    def _full(self) -> FloatArray:
        """The number present (w,) from which all servers are busy: X_peak / X(1)."""
        return np.asarray(np.exp(self.log_rate.max(axis=1) - self.log_rate[:, 0]))


@dataclass(frozen=True, eq=False)
class _Grid:
    """The nodes ``n`` (m,) of a chain: sums over what is present are trapezoids."""

    n: FloatArray

    @cached_property
    def width(self) -> FloatArray:
        """From the node before (m,)."""
        return np.diff(self.n, prepend=0.0)

    @cached_property
    def present(self) -> FloatArray:
        """0 and the nodes (m + 1,)."""
        return np.concatenate(([0.0], self.n))

    @cached_property
    def share(self) -> FloatArray:
        """How many numbers present (m + 1,) each of 0 and the nodes stands for."""
        share = np.ones(self.present.size)
        share[1:-1] = 0.5 * (self.present[2:] - self.present[:-2])
        share[-1] = 0.5 * (self.width[-1] + 1)
        return share

    def sums(self, log_rate: FloatArray) -> FloatArray:
        """The sum of ln X(k) (w, m) over the k from one node to the next, that one included."""
        sums = (0.5 * self.width + 0.5) * log_rate
        sums[:, 1:] += (0.5 * self.width[1:] - 0.5) * log_rate[:, :-1]
        sums[:, 0] += (0.5 * self.width[0] - 0.5) * log_rate[:, 0]
        return np.asarray(sums)


@lru_cache(maxsize=64)
def _between(n: bytes, at: bytes) -> tuple[NDArray[np.intp], NDArray[np.intp], FloatArray]:
    """The nodes ``n`` to the left and the right of each of ``at`` (k,), and which part of the way it is between."""
    nodes, wanted = np.frombuffer(n), np.frombuffer(at)
    right = np.clip(np.searchsorted(nodes, wanted), min(1, nodes.size - 1), nodes.size - 1)
    left = np.maximum(right - 1, 0)
    width = np.log(nodes[right] / nodes[left])
    return left, right, np.clip(np.log(wanted / nodes[left]) / np.where(width > 0, width, 1.0), 0.0, 1.0)


@lru_cache(maxsize=64)
def _from_both_ends(population: float, spacing: Spacing) -> _Grid:
    """Nodes to ``population``, as dense where few are elsewhere as where few are present."""
    forth = nodes(population, spacing)
    forth = forth[forth <= 0.5 * population + 1]
    return _Grid(np.unique(np.concatenate([forth, population - forth[forth < population], [population]])))


@lru_cache(maxsize=64)
def _thinking_steps(population: float, think_time: float, spacing: Spacing) -> FloatArray:
    """The steps (k,) of ln p from node to node by those who think alone: of ln of N! / (N-n)! Z^-n."""
    at = _from_both_ends(population, spacing).n
    free = np.array(math.lgamma(population + 1) - _LOG_GAMMA(population - at + 1), dtype=float)
    return np.asarray(np.diff(free - at * math.log(think_time), prepend=0.0))


@dataclass(frozen=True)
class _Chain:
    """The weights ``share`` (..., m + 1) of the ``grid``, up to a factor, and ``more`` (...) beyond it.

    The latter is geometric with ``ratio`` (...).
    """

    grid: _Grid
    share: FloatArray
    more: FloatArray
    ratio: FloatArray

    def moments(self, about: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Mean, less ``about``, and variance (...) of the number present."""
        apart = self.grid.present - about
        whole = self.share.sum(axis=-1) + self.more
        further = apart[-1] + 1 / (1 - self.ratio)  # mean and variance of the geometric part
        spread = self.ratio / (1 - self.ratio) ** 2
        mean = (self.share @ apart + self.more * further) / whole
        squares = (self.share @ apart**2 + self.more * (further**2 + spread)) / whole
        return mean, np.maximum(squares - mean**2, 1e-12)

    def beyond(self, known: float) -> FloatArray:
        """The probability (...) that more than ``known`` are present."""
        if math.isinf(known):
            return 0 * self.more
        if known >= self.grid.n[-1]:
            more = self.more * self.ratio ** min(known - self.grid.n[-1], 1e6)
        else:
            more = self.share[..., self.grid.present > known].sum(axis=-1) + self.more
        return np.asarray(more / (self.share.sum(axis=-1) + self.more))

    def waiting(self, full: FloatArray) -> FloatArray:
        """The mean number present (...) beyond ``full`` (w,)."""
        above = np.maximum(self.grid.present - full[:, None], 0.0)
        further = self.more * (above[:, -1] + 1 / (1 - self.ratio))
        whole = self.share.sum(axis=-1) + self.more
        return np.asarray((np.einsum("...m,...m->...", self.share, above) + further) / whole)

    def odds_of_waiting(self, busy: FloatArray, idle: FloatArray) -> FloatArray:
        """How many times as probable it is (...) that all servers are ``busy`` than that they are not."""
        waits = np.einsum("...m,...m->...", self.share, busy) + self.more
        return np.asarray(waits / np.maximum(np.einsum("...m,...m->...", self.share, idle), LEAST))


def _chain(grid: _Grid, steps: FloatArray, ratio: FloatArray) -> _Chain:
    """The chain of logarithmic ``steps`` (..., m) and of a ``ratio`` (...) beyond the last node."""
    p = weights(steps, NONE)
    more = p[..., -1] * ratio / (1 - ratio)
    return _Chain(grid, np.multiply(p, grid.share, out=p), more, ratio)


def _stretched(
    grid: _Grid, steps: FloatArray, full: FloatArray, variability: FloatArray | float, ratio: FloatArray
) -> _Chain:
    """As ``_chain``, with waiting stretched by ``variability``, one or (w,).

    ``full`` (w,) is the number present from which an arrival waits. What is not waiting stays in proportion, and so
    does the chance to wait.
    """
    chain, v = _chain(grid, steps, ratio), np.asarray(variability, dtype=float) + 0 * full
    if (v == 1).all():
        return chain
    above = grid.present - full[:, None]
    longer = steps / grid.width
    np.negative(np.abs(longer, out=longer), out=longer)
    np.exp(longer, out=longer)  # how much less probable one more is, or one fewer
    longer *= 1 - 1 / v[:, None]
    longer += 1 / v[:, None]
    np.log(longer, out=longer)
    waiting = np.clip(above[:, 1:], 0.0, grid.width)
    longer *= np.copysign(waiting, steps, out=waiting if steps.ndim == 2 else None)
    longer += steps
    made = _chain(grid, longer, _longer(ratio, v))
    above += 1
    busy = np.clip(above, 0.0, 1.0, out=above)
    idle = 1 - busy
    factor = chain.odds_of_waiting(busy, idle) / np.maximum(made.odds_of_waiting(busy, idle), LEAST)
    busy = np.multiply(busy, factor[..., None], out=busy if factor.ndim == 1 else None)
    busy += idle
    return replace(made, share=np.multiply(made.share, busy, out=made.share), more=made.more * factor)


def _shorter(busy: FloatArray, variability: FloatArray, gap_scv: float) -> FloatArray:
    """How many times shorter the queue is for gaps more even than exponential ones, where the servers are ``busy``."""
    by = 2 * (1 - np.minimum(busy, 1.0)) * (1 - gap_scv) ** 2 / (3 * np.maximum(busy, LEAST))
    return np.asarray(np.exp(-by / np.maximum(2 * variability, LEAST)))


def _longer(ratio: FloatArray, v: FloatArray) -> FloatArray:
    """The ratio of a geometric queue that is ``v`` times as long."""
    return np.asarray(v * ratio / np.maximum(1 - ratio + v * ratio, LEAST))
