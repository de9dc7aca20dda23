"""Points proposed by several mixtures, each weighed as if all of them together had proposed it.

A mixture fitted to a cloud proposes nothing far from the cloud, and the weights of its own draws cannot say what it
leaves out. So draws of other mixtures stand beside them, one of them as wide as what is possible before any point; a
weight is the posterior's density over that of all mixtures in the shares they were drawn in, which no mixture that is
narrow can make large where another is wide (Veach and Guibas 1995; Cornuet, Marin, Mira and Robert, Scandinavian
Journal of Statistics 2012).
"""

from __future__ import annotations

import numpy as np

from calibrate.log_posterior import MOST_ERROR, Array, LogPosterior
from calibrate.t_mixture import TMixture, effective

AGREED = 0.1
"""Two values of the same integral agree when their logarithms differ by no more."""


class Proposals:
    """Draws of one mixture after another, and the posterior's log density at each."""

    def __init__(self, target: LogPosterior) -> None:
        self._target = target
        self._mixtures: list[TMixture] = []
        self._drawn: list[Array] = []
        self._log_density: list[Array] = []

    def add(self, mixture: TMixture, n: int, rng: np.random.Generator) -> Array:
        """Propose so many draws of ``mixture``; returns their log weights (n,) by this mixture alone."""
        drawn = mixture.draw(rng, n)
        log_density = self._target(drawn)
        self._mixtures.append(mixture)
        self._drawn.append(drawn)
        self._log_density.append(log_density)
        return np.asarray(log_density - mixture.log_density(drawn))

    @property
    def mixture(self) -> TMixture:
        """All of them together."""
        return TMixture.joined(self._mixtures, [len(drawn) for drawn in self._drawn])

    def weighed(self) -> tuple[Array, Array]:
        """All draws (n, d) and their log weights (n,)."""
        points = np.concatenate(self._drawn)
        return points, np.concatenate(self._log_density) - self.mixture.log_density(points)


def agree(some: Array, others: Array, least: float) -> bool:
    """Whether log weights by two proposals are worth ``least`` draws each, and put the posterior's integral alike.

    The mean of the weights is the integral; where the one proposal leaves out a part of the posterior, it lacks there.
    """
    integrals = [float(np.logaddexp.reduce(log_weights)) - np.log(len(log_weights)) for log_weights in (some, others)]
    return min(effective(some), effective(others)) >= least and abs(integrals[0] - integrals[1]) <= AGREED


def anywhere(target: LogPosterior) -> TMixture:
    """One t distribution as wide as priors and bounds allow."""
    prior, box = target.prior, target.high - target.low
    width = np.minimum(prior.spread, box / 2)
    centre = np.where(prior.known, prior.centre, 0.5 * (target.low + target.high))
    centre = np.append(np.clip(centre, target.low, target.high), np.log(target.error_prior.median))
    widths = np.append(np.where(prior.known, width, box / 3), MOST_ERROR / 3)
    return TMixture(np.ones(1), centre[None], np.diag(widths)[None])
