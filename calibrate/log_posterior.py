"""The parameters of a model, what is assumed of them before any point, and how probable they are after the points.

All parameters are positive and are handled as logarithms. A point's relative residual has the variance s^2 plus that
of its noise, s the relative error of the model, which is itself unknown and has a log-normal prior; residuals that go
together are made independent first (:mod:`calibrate.discrepancy`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrate.discrepancy import Whitening

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

SPARSE_SD = 1.643
"""The standard deviation of exp(1 - sqrt(1 + u^2)), a hyperbolic distribution: the root of K2(1) / K1(1)."""

SHIFT = float(np.sqrt(np.finfo(float).eps))
"""The relative step of a finite difference."""

IN_CACHE = 16384
"""So many predictions are computed at once: several arrays of them fit a processor's cache."""

MOST_ERROR = 5.0
"""How far ln s may be from its prior median."""


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
class ErrorPrior:
    """Log-normal prior of a model's relative error: its median and the sd of its logarithm."""

    median: float
    log_sd: float = 0.7


@dataclass(frozen=True)
class Prior:
    """Which of d parameters have a prior, its centre and width in logarithms, and whether it is sparse; each (d,)."""

    known: Mask
    centre: Array
    width: Array
    sparse: Mask

    @classmethod
    def of(cls, parameters: Sequence[Parameter]) -> Prior:
        """What the ``parameters`` say."""
        return cls(
            np.array([p.prior_median is not None for p in parameters]),
            np.log([p.prior_median or 1.0 for p in parameters]),
            np.array([p.prior_log_sd or 1.0 for p in parameters]),
            np.array([p.sparse for p in parameters]),
        )

    @property
    def spread(self) -> Array:
        """The standard deviations (d,) of the logarithms before any data."""
        return np.asarray(self.width * np.where(self.sparse, SPARSE_SD, 1.0))

    def residuals(self, theta: Array) -> Array:
        """Of log parameters (..., d): (..., q) for the q with a prior; half their squares is -ln of it."""
        u = ((theta - self.centre) / self.width)[..., self.known]
        robust = np.sign(u) * np.sqrt(2 * (np.sqrt(1 + u**2) - 1))
        return np.asarray(np.where(self.sparse[self.known], robust, u))


@dataclass(frozen=True)
class LogPosterior:
    """The logarithm of the posterior density, but for a constant, of rows (w, d + 1): d log parameters, then ln s.

    ``predict_log`` maps parameters (w, d) in natural units to log predictions (w, m) of ``observed_log`` (m,); ``low``
    and ``high`` (d,) are the bounds of the log parameters.
    """

    predict_log: Callable[[Array], Array]
    observed_log: Array
    white: Whitening
    prior: Prior
    error_prior: ErrorPrior
    low: Array
    high: Array

    @classmethod
    def of(
        cls, parameters: Sequence[Parameter], predict_log: Callable[[Array], Array], observed_log: Array, noise: Array,
        error_prior: ErrorPrior, correlation: Array | None,
    ) -> LogPosterior:  # fmt: skip
        """With relative standard errors ``noise`` (m,) and the ``correlation`` (m, m) of the misses, None for none."""
        low, high = np.log([p.low for p in parameters]), np.log([p.high for p in parameters])
        white = Whitening.of(noise, correlation)
        return cls(predict_log, observed_log, white, Prior.of(parameters), error_prior, low, high)

    def __call__(self, theta: Array) -> Array:
        values, log_error = theta[:, :-1], theta[:, -1]
        beside = log_error - np.log(self.error_prior.median)
        outside = ((values < self.low) | (values > self.high)).any(axis=1) | (np.abs(beside) > MOST_ERROR)
        safe = np.clip(values, self.low, self.high)
        variance = self.white.variance(np.exp(np.clip(log_error, -20, 5)))
        logp = -0.5 * (self.missed(safe) ** 2 / variance + np.log(variance)).sum(axis=1)
        logp -= 0.5 * (self.prior.residuals(safe) ** 2).sum(axis=1)
        logp -= 0.5 * (beside / self.error_prior.log_sd) ** 2
        return np.asarray(np.where(outside, -np.inf, logp))

    def missed(self, values: Array) -> Array:
        """Predicted minus observed (w, m) at log parameters (w, d), made independent of each other."""
        rows = max(1, IN_CACHE // len(self.observed_log))
        parts = (self.predict_log(np.exp(values[i : i + rows])) for i in range(0, len(values), rows))
        return np.concatenate([(part - self.observed_log) @ self.white.basis.T for part in parts])

    def slopes(self, values: Array) -> tuple[Array, Array]:
        """The derivatives (m, d) of ``missed``, and (q, d) of the priors' residuals, at log parameters (d,)."""
        shift = SHIFT * np.maximum(1.0, np.abs(values)) * np.where(values + SHIFT > self.high, -1.0, 1.0)
        both = np.vstack([values, values + np.diag(shift)])
        missed, priors = self.missed(both).T, self.prior.residuals(both).T
        return (missed[:, 1:] - missed[:, :1]) / shift, (priors[:, 1:] - priors[:, :1]) / shift

    def modes(self, starts: Array, error: float) -> list[tuple[float, Array]]:
        """From each of ``starts`` (k, d): half the sum of squares where the descent ends, and the place (d,).

        In log parameters; the model's relative error s is ``error``.
        """
        from scipy.optimize import least_squares

        spread = np.sqrt(error**2 + self.white.extra)

        def residuals(theta: Array) -> Array:
            return np.concatenate([self.missed(theta[None, :])[0] / spread, self.prior.residuals(theta)])

        def derivatives(theta: Array) -> Array:
            missed, priors = self.slopes(theta)
            return np.concatenate([missed / spread[:, None], priors])

        inside = np.clip(starts, self.low + 1e-6, self.high - 1e-6)
        found = [least_squares(residuals, one, derivatives, bounds=(self.low, self.high)) for one in inside]
        return [(float(f.cost), np.asarray(f.x)) for f in found]
