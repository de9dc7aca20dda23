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
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from qsim._types import FloatArray


class Spacing(NamedTuple):
    """Every whole number up to ``dense`` is a node; beyond, nodes lie sqrt(n) / ``per_deviation`` apart.

    The number at many servers varies by about sqrt(n). Of ``MANY`` nodes and more, those are left out that are less
    probable than others by e to the power ``unseen``, in all rows.
    """

    dense: int = 64
    per_deviation: float = 3.0
    unseen: float = 32.0


FINE, COARSE = Spacing(), Spacing(16, 1.5, 16.0)
"""Coarse chains are mostly within 0.5 % of fine ones, and a third as large."""

BISECTIONS = 20  # steps to the rate under which a mean number is present

LEAST, NEXT_TO_NONE = 1e-300, 1e-6

NONE = -300.0  # the logarithm of a probability that adds nothing, and whose products with others are still floats

MANY = 32  # shorter chains are kept whole

SHARP, SOFT = 0.1, 0.3
"""A bend below the first softness is that of one queue, beyond the second that of stations with queues of their own."""

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
        work = self._work_to(grid)
        logs = np.subtract(_thinking_alone(population, think_time, self.spacing)[:, None], work, out=work)
        chain = _stretched(grid, logs, self._full, variability, 0 * self._full, self.spacing.unseen)
        mean, less, variance = chain.moments(population)
        thinking, mean = np.maximum(-less, LEAST), np.maximum(mean, LEAST)  # either may be next to none
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
        served = rate < np.inf if limited else rate < last
        ratio = np.where(served & (not limited), rate / last, 0.0)
        full, v, ratio = (np.broadcast_to(each, rate.shape).ravel() for each in (self._full, variability, ratio))
        logs = np.multiply.outer(self._grid.present, np.log(np.maximum(rate, LEAST)))
        logs -= self._work.reshape(len(logs), *(1,) * (rate.ndim - 1), -1)
        chain = _stretched(self._grid, logs.reshape(len(logs), -1), full, v, ratio, self.spacing.unseen)
        mean, _, variance = chain.moments()
        if gap_scv < 1:
            busy = rate.ravel() / np.exp(np.broadcast_to(self.log_rate.max(axis=1), rate.shape).ravel())
            mean = mean - (1 - _shorter(busy, v, gap_scv)) * chain.waiting(full)
        mean, variance = (np.where(served, value.reshape(rate.shape), np.inf) for value in (mean, variance))
        sensitivity = np.where(served, variance / np.where(served, mean, 1.0), np.inf)
        beyond = np.where(served, chain.beyond(self.known).reshape(rate.shape), 1.0)
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

    def service_scv(self, lone: float) -> FloatArray:
        """The scv (w,) of services where customers wait, from that of the whole time of a ``lone`` one.

        At one queue for all servers they are one, and the curve bends sharply at X_peak / X(1). A soft bend shows that
        customers wait elsewhere than in one queue: at stations that have a part of the time each, and vary more. If
        the rest is constant it is (X_peak / X(1))² times ``lone``; to 1, it is taken for that. The softness is 0 for a
        sharp bend, and 1 for balanced stations with exponential services, where X / X_peak is n / (2 n - 1).

        >>> n = nodes(200)
        >>> three_stations, three_servers = np.log(n / (n + 2)), np.log(np.minimum(n, 3) / 3)
        >>> Curves(n, np.array([three_stations, three_servers])).service_scv(1 / 3).round(2).tolist()
        [1.0, 0.33]
        """
        full = np.maximum(self._full, 1 + NEXT_TO_NONE)
        there = [np.interp(math.log(at), np.log(self.n), row) for at, row in zip(full, self.log_rate, strict=True)]
        softness = (self.log_rate.max(axis=1) - there) / np.log(2 - 1 / full)
        most = np.maximum(np.minimum(lone * full**2, 1.0), lone)
        return np.asarray(lone + (most - lone) * np.clip((softness - SHARP) / (SOFT - SHARP), 0.0, 1.0))

    def log_rates_at(self, at: FloatArray) -> FloatArray:
        """ln X (w, k) at ``at`` (k,), linear in ln n between nodes; beyond the last node the last rate stays."""
        return _interpolated(self.n, self.log_rate.T, np.asarray(at, dtype=float)).T

    def _work_to(self, grid: _Grid) -> FloatArray:
        """The sums (k, w) of ln X over the numbers up to each that is present on a ``grid``; 1 is its first node."""
        alike = _alike(self.n.tobytes(), grid.n.tobytes())
        further = grid.n[alike - 1 :]
        work = np.empty((grid.present.size, len(self.log_rate)))
        work[:alike] = self._work[:alike]
        _summed(further, _interpolated(self.n, self._by_node, further), self._work[alike], out=work[alike:])
        return work

    @cached_property
    def _by_node(self) -> FloatArray:
        """ln X (m, w): the rates of all curves at a node lie together, as chains take one node after the other."""
        return np.ascontiguousarray(self.log_rate.T)

    @cached_property
    def _grid(self) -> _Grid:
        return _Grid.to(self.n)

    @cached_property
    def _work(self) -> FloatArray:
        """The sums (m + 1, w) of ln X over the numbers up to 0 and to each node, of which 1 is the first."""
        work = np.zeros((self.n.size + 1, len(self.log_rate)))
        _summed(self.n, self._by_node, self._by_node[0], out=work[1:])
        return work

    @cached_property
    def _full(self) -> FloatArray:
        """The number present (w,) from which all servers are busy: X_peak / X(1)."""
        return np.asarray(np.exp(self.log_rate.max(axis=1) - self.log_rate[:, 0]))


@dataclass(frozen=True, eq=False)
class _Grid:
    """Numbers ``present`` (m,) of a chain, and how many of them each stands for: its ``share`` (m,) of a trapezoid."""

    present: FloatArray
    share: FloatArray

    @classmethod
    def to(cls, n: FloatArray) -> _Grid:
        """0 and the nodes ``n``."""
        present = np.concatenate(([0.0], n))
        share = np.ones(present.size)
        share[1:-1] = 0.5 * (present[2:] - present[:-2])
        share[-1] = 0.5 * (present[-1] - present[-2] + 1)
        return cls(present, share)

    @property
    def n(self) -> FloatArray:
        """The nodes, without 0."""
        return self.present[1:]

    def part(self, first: int, end: int) -> _Grid:
        """The numbers from the ``first`` place to before the ``end``."""
        return _Grid(self.present[first:end], self.share[first:end])


def _summed(n: FloatArray, log_rate: FloatArray, first: FloatArray, out: FloatArray) -> None:
    """The sums ``out`` (m, w) of ln X over the numbers up to each of ``n`` (m,); that up to the first is ``first``."""
    half = 0.5 * np.diff(n)[:, None]
    out[0] = first
    np.multiply(log_rate[1:], half + 0.5, out=out[1:])
    out[1:] += (half - 0.5) * log_rate[:-1]
    _sum_up(out)


def _sum_up(rows: FloatArray) -> None:
    """Adds to each of the ``rows`` (m, w) all before it. numpy does so column by column: slow where these are many."""
    if rows.shape[0] > rows.shape[1]:
        np.cumsum(rows, axis=0, out=rows)
        return
    for before, row in pairwise(rows):
        np.add(row, before, out=row)


def _interpolated(n: FloatArray, values: FloatArray, at: FloatArray) -> FloatArray:
    """Values (k, w) at ``at`` (k,) from those (m, w) at ``n``, linear in ln n; beyond the last that stays."""
    left, right, part = _between(n.tobytes(), at.tobytes())
    found, last = values.take(left, axis=0), values.take(right, axis=0)
    last -= found
    last *= part[:, None]
    found += last
    return found


@lru_cache(maxsize=64)
def _alike(n: bytes, other: bytes) -> int:
    """How many of the first nodes ``n`` are those of the ``other``."""
    ours, theirs = np.frombuffer(n), np.frombuffer(other)
    least = min(ours.size, theirs.size)
    return int(np.argmin(np.append(ours[:least] == theirs[:least], False)))


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
    return _Grid.to(np.unique(np.concatenate([forth, population - forth[forth < population], [population]])))


@lru_cache(maxsize=64)
def _thinking_alone(population: float, think_time: float, spacing: Spacing) -> FloatArray:
    """ln p (k + 1,) by those who think alone: ln of N! / (N-n)! Z^-n."""
    at = _from_both_ends(population, spacing).present
    free = np.array(math.lgamma(population + 1) - _LOG_GAMMA(population - at + 1), dtype=float)
    return np.asarray(free - at * math.log(think_time))


@dataclass(frozen=True)
class _Chain:
    """The probabilities ``p`` (m, w) of each number on the ``grid``, up to a factor, and ``more`` (w,) beyond it.

    The latter is geometric with ``ratio`` (w,).
    """

    grid: _Grid
    p: FloatArray
    more: FloatArray
    ratio: FloatArray

    @cached_property
    def whole(self) -> FloatArray:
        """The sum (w,) of all probabilities."""
        return self.grid.share @ self.p + self.more

    def moments(self, about: float = 0.0) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean, mean less ``about``, and variance (w,) of the number present."""
        present, apart = self.grid.present, self.grid.present - about
        mean, less, squares = self.grid.share * np.array([present, apart, apart**2]) @ self.p
        if self.more.any():  # mean and variance of the geometric part
            one, spread = 1 / (1 - self.ratio), self.ratio / (1 - self.ratio) ** 2
            mean += self.more * (present[-1] + one)
            less += self.more * (apart[-1] + one)
            squares += self.more * ((apart[-1] + one) ** 2 + spread)
        mean, less, squares = mean / self.whole, less / self.whole, squares / self.whole
        return mean, less, np.maximum(squares - less**2, 1e-12)

    def beyond(self, known: float) -> FloatArray:
        """The probability (w,) that more than ``known`` are present."""
        if math.isinf(known):
            return 0 * self.more
        if known >= self.grid.present[-1]:
            more = self.more * self.ratio ** min(known - self.grid.present[-1], 1e6)
        else:
            more = (self.grid.share * (self.grid.present > known)) @ self.p + self.more
        return np.asarray(more / self.whole)

    def waiting(self, full: FloatArray) -> FloatArray:
        """The mean number present (w,) beyond ``full`` (w,)."""
        above = np.maximum(self.grid.present[:, None] - full, 0.0)
        further = self.more * (above[-1] + 1 / (1 - self.ratio))
        above *= self.p
        return np.asarray((self.grid.share @ above + further) / self.whole)


def _stretched(
    grid: _Grid, logs: FloatArray, full: FloatArray, variability: FloatArray | float, ratio: FloatArray, unseen: float
) -> _Chain:
    """The chain of ``logs`` (m, w) of p on the ``grid``, with waiting stretched by ``variability``, one or (w,).

    Beyond the grid it is geometric with ``ratio`` (w,). ``full`` (w,) is the number present from which an arrival
    waits. What is not waiting stays in proportion, and so does the chance to wait.
    """
    v = np.maximum(variability, NEXT_TO_NONE) + 0 * full
    grid, logs, ratio = _likely(grid, logs, v, ratio, unseen)
    p, more = _p(logs, ratio)
    if (v == 1).all():
        return _Chain(grid, p, more, ratio)
    first = max(int(np.searchsorted(grid.present, full.min() - 1)) - 1, 0)  # with fewer present, nobody waits
    seen, share = p[first:], grid.share[first:]
    ratio = v * ratio / np.maximum(1 - ratio + v * ratio, LEAST)  # of a geometric queue that is v times as long
    above = grid.present[first:, None] - full
    queued, beyond = _p(_stretch(logs[first:], np.diff(grid.present[first:])[:, None], above, v), ratio)
    above += 1
    busy = np.minimum(np.maximum(above, 0.0, out=above), 1.0, out=above)
    queued *= busy
    busy *= seen
    alike = (share @ busy + more) / np.maximum(share @ queued + beyond, LEAST)
    queued *= alike
    seen -= busy
    seen += queued
    return _Chain(grid, p, beyond * alike, ratio)


def _likely(
    grid: _Grid, logs: FloatArray, v: FloatArray, ratio: FloatArray, unseen: float
) -> tuple[_Grid, FloatArray, FloatArray]:
    """The part of a chain that is seen, with ``logs`` of at most 0; ``v`` (w,) stretches what falls off.

    Few of the many may be present, or all but a few: what is at either end does not hide the others.
    """
    size = len(logs)
    inner = logs[1:-1].max(axis=0, initial=-np.inf)
    top = np.maximum(np.maximum(logs[0], logs[-1]), inner)
    first, end = 0, size
    if size > MANY:
        least = inner - unseen * np.maximum(v, 1.0)
        seen = (logs > least).any(axis=1)
        seen[-1] |= (logs[-1] - 3 * np.log1p(-ratio) > least).any()  # as the variance of what is geometric
        first, end = int(seen.argmax()), size - int(seen[::-1].argmax())
    return grid.part(first, end), logs[first:end] - top, ratio if end == size else 0 * ratio


def _p(logs: FloatArray, ratio: FloatArray) -> tuple[FloatArray, FloatArray]:
    """p (m, w), up to a factor, from its ``logs`` of at most 0, and the sum (w,) of what is geometric beyond."""
    p = np.maximum(logs, NONE)
    np.exp(p, out=p)
    return p, p[-1] * ratio / (1 - ratio)


def _stretch(logs: FloatArray, width: FloatArray, above: FloatArray, v: FloatArray) -> FloatArray:
    """``logs`` (m, w), in place and at most 0: each step of a ``width`` is stretched by ``v`` where ``above`` 0."""
    apart = logs[1:] - logs[:-1]
    longer = np.abs(apart)
    longer *= -1 / width
    np.expm1(longer, out=longer)  # how much less probable one more is, or one fewer
    longer *= 1 - 1 / v
    np.log1p(longer, out=longer)
    waiting = np.maximum(above[1:], 0.0)
    np.minimum(waiting, width, out=waiting)
    longer *= np.copysign(waiting, apart, out=waiting)
    _sum_up(longer)
    logs[1:] += longer
    logs -= logs.max(axis=0)
    return logs


def _shorter(busy: FloatArray, variability: FloatArray, gap_scv: float) -> FloatArray:
    """How many times shorter the queue is for gaps more even than exponential ones, where the servers are ``busy``."""
    by = 2 * (1 - np.minimum(busy, 1.0)) * (1 - gap_scv) ** 2 / (3 * np.maximum(busy, LEAST))
    return np.asarray(np.exp(-by / np.maximum(2 * variability, LEAST)))
