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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
    values, log_like, log_weight, centres = [], [], [], []
    for stratum in strata:
        free = [
            i for i, name in enumerate(names) if name not in stratum.fixed and (scale is None or name != scale.name)
        ]
        found = _stratum(parameters, stratum, free, lambda v: fitted.of_curves(log_curve(v)))
        values.append(found.values)
        log_like.append(found.log_like)
        log_weight.append(found.log_weight + np.log(stratum.share))
        centres.append(found.centres)
    nodes = _Nodes(np.vstack(values), np.vstack(log_like), np.concatenate(log_weight), np.vstack(centres))
    return fitted.table(nodes, names)


@dataclass(frozen=True)
class _Nodes:
    """Values (n, d), log likelihoods (n, sizes), log weights by the prior (n,), centres of the log scale (n, sizes)."""

    values: Array
    log_like: Array
    log_weight: Array
    centres: Array


def _stratum(
    parameters: Sequence[Parameter],
    stratum: Stratum,
    free: Sequence[int],
    likelihood: Callable[[Array], tuple[Array, Array]],
) -> _Nodes:
    """The nodes of one stratum, of all sets."""

    def values_at(z: Array) -> Array:
        values = np.ones((len(z), len(parameters)))
        for i, p in enumerate(parameters):
            values[:, i] = stratum.fixed.get(p.name, 1.0)
        for column, i in enumerate(free):
            p = parameters[i]
            if p.prior_median is None or p.prior_log_sd is None:
                raise ValueError(f"{p.name} has no prior; nodes need one")
            values[:, i] = np.clip(p.prior_median * np.exp(p.prior_log_sd * z[:, column]), p.low, p.high)
        return values

    if not free:
        log_like, centres = likelihood(values_at(np.zeros((1, 0))))
        return _Nodes(values_at(np.zeros((1, 0))), log_like, np.zeros(1), centres)
    count = NODES if len(free) > 1 else NODES_OF_ONE
    prior = _Set(np.zeros(len(free)), np.eye(len(free)))
    sets, z = [prior], prior.nodes(count, 0)
    values = values_at(z)
    log_like, centres = likelihood(values)
    log_prior = prior.log_density(z)
    density, log_weight = log_prior, np.zeros(count)  # density of all sets together, and log of the prior over it
    share, worth = _shares(log_like)
    for size in range(log_like.shape[1]):
        for _ in range(ROUNDS):
            if worth[size] >= ENOUGH * max(LEAST_ENOUGH, share[size]):
                break
            sets.append(_refined(z, log_weight, log_like[:, size]))
            nodes = sets[-1].nodes(count, len(z))
            more = values_at(nodes)
            likely, centre = likelihood(more)
            log_like, centres, values = (
                np.concatenate(pair) for pair in ((log_like, likely), (centres, centre), (values, more))
            )
            known = np.logaddexp(density, sets[-1].log_density(z))
            new = [one.log_density(nodes) for one in sets]
            density, log_prior = np.append(known, np.logaddexp.reduce(new, axis=0)), np.append(log_prior, new[0])
            z, log_weight = np.concatenate([z, nodes]), log_prior - density
            share, worth = _shares(log_weight[:, None] + log_like)
        if share[size] < IMPROBABLE * share[: size + 1].max():
            break
    return _Nodes(values, log_like, log_weight - np.log(count), centres)


@dataclass(frozen=True)
class _Set:
    """A normal distribution of nodes: its middle (f,) and a factor (f, f) of its covariance."""

    middle: Array
    factor: Array

    def nodes(self, count: int, after: int) -> Array:
        """Evenly spread nodes (count, f), those after the first ``after`` of the sequence."""
        return np.asarray(self.middle + normal_nodes(count, len(self.middle), after) @ self.factor.T)

    def log_density(self, z: Array) -> Array:
        """The log density at z (n, f), up to the constant common to all normal distributions."""
        apart = (z - self.middle) @ self._to_unit
        return np.asarray(self._log_height - 0.5 * np.einsum("nf,nf->n", apart, apart))

    @cached_property
    def _to_unit(self) -> Array:
        """The matrix (f, f) that maps the distribution to independent standard deviates."""
        return np.asarray(np.linalg.inv(self.factor).T)

    @cached_property
    def _log_height(self) -> float:
        return float(-np.log(np.abs(self.factor.diagonal())).sum())


def _refined(z: Array, log_weight: Array, log_like: Array) -> _Set:
    """A set around the weight of nodes z (n, f), or around that by a power of the likelihood with enough nodes."""
    low, high, weight = np.exp(-20.0), 1.0, _from_logs(log_weight)
    for _ in range(BISECTIONS):
        power = float(np.sqrt(low * high))
        tried = _from_logs(log_weight + power * log_like)
        if tried.sum() ** 2 < ENOUGH * (tried @ tried):
            high = power
        else:
            low, weight = power, tried
    weight = weight / weight.sum()
    middle = weight @ z
    apart = z - middle
    covariance = (weight[:, None] * apart).T @ apart + NARROWEST**2 * np.eye(z.shape[1])
    return _Set(middle, np.asarray(WIDER * np.linalg.cholesky(covariance)))


def _from_logs(log_weight: Array) -> Array:
    """Weights (n,) of which the greatest is 1."""
    weight = log_weight - log_weight.max()
    np.exp(weight, out=weight)
    return np.asarray(weight)


def _shares(log_weight: Array) -> tuple[Array, Array]:
    """From logarithms of weights (n, k): each column's share of the whole, and its effective number of nodes (k,).

    The second is Kish's effective sample size (Survey Sampling, 1965).
    """
    weight = log_weight.T.copy()  # sums along rows take a tenth of the time
    most = weight.max(axis=1)
    np.exp(np.subtract(weight, most[:, None], out=weight), out=weight)
    whole = weight.sum(axis=1)
    share = np.exp(most - most.max()) * whole
    return share / share.sum(), np.asarray(whole**2 / np.square(weight, out=weight).sum(axis=1))


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
        """For curves (n, k): log evidence (n, sizes), the prior of the sizes included, and centres of the log scale."""
        missed = (self.observed_log - log_curves) @ self.basis.T
        squares = missed**2 @ self._precision.T
        if self.scale is None:
            return self._log_height - 0.5 * squares, np.zeros_like(squares)
        known, total = self.scale.sd**-2.0, self._scale_precision
        centre = (missed @ (self._precision * self._unit).T + known * self.scale.mean) / total
        squares += known * self.scale.mean**2
        squares -= total * centre**2
        return self._log_height - 0.5 * squares - 0.5 * np.log(total), centre

    def table(self, nodes: _Nodes, names: Sequence[str]) -> Weights:
        """A row for each node and size that is not negligible; its direction is that of the scale."""
        log_weight = nodes.log_like + nodes.log_weight[:, None]
        k = log_weight.shape[1]
        rows = np.flatnonzero(log_weight.ravel() > log_weight.max() - REACH)
        node, size = rows // k, rows % k
        chosen, directions = nodes.values[node], np.zeros((len(rows), len(names), 0 if self.scale is None else 1))
        scale = None if self.scale is None else list(names).index(self.scale.name)
        if scale is not None:
            chosen[:, scale] = np.exp(nodes.centres.ravel()[rows])
            directions[:, scale, 0] = self._scale_precision[size] ** -0.5
        return Weights.of(chosen, self.sizes[size], log_weight.ravel()[rows], directions, scale)


REACH = 9.3
"""Rows less probable than the heaviest by e to this power are dropped."""
