"""Many parameters: linearised at the most probable ones, for each size of the misfit.

For a given misfit size s the logarithms of the parameters are nearly normal around the most probable ones, where the
model is linear in them, so that parameters and misfit integrate out exactly (Laplace's method; MacKay,
Information Theory, Inference, and Learning Algorithms, 2003, chapter 27). The sizes are tried from the largest down,
each descent starts where the previous one ended, and each size is weighted by its evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from calibrate.inference.parameters import Array, MisfitPrior, MisfitProcess, Observed, Parameter
from calibrate.inference.weights import Weights

STEPS, CLOSE = 60, 1e-3
"""A descent ends after this many steps, or where the next one is shorter than this in posterior standard deviations."""

SCALES = (4, 2, 1, 1 / 2, 1 / 4, 1 / 16, 1 / 128, 1 / 2048)
"""Multiples of each Gauss-Newton step that are tried; the best one is used."""

SHIFT = 1e-5
"""The step of a numerical derivative, in logarithms."""


def linearised(
    parameters: Sequence[Parameter],
    predict_log: Callable[[Array], Array],
    observed: Observed,
    process: MisfitProcess,
    misfit: MisfitPrior,
) -> Weights:
    """The table of weights, a row for each misfit size; its directions are those of all parameters.

    Every parameter needs a prior, at whose median the descent begins; ``predict_log`` maps parameters (n, d) in natural
    units to logarithms (n, k) of what would be observed.
    """
    prior = _Prior.of(parameters)
    sizes, log_prior = misfit.sizes()
    correlation = process.seen(observed.used).among(observed.used)
    theta = prior.start
    rows: list[Array] = []
    evidence, spread = [], []
    for size in sizes:
        if len(rows) > 1:  # extrapolate: the most probable parameters change steadily with the size
            before, last = rows[-2:]
            theta = np.clip(2 * last - before, prior.low, prior.high)
        covariance = size**2 * correlation + np.diag(observed.noise**2)
        theta, factor, log_evidence = _descend(theta, prior, predict_log, observed.log, covariance)
        rows.append(theta)
        spread.append(factor)
        evidence.append(log_evidence)
    return Weights.of(np.exp(rows), sizes, np.array(evidence) + log_prior, np.array(spread))


def most_probable(parameters: Sequence[Parameter], predict_log: Callable[[Array], Array], observed: Observed) -> Array:
    """The most probable parameters (d,) where measurements miss the model by their ``noise`` alone."""
    prior = _Prior.of(parameters)
    theta, _, _ = _descend(prior.start, prior, predict_log, observed.log, np.diag(observed.noise**2))
    return np.exp(theta)


class _Prior(NamedTuple):
    """Centres, precisions and bounds of the log parameters, (d,) each."""

    centre: Array
    precision: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, parameters: Sequence[Parameter]) -> _Prior:
        """The priors of parameters, each of which needs one."""
        known = [(p.prior_median, (p.prior_log_sd or np.nan) ** -2.0, p.low, p.high) for p in parameters]
        median, precision, low, high = np.array(known, dtype=float).T
        return cls(np.log(median), precision, np.log(low), np.log(high))

    @property
    def start(self) -> Array:
        """The centres, inside the bounds."""
        return np.clip(self.centre, self.low, self.high)


def _descend(
    theta: Array, prior: _Prior, predict_log: Callable[[Array], Array], observed: Array, covariance: Array
) -> tuple[Array, Array, float]:
    """The most probable log parameters (d,), a factor (d, d) of their covariance, and the logarithm of the evidence.

    Gauss-Newton steps with a line search, held inside the bounds.
    """
    whiten = np.linalg.inv(np.linalg.cholesky(covariance))
    for _ in range(STEPS):
        log_curve, slopes = _curve_and_slopes(theta, prior, predict_log)
        missed, slopes = whiten @ (observed - log_curve), whiten @ slopes
        from_centre = theta - prior.centre
        cost = float(missed @ missed + prior.precision @ from_centre**2)
        precision = slopes.T @ slopes + np.diag(prior.precision)
        step = np.linalg.solve(precision, slopes.T @ missed - prior.precision * from_centre)
        if step @ precision @ step < CLOSE**2:
            break
        tried = np.clip(theta + np.outer(SCALES, step), prior.low, prior.high)
        costs = (((observed - predict_log(np.exp(tried))) @ whiten.T) ** 2).sum(axis=1)
        costs += (tried - prior.centre) ** 2 @ prior.precision
        best = int(costs.argmin())
        if not costs[best] < cost:
            break
        theta = tried[best]
    factor = np.linalg.inv(np.linalg.cholesky(precision)).T
    evidence = -0.5 * cost + np.log(whiten.diagonal()).sum() + np.log(np.abs(factor.diagonal())).sum()
    return theta, factor, float(evidence + 0.5 * np.log(prior.precision).sum())


def _curve_and_slopes(theta: Array, prior: _Prior, predict_log: Callable[[Array], Array]) -> tuple[Array, Array]:
    """The log predictions (k,) and their derivatives (k, d); a parameter at a bound is shifted away from it."""
    shift = np.where(theta + SHIFT > prior.high, -SHIFT, SHIFT)
    log_curve, *shifted = predict_log(np.exp(np.vstack([theta, theta + np.diag(shift)])))
    return log_curve, np.asarray((shifted - log_curve).T / shift)
