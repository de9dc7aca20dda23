"""The families of laws that service times are fitted with: one adapter of scipy.stats, mixtures and shifts of it.

A ``Candidate`` is a family with the number of its components fixed. Its free parameters are a vector θ without bounds
(logarithms of times and shapes, log-ratios of weights), so that any optimiser may walk in it; ``natural`` gives what
people read. Times are in units of the observed median while fitting, so that θ is of the order of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import special, stats

from calibrate.inference.parameters import Array
from qsim import (
    BurrXII,
    Distribution,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Mixture,
    Shifted,
    Weibull,
)
from qsim.distributions.phase_type import hyper_erlang

Tails = tuple[Array, Array]
Sort = Literal["time", "shape", "share"]
Values = tuple[tuple[str, Sort], ...]


@dataclass(frozen=True)
class Candidate:
    """A family: ``values`` names and sorts what ``natural`` makes of θ; ``tails`` gives P(T <= x) and P(T > x).

    ``law`` makes the distribution of values whose times are in seconds; ``free`` counts what was fitted, stages of
    Erlang parts among them; ``start`` gives θ to begin with from the mean and spread of the logarithm.
    """

    name: str
    values: Values
    natural: Callable[[Array], Array]
    tails: Callable[[Array, Array], Tails]
    law: Callable[[Array], Distribution]
    free: int
    stages: tuple[int, ...] = ()
    """Stages of its Erlang parts, which are whole numbers and so not in θ."""
    start: Callable[[float, float], Sequence[Array]] = lambda mu, sd: ()

    def in_units(self, values: Array, unit_s: float) -> Array:
        """The values with their times in seconds."""
        return np.array([v * unit_s if sort == "time" else v for v, (_, sort) in zip(values, self.values, strict=True)])


def scipy_tails(family: Any, x: Array, scale: Any, *shapes: Any) -> Tails:
    """P(T <= x) and P(T > x) of a family of scipy.stats."""
    return family.cdf(x, *shapes, scale=scale), family.sf(x, *shapes, scale=scale)


def one_mode_families() -> tuple[Candidate, ...]:
    """Exponential, gamma, Weibull, lognormal and Burr XII; Erlang follows from gamma (``erlang``)."""
    return (
        Candidate(
            "exponential",
            (("mean", "time"),),
            np.exp,
            lambda v, x: scipy_tails(stats.expon, x, v[0]),
            lambda v: Exponential(float(v[0])),
            1,
            start=lambda mu, sd: [np.array([mu + 0.58])],
        ),
        Candidate(
            "gamma",
            (("mean", "time"), ("shape", "shape")),
            np.exp,
            lambda v, x: scipy_tails(stats.gamma, x, v[0] / v[1], v[1]),
            lambda v: Gamma(float(v[0]), 1 / float(v[1])),
            2,
            start=lambda mu, sd: [np.array([mu + sd**2 / 4, -2 * math.log(sd)])],
        ),
        Candidate(
            "Weibull",
            (("scale", "time"), ("shape", "shape")),
            np.exp,
            lambda v, x: scipy_tails(stats.weibull_min, x, v[0], v[1]),
            lambda v: Weibull(float(v[1]), float(v[0]) * math.gamma(1 + 1 / float(v[1]))),
            2,
            start=lambda mu, sd: [np.array([mu + sd / 3, math.log(1.28 / sd)])],
        ),
        Candidate(
            "lognormal",
            (("median", "time"), ("sigma", "shape")),
            np.exp,
            lambda v, x: scipy_tails(stats.lognorm, x, v[0], v[1]),
            _lognormal_law,
            2,
            start=lambda mu, sd: [np.array([mu, math.log(sd)])],
        ),
        Candidate(
            "Burr XII",
            (("scale", "time"), ("c", "shape"), ("k", "shape")),
            # c k exceeds 1 for every θ, or the law would have no mean.
            lambda t: np.array([np.exp(t[0]), np.exp(t[1]), (1 + np.exp(t[2])) / np.exp(t[1])]),
            lambda v, x: scipy_tails(stats.burr12, x, v[0], v[1], v[2]),
            lambda v: BurrXII(float(v[1]), float(v[2]), float(v[0]) / BurrXII(float(v[1]), float(v[2]), 1.0).scale),
            3,
            # With c half as wide and k below 1: a steep rise and a heavy tail.
            start=lambda mu, sd: [
                np.array([mu, math.log(c), math.log(max(c * k - 1, 0.05))]) for c, k in ((1.8 / sd, 1.0), (4 / sd, 0.4))
            ],
        ),
    )


def erlang(k: int) -> Candidate:
    """k exponential stages; k is a parameter too."""
    return Candidate(
        "Erlang",
        (("mean", "time"),),
        np.exp,
        lambda v, x: scipy_tails(stats.gamma, x, v[0] / k, k),
        lambda v: Erlang(k, float(v[0])),
        2,
        (k,),
    )


def lognormals(parts: int) -> Candidate:
    """A mixture of lognormal parts: θ has the log-ratios of the weights, then log medians, then log sigmas."""
    j = parts

    def tails(v: Array, x: Array) -> Tails:  # as scipy.stats.lognorm, in a third of the time
        with np.errstate(divide="ignore"):
            z = (np.log(x)[:, np.newaxis] - np.log(v[j : 2 * j])) / v[2 * j :]
        return special.ndtr(z) @ v[:j], special.ndtr(-z) @ v[:j]

    def law(v: Array) -> Distribution:
        made = [_lognormal_law(np.array([m, s])) for m, s in zip(v[j : 2 * j], v[2 * j :], strict=True)]
        return Mixture(tuple(made), _weights(v[:j]))

    return Candidate(
        f"{j} lognormals",
        _numbered(j, weight="share", median="time", sigma="shape"),
        lambda t: _mixed(t, j),
        tails,
        law,
        3 * j - 1,
    )


def erlangs(stages: Sequence[int]) -> Candidate:
    """A mixture of Erlang parts with these stages (all 1: hyperexponential): weights, then means."""
    k = np.asarray(stages, dtype=float)
    j, plain = len(k), bool(np.all(k == 1))

    def tails(v: Array, x: Array) -> Tails:
        at = x[:, np.newaxis] * k / v[j:]
        return special.gammainc(k, at) @ v[:j], special.gammaincc(k, at) @ v[:j]

    def law(v: Array) -> Distribution:
        means = tuple(float(m) for m in v[j:])
        return HyperExponential(_weights(v[:j]), means) if plain else hyper_erlang(_weights(v[:j]), list(stages), means)

    return Candidate(
        f"hyperexponential, {j} phases" if plain else f"hyper-Erlang, {j} parts",
        _numbered(j, weight="share", mean="time"),
        lambda t: _mixed(t, j),
        tails,
        law,
        2 * j - 1 + (0 if plain else j),
        () if plain else tuple(map(int, k)),
    )


def mixture_theta(weights: Array, *positive: Array) -> Array:
    """θ of a mixture: log-ratios to the first weight, then the logarithms of everything else."""
    return np.concatenate([np.log(weights[1:] / weights[0]), *(np.log(p) for p in positive)])


def shifted(base: Candidate, most: float) -> Candidate:
    """``base`` after a fixed time below ``most``, the shortest that any request can take: θ ends with its logit."""
    return Candidate(
        f"shifted {base.name}",
        (*base.values, ("shift", "time")),
        lambda t: np.append(base.natural(t[:-1]), most * special.expit(t[-1])),
        lambda v, x: base.tails(v[:-1], np.maximum(x - v[-1], 0.0)),
        lambda v: Shifted(base.law(v[:-1]), float(v[-1])),
        base.free + 1,
        base.stages,
    )


def _numbered(parts: int, **sorts: Sort) -> Values:
    return tuple((f"{name} {i}", sort) for name, sort in sorts.items() for i in range(1, parts + 1))


def _mixed(theta: Array, parts: int) -> Array:
    return np.concatenate([special.softmax(np.append(0.0, theta[: parts - 1])), np.exp(theta[parts - 1 :])])


def _weights(shares: Array) -> tuple[float, ...]:
    """Weights that add up to one to the last digit."""
    return tuple(float(w) for w in shares / shares.sum())


def _lognormal_law(v: Array) -> Distribution:
    return LogNormal(float(v[0]) * math.exp(float(v[1]) ** 2 / 2), math.expm1(float(v[1]) ** 2))
