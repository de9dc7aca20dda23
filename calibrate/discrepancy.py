"""How a model's misses at neighbouring loads go together: a Gaussian process in the logarithm of the load.

A curve with few parameters does not pass through a device's points, and where it is too low at depth 8 it is mostly too
low at depth 12 as well. Treated as independent errors such misses make bands too narrow between and beyond the points,
and throw away what a measured point says of its neighbours. So the logarithm of what is measured is taken as

    log X(N) = log f(N; parameters) + d(ln N) + noise,

d of mean 0, standard deviation s and correlation ``own`` [a = b] + (1 - own) exp(-(ln a - ln b)^2 / (2 length^2))
(Kennedy and O'Hagan, Bayesian calibration of computer models, JRSS B 2001). s is a part of the fit; ``length`` and
``own``, the share that belongs to one point alone, are given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Discrepancy:
    """Correlation ``length`` in ln(N + ``pivot``), and the share ``own`` of the variance that neighbours do not have.

    A ``pivot`` above zero is for loads that may be zero, such as injected delays; those well below it are alike.
    """

    length: float
    own: float
    pivot: float = 0.0

    def seen(self, used: Array) -> Discrepancy:
        """The same, given the loads that were calibrated on: some kinds measure nearness by these."""
        return self

    def place(self, loads: Array) -> Array:
        """Where a load stands, so that differences are distances."""
        return np.asarray(np.log(loads + self.pivot))

    def between(self, some: Array, others: Array) -> Array:
        """The correlation (m, k) of d at ``some`` loads (m,) and at ``others`` (k,): different measurements."""
        apart = self.place(some)[:, None] - self.place(others)[None, :]
        return np.asarray((1 - self.own) * np.exp(-0.5 * (apart / self.length) ** 2))

    def among(self, loads: Array) -> Array:
        """The correlation (m, m) of d among measurements at ``loads`` (m,)."""
        return self.between(loads, loads) + self.own * np.eye(len(loads))


@dataclass(frozen=True)
class Whitening:
    """Misses made independent: ``basis @ misses`` have the variances s^2 + ``extra``, whatever s is."""

    basis: Array
    extra: Array

    @classmethod
    def of(cls, noise: Array, correlation: Array | None = None) -> Whitening:
        """For relative standard errors ``noise`` (m,) and a ``correlation`` (m, m) of the misses, None for none.

        The generalised eigenvectors V of diag(noise^2) v = e K v have V' K V = 1 and V' diag(noise^2) V = diag(e).
        """
        if correlation is None:
            return cls(np.eye(len(noise)), noise**2)
        from scipy.linalg import eigh

        values, vectors = eigh(np.diag(noise**2), correlation)
        return cls(vectors.T, np.maximum(values, 0.0))

    def variance(self, error: Array) -> Array:
        """The variances (w, m) for relative errors s (w,)."""
        return np.asarray(error[:, None] ** 2 + self.extra[None, :])


def beyond_the_points(
    discrepancy: Discrepancy | None, used: Array, noise: Array, misses: Array, error: Array, loads: Array
) -> tuple[Array, Array]:
    """Mean and standard deviation (w, m) of d at new measurements at ``loads`` (m,), given the misses at ``used``.

    ``used`` (k,) and the ``noise`` (k,) of what was measured there; ``misses`` (w, k): log observed - log predicted for
    each draw; ``error`` (w,): s of each draw. Without a discrepancy, misses say nothing of other loads.
    """
    wide = np.broadcast_to(error[:, None], (len(error), len(loads)))
    if discrepancy is None or len(used) == 0:
        return np.zeros_like(wide), wide
    discrepancy = discrepancy.seen(used)
    white = Whitening.of(noise, discrepancy.among(used))
    share = wide[:, :1] ** 2 / white.variance(error)
    to_new = discrepancy.between(loads, used) @ white.basis.T
    mean = (misses @ white.basis.T * share) @ to_new.T
    variance = wide**2 * (1 - share @ (to_new**2).T)
    return mean, np.sqrt(np.maximum(variance, 0.0))


def together(discrepancy: Discrepancy | None, used: Array, noise: Array, error: Array, loads: Array) -> Array:
    """The covariance (m, m) of d at new measurements at different ``loads``, the mean over draws ``error`` (w,) of s.

    The arguments are those of ``beyond_the_points``.
    """
    mean_square = float((error**2).mean())
    if discrepancy is None:
        return mean_square * np.eye(len(loads))
    prior = mean_square * discrepancy.among(loads)
    if len(used) == 0:
        return prior
    white = Whitening.of(noise, discrepancy.among(used))
    to_new = discrepancy.between(loads, used) @ white.basis.T
    taken = (error[:, None] ** 4 / white.variance(error)).mean(axis=0)
    return np.asarray(prior - (to_new * taken) @ to_new.T)
