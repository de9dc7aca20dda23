"""Two ways to a table of weights: nodes for few parameters that are not linear, and a linearised model for many.

**Nodes.** The prior of the parameters is a sum of strata (:class:`Stratum`): in each, some parameters are fixed (a
point mass) and the others are log-normal. In every stratum the nodes are evenly spread normal deviates. The first set
covers the prior. Then the sizes of the misfit are processed from the largest down, as the posterior of a smaller one
lies within that of a larger one. Where too few nodes carry the weight of a size, another set covers a normal
distribution twice as wide as that weight or, where that is still too narrow, as the weight by a power of the
likelihood. All nodes are weighted against all sets together (multiple importance sampling; Veach and Guibas 1995). For
each node and each size, the curve's scale and the misfit are integrated out exactly, by generalised least squares.

**Linearised.** For a given misfit size s the logarithms of the parameters are nearly normal around the most probable
ones, where the model is linear in them, so that parameters and misfit integrate out exactly (Laplace's method; MacKay,
Information Theory, Inference, and Learning Algorithms, 2003, chapter 27). The sizes are tried from the largest down,
each descent starts where the previous one ended, and each size is weighted by its evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from calibrate.inference.parameters import Array, MisfitPrior, MisfitProcess, Observed, Parameter
from calibrate.inference.weights import DIGITS, ROWS, Weights, normal_nodes, rows_kept

NODES = (1, 256, 512)
"""Number of nodes of a set, of no free parameter, of one and of more."""

POWERS, LEAST_LOG_POWER = 1024, -20.0
"""Number of powers of a likelihood, at even steps of their logarithm, from the least one to 1."""

LEAST_ENOUGH = 0.1
"""For one size the effective number of nodes may be smaller, in proportion to the size's part of the whole weight, but
not below this share."""

WHOLE = 10.0
"""From this effective number of nodes on, a refined set covers the weight itself and not that by a power."""

REACH = 9.3
"""Rows less probable than the heaviest by e to this power are dropped."""

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
class Refining:
    """The width of a set over that of the weight, ``by_power`` where it covers the weight by a power of the likelihood;
    the most ``rounds`` of sets for a size of the misfit, the effective number of nodes that is ``enough``, and the most
    ``rows`` of the table.
    """

    wider: float = 2.0
    wider_by_power: float = 2.0
    rounds: int = 5
    enough: float = 40.0
    rows: int = ROWS


REFINING = Refining()


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
    scaled = None if scale is None else names.index(scale.name)
    fitted = _Evidence.of(observed, process, misfit, scale)
    found: list[_Nodes] = []
    for stratum in strata:
        free = [i for i, name in enumerate(names) if name not in stratum.fixed and i != scaled]
        sets = _stratum(parameters, stratum, free, NODES, lambda v: fitted.of_curves(log_curve(v)))
        found += sets.weighted(stratum.share)
    return _table(found, fitted.sizes, scaled, fitted.scale_precision)


def table_by_likelihood(
    parameters: Sequence[Parameter],
    strata: Sequence[Stratum],
    log_likelihood: Callable[[Array], Array],
    misfit: MisfitPrior,
    count: int,
    how: Refining = REFINING,
) -> Weights:
    """The table of weights of a model whose misfit is not additive, by the likelihood itself.

    ``log_likelihood`` maps parameters (n, d) in natural units to the log likelihoods (sizes, n) of the sizes of
    ``misfit``. A set has at most ``count`` nodes. Likelihoods cost time, so a stratum begins where the one before it
    found the weight, its own free parameters beside.
    """
    sizes, log_prior = misfit.sizes()

    def weighted(values: Array) -> tuple[Array, Array]:
        log_like = log_likelihood(values) + log_prior[:, None]
        return log_like, np.zeros_like(log_like)

    found: list[_Nodes] = []
    counts = [min(count, most) for most in NODES]
    near = None
    for stratum in strata:
        free = [i for i, p in enumerate(parameters) if p.name not in stratum.fixed]
        sets = _stratum(parameters, stratum, free, counts, weighted, how, _log_weight(found), near)
        found += sets.weighted(stratum.share)
        near = sets.refined.beside(free, len(parameters)) if sets.refined else near
    return _table(found, sizes, None, np.zeros_like(sizes), how.rows)


class _Nodes(NamedTuple):
    """Some nodes: values (d, n), log likelihoods and centres of the log scale, both (sizes, n)."""

    values: Array
    log_like: Array
    centres: Array


def _stratum(
    parameters: Sequence[Parameter],
    stratum: Stratum,
    free: Sequence[int],
    counts: Sequence[int],
    likelihood: Callable[[Array], tuple[Array, Array]],
    how: Refining = REFINING,
    others: float = -math.inf,
    near: _Set | None = None,
) -> _Sets:
    """The nodes of one stratum; ``others`` is the log weight of other strata, ``near`` a set of nodes to begin with."""
    fixed = np.array([[stratum.fixed.get(p.name, 1.0)] for p in parameters])
    median, sd, low, high = np.reshape([_prior(parameters[i]) for i in free], (len(free), 4, 1)).swapaxes(0, 1)

    def nodes_at(z: Array) -> _Nodes:
        values = np.repeat(fixed, z.shape[1], axis=1)
        values[free] = np.minimum(np.maximum(median * np.exp(sd * z), low), high)
        return _Nodes(values, *likelihood(values.T))

    found = _Sets(_Set(np.zeros(len(free)), np.eye(len(free))), counts[min(len(free), 2)], nodes_at)
    if not free:
        return found
    if near is not None:
        found.add(near.among(free))
    rest = others - math.log(stratum.share)
    share, worth = found.shares(rest)
    for size in range(len(share)):
        for _ in range(how.rounds):
            if worth[size] >= how.enough * max(LEAST_ENOUGH, share[size]):
                break
            log_like = np.concatenate([some.log_like[size] for some in found.nodes])
            found.add(_refined(found.z, found.weight, log_like, worth[size], how))
            share, worth = found.shares(rest)
        if share[size] < IMPROBABLE * share[: size + 1].max():
            break
    return found


def _prior(p: Parameter) -> tuple[float, float, float, float]:
    """The median, the standard deviation of the logarithm, and the bounds."""
    if p.prior_median is None or p.prior_log_sd is None:
        raise ValueError(f"{p.name} has no prior; nodes need one")
    return p.prior_median, p.prior_log_sd, p.low, p.high


def _log_weight(nodes: Sequence[_Nodes]) -> float:
    """The logarithm of the whole weight of nodes."""
    each = [np.logaddexp.reduce(some.log_like, axis=None) for some in nodes]
    return float(np.logaddexp.reduce(each, initial=-np.inf))


class _Sets:
    """The ``nodes`` of one stratum, set by set, at ``z`` (f, n); ``weight`` (n,): prior over all sets."""

    def __init__(self, prior: _Set, count: int, nodes_at: Callable[[Array], _Nodes]) -> None:
        self._sets, self._count, self._nodes_at = [prior], count, nodes_at
        self.z, self.weight = prior.nodes(count, 0), np.ones(count)
        self.nodes = [nodes_at(self.z)]
        self._log_prior = _log_densities([prior], self.z)[0]
        self._most = self.nodes[0].log_like.max(axis=1)
        self._likelihood = _exp(self.nodes[0].log_like - self._most[:, None])

    def add(self, one: _Set) -> None:
        """Another set."""
        self._sets.append(one)
        z = one.nodes(self._count, self.z.shape[1])
        nodes, among = self._nodes_at(z), _log_densities(self._sets, z)
        before = 1 / self.weight + _exp(_log_densities([one], self.z)[0] - self._log_prior)
        self.weight = 1 / np.concatenate([before, _exp(among - among[0]).sum(axis=0)])
        self._log_prior = np.concatenate([self._log_prior, among[0]])
        self.z = np.concatenate([self.z, z], axis=1)
        self.nodes.append(nodes)
        most = np.maximum(self._most, nodes.log_like.max(axis=1))
        self._likelihood *= _exp(self._most - most)[:, None]
        self._most = most
        self._likelihood = np.concatenate([self._likelihood, _exp(nodes.log_like - most[:, None])], axis=1)

    @property
    def refined(self) -> _Set | None:
        """The last set beside the prior."""
        return self._sets[-1] if len(self._sets) > 1 else None

    def shares(self, others: float) -> tuple[Array, Array]:
        """Each size's share of the whole weight, and its effective number of nodes (sizes,).

        ``others`` is the logarithm of what other strata weigh. The second is Kish's effective sample size (Survey
        Sampling, 1965).
        """
        whole, squares = self._likelihood @ self.weight, self._likelihood**2 @ self.weight**2
        share = np.exp(self._most - self._most.max()) * whole
        rest = math.exp(min(others - self._most.max() + math.log(self._count), 700.0))
        return share / (share.sum() + rest), np.asarray(whole**2 / squares)

    def weighted(self, share: float) -> list[_Nodes]:
        """The nodes of each set, weighted against all sets together, and by the stratum's share of the prior."""
        log_weights = np.log(self.weight * (share / self._count)).reshape(-1, self._count)
        return [n._replace(log_like=n.log_like + each) for n, each in zip(self.nodes, log_weights, strict=True)]


@dataclass(frozen=True)
class _Set:
    """A normal distribution of nodes: its middle (f,) and a factor (f, f) of its covariance."""

    middle: Array
    factor: Array

    def nodes(self, count: int, after: int) -> Array:
        """Evenly spread nodes (f, count), those after the first ``after`` of the sequence."""
        return np.asarray(self.middle[:, None] + self.factor @ normal_nodes(count, len(self.middle), after).T)

    def among(self, some: Sequence[int]) -> _Set:
        """The distribution of ``some`` of the deviates."""
        covariance = self.factor @ self.factor.T
        return _Set(self.middle[some], np.asarray(np.linalg.cholesky(covariance[np.ix_(some, some)])))

    def beside(self, places: Sequence[int], count: int) -> _Set:
        """The distribution of ``count`` deviates, those at ``places`` being these and the others of the prior."""
        middle, factor = np.zeros(count), np.eye(count)
        middle[places] = self.middle
        factor[np.ix_(places, places)] = self.factor
        return _Set(middle, factor)

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


def _refined(z: Array, prior: Array, log_like: Array, worth: float, how: Refining = REFINING) -> _Set:
    """A set around the weight of nodes z (f, n), or around that by a power of the likelihood with enough nodes."""
    weight = _by_power(prior, log_like - log_like.max(), worth, len(z), how.enough)
    middle = z @ weight
    apart = z - middle[:, None]
    covariance = (weight * apart) @ apart.T + NARROWEST**2 * np.eye(len(z))
    wider = how.wider if worth >= WHOLE else how.wider_by_power
    return _Set(middle, np.asarray(wider * np.linalg.cholesky(covariance)))


def _by_power(prior: Array, log_like: Array, worth: float, dimensions: int, enough: float = REFINING.enough) -> Array:
    """Weights (n,) that sum to 1, by the greatest power of the likelihood, of ``POWERS``, with enough nodes."""
    low, high, found = 0, POWERS, prior
    above, below = math.log(len(prior) / enough), math.log(worth / enough)
    at = POWERS - 2 * below / dimensions * POWERS / LEAST_LOG_POWER  # as each dimension narrows by the power's root
    while high - low > 1:
        at = min(max(round(at), low + 1), high - 1)
        tried = _exp(math.exp(LEAST_LOG_POWER * (1 - at / POWERS)) * log_like) * prior
        surplus = math.log(tried.sum() ** 2 / (tried @ tried) / enough)
        if surplus < 0:
            high, below = at, surplus
        else:
            low, above, found = at, surplus, tried
        at = low + (high - low) * above / (above - below)
    return np.asarray(found / found.sum())


def _exp(logs: Array) -> Array:
    """Exponentials, written over their logarithms: those of less than -700 are slow, of more than 700 infinite."""
    return np.asarray(np.exp(np.minimum(np.maximum(logs, -700.0, out=logs), 700.0, out=logs), out=logs))


@dataclass(frozen=True)
class _Evidence:
    """The evidence of curves; ``basis`` (k, k) makes residuals independent, of variances size^2 + ``extra`` (k,)."""

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
    def scale_precision(self) -> Array:
        """(sizes,): precision of the log scale from the points and its prior."""
        prior = 0.0 if self.scale is None else self.scale.sd**-2.0
        return np.asarray(self._precision @ self._unit**2 + prior)

    @cached_property
    def _log_height(self) -> Array:
        """(sizes, 1): the log evidence of a curve without residuals."""
        height = 0.5 * np.log(self._precision).sum(axis=1) + self.log_prior
        return np.asarray(height if self.scale is None else height - 0.5 * np.log(self.scale_precision))[:, None]

    def of_curves(self, log_curves: Array) -> tuple[Array, Array]:
        """For curves (n, k): log evidence (sizes, n), the prior of the sizes included, and centres of the log scale."""
        missed = self.observed_log - log_curves
        if self.scale is None:
            squares = self._precision @ ((missed @ self.basis.T) ** 2).T
            return self._log_height - 0.5 * squares, np.zeros_like(squares)
        near = missed @ np.full(missed.shape[1], 1 / missed.shape[1])
        missed -= near[:, None]  # far from the mean miss, squares would lose their digits
        free = self.basis @ missed.T
        known, total, prior = self.scale.sd**-2.0, self.scale_precision[:, None], self.scale.mean - near
        pulled = (self._precision * self._unit) @ free + known * prior
        centre = pulled / total
        squares = self._precision @ np.square(free, out=free) + known * prior**2 - pulled * centre
        return self._log_height - 0.5 * squares, near + centre


def _table(
    nodes: Sequence[_Nodes], sizes: Array, scale: int | None, scale_precision: Array, most: int = ROWS
) -> Weights:
    """A row for each node and size that is kept, at most ``most``; its direction is along the ``scale``'s column."""
    log_weights = np.concatenate([some.log_like.T for some in nodes])
    values = np.concatenate([some.values for some in nodes], axis=1)
    centres = np.concatenate([some.centres for some in nodes], axis=1)
    node, size = np.nonzero(log_weights > log_weights.max() - REACH)
    first = centres[size, node].round(DIGITS) if scale == 0 else values[0, node]
    rows, weight, evidence = rows_kept(log_weights[node, size], (first, sizes[size]), most)
    node, size = node[rows], size[rows]
    kept = values.T[node]
    directions = np.zeros((*kept.shape, 0 if scale is None else 1))
    if scale is not None:
        kept[:, scale] = np.exp(centres[size, node])
        directions[:, scale, 0] = scale_precision[size] ** -0.5
    return Weights(kept, sizes[size], weight, directions, evidence, scale)


# --- many parameters: linearised -------------------------------------------------------------------------------------

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
    """The most probable log parameters (d,), a factor (d, d) of their covariance, and the log evidence."""
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
