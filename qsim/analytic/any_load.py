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
and Khinchine.

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

LEAST = 1e-300
MOST_STEP = 600.0
"""Steps of a logarithm beyond this are zero or infinity to a float."""

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
        at = _from_both_ends(population, self.spacing)
        rate = self.log_rates_at(at)
        free = np.array(math.lgamma(population + 1) - _LOG_GAMMA(population - at + 1), dtype=float)
        steps = np.diff(free, prepend=0.0) - np.diff(at, prepend=0.0) * math.log(think_time) - _sums(at, rate)
        chain = _Chain(at, *_stretched(at, steps, self._full, variability, np.zeros(len(rate))))
        mean, variance = chain.moments()
        thinking = np.maximum(population - mean, LEAST)
        sensitivity, response = variance / mean * population / thinking, think_time * mean / thinking
        return Present(mean, variance, thinking / think_time, response, sensitivity, chain.beyond(self.known))

    def under_arrivals(
        self, rate: FloatArray | float, variability: FloatArray | float = 1.0, *, limited: bool = False
    ) -> Present:
        """Customers who arrive at ``rate``, one or (w,), whatever is present.

        ``variability`` is V, one or (w,): (1 + cs²) / 2 for Poisson arrivals, cs² / 2 for evenly spaced ones. Where it
        is ``limited``, no more than at the last node are ever present: the time before a queue grows past them.
        """
        last = np.exp(self.log_rate[:, -1])
        rate = np.broadcast_to(np.asarray(rate, dtype=float), last.shape)
        log_rate = np.log(np.maximum(rate, LEAST))
        steps = np.diff(self.n, prepend=0.0) * log_rate[:, None] - self._work
        served = np.full(len(last), True) if limited else rate < last
        ratio = np.where(served & (not limited), rate / last, 0.0)
        chain = _Chain(self.n, *_stretched(self.n, steps, self._full, variability, ratio))
        mean, variance = chain.moments()
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
        right = np.clip(np.searchsorted(self.n, at), 1, self.n.size - 1) if self.n.size > 1 else np.zeros(at.size, int)
        left = np.maximum(right - 1, 0)
        width = np.log(self.n[right] / self.n[left])
        part = np.clip(np.log(at / self.n[left]) / np.where(width > 0, width, 1.0), 0.0, 1.0)
        return np.asarray(self.log_rate[:, left] * (1 - part) + self.log_rate[:, right] * part)

    @cached_property
    def _work(self) -> FloatArray:
        """The sums of ln X from node to node (w, m)."""
        return _sums(self.n, self.log_rate)

    @cached_property
    def _full(self) -> FloatArray:
        """The number present (w,) from which all servers are busy: X_peak / X(1)."""
        return np.asarray(np.exp(self.log_rate.max(axis=1) - self.log_rate[:, 0]))


@dataclass(frozen=True)
class _Chain:
    """p(0) and p(n) (w, m + 1) at the nodes ``n`` (m,), up to a factor, geometric with ``ratio`` (w,) beyond them."""

    n: FloatArray
    p: FloatArray
    ratio: FloatArray

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance (w,) of the number present."""
        present = np.concatenate(([0.0], self.n))
        share, r, last = self.p * _widths(self.n), self.ratio, self.n[-1]
        beyond = self.p[:, -1] * r / (1 - r)
        whole = share.sum(axis=1) + beyond
        further, spread = 1 / (1 - r), r / (1 - r) ** 2  # mean and variance of the steps beyond the last node
        mean = (share @ present + beyond * (last + further)) / whole
        squares = (present - mean[:, None]) ** 2
        variance = ((share * squares).sum(axis=1) + beyond * ((last + further - mean) ** 2 + spread)) / whole
        return mean, np.maximum(variance, 1e-12)

    def beyond(self, known: float) -> FloatArray:
        """The probability (w,) that more than ``known`` are present."""
        share = self.p * _widths(self.n)
        tail = self.p[:, -1] * self.ratio / (1 - self.ratio)
        if known >= self.n[-1]:
            more = tail * self.ratio ** min(known - self.n[-1], 1e6)
        else:
            more = share[:, np.concatenate(([0.0], self.n)) > known].sum(axis=1) + tail
        return np.asarray(more / (share.sum(axis=1) + tail))


@lru_cache(maxsize=64)
def _from_both_ends(population: float, spacing: Spacing) -> FloatArray:
    """Nodes (k,) to ``population``, also dense where few are elsewhere."""
    forth = nodes(population, spacing)
    return np.asarray(np.unique(np.concatenate([forth, population - forth[forth < population]])))


def _sums(n: FloatArray, log_rate: FloatArray) -> FloatArray:
    """The sum of ln X(k) (w, m) over the k from one node to the next, that one included."""
    before = np.concatenate([log_rate[:, :1], log_rate[:, :-1]], axis=1)
    return np.asarray(0.5 * np.diff(n, prepend=0.0) * (before + log_rate) + 0.5 * (log_rate - before))


def _widths(n: FloatArray) -> FloatArray:
    """How many numbers present (m + 1,) each of 0 and the nodes stands for, by the trapezoidal rule."""
    present = np.concatenate(([0.0], n))
    width = np.ones(present.size)
    width[1:-1] = 0.5 * (present[2:] - present[:-2])
    width[-1] = 0.5 * (present[-1] - present[-2] + 1)
    return width


def _stretched(
    n: FloatArray, steps: FloatArray, full: FloatArray, variability: FloatArray | float, ratio: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """p (w, m + 1) from its logarithmic ``steps`` (w, m), and its ratio beyond the last node, with waiting stretched.

    ``ratio`` (w,) is the one without it, ``full`` (w,) the number present from which an arrival waits. What is not
    waiting stays in proportion, and so does the chance to wait.
    """
    p = weights(steps)
    v = np.broadcast_to(np.asarray(variability, dtype=float), full.shape)
    if (v == 1).all():
        return p, ratio
    width = np.diff(n, prepend=0.0)
    waits = np.clip((n - full[:, None]) / width, 0.0, 1.0)
    each = steps / width
    stretched = np.sign(each) * np.log1p(np.expm1(np.minimum(np.abs(each), MOST_STEP)) / v[:, None])
    made, longer = weights(((1 - waits) * each + waits * stretched) * width), _longer(ratio, v)
    busy = np.clip(np.concatenate(([0.0], n)) - full[:, None] + 1, 0.0, 1.0)
    before, now = (_odds_of_waiting(n, *chain, busy) for chain in ((p, ratio), (made, longer)))
    factor = before / np.maximum(now, LEAST)
    return made * (1 - busy + busy * factor[:, None]), longer


def _longer(ratio: FloatArray, v: FloatArray) -> FloatArray:
    """The ratio of a geometric queue that is ``v`` times as long."""
    return np.asarray(v * ratio / np.maximum(1 - ratio + v * ratio, LEAST))


def _odds_of_waiting(n: FloatArray, p: FloatArray, ratio: FloatArray, busy: FloatArray) -> FloatArray:
    """How many times as probable it is (w,) that all servers are busy than that they are not."""
    share = p * _widths(n)
    waits = (share * busy).sum(axis=1) + p[:, -1] * ratio / (1 - ratio)
    return np.asarray(waits / np.maximum((share * (1 - busy)).sum(axis=1), LEAST))
