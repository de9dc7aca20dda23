"""Few parameters that are not linear: a fixed quasi-random set of nodes, refined once around its weight.

The prior of the parameters is a sum of strata (:class:`Stratum`): in each, some parameters are fixed (a point mass) and
the others are log-normal. In every stratum the nodes are evenly spread normal deviates (:mod:`calibrate.inference.even`).
Half of them cover the prior, the other half a normal distribution as wide as twice the weight that the first half found; both are
weighted against the two together (multiple importance sampling; Veach and Guibas 1995). For each node and each size of
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
"""The refined half is so many times as wide as the weight."""

NARROWEST = 0.003
"""The refined half is at least so wide, in standard deviations of the prior."""


@dataclass(frozen=True)
class Stratum:
    """A part of the prior: its probability ``share``, and the parameters that are ``fixed`` in it, by name."""

    share: float
    fixed: Mapping[str, float] = field(default_factory=dict)


EVERYWHERE = (Stratum(1.0),)


@dataclass(frozen=True)
class Scale:
    """The parameter, by name, that multiplies every measurement; its logarithm is normal, or flat where ``sd`` is inf."""

    name: str
    mean: float = 0.0
    sd: float = np.inf


@dataclass(frozen=True)
class Observed:
    """What was measured at the loads ``used`` (k,): logarithms (k,) and their relative standard errors ``noise`` (k,)."""

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

    count = NODES.get(len(free), NODES[3])
    z = normal_nodes(count, len(free)) if free else np.zeros((1, 0))
    log_like, centre = likelihood(values_at(z))
    if not free:
        return _Nodes(values_at(z), log_like, np.zeros(1), centre)
    middle, factor = _around(z, log_like)
    finer = middle + normal_nodes(count, len(free)) @ factor.T
    finer_like, finer_centre = likelihood(values_at(finer))
    both = np.vstack([z, finer])
    prior = -0.5 * (both**2).sum(axis=1)
    apart = np.linalg.solve(factor, (both - middle).T).T
    refined = -0.5 * (apart**2).sum(axis=1) - np.log(np.abs(factor.diagonal())).sum()
    weight = prior - np.logaddexp(prior, refined) - np.log(count)
    return _Nodes(values_at(both), np.vstack([log_like, finer_like]), weight, np.vstack([centre, finer_centre]))


def _around(z: Array, log_like: Array) -> tuple[Array, Array]:
    """The mean (f,) of the weight over the nodes z (n, f), and a factor (f, f) of its widened covariance."""
    each = np.logaddexp.reduce(log_like, axis=1)
    weight = np.exp(each - each.max())
    weight /= weight.sum()
    middle = weight @ z
    apart = z - middle
    # As few nodes carry the weight, it may be narrower than it seems, and no wider than between two of them.
    between = len(z) ** (-1.0 / z.shape[1])
    floor = max(NARROWEST, 0.5 * between / max(1.0, 1 / (weight**2).sum())) ** 2
    covariance = (weight[:, None] * apart).T @ apart + floor * np.eye(z.shape[1])
    return middle, WIDER * np.linalg.cholesky(covariance)


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
