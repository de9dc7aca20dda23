"""Where a sampler begins: fits to points and priors that are each disturbed by what they may be wrong by.

For a linear model with normal errors such fits are draws of the posterior, for others they are near it, on every ridge
and around every mode that a descent from somewhere ends in (randomised maximum likelihood: Kitanidis, Water Resources
Research 1995; Oliver, Reynolds and Liu 2008). Half of the descents begin where the undisturbed ones ended, the others
anywhere within the priors and bounds, so that a ridge is covered to its ends. The model's relative error s of each fit
is drawn from its own distribution by Laplace's approximation about the modes.
"""

from __future__ import annotations

import numpy as np

from calibrate.discrepancy import Array
from calibrate.log_posterior import MOST_ERROR, LogPosterior
from calibrate.many_fits import Numbers, descend

DESCENT_STEPS = 12

FARTHEST = 25.0
"""A fit whose log density lies so far below the best one's got stuck, and is left out."""

ERRORS_BELOW, ERRORS_ABOVE, BETWEEN_ERRORS = 4.0, 10.0, 0.25
"""How far about its prior median ln s is tried in Laplace's approximation, in deviations of its prior, and how finely;
above no further than the posterior allows."""

INSIDE = 0.5 ** np.arange(1, 25)
"""How far from a bound a fit that ended there may be put, as shares of the distance between the bounds."""


def random_starts(target: LogPosterior, modes: Array, n: int, rng: np.random.Generator) -> Array:
    """Log parameters and ln s (n, d + 1) near the posterior, given its ``modes`` (k, d) in log parameters."""
    prior, noise = target.prior, target.white.extra
    log_error = _log_errors(target, modes, n, rng)
    spread = np.sqrt(np.exp(2 * log_error)[:, None] + noise)
    points_off = rng.standard_normal((n, len(noise)))
    priors_off = rng.standard_normal((n, int(prior.known.sum())))

    def residuals(values: Array, which: Numbers) -> Array:
        missed = target.missed(values) / spread[which] + points_off[which]
        return np.concatenate([missed, prior.residuals(values) + priors_off[which]], axis=1)

    anywhere = target.low + (target.high - target.low) * rng.random((n, len(target.low)))
    guessed = prior.centre + prior.width * rng.standard_normal(anywhere.shape)
    begin = np.clip(np.where(prior.known, guessed, anywhere), target.low, target.high)
    begin[::2] = modes[rng.integers(len(modes), size=len(begin[::2]))]
    values, _ = descend(residuals, begin, target.low, target.high, DESCENT_STEPS)

    found = _off_the_bounds(target, np.column_stack([values, log_error]), rng.spawn(1)[0])
    density = target(found)
    order = np.argsort(-density)
    close = max(int((density > density[order[0]] - FARTHEST).sum()), 4 * found.shape[1])
    return np.asarray(found[np.resize(order[:close], n)])


def _off_the_bounds(target: LogPosterior, found: Array, rng: np.random.Generator) -> Array:
    """The rows of ``found`` (n, d + 1), each parameter at a bound drawn anew, given the others of its row.

    What a disturbed fit would have beyond a bound it leaves at the bound, all of it at one place, but the posterior
    reaches from there inwards. Walkers do not leave a place where all of them are.
    """
    found = found.copy()
    for i, (low, high) in enumerate(zip(target.low, target.high, strict=True)):
        distance = (high - low) * INSIDE
        for bound, inwards in ((low, 1.0), (high, -1.0)):
            rows = np.flatnonzero(np.abs(found[:, i] - bound) <= 1e-9)
            if not len(rows):
                continue
            tried = np.repeat(found[rows], len(distance), axis=0)
            tried[:, i] = np.tile(bound + inwards * distance, len(rows))
            chance = target(tried).reshape(len(rows), -1) + np.log(distance)
            which = (chance + rng.gumbel(size=chance.shape)).argmax(axis=1)
            found[rows, i] = bound + inwards * distance[which] * 2 ** rng.uniform(-1.0, 0.0, len(rows))
    return found


def _log_errors(target: LogPosterior, modes: Array, n: int, rng: np.random.Generator) -> Array:
    """Draws (n,) of ln s: the prior times Laplace's approximation to the evidence at each s, summed over the modes."""
    deviations = np.arange(-ERRORS_BELOW, min(ERRORS_ABOVE, MOST_ERROR / target.error_prior.log_sd), BETWEEN_ERRORS)
    tried = np.log(target.error_prior.median) + target.error_prior.log_sd * deviations
    variance = target.white.variance(np.exp(tried))
    width = target.high - target.low
    total = np.full(len(tried), -np.inf)
    for mode in modes:
        missed, (slopes, of_priors) = target.missed(mode[None, :])[0], target.slopes(mode)
        curvature = np.einsum("mi,sm,mj->sij", slopes, 1 / variance, slopes) + of_priors.T @ of_priors
        _, volume = np.linalg.slogdet(curvature + np.diag(12 / width**2))  # no wider than a flat prior within bounds
        fit = -0.5 * (missed**2 / variance + np.log(variance)).sum(axis=1) - 0.5 * volume
        total = np.logaddexp(total, fit - 0.5 * (target.prior.residuals(mode) ** 2).sum())
    total -= 0.5 * deviations**2
    weight = np.exp(total - total.max())
    below = (np.cumsum(weight) - 0.5 * weight) / weight.sum()
    return np.asarray(np.interp((rng.permutation(n) + rng.random(n)) / n, below, tried))
