"""Mixtures of multivariate Student's t: fitted to a cloud of points by EM, drawn from, and weighed against a density.

Each component's scale matrix is held to a share of the cloud's covariance, as if some points had that one, so that a
component of few points neither collapses nor leaves the tails uncovered (Peel and McLachlan, Statistics and Computing
2000; as a proposal for importance sampling: Cappé, Douc, Guillin, Marin and Robert, the same 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lgamma, log, pi

import numpy as np

from calibrate.discrepancy import Array

FREEDOM = 5.0
"""Degrees of freedom: tails heavier than those of most posteriors."""

EM_STEPS = 8
HALVINGS = 12
NARROWEST = 1e-3
"""No direction of the cloud counts as narrower than this share of its standard deviations."""


@dataclass(frozen=True)
class TMixture:
    """Shares (k,), centres (k, d) and lower Cholesky factors (k, d, d) of the scale matrices."""

    shares: Array
    centres: Array
    factors: Array

    @classmethod
    def fitted(cls, cloud: Array, components: int, rng: np.random.Generator) -> TMixture:
        """To equally weighted points (n, d), from randomly chosen centres."""
        n, d = cloud.shape
        whole = np.atleast_2d(np.cov(cloud.T)) + np.diag((NARROWEST * cloud.std(axis=0) + 1e-12) ** 2)
        usual = whole * components ** (-2 / d)
        centres = cloud[rng.choice(n, components, replace=False)]
        factors = np.repeat(np.linalg.cholesky(usual)[None], components, axis=0)
        mixture = cls(np.full(components, 1 / components), centres, factors)
        for _ in range(EM_STEPS):
            mixture = mixture._improved(cloud, usual)
        return mixture

    def _improved(self, cloud: Array, usual: Array) -> TMixture:
        """One step of EM; ``usual`` (d, d) stands for the scale of as many further points as make 2 d."""
        n, d = cloud.shape
        log_parts, distance = self._parts(cloud)
        owned = np.exp(log_parts - log_parts.max(axis=0))
        owned /= owned.sum(axis=0)
        weights = owned * (FREEDOM + d) / (FREEDOM + distance)
        count = owned.sum(axis=1)
        centres = (weights @ cloud + 1e-9 * self.centres) / (weights.sum(axis=1) + 1e-9)[:, None]
        apart = cloud[None] - centres[:, None]
        scatter = np.matmul((weights[:, :, None] * apart).transpose(0, 2, 1), apart)
        scales = (scatter + 2 * d * usual) / (count + 2 * d)[:, None, None]
        return TMixture((count + 1) / (n + len(count)), centres, np.linalg.cholesky(scales))

    @classmethod
    def joined(cls, mixtures: Sequence[TMixture], numbers: Sequence[int]) -> TMixture:
        """The mixture that so many draws of each of ``mixtures`` are together as if drawn from."""
        return cls(
            np.concatenate([m.shares * (n / sum(numbers)) for m, n in zip(mixtures, numbers, strict=True)]),
            np.concatenate([m.centres for m in mixtures]),
            np.concatenate([m.factors for m in mixtures]),
        )

    def draw(self, rng: np.random.Generator, n: int) -> Array:
        """Draws (n, d), in random order."""
        d = self.centres.shape[1]
        which = np.searchsorted(np.cumsum(self.shares)[:-1], (rng.random() + rng.permutation(n)) / n)
        normal = rng.standard_normal((n, d)) * np.sqrt(FREEDOM / rng.chisquare(FREEDOM, n))[:, None]
        return np.asarray(self.centres[which] + np.einsum("nij,nj->ni", self.factors[which], normal))

    def log_density(self, points: Array) -> Array:
        """Of points (n, d)."""
        parts, _ = self._parts(points)
        most = parts.max(axis=0)
        return np.asarray(most + np.log(np.exp(parts - most).sum(axis=0)))

    def _parts(self, points: Array) -> tuple[Array, Array]:
        """The log density of each component, times its share, and the squared distance from its centre; (k, n) each."""
        inverse, constant = self._ready
        distance = ((inverse @ (points.T[None] - self.centres[:, :, None])) ** 2).sum(axis=1)
        d = points.shape[1]
        return np.asarray(constant[:, None] - 0.5 * (FREEDOM + d) * np.log1p(distance / FREEDOM)), np.asarray(distance)

    @cached_property
    def _ready(self) -> tuple[Array, Array]:
        d = self.centres.shape[1]
        volume = np.log(np.diagonal(self.factors, axis1=1, axis2=2)).sum(axis=1)
        one = lgamma((FREEDOM + d) / 2) - lgamma(FREEDOM / 2) - 0.5 * d * log(FREEDOM * pi)
        return np.asarray(np.linalg.inv(self.factors)), np.asarray(np.log(self.shares) - volume + one)


def effective(log_weights: Array) -> float:
    """How many equally weighted draws are worth as much as these weighted ones (n,): (sum w)^2 / sum w^2."""
    weights = np.exp(log_weights - log_weights.max())
    return float(weights.sum() ** 2 / (weights**2).sum())


def resampled(rng: np.random.Generator, points: Array, log_weights: Array, n: int, least: float) -> Array:
    """``n`` of the weighted ``points`` (k, d), equally weighted and in random order.

    Where the weights are worth fewer than ``least`` draws they are raised to the power that makes them worth so many;
    points of no weight stay out, however few are left.
    """
    possible = np.isfinite(log_weights)
    points, log_weights = points[possible], log_weights[possible]
    power = 1.0
    if effective(log_weights) < least:
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            power = 0.5 * (low + high)
            low, high = (power, high) if effective(power * log_weights) >= least else (low, power)
        power = low
    weights = np.exp(power * (log_weights - log_weights.max()))
    ends = np.cumsum(weights)[:-1] / weights.sum()
    return np.asarray(points[np.searchsorted(ends, (rng.random() + rng.permutation(n)) / n)])
