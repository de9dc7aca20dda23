"""The families of laws that service times are fitted with.

A ``Candidate`` is a family with the number of its components fixed. Its free parameters are a vector θ without bounds
(logarithms of times and shapes, log-ratios of weights), so that any optimiser may walk in it; ``natural`` gives what
people read. Times are in units of the observed median while fitting, so that θ is of the order of one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

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

NARROW = 1e-3
"""Spread of the logarithms that a start is never narrower than."""


@dataclass(frozen=True)
class Candidate:
    """A family: ``values`` names and sorts what ``natural`` makes of θ; ``tails`` gives P(T <= x) and P(T > x).

    ``law`` makes the distribution of values whose times are in seconds; ``free`` counts what was fitted, stages of
    Erlang parts among them.
    """

    name: str
    values: tuple[tuple[str, Sort], ...]
    natural: Callable[[Array], Array]
    tails: Callable[[Array, Array], Tails]
    law: Callable[[Array], Distribution]
    free: int
    stages: tuple[int, ...] = ()
    """Stages of its Erlang parts, which are whole numbers and so not in θ."""

    def in_units(self, values: Array, unit_s: float) -> Array:
        """The values with their times in seconds."""
        return np.array([v * unit_s if sort == "time" else v for v, (_, sort) in zip(values, self.values, strict=True)])


@dataclass(frozen=True)
class OneMode:
    """A family of two or three parameters: ``start`` gives θ from the mean and spread of the logarithm."""

    candidate: Candidate
    start: Callable[[float, float], Sequence[Array]]


def one_mode_families() -> tuple[OneMode, ...]:
    """Exponential, gamma, Weibull, lognormal and Burr XII; Erlang follows from gamma (``erlang``)."""
    return (
        OneMode(
            Candidate("exponential", (("mean", "time"),), np.exp, _exponential, lambda v: Exponential(float(v[0])), 1),
            lambda mu, sd: [np.array([mu + 0.58])],
        ),
        OneMode(
            Candidate(
                "gamma",
                (("mean", "time"), ("shape", "shape")),
                np.exp,
                _gamma,
                lambda v: Gamma(float(v[0]), 1 / float(v[1])),
                2,
            ),
            lambda mu, sd: [np.array([mu + sd**2 / 4, -2 * math.log(sd)])],
        ),
        OneMode(
            Candidate(
                "Weibull",
                (("scale", "time"), ("shape", "shape")),
                np.exp,
                _weibull,
                lambda v: Weibull(float(v[1]), float(v[0]) * math.gamma(1 + 1 / float(v[1]))),
                2,
            ),
            lambda mu, sd: [np.array([mu + sd / 3, math.log(1.28 / sd)])],
        ),
        OneMode(
            Candidate("lognormal", (("median", "time"), ("sigma", "shape")), np.exp, _lognormal, _lognormal_law, 2),
            lambda mu, sd: [np.array([mu, math.log(sd)])],
        ),
        OneMode(
            Candidate(
                "Burr XII", (("scale", "time"), ("c", "shape"), ("k", "shape")), _burr_values, _burr, _burr_law, 3
            ),
            # With c half as wide and k below 1: a steep rise and a heavy tail.
            lambda mu, sd: [
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
        lambda v, x: (special.gammainc(k, k * x / v[0]), special.gammaincc(k, k * x / v[0])),
        lambda v: Erlang(k, float(v[0])),
        2,
        (k,),
    )


def lognormals(parts: int) -> Candidate:
    """A mixture of lognormal parts: θ has the log-ratios of the weights, then log medians, then log sigmas."""
    j = parts

    def tails(v: Array, x: Array) -> Tails:
        with np.errstate(divide="ignore"):
            z = (np.log(x)[:, np.newaxis] - np.log(v[j : 2 * j])) / v[2 * j :]
        return special.ndtr(z) @ v[:j], special.ndtr(-z) @ v[:j]

    def law(v: Array) -> Distribution:
        made = [_lognormal_law(np.array([m, s])) for m, s in zip(v[j : 2 * j], v[2 * j :], strict=True)]
        return Mixture(tuple(made), _weights(v[:j]))

    values = (*_numbered("weight", "share", j), *_numbered("median", "time", j), *_numbered("sigma", "shape", j))
    return Candidate(f"{j} lognormals", values, lambda t: _mixed(t, j), tails, law, 3 * j - 1)


def erlangs(stages: Sequence[int]) -> Candidate:
    """A mixture of Erlang parts with these stages (all 1: hyperexponential): weights, then means."""
    k = np.asarray(stages, dtype=float)
    j = len(k)

    def tails(v: Array, x: Array) -> Tails:
        at = x[:, np.newaxis] * k / v[j:]
        return special.gammainc(k, at) @ v[:j], special.gammaincc(k, at) @ v[:j]

    def law(v: Array) -> Distribution:
        means = tuple(float(m) for m in v[j:])
        if np.all(k == 1):
            return HyperExponential(_weights(v[:j]), means)
        return hyper_erlang(_weights(v[:j]), [int(n) for n in k], means)

    plain = bool(np.all(k == 1))
    name = f"hyperexponential, {j} phases" if plain else f"hyper-Erlang, {j} parts"
    values = (*_numbered("weight", "share", j), *_numbered("mean", "time", j))
    fitted = 2 * j - 1 + (0 if plain else j)
    return Candidate(name, values, lambda t: _mixed(t, j), tails, law, fitted, () if plain else tuple(map(int, k)))


def mixture_theta(weights: Array, *positive: Array) -> Array:
    """θ of a mixture: log-ratios to the first weight, then the logarithms of everything else."""
    return np.concatenate([np.log(weights[1:] / weights[0]), *(np.log(p) for p in positive)])


def shifted(base: Candidate, most: float) -> Candidate:
    """``base`` after a fixed time below ``most``, the shortest that any request can take: θ ends with its logit."""

    def natural(theta: Array) -> Array:
        return np.append(base.natural(theta[:-1]), most * special.expit(theta[-1]))

    def tails(v: Array, x: Array) -> Tails:
        return base.tails(v[:-1], np.maximum(x - v[-1], 0.0))

    return Candidate(
        f"shifted {base.name}",
        (*base.values, ("shift", "time")),
        natural,
        tails,
        lambda v: Shifted(base.law(v[:-1]), float(v[-1])),
        base.free + 1,
        base.stages,
    )


def _numbered(name: str, sort: Sort, parts: int) -> tuple[tuple[str, Sort], ...]:
    return tuple((f"{name} {i}", sort) for i in range(1, parts + 1))


def _mixed(theta: Array, parts: int) -> Array:
    return np.concatenate([special.softmax(np.append(0.0, theta[: parts - 1])), np.exp(theta[parts - 1 :])])


def _weights(shares: Array) -> tuple[float, ...]:
    """Weights that add up to one to the last digit."""
    return tuple(float(w) for w in shares / shares.sum())


def _exponential(v: Array, x: Array) -> Tails:
    return -np.expm1(-x / v[0]), np.exp(-x / v[0])


def _gamma(v: Array, x: Array) -> Tails:
    at = x * v[1] / v[0]
    return special.gammainc(v[1], at), special.gammaincc(v[1], at)


def _weibull(v: Array, x: Array) -> Tails:
    with np.errstate(over="ignore"):
        hazard = (x / v[0]) ** v[1]
    return -np.expm1(-hazard), np.exp(-hazard)


def _lognormal(v: Array, x: Array) -> Tails:
    with np.errstate(divide="ignore"):
        z = np.log(x / v[0]) / v[1]
    return special.ndtr(z), special.ndtr(-z)


def _lognormal_law(v: Array) -> Distribution:
    return LogNormal(float(v[0]) * math.exp(float(v[1]) ** 2 / 2), math.expm1(float(v[1]) ** 2))


def _burr_values(theta: Array) -> Array:
    """c·k exceeds 1 for every θ, or the law would have no mean."""
    c = np.exp(theta[1])
    return np.array([np.exp(theta[0]), c, (1 + np.exp(theta[2])) / c])


def _burr(v: Array, x: Array) -> Tails:
    with np.errstate(over="ignore"):
        hazard = v[2] * np.logaddexp(0.0, v[1] * np.log(np.maximum(x / v[0], 1e-300)))
    return -np.expm1(-hazard), np.exp(-hazard)


def _burr_law(v: Array) -> Distribution:
    unit = BurrXII(float(v[1]), float(v[2]), 1.0)
    return BurrXII(float(v[1]), float(v[2]), float(v[0]) / unit.scale)
