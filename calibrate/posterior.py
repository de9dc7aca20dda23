"""What the points say of the parameters: the most probable values and draws from the posterior.

The mode is found by nonlinear least squares on the relative residuals and the priors (:mod:`calibrate.log_posterior`).
The draws come in four steps, each of which mends what the one before left wrong. Fits to disturbed points
(:mod:`calibrate.random_starts`) are near the posterior; a few steps of an ensemble (:mod:`calibrate.ensemble`) bring
them nearer; a mixture of t distributions fitted to them (:mod:`calibrate.t_mixture`) is a proposal for importance
sampling, whose weights, beside those of draws from anywhere (:mod:`calibrate.importance`), say how far off it is, and
to which a better one is fitted; and a few more steps spread the resampled draws. Where the weights are worth too few
draws, or the proposals do not agree, the walkers go on.
The relative error of the model is itself unknown, with a prior of its own, so that intervals widen when the model
misses and do not pretend when there are too few points to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibrate.importance import Proposals, agree, anywhere
from calibrate.log_posterior import Array, ErrorPrior, LogPosterior, Mask, Parameter
from calibrate.random_starts import random_starts
from calibrate.t_mixture import TMixture, resampled

__all__ = ["Array", "ErrorPrior", "Mask", "Parameter", "Posterior", "balanced", "most_probable", "posterior"]

STARTS, START_STEPS, START_KEPT = 512, 20, 6
"""Fits to disturbed points, the steps taken from there, and how many of these the first mixture is fitted to."""

COMPONENTS, CLOUD = 16, 3000
"""Components of a mixture, and how many points it is fitted to."""

ANYWHERE = 1000
"""How many draws are proposed by what is possible before any point, so that what a mixture leaves out is seen."""

ENOUGH = 400.0
"""The weighted draws are enough where they are worth so many equally weighted ones."""

WALKERS, STEPS, KEPT = 1024, 24, 8


class Round(NamedTuple):
    """How many draws of a mixture are proposed, what they must be worth for it to be the last, and the steps after."""

    proposed: int
    enough: float
    steps: int


ROUNDS = (Round(3000, 1000.0, 12), *2 * (Round(6000, 1000.0, STEPS),), Round(6000, ENOUGH, STEPS))
"""One mixture after the other: most fits need one or two. What is enough for the last is little for one before it: a
part that only a few draws of great weight have found can be missing from the fit still."""

SEEDS = 2**32
"""emcee's generator takes seeds below this."""

MORE_STEPS = 120
"""The steps where no round is enough; the second half is kept."""


@dataclass(frozen=True)
class Posterior:
    """The mode (d,) and equally weighted draws (n, d) of the parameters; ``error`` (n,): drawn relative model errors.

    ``settled`` is False where the weights of the proposed draws were worth too few of them, or the proposals did not
    agree, and the halves of the chain that went on from there put an end of a 90 % interval in places that differ by
    more than a quarter of its width; the intervals are then rough.
    """

    mode: Array
    draws: Array
    error: Array
    settled: bool


def most_probable(
    parameters: Sequence[Parameter],
    start: Array,
    predict_log: Callable[[Array], Array],
    observed_log: Array,
    noise: Array,
    error_prior: ErrorPrior,
    correlation: Array | None = None,
) -> Array:
    """The posterior's mode (d,) in natural units, with the model's relative error at its prior median.

    ``start`` (d,) or several starts (k, d) in natural units; ``predict_log`` maps parameters (w, d) in natural units to
    log predictions (w, m); ``observed_log`` (m,); ``noise`` (m,) relative standard errors of the observations (0 where
    unknown); ``correlation`` (m, m) of the model's misses, None where they are independent.
    """
    target = LogPosterior.of(parameters, predict_log, observed_log, noise, error_prior, correlation)
    return np.exp(_best(target.modes(np.log(np.atleast_2d(start)), error_prior.median)))


def posterior(
    parameters: Sequence[Parameter],
    start: Array,
    predict_log: Callable[[Array], Array],
    observed_log: Array,
    noise: Array,
    error_prior: ErrorPrior,
    correlation: Array | None = None,
    *,
    seed: int = 0,
) -> Posterior:
    """Mode and draws of the posterior; the arguments are those of ``most_probable``.

    The mode is that with the model's relative error at its prior median, or at its posterior one where that is less:
    priors must not bend a curve that the points agree with.
    """
    target = LogPosterior.of(parameters, predict_log, observed_log, noise, error_prior, correlation)
    modes = target.modes(np.log(np.atleast_2d(start)), error_prior.median)
    draws, settled = _draws(target, np.array([mode for _, mode in modes]), seed)
    error = min(error_prior.median, float(np.exp(np.median(draws[:, -1]))))
    mode = _best(target.modes(_best(modes)[None, :], error))
    return Posterior(np.exp(mode), np.exp(draws[:, :-1]), np.exp(draws[:, -1]), settled)


def _draws(target: LogPosterior, modes: Array, seed: int) -> tuple[Array, bool]:
    """Equally weighted draws (n, d + 1) of log parameters and ln s, and whether their intervals can be relied on."""
    from calibrate.ensemble import Walkers  # emcee takes a while to import

    rng = np.random.default_rng(seed)
    begun = Walkers(target, random_starts(target, modes, STARTS, rng), seed).walk(START_STEPS, START_KEPT)
    cloud = begun.reshape(-1, begun.shape[-1])
    proposals = Proposals(target)
    proposals.add(anywhere(target), ANYWHERE, rng)
    for one in ROUNDS:
        alone = proposals.add(TMixture.fitted(cloud, COMPONENTS, rng), one.proposed, rng)
        points, log_weights = proposals.weighed()
        agreed = agree(alone, log_weights, one.enough)
        if agreed:
            break
        cloud = resampled(rng, points, log_weights, CLOUD, ENOUGH / 4)
    begin = resampled(rng, points, log_weights, WALKERS, ENOUGH)
    walkers = Walkers(target, begin, (seed + 1) % SEEDS, proposals.mixture)
    chain = walkers.walk(one.steps if agreed else MORE_STEPS, KEPT if agreed else MORE_STEPS // 2)
    return chain.reshape(-1, chain.shape[-1]), agreed or _settled(chain)


def _settled(chain: Array) -> bool:
    """Whether the halves of a chain (steps, walkers, d) put the ends of 90 % intervals in about the same places."""
    halves = np.percentile(chain.reshape(2, -1, chain.shape[-1]), [5, 95], axis=1)  # (2 ends, 2 halves, d)
    widths = np.ptp(halves, axis=0).mean(axis=0)
    return bool((np.abs(np.diff(halves, axis=1)) < 0.25 * widths).all())


def _best(found: Sequence[tuple[float, Array]]) -> Array:
    """Of several descents' ends the one with the least sum of squares."""
    return min(found, key=lambda one: one[0])[1]


def balanced(rng: np.random.Generator, pairs: int, d: int) -> Array:
    """Standard normal numbers (1 + 2 pairs, d): zero, and each row with its opposite, so that medians are exact."""
    half = rng.standard_normal((pairs, d))
    return np.concatenate([np.zeros((1, d)), half, -half])
