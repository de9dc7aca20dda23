"""The families of laws to fit to service times: laws of qsim, mixtures of them, and shifts.

A ``Candidate`` is a family with a fixed number of components. Its free parameters are a vector θ without bounds
(logarithms of times and shapes, log-ratios of weights), so that any optimiser can be used; ``natural`` gives the
reported values. Times are in units of the observed median while fitting, so that θ is of the order of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from scipy import special

from calibrate.inference.parameters import Array
from qsim import BurrXII, Distribution, Exponential, Gamma, HyperExponential, LogNormal, Mixture, Shifted, Weibull

Tails = tuple[Array, Array]
Slopes = tuple[Array, Array, Array]
"""P(T <= x) and P(T > x), (e,) each, and the derivatives of the first by θ (e, d)."""
Sort = Literal["time", "shape", "share"]
Values = tuple[tuple[str, Sort], ...]
Start = Callable[[Array, Array], list[Array]]

SHIFT_SHARES = (0.5, 0.85, 0.97)
"""Starting values of a shift, as shares of its maximum."""
STEEPEST = 200.0
"""The largest c of a Burr: it rises within one bin of fio's, and a steeper rise cannot be seen."""
STEPS, NARROWEST = 100, 0.004
"""Steps of the search for a start of a mixture of lognormals, and its least sigma: a quarter of fio's bins."""
NEAR = 1e-4
"""The step of a finite difference in θ."""
FURTHEST = 40.0
"""Standard deviations at which a normal law has no probability left."""


@dataclass(frozen=True)
class Candidate:
    """A family: ``natural`` maps θ to values, ``values`` names and sorts them, ``law`` makes their distribution.

    ``start`` gives starting points θ, from times (m,) and their counts (m,).
    """

    name: str
    values: Values
    natural: Callable[[Array], Array]
    law: Callable[[Array], Distribution]
    start: Start
    fast_tails: Callable[[Array, Array], Tails] | None = None
    """The result of ``tails``, where it can be computed faster than from the law."""
    fast_slopes: Callable[[Array, Array], Slopes] | None = None
    """The result of ``slopes``, where it is known without differences."""

    @property
    def free(self) -> int:
        """The number of fitted parameters: shares add up to one."""
        return len(self.values) - any(sort == "share" for _, sort in self.values)

    def tails(self, values: Array, x: Array) -> Tails:
        """P(T <= x) and P(T > x)."""
        if self.fast_tails is not None:
            return self.fast_tails(values, x)
        law = self.law(values)
        return law.cdf(x), law.survival(x)

    def slopes(self, theta: Array, x: Array) -> Slopes:
        """The tails at θ with their derivatives, by differences of the logarithm of the lesser tail."""
        if self.fast_slopes is not None:
            return self.fast_slopes(theta, x)
        below, above = self.tails(self.natural(theta), x)
        late = below > 0.5

        def log_tail(theta: Array) -> Array:
            return np.asarray(np.log(np.where(late, *self.tails(self.natural(theta), x)[::-1])))

        changes = [log_tail(theta + step) - log_tail(theta - step) for step in NEAR * np.eye(len(theta))]
        return below, above, np.where(late, -above, below)[:, np.newaxis] * np.transpose(changes) / (2 * NEAR)

    def by_x(self, by_theta: Array) -> Array:
        """x times the density at x, from ``slopes``: a longer x has the effect of shorter times in θ."""
        sorts = [sort for _, sort in self.values]
        times = [i for i, sort in enumerate(sorts[len(sorts) - by_theta.shape[1] :]) if sort == "time"]
        return np.asarray(-by_theta[:, times].sum(axis=1))

    def in_units(self, values: Array, unit_s: float) -> Array:
        """The values with their times in seconds."""
        return np.array([v * unit_s if sort == "time" else v for v, (_, sort) in zip(values, self.values, strict=True)])


def plain_families() -> tuple[Candidate, ...]:
    """Exponential, gamma, Weibull, lognormal, Burr XII, and a hyperexponential of two phases."""
    return (
        Candidate(
            "exponential",
            (("mean", "time"),),
            np.exp,
            lambda v: Exponential(float(v[0])),
            _by_logarithms(lambda mu, sd: [[mu + 0.58]]),
        ),
        Candidate(
            "gamma",
            (("mean", "time"), ("shape", "shape")),
            np.exp,
            lambda v: Gamma(float(v[0]), 1 / float(v[1])),
            _by_logarithms(lambda mu, sd: [[mu + sd**2 / 4, -2 * math.log(sd)]]),
        ),
        Candidate(
            "Weibull",
            (("scale", "time"), ("shape", "shape")),
            np.exp,
            lambda v: Weibull(float(v[1]), float(v[0]) * math.gamma(1 + 1 / float(v[1]))),
            _by_logarithms(lambda mu, sd: [[mu + sd / 3, math.log(1.28 / sd)]]),
        ),
        Candidate(
            "lognormal",
            (("median", "time"), ("sigma", "shape")),
            np.exp,
            lambda v: _lognormal(*v),
            _by_logarithms(lambda mu, sd: [[mu, math.log(sd)]]),
            lambda v, x: lognormals(1).tails(np.append(1.0, v), x),
            lognormals(1).fast_slopes,
        ),
        Candidate(
            "Burr XII",
            (("scale", "time"), ("c", "shape"), ("k", "shape")),
            _burr_values,
            lambda v: BurrXII(float(v[1]), float(v[2]), float(v[0]) / BurrXII(float(v[1]), float(v[2]), 1.0).scale),
            # With c half as wide and k below 1: a steep rise and a heavy tail.
            _by_logarithms(
                lambda mu, sd: [
                    [mu, math.log(max(c * k - 1, 0.05)), math.log(k)] for c, k in ((1.8 / sd, 1), (4 / sd, 0.4))
                ]
            ),
        ),
        Candidate(
            "hyperexponential",
            _numbered(2, weight="share", mean="time"),
            lambda t: _mixed(t, 2),
            lambda v: HyperExponential(_weights(v[:2]), (float(v[2]), float(v[3]))),
            lambda t, seen: [mixture_theta(w, m) for w, m, _ in (_groups(t, seen, cut) for cut in ([0.5], [0.9]))],
            fast_slopes=_exponential_slopes,
        ),
    )


def lognormals(parts: int) -> Candidate:
    """A mixture of lognormal parts: θ has the log-ratios of the weights, then log medians, then log sigmas."""
    j = parts

    def each(v: Array, x: Array) -> Slopes:
        """Each part's tails at x and the place of x in the part in standard deviations, (e, j) each."""
        z = np.clip((np.log(x)[:, np.newaxis] - np.log(v[j : 2 * j])) / v[2 * j :], -FURTHEST, FURTHEST)
        tail = special.ndtr(-np.abs(z))
        return np.where(z < 0, tail, 1 - tail), np.where(z < 0, 1 - tail, tail), z

    def tails(v: Array, x: Array) -> Tails:
        below, above, _ = each(v, x)
        return below @ v[:j], above @ v[:j]

    def slopes(theta: Array, x: Array) -> Slopes:
        v = _unsorted(theta, j)
        below, above, z = each(v, x)
        by_z = v[:j] * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        return _mixture_slopes(v[:j], below, above, -by_z / v[2 * j :], -by_z * z)

    def law(v: Array) -> Distribution:
        made = [_lognormal(m, s) for m, s in zip(v[j : 2 * j], v[2 * j :], strict=True)]
        return Mixture(tuple(made), _weights(v[:j]))

    def start(t: Array, seen: Array) -> list[Array]:
        """Starts from groups of equal numbers of requests, and from groups ever further in the tail."""
        groups = ([i / j for i in range(1, j)], [1 - 0.5 * 0.12**i for i in range(j - 1)])
        return [_maximised(np.log(t), seen, *_groups(np.log(t), seen, cuts)) for cuts in groups]

    values = _numbered(j, weight="share", median="time", sigma="shape")
    return Candidate(f"{j} lognormals", values, lambda t: _mixed(t, j), law, start, tails, slopes)


def _exponential_slopes(theta: Array, x: Array) -> Slopes:
    """The slopes of a hyperexponential of two phases."""
    v = _unsorted(theta, 2)
    over = np.minimum(x[:, np.newaxis] / v[2:], FURTHEST**2)
    above = np.exp(-over)
    return _mixture_slopes(v[:2], -np.expm1(-over), above, -v[:2] * over * above)


def _mixture_slopes(weights: Array, below: Array, above: Array, *others: Array) -> Slopes:
    """The slopes of a mixture from its parts' tails (e, j), and the derivatives by θ after the log-ratios (e, j)."""
    all_below, all_above = (below @ weights)[:, np.newaxis], (above @ weights)[:, np.newaxis]
    by_ratio = weights * np.where(all_below > 0.5, all_above - above, below - all_below)
    return all_below.ravel(), all_above.ravel(), np.hstack([by_ratio[:, 1:], *others])


def _maximised(log_t: Array, seen: Array, weight: Array, mu: Array, sigma: Array) -> Array:
    """θ of a mixture of lognormals after steps of expectation and maximisation (Dempster, Laird and Rubin 1977)."""
    powers = np.array([np.ones(len(log_t)), log_t, log_t**2])
    for _ in range(STEPS):
        sigma = np.maximum(sigma, NARROWEST)
        density = weight / sigma * np.exp(-(((log_t[:, np.newaxis] - mu) / sigma) ** 2) / 2)
        given = density * (seen / np.maximum(density @ np.ones(len(mu)), 1e-300))[:, np.newaxis]
        count, first, second = powers @ given
        count = np.maximum(count, 1e-9)
        weight, mu = count / count.sum(), first / count
        sigma = np.sqrt(np.maximum(second / count - mu**2, 0.0))
    return mixture_theta(weight, np.exp(mu), np.maximum(sigma, NARROWEST))


def mixture_theta(weights: Array, *positive: Array) -> Array:
    """θ of a mixture: log-ratios to the first weight, then the logarithms of everything else."""
    return np.concatenate([np.log(weights[1:] / weights[0]), *(np.log(p) for p in positive)])


def shifted(base: Candidate, most: float) -> Candidate:
    """``base`` after a fixed time below ``most``, the shortest that any request can take: θ ends with its logit."""

    def slopes(theta: Array, x: Array) -> Slopes:
        shift = most * special.expit(theta[-1])
        late = np.maximum(x - shift, 0.0)
        below, above, by_theta = base.slopes(theta[:-1], late)
        density = np.divide(base.by_x(by_theta), late, out=np.zeros(len(x)), where=late > 0)
        return below, above, np.column_stack([by_theta, -density * shift * (1 - shift / most)])

    return Candidate(
        f"shifted {base.name}",
        (*base.values, ("shift", "time")),
        lambda t: np.append(base.natural(t[:-1]), most * special.expit(t[-1])),
        lambda v: Shifted(base.law(v[:-1]), float(v[-1])),
        lambda t, seen: [
            np.append(theta, special.logit(share))
            for share in SHIFT_SHARES
            # In a bin that begins at zero, times lie between the shift and the bin's end.
            for theta in base.start(np.maximum(t - share * most, (1 - share) * most / 2), seen)
        ],
        lambda v, x: base.tails(v[:-1], np.maximum(x - v[-1], 0.0)),
        slopes,
    )


def _by_logarithms(start: Callable[[float, float], list[list[float]]]) -> Start:
    """Starting points from the mean and the standard deviation of the logarithm of the times."""

    def begin(t: Array, seen: Array) -> list[Array]:
        weight, log_t = seen / seen.sum(), np.log(t)
        mu = float(weight @ log_t)
        return [np.array(theta) for theta in start(mu, max(float(np.sqrt(weight @ (log_t - mu) ** 2)), 0.01))]

    return begin


def _groups(t: Array, seen: Array, cuts: Sequence[float]) -> tuple[Array, Array, Array]:
    """Weights, means and standard deviations of the times between the shares ``cuts`` of all."""
    reached, found = np.cumsum(seen) / seen.sum() - 1e-9, []  # a bin that ends at a cut belongs below it
    for low, high in pairwise([0.0, *cuts, 1.0]):
        count = np.where((reached > low) & (reached <= high), seen, 0.0)
        if not count.any():  # one bin reaches over the whole group
            count[min(int(np.searchsorted(reached, high)), len(count) - 1)] = 1.0
        mean = float(count @ t / count.sum())
        found.append((high - low, mean, float(np.sqrt(count @ (t - mean) ** 2 / count.sum()))))
    weight, mean, sd = np.array(found).T
    return weight, mean, sd


def _numbered(parts: int, **sorts: Sort) -> Values:
    return tuple((f"{name} {i}", sort) for name, sort in sorts.items() for i in range(1, parts + 1))


def _mixed(theta: Array, parts: int) -> Array:
    """The values of a mixture, the part of the shortest times first."""
    each = _unsorted(theta, parts).reshape(-1, parts)
    return each[:, np.argsort(each[1], kind="stable")].ravel()


def _unsorted(theta: Array, parts: int) -> Array:
    """The values of a mixture in the order of θ."""
    return np.append(special.softmax(np.append(0.0, theta[: parts - 1])), np.exp(theta[parts - 1 :]))


def _burr_values(theta: Array) -> Array:
    """Scale, c and k from the logarithms of the median, of c k - 1 and of k less its least for ``STEEPEST``.

    The body and the tail of the data pin the median and c k, so that k alone moves where they say little of the bend
    between. c k exceeds 1 for every θ, or the law would have no mean.
    """
    tail = 1 + np.exp(theta[1])
    k = np.exp(theta[2]) + tail / STEEPEST
    c = tail / k
    log_bend = math.log(2) / k + np.log(-np.expm1(-math.log(2) / k))  # of 2^(1/k) - 1 = (median / scale)^c
    return np.array([np.exp(theta[0] - log_bend / c), c, k])


def _weights(shares: Array) -> tuple[float, ...]:
    """Weights that add up to one to the last digit."""
    return tuple(float(w) for w in shares / shares.sum())


def _lognormal(median: float, sigma: float) -> Distribution:
    return LogNormal(float(median) * math.exp(float(sigma) ** 2 / 2), math.expm1(float(sigma) ** 2))
