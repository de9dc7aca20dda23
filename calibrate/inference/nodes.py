"""Few parameters that are not linear: a fixed quasi-random set of nodes, refined once around its weight.

The prior of the parameters is a sum of strata (:class:`Stratum`): in each, some parameters are fixed (a point mass) and
the others are log-normal. In every stratum the nodes are evenly spread normal deviates
(:mod:`calibrate.inference.even`). One set of them covers the prior, another a normal distribution twice as wide as the
weight that the first set found; all are weighted against both sets together (multiple importance sampling; Veach and
Guibas 1995). Where the weight lies on too few nodes, the next set is made around a tempered weight first. For each node and each size of
the misfit, the curve's scale and the misfit are integrated out exactly, by generalised least squares.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from calibrate.inference.even import normal_nodes
from calibrate.inference.misfit import MisfitProcess
from calibrate.inference.parameters import Array, MisfitPrior, Parameter
from calibrate.inference.weights import Weights

NODES = {0: 1, 1: 128, 2: 320, 3: 640}
"""How many nodes a stratum of so many free parameters has, in each half; more parameters have as many as three."""

WIDER = 2.0
"""A refined set is so many times as wide as the weight."""

ROUNDS = 6
"""A set is refined once where its weight lies on enough nodes, else towards tempered weights, at most so often."""

TEMPERS = 10.0 ** -np.arange(0.0, 7.5, 0.5)
"""Powers of the likelihood, tried from the first on."""

ENOUGH = 12.0
"""A weight lies on enough nodes where it is worth so many equally weighted ones, for each free parameter."""

NARROWEST = 1e-7
"""In standard deviations of the prior: no refined set is narrower."""


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


@dataclass(frozen=True)
class Observed:
    """What was measured at the loads ``used`` (k,): logarithms (k,) and relative standard errors ``noise`` (k,)."""

    used: Array
    log: Array
    noise: Array


def table_of(
    parameters: Sequence[Parameter], strata: Sequence[Stratum], log_curve: Callable[[Array], Array],
    observed: Observed, process: MisfitProcess, misfit: MisfitPrior, scale: Scale | None,
) -> Weights:  # fmt: skip
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
    """The nodes of one stratum, both halves."""

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
    count = NODES.get(len(free), NODES[3])
    sets = [_Set(np.zeros(len(free)), np.eye(len(free)))]
    z = sets[0].nodes(count)
    log_like, centres = likelihood(values_at(z))
    for _ in range(ROUNDS):
        temper, refined = _refined(z, _log_weight(z, sets), log_like)
        sets.append(refined)
        z = np.vstack([z, refined.nodes(count)])
        more = likelihood(values_at(z[-count:]))
        log_like, centres = np.vstack([log_like, more[0]]), np.vstack([centres, more[1]])
        if temper == 1:
            break
    return _Nodes(values_at(z), log_like, _log_weight(z, sets) - np.log(count), centres)


@dataclass(frozen=True)
class _Set:
    """A normal distribution of nodes: its middle (f,) and a factor (f, f) of its covariance."""

    middle: Array
    factor: Array

    def nodes(self, count: int) -> Array:
        """Nodes (count, f), evenly spread."""
        return np.asarray(self.middle + normal_nodes(count, len(self.middle)) @ self.factor.T)

    def log_density(self, z: Array) -> Array:
        """At z (n, f), up to the constant that all normal distributions share."""
        apart = np.linalg.solve(self.factor, (z - self.middle).T)
        return np.asarray(-0.5 * (apart**2).sum(axis=0) - np.log(np.abs(self.factor.diagonal())).sum())


def _log_weight(z: Array, sets: Sequence[_Set]) -> Array:
    """ln of the prior over the density of the nodes, all sets together, at z (n, f)."""
    density = np.logaddexp.reduce([one.log_density(z) for one in sets], axis=0)
    return np.asarray(sets[0].log_density(z) - density)


def _refined(z: Array, log_weight: Array, log_like: Array) -> tuple[float, _Set]:
    """A set around the weight of nodes z (n, f), and the power of the likelihood with which enough of them count."""
    each = np.logaddexp.reduce(log_like, axis=1)
    for temper in TEMPERS:
        weight = log_weight + temper * each
        weight = np.exp(weight - weight.max())
        weight /= weight.sum()
        if 1 / (weight**2).sum() >= ENOUGH * z.shape[1]:
            break
    middle = weight @ z
    covariance = (weight[:, None] * (z - middle)).T @ (z - middle) + NARROWEST**2 * np.eye(z.shape[1])
    return float(temper), _Set(middle, WIDER * np.linalg.cholesky(covariance))


@dataclass(frozen=True)
class _Evidence:
    """How probable the observations are, for every curve and every size of the misfit, with the scale integrated out.

    ``basis`` (k, k) makes the misses independent, of variances size^2 + ``extra`` (k,), whatever the size is.
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

    @property
    def _precision(self) -> Array:
        """(sizes, k): one over the variances of the independent misses."""
        return np.asarray(1 / (self.sizes[:, None] ** 2 + self.extra))

    @property
    def _scale_precision(self) -> Array:
        """(sizes,): how well the points and the scale's prior fix its logarithm; 0 without one."""
        if self.scale is None:
            return np.zeros(len(self.sizes))
        unit = self.basis.sum(axis=1)
        return np.asarray(self._precision @ unit**2 + self.scale.sd**-2.0)

    def of_curves(self, log_curves: Array) -> tuple[Array, Array]:
        """For curves (n, k): log evidence (n, sizes), the prior of the sizes included, and centres of the log scale."""
        missed = (self.observed_log - log_curves) @ self.basis.T
        precision = self._precision
        squares = missed**2 @ precision.T
        log_like = 0.5 * np.log(precision).sum(axis=1) + self.log_prior
        if self.scale is None:
            return log_like - 0.5 * squares, np.zeros_like(squares)
        known = self.scale.sd**-2.0
        total = self._scale_precision
        centre = (missed @ (precision * self.basis.sum(axis=1)).T + known * self.scale.mean) / total
        squares = squares + known * self.scale.mean**2 - total * centre**2
        return log_like - 0.5 * squares - 0.5 * np.log(total), centre

    def table(self, nodes: _Nodes, names: Sequence[str]) -> Weights:
        """A row for each node and size that counts; its direction is that of the scale."""
        log_weight = nodes.log_like + nodes.log_weight[:, None]
        k = log_weight.shape[1]
        rows = np.flatnonzero(log_weight.ravel() > log_weight.max() - REACH)
        node, size = rows // k, rows % k
        chosen, directions = nodes.values[node], np.zeros((len(rows), len(names), 0 if self.scale is None else 1))
        if self.scale is not None:
            column = list(names).index(self.scale.name)
            chosen[:, column] = np.exp(nodes.centres.ravel()[rows])
            directions[:, column, 0] = self._scale_precision[size] ** -0.5
        return Weights.of(
            chosen, self.sizes[size], log_weight.ravel()[rows], directions, nodes.log_like.ravel()[rows]
        )  # fmt: skip


REACH = 9.3
"""Rows less probable than the heaviest by e to this power are dropped."""
