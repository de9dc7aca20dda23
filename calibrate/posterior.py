"""What the points say of the parameters: the most probable values and draws from the posterior.

All parameters are positive and are handled as logarithms. The mode is found by nonlinear least squares on the
relative residuals, made independent (:mod:`calibrate.discrepancy`) and each divided by its assumed relative error, with
the priors as further residuals. The draws come from the affine-invariant ensemble sampler of Goodman and Weare (2010)
as implemented in emcee (Foreman-Mackey et al. 2013): many walkers and few steps, all of them in one vectorised call,
and more steps where these have not settled, as on the long ridge of a curve that shows no peak.
The relative error of the model is itself unknown, with a prior of its own, so that intervals widen when the model
misses and do not pretend when there are too few points to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrate.discrepancy import Whitening

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SPARSE_SD = 1.643
"""The standard deviation of exp(1 - sqrt(1 + u^2)), a hyperbolic distribution: the root of K2(1) / K1(1)."""

WALKERS, STEPS, BURNED = 256, 150, 70

MORE_STEPS, MORE_BURNED = 450, 320
"""How far the chain goes on where it has not settled, and how much of the whole is then left out."""

SHIFT = float(np.sqrt(np.finfo(float).eps))
"""The relative step of a finite difference."""


@dataclass(frozen=True)
class Parameter:
    """A positive parameter: its bounds, and a prior of its logarithm (median and scale) where it has one.

    The prior is normal, or where ``sparse`` it is exp(1 - sqrt(1 + u^2)) in u = ln(value / median) / scale: normal near
    the median and exponential in the tails, for what mostly is near the median and now and then far from it.
    """

    name: str
    unit: str
    low: float
    high: float
    prior_median: float | None = None
    prior_log_sd: float | None = None
    sparse: bool = False

    @property
    def prior_spread(self) -> float | None:
        """The standard deviation of the logarithm before any data; None without a prior."""
        return None if self.prior_log_sd is None else self.prior_log_sd * (SPARSE_SD if self.sparse else 1.0)


@dataclass(frozen=True)
class Posterior:
    """The mode (d,) and equally weighted draws (n, d) of the parameters; ``error`` (n,): drawn relative model errors.

    ``settled`` is False where the two halves of the chain put an end of a 90 % interval in places that differ by more
    than a quarter of its width; the intervals are then rough.
    """

    mode: Array
    draws: Array
    error: Array
    settled: bool


@dataclass(frozen=True)
class ErrorPrior:
    """Log-normal prior of a model's relative error: its median and the sd of its logarithm."""

    median: float
    log_sd: float = 0.7


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
    from scipy.optimize import least_squares

    low, high = _bounds(parameters)
    prior = _Prior.of(parameters)
    white = Whitening.of(noise, correlation)
    spread = np.sqrt(error_prior.median**2 + white.extra)

    def residuals(theta: Array) -> Array:
        misfit = white.basis @ (predict_log(np.exp(theta)[None, :])[0] - observed_log) / spread
        return np.concatenate([misfit, prior.residuals(theta)])

    def slopes(theta: Array) -> Array:
        """The residuals' derivatives (r, d): all parameters are shifted in one call of ``predict_log``."""
        shift = SHIFT * np.maximum(1.0, np.abs(theta)) * np.where(theta + SHIFT > high, -1.0, 1.0)
        beside = theta + np.diag(shift)
        misfits = white.basis @ (predict_log(np.exp(np.vstack([theta, beside]))) - observed_log).T / spread[:, None]
        priors = prior.residuals(np.vstack([theta, beside])).T
        every = np.concatenate([misfits, priors])
        return np.asarray((every[:, 1:] - every[:, :1]) / shift)

    inside = np.clip(np.log(np.atleast_2d(start)), low + 1e-6, high - 1e-6)
    found = [least_squares(residuals, one, slopes, bounds=(low, high)) for one in inside]
    return np.asarray(np.exp(min(found, key=lambda f: float(f.cost)).x))


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
    import emcee

    low, high = _bounds(parameters)
    prior = _Prior.of(parameters)
    mode = np.log(most_probable(parameters, start, predict_log, observed_log, noise, error_prior, correlation))

    white = Whitening.of(noise, correlation)

    def log_probability(theta: Array) -> Array:
        values, log_error = theta[:, :-1], theta[:, -1]
        outside = ((values < low) | (values > high)).any(axis=1) | (np.abs(log_error - np.log(error_prior.median)) > 5)
        safe = np.clip(values, low, high)
        variance = white.variance(np.exp(np.clip(log_error, -20, 5)))
        misfit = (predict_log(np.exp(safe)) - observed_log) @ white.basis.T
        logp = -0.5 * (misfit**2 / variance + np.log(variance)).sum(axis=1)
        logp -= 0.5 * (prior.residuals(safe) ** 2).sum(axis=1)
        logp -= 0.5 * ((log_error - np.log(error_prior.median)) / error_prior.log_sd) ** 2
        return np.asarray(np.where(outside, -np.inf, logp))

    rng = np.random.default_rng(seed)
    first = np.append(mode, np.log(error_prior.median))
    scale = np.append(np.where(prior.known, 0.5 * prior.width, error_prior.median), 0.5 * error_prior.log_sd)
    cloud = first + scale * rng.standard_normal((WALKERS, len(first)))
    cloud[:, :-1] = np.clip(cloud[:, :-1], low + 1e-9, high - 1e-9)
    sampler = emcee.EnsembleSampler(WALKERS, len(first), log_probability, vectorize=True)
    sampler.log_prob_fn = log_probability  # without emcee's wrapper, which prints an interruption to stdout
    legacy_state = np.random.RandomState(seed).get_state()  # the form in which emcee takes its seed
    sampler.run_mcmc(emcee.State(cloud, random_state=legacy_state), STEPS, skip_initial_state_check=True)
    chain = sampler.get_chain(discard=BURNED)
    if not (settled := _settled(chain)):
        sampler.run_mcmc(None, MORE_STEPS, skip_initial_state_check=True)
        chain = sampler.get_chain(discard=MORE_BURNED)
        settled = _settled(chain)
    flat = chain.reshape(-1, len(first))
    told = replace(error_prior, median=min(error_prior.median, float(np.exp(np.median(flat[:, -1])))))
    found = most_probable(parameters, np.exp(mode), predict_log, observed_log, noise, told, correlation)
    return Posterior(found, np.exp(flat[:, :-1]), np.exp(flat[:, -1]), settled)


def _settled(chain: Array) -> bool:
    """Whether the halves of a chain (steps, walkers, d) put the ends of 90 % intervals in about the same places."""
    halves = np.percentile(chain.reshape(2, -1, chain.shape[-1]), [5, 95], axis=1)  # (2 ends, 2 halves, d)
    widths = np.ptp(halves, axis=0).mean(axis=0)
    return bool((np.abs(np.diff(halves, axis=1)) < 0.25 * widths).all())


def balanced(rng: np.random.Generator, pairs: int, d: int) -> Array:
    """Standard normal numbers (1 + 2 pairs, d): zero, and each row with its opposite, so that medians are exact."""
    half = rng.standard_normal((pairs, d))
    return np.concatenate([np.zeros((1, d)), half, -half])


def _bounds(parameters: Sequence[Parameter]) -> tuple[Array, Array]:
    """Log bounds low and high, each (d,)."""
    return np.log([p.low for p in parameters]), np.log([p.high for p in parameters])


@dataclass(frozen=True)
class _Prior:
    """Which of d parameters have a prior, its centre and width in logarithms, and whether it is sparse; each (d,)."""

    known: Mask
    centre: Array
    width: Array
    sparse: Mask

    @classmethod
    def of(cls, parameters: Sequence[Parameter]) -> _Prior:
        return cls(
            np.array([p.prior_median is not None for p in parameters]),
            np.log([p.prior_median or 1.0 for p in parameters]),
            np.array([p.prior_log_sd or 1.0 for p in parameters]),
            np.array([p.sparse for p in parameters]),
        )

    def residuals(self, theta: Array) -> Array:
        """Of log parameters (..., d): (..., k) for the k with a prior; half their squares is -ln of it."""
        u = ((theta - self.centre) / self.width)[..., self.known]
        robust = np.sign(u) * np.sqrt(2 * (np.sqrt(1 + u**2) - 1))
        return np.asarray(np.where(self.sparse[self.known], robust, u))
