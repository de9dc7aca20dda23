"""Profile likelihoods: how much worse the points are explained when one parameter is held at another value.

For each value of a parameter all others are free, without priors, and the rise of -2 ln L over the best is the profile.
Values with a rise below the chi-squared quantile of one degree of freedom are its interval (Raue and others,
Bioinformatics 2009): where the profile stays flat on a side, the points do not bound it there, however sure the priors
are. Each row of the table of weights is a device with a likelihood, so that the profile at a value is that of the best
row, moved there along what was integrated out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from calibrate.fitting.curve_fit import Fit, whole_table
from calibrate.inference.parameters import Array
from calibrate.inference.weights import Weights
from calibrate.next.load import next_load
from measure.errors import DataError

REACH = 8.0
"""Values from the likeliest over this to the likeliest times this are tried."""

STEPS = 40
"""Values on each side of the likeliest."""

NEIGHBOURS = 16
"""A row stands for values as far as so many of its neighbours lie."""

FLAT = 1e-6
"""A precision of the likelihood below this share of the posterior's is none: the points do not bound that direction."""


@dataclass(frozen=True)
class Profile:
    """The ``rise`` (k,) of -2 ln L at ``values`` (k,) of one parameter, and its interval; None: open on that side.

    ``level`` is the interval's. ``identified`` where both ends are there and less than a factor of two apart; else
    ``pins`` names the measurement that would help.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read", corrected=True).select("4 KiB read")
    >>> from calibrate import profile_parameters
    >>> [one.name for one in profile_parameters(fit(sweep))]
    ['R1', 'Xmax', 'N*', 'p', 'Rbusy', 'onset']
    """

    name: str
    unit: str
    likeliest: float
    values: tuple[float, ...]
    rise: tuple[float, ...]
    low: float | None
    high: float | None
    identified: bool
    level: float
    pins: str = ""

    @property
    def log_likelihood_ratio(self) -> tuple[float, ...]:
        """ln L - ln of the greatest L, at ``values`` (k,): half the rise, below zero."""
        return tuple(-0.5 * rise + 0.0 for rise in self.rise)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        return {**asdict(self), "log_likelihood_ratio": self.log_likelihood_ratio}


def profile_parameters(fit: Fit) -> tuple[Profile, ...]:
    """The profile of each parameter of ``fit``. Raises DataError where it has no points at hand.

    >>> from calibrate import fit
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read", corrected=True).select("4 KiB read")
    >>> profile_parameters(fit(sweep))[0].name
    'R1'
    """
    if fit.points is None:
        raise DataError(f"{fit.series or 'the fit'} was not calibrated on these points, so they have no profile")
    fit = replace(fit, table=whole_table(fit))
    wanted = next_load(fit)
    pins = "repeat the points" if wanted is None else f"measure {wanted.where}"
    rows = _Likelihood.of(fit)
    named = {name: unit for name, (unit, _) in fit.curve_model.report(fit.table.values[:1]).items()}
    return tuple(_profile(fit, rows, name, unit, pins) for name, unit in named.items())


@dataclass(frozen=True)
class _Likelihood:
    """A table whose rows and directions are those of the likelihood alone, and its logarithm (n,) at each row."""

    table: Weights
    log: Array

    @classmethod
    def of(cls, fit: Fit) -> _Likelihood:
        """Of the rows with the typical misfit size: nodes as they are, linearised rows with their priors taken out."""
        table = fit.table.at(fit.table.misfit == fit.table.typical_misfit())
        if table.log_likelihood is not None:
            return cls(table, table.log_likelihood)
        x, r = (np.array(v) for v in (fit.used_throughput_per_s, fit.used_response_s))
        priors = fit.curve_model.parameters(np.array(fit.used), x, r)
        known = np.array([0.0 if p.prior_log_sd is None else p.prior_log_sd**-2.0 for p in priors])
        centre = np.log([p.prior_median or 1.0 for p in priors])
        values, directions = np.empty_like(table.values), np.empty_like(table.directions)
        for i, (row, factor) in enumerate(zip(np.log(table.values), table.directions, strict=True)):
            precision = np.linalg.inv(factor @ factor.T)
            scale, axes = np.linalg.eigh(precision - np.diag(known))
            seen = np.maximum(scale, FLAT * np.trace(precision))
            moved = axes @ ((axes.T @ (known * (row - centre))) / seen)
            values[i], directions[i] = np.exp(np.clip(row + moved, -600, 600)), axes / np.sqrt(seen)
        return cls(Weights(values, table.misfit, table.weight, directions), np.log(table.weight))


def _profile(fit: Fit, rows: _Likelihood, name: str, unit: str, pins: str) -> Profile:
    mean, deviation = (v[:, 0] for v in rows.table.moments(lambda values: fit.curve_model.report(values)[name][1]))
    spread = np.hypot(deviation, _spacing(mean))
    likeliest = float(mean[np.argmax(rows.log)])
    values = likeliest + np.log(REACH) * np.linspace(-1, 1, 2 * STEPS + 1)
    within = np.clip(values, mean.min(), mean.max())  # beyond every row nothing more is known than at the last
    log = np.max(rows.log - 0.5 * ((within[:, None] - mean) / spread) ** 2, axis=1)
    rise = _outwards(np.minimum(2 * (log.max() - log), 1e3))
    low, high = _ends(np.exp(values), rise, NormalDist().inv_cdf(0.5 + fit.level / 2) ** 2)
    known = low is not None and high is not None and high / low < 2
    return Profile(
        name,
        unit,
        float(np.exp(likeliest)),
        tuple(np.exp(values).tolist()),
        tuple(rise.tolist()),
        low,
        high,
        known,
        fit.level,
        "" if known else pins,
    )


def _outwards(rise: Array) -> Array:
    """The rise (k,), no higher anywhere than further away from its least: between rows it would seem to be."""
    best = int(rise.argmin())
    below = np.minimum.accumulate(rise[: best + 1])
    above = np.minimum.accumulate(rise[best:][::-1])[::-1]
    return np.concatenate([below[:-1], above])


def _spacing(places: Array) -> Array:
    """How far apart rows at ``places`` (n,) lie, around each of them."""
    order = np.argsort(places, kind="stable")
    ranks = np.arange(len(places))
    ahead, behind = np.minimum(ranks + NEIGHBOURS, len(places) - 1), np.maximum(ranks - NEIGHBOURS, 0)
    spacing = np.empty(len(places))
    spacing[order] = 0.5 * (places[order[ahead]] - places[order[behind]])
    return np.maximum(spacing, 1e-3)


def _ends(values: Array, rise: Array, allowed: float) -> Iterator[float | None]:
    """Where the rise passes ``allowed``, below and above its least; None where it never does."""
    best = int(rise.argmin())
    for way in (-1, 1):
        outwards, log = rise[best::way], np.log(values[best::way])
        beyond = np.flatnonzero(outwards > allowed)
        if not len(beyond):
            yield None
            continue
        i = int(beyond[0])
        inner, outer = np.sqrt(outwards[i - 1]), np.sqrt(outwards[i])  # near its least a misfit is a parabola
        yield float(np.exp(log[i - 1] + (np.sqrt(allowed) - inner) / (outer - inner) * (log[i] - log[i - 1])))
