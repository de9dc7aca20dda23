"""Few parameters that are not linear: a fixed quasi-random set of nodes, refined once around its weight.

The prior of the parameters is a sum of strata (:class:`Stratum`): in each, some parameters are fixed (a point mass)
and the others are log-normal. In every stratum the nodes are evenly spread normal deviates. The first set covers the
prior. Then the sizes of the misfit are processed from the largest down, as the posterior of a smaller one lies within
that of a larger one. Where too few nodes carry the weight of a size, another set covers a normal distribution twice as
wide as that weight or, where that is still too narrow, as the weight by a power of the likelihood.
All nodes are weighted against all sets together (multiple importance sampling; Veach and Guibas 1995). For each node
and each size, the curve's scale and the misfit are integrated out exactly, by generalised least squares.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from calibrate.inference.parameters import Array, MisfitPrior, MisfitProcess, Observed, Parameter
from calibrate.inference.weights import Weights, normal_nodes

NODES, NODES_OF_ONE = 512, 256
"""Number of nodes of a set, and of a set of one free parameter."""

WIDER = 2.0
"""The width of a refined set over that of the weight."""

ROUNDS = 5
"""The most sets for one size of the misfit."""

BISECTIONS = 10
"""Bisections to find the power of a likelihood, from e^-20 to 1."""

ENOUGH, LEAST_ENOUGH = 40.0, 0.1
"""The least effective number of nodes. For one size it may be smaller, in proportion to the size's part of the whole
weight, but not below this share."""

IMPROBABLE = 1e-5
"""Sizes below one that is less probable than a larger one by this factor are not refined."""

NARROWEST = 1e-7
"""The least width of a refined set, in standard deviations of the prior."""


@dataclass(frozen=True)
class Stratum:
    """A part of the prior: its probability ``share``, and the parameters that are ``fixed`` in it, by name."""

    share: float
    fixed: Mapping[str, float] = field(default_factory=dict)


EVERYWHERE = (Stratum(1.0),)


@dataclass(frozen=True)
class Scale:
    """The parameter, by name, that multiplies every measurement; its logarithm is normal, flat where ``sd`` is inf."""

    name: str
    mean: float = 0.0
    sd: float = np.inf


def table_of(
    parameters: Sequence[Parameter],
    strata: Sequence[Stratum],
    log_curve: Callable[[Array], Array],
    observed: Observed,
    process: MisfitProcess,
    misfit: MisfitPrior,
    scale: Scale | None,
) -> Weights:
    """The table of weights of a model, from any number of points.

    ``log_curve`` maps parameters (n, d) in natural units, that of the ``scale`` being 1, to logarithms (n, k) of what
    would be measured. Every parameter but the scale needs a prior, and is cut off at its bounds.
    """
    names = [p.name for p in parameters]
    fitted = _Evidence.of(observed, process, misfit, scale)
    found: list[_Nodes] = []
    for stratum in strata:
        free = [
            i for i, name in enumerate(names) if name not in stratum.fixed and (scale is None or name != scale.name)
        ]
        found += _stratum(parameters, stratum, free, lambda v: fitted.of_curves(log_curve(v)))
    return fitted.table(found, names)


@dataclass(frozen=True)
class _Nodes:
    """Some nodes: values (d, n), log likelihoods and centres of the log scale (sizes, n), log weights by the prior."""

    values: Array
    log_like: Array
    centres: Array
    log_weight: Array


def _stratum(
    parameters: Sequence[Parameter],
    stratum: Stratum,
    free: Sequence[int],
    likelihood: Callable[[Array], tuple[Array, Array]],
) -> list[_Nodes]:
    """The nodes of one stratum, set by set."""
    fixed = np.array([[stratum.fixed.get(p.name, 1.0)] for p in parameters])
    median, sd, low, high = np.reshape([_prior(parameters[i]) for i in free], (len(free), 4, 1)).swapaxes(0, 1)

    def nodes_at(z: Array) -> _Nodes:
        values = np.repeat(fixed, z.shape[1], axis=1)
        values[free] = np.minimum(np.maximum(median * np.exp(sd * z), low), high)
        return _Nodes(values, *likelihood(values.T), np.full(z.shape[1], np.log(stratum.share)))

    if not free:
        return [nodes_at(np.zeros((0, 1)))]
    count = NODES if len(free) > 1 else NODES_OF_ONE
    found = _Sets(_Set(np.zeros(len(free)), np.eye(len(free))), count, nodes_at)
    share, worth = found.shares()
    for size in range(len(share)):
        for _ in range(ROUNDS):
            if worth[size] >= ENOUGH * max(LEAST_ENOUGH, share[size]):
                break
            found.add(_refined(found.z, found.log_weight, found.log_like(size)))
            share, worth = found.shares()
        if share[size] < IMPROBABLE * share[: size + 1].max():
            break
    return found.weighted()


def _prior(p: Parameter) -> tuple[float, float, float, float]:
    """The median, the standard deviation of the logarithm, and the bounds."""
    if p.prior_median is None or p.prior_log_sd is None:
        raise ValueError(f"{p.name} has no prior; nodes need one")
    return p.prior_median, p.prior_log_sd, p.low, p.high


class _Sets:
    """The nodes of one stratum, ``count`` of each set, at ``z`` (f, n) in standard deviations of the prior."""

    def __init__(self, prior: _Set, count: int, nodes_at: Callable[[Array], _Nodes]) -> None:
        self._sets, self._count, self._nodes_at = [prior], count, nodes_at
        self.z = prior.nodes(count, 0)
        self._nodes = [nodes_at(self.z)]
        self._log_prior = self._log_density = _log_densities([prior], self.z)[0]
        self._most = self._nodes[0].log_like.max(axis=1)
        self._likelihood = _relative(self._nodes[0].log_like, self._most)

    @property
    def log_weight(self) -> Array:
        """(n,): the log of the prior over the density of all sets together, at most 0."""
        return np.asarray(self._log_prior - self._log_density)

    def log_like(self, size: int) -> Array:
        """The log likelihoods (n,) at one size of the misfit."""
        return np.concatenate([some.log_like[size] for some in self._nodes])

    def add(self, one: _Set) -> None:
        """Another set."""
        self._sets.append(one)
        z = one.nodes(self._count, self.z.shape[1])
        nodes, among = self._nodes_at(z), _log_densities(self._sets, z)
        before = np.logaddexp(self._log_density, _log_densities([one], self.z)[0])
        self._log_density = np.concatenate([before, np.logaddexp.reduce(among, axis=0)])
        self._log_prior = np.concatenate([self._log_prior, among[0]])
        self.z = np.concatenate([self.z, z], axis=1)
        self._nodes.append(nodes)
        most = np.maximum(self._most, nodes.log_like.max(axis=1))
        known = self._likelihood * np.exp(self._most - most)[:, None]
        self._most, self._likelihood = most, np.concatenate([known, _relative(nodes.log_like, most)], axis=1)

    def shares(self) -> tuple[Array, Array]:
        """Each size's share of the whole weight, and its effective number of nodes (sizes,).

        The second is Kish's effective sample size (Survey Sampling, 1965).
        """
        weight = self._likelihood * np.exp(self.log_weight)
        whole = weight.sum(axis=1)
        share = np.exp(self._most - self._most.max()) * whole
        return share / share.sum(), np.asarray(whole**2 / np.square(weight, out=weight).sum(axis=1))

    def weighted(self) -> list[_Nodes]:
        """The nodes of each set, weighted against all sets together."""
        each = np.split(self.log_weight - np.log(self._count), len(self._nodes))
        return [replace(n, log_weight=n.log_weight + more) for n, more in zip(self._nodes, each, strict=True)]


@dataclass(frozen=True)
class _Set:
    """A normal distribution of nodes: its middle (f,) and a factor (f, f) of its covariance."""

    middle: Array
    factor: Array

    def nodes(self, count: int, after: int) -> Array:
        """Evenly spread nodes (f, count), those after the first ``after`` of the sequence."""
        return np.asarray(self.middle[:, None] + self.factor @ normal_nodes(count, len(self.middle), after).T)

    @cached_property
    def to_unit(self) -> Array:
        """The matrix (f, f) that maps the distribution to independent standard deviates."""
        return np.asarray(np.linalg.inv(self.factor))

    @cached_property
    def log_height(self) -> float:
        """The log density in the middle, up to the constant common to all normal distributions."""
        return float(-np.log(np.abs(self.factor.diagonal())).sum())


def _log_densities(sets: Sequence[_Set], z: Array) -> Array:
    """The log densities (sets, n) at z (f, n), up to the constant common to all normal distributions."""
    apart = np.array([one.to_unit for one in sets]) @ (z - np.array([one.middle for one in sets])[:, :, None])
    heights = np.array([[one.log_height] for one in sets])
    return np.asarray(heights - 0.5 * np.square(apart, out=apart).sum(axis=1))


def _refined(z: Array, log_weight: Array, log_like: Array) -> _Set:
    """A set around the weight of nodes z (f, n), or around that by a power of the likelihood with enough nodes."""
    log_like = log_like - log_like.max()
    low, high, weight = math.exp(-20.0), 1.0, np.exp(log_weight)
    for _ in range(BISECTIONS):
        power = math.sqrt(low * high)
        tried = power * log_like
        tried += log_weight
        np.exp(np.maximum(tried, LEAST_LOG, out=tried), out=tried)
        if tried.sum() ** 2 < ENOUGH * (tried @ tried):
            high = power
        else:
            low, weight = power, tried
    weight = weight / weight.sum()
    middle = z @ weight
    apart = z - middle[:, None]
    covariance = (weight * apart) @ apart.T + NARROWEST**2 * np.eye(len(z))
    return _Set(middle, np.asarray(WIDER * np.linalg.cholesky(covariance)))


LEAST_LOG = -700.0
"""The logarithm of the least weight, the greatest being about 1: exponentials of less are slow."""


def _relative(log_like: Array, most: Array) -> Array:
    """Likelihoods (sizes, n) over those of which the logarithms are ``most`` (sizes,)."""
    apart = log_like - most[:, None]
    return np.asarray(np.exp(np.maximum(apart, LEAST_LOG, out=apart), out=apart))


@dataclass(frozen=True)
class _Evidence:
    """The evidence of every curve and every size of the misfit, with the scale integrated out.

    ``basis`` (k, k) makes the residuals independent, of variances size^2 + ``extra`` (k,), for every size.
    """

    observed_log: Array
    basis: Array
    extra: Array
    sizes: Array
    log_prior: Array
    scale: Scale | None

    @classmethod
    def of(cls, observed: Observed, process: MisfitProcess, misfit: MisfitPrior, scale: Scale | None) -> _Evidence:
        """Diagonalises the noise against the misfit's correlation."""
        lower = np.linalg.cholesky(process.seen(observed.used).among(observed.used))
        whiten = np.linalg.inv(lower)
        extra, vectors = np.linalg.eigh(whiten @ np.diag(observed.noise**2) @ whiten.T)
        return cls(observed.log, vectors.T @ whiten, np.maximum(extra, 0.0), *misfit.sizes(), scale)

    @cached_property
    def _precision(self) -> Array:
        """(sizes, k): one over the variances of the independent residuals."""
        return np.asarray(1 / (self.sizes[:, None] ** 2 + self.extra))

    @cached_property
    def _unit(self) -> Array:
        """(k,): the change of the independent residuals by a scale of e."""
        return np.asarray(self.basis.sum(axis=1))

    @cached_property
    def _scale_precision(self) -> Array:
        """(sizes,): precision of the log scale from the points and its prior; 0 without a scale."""
        if self.scale is None:
            return np.zeros(len(self.sizes))
        return np.asarray(self._precision @ self._unit**2 + self.scale.sd**-2.0)

    @cached_property
    def _log_height(self) -> Array:
        """(sizes,): the log evidence of a curve without residuals, except for the scale."""
        return np.asarray(0.5 * np.log(self._precision).sum(axis=1) + self.log_prior)

    def of_curves(self, log_curves: Array) -> tuple[Array, Array]:
        """For curves (n, k): log evidence (sizes, n), the prior of the sizes included, and centres of the log scale.

        The squares are taken around each curve's mean miss: far from it they would lose their digits, and curves that
        fit a single point exactly would differ by rounding.
        """
        missed = self.observed_log - log_curves
        if self.scale is None:
            squares = self._precision @ ((missed @ self.basis.T) ** 2).T
            return self._log_height[:, None] - 0.5 * squares, np.zeros_like(squares)
        near = missed @ np.full(missed.shape[1], 1 / missed.shape[1])
        free = (missed - near[:, None]) @ self.basis.T
        known, total, prior = self.scale.sd**-2.0, self._scale_precision[:, None], self.scale.mean - near
        centre = ((self._precision * self._unit) @ free.T + known * prior) / total
        squares = self._precision @ (free**2).T + known * prior**2 - total * centre**2
        return (self._log_height[:, None] - 0.5 * np.log(total)) - 0.5 * squares, near + centre

    def table(self, nodes: Sequence[_Nodes], names: Sequence[str]) -> Weights:
        """A row for each node and size that is not negligible; its direction is that of the scale."""
        weights = [(some.log_like + some.log_weight).T for some in nodes]
        least = max(weight.max() for weight in weights) - REACH
        parts = []
        for some, weight in zip(nodes, weights, strict=True):
            node, size = np.nonzero(weight > least)
            parts.append((some.values.T[node], size, weight[node, size], some.centres[size, node]))
        values, size, log_weight, centres = map(np.concatenate, zip(*parts, strict=True))
        directions = np.zeros((*values.shape, 0 if self.scale is None else 1))
        scale = None if self.scale is None else list(names).index(self.scale.name)
        if scale is not None:
            values[:, scale] = np.exp(centres)
            directions[:, scale, 0] = self._scale_precision[size] ** -0.5
        return Weights.of(values, self.sizes[size], log_weight, directions, scale)


REACH = 9.3
"""Rows less probable than the heaviest by e to this power are dropped."""
