"""Profile likelihoods: how much worse the points are explained when one parameter is held at another value.

For each value of a parameter all the others are fitted anew, without priors, and the rise of -2 ln L over the best is
the profile. Values with a rise below the chi-squared quantile of one degree of freedom are its interval (Raue and
others, Bioinformatics 2009): where the profile stays flat on a side, the points do not bound it there, however sure the
priors are. What would bound it is then a measurement, which is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from calibrate.discrepancy import Whitening
from calibrate.fitting import Fit, correlation_of
from calibrate.points import Points
from calibrate.posterior import Array, most_probable
from calibrate.probe_depths import next_depth
from measure.errors import DataError

REACH = 8.0
"""Values from the estimate over this to the estimate times this are tried."""

STEPS = 8
"""Values on each side of the estimate."""

PINNED = 30.0
"""How heavily a parameter is held at its value."""


@dataclass(frozen=True)
class Profile:
    """The ``rise`` (k,) of -2 ln L at ``values`` (k,) of one parameter, and its interval; None: open on that side.

    ``identified`` where both ends are there and less than a factor of two apart; else ``pins`` names the measurement
    that would help.
    """

    name: str
    unit: str
    values: tuple[float, ...]
    rise: tuple[float, ...]
    low: float | None
    high: float | None
    identified: bool
    pins: str = ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def profile_parameters(fit: Fit, points: Points) -> tuple[Profile, ...]:
    """The profile of each parameter of ``fit``; ``points`` are those of its sweep, and it takes what it was fitted to.

    Raises DataError where ``points`` lack what it was fitted to.
    """
    used = points.at(fit.was_used(points))
    if not fit.used or len(used) < len(fit.used):
        raise DataError(f"{fit.series or 'the fit'} was not calibrated on these points, so they have no profile")
    from scipy.stats import chi2

    allowed = float(chi2.ppf(fit.level, 1))
    return tuple(_profile(fit, used, name, unit, allowed) for name, unit in _named(fit).items())


def _named(fit: Fit) -> Mapping[str, str]:
    return {name: unit for name, (unit, _) in fit.curve_model.report(fit.mode[None, :]).items()}


def _profile(fit: Fit, points: Points, name: str, unit: str, allowed: float) -> Profile:
    centre = float(fit.curve_model.report(fit.mode[None, :])[name][1][0])
    factors = np.geomspace(1, REACH, STEPS + 1)[1:]
    tried: dict[float, float] = {}
    for side in (factors, 1 / factors):
        start = fit.mode
        if centre not in tried:
            tried[centre], start = _worse(fit, points, name, centre, start)
        for factor in side:
            value = centre * float(factor)
            tried[value], start = _worse(fit, points, name, value, start)
    values = np.array(sorted(tried))
    misfit = np.array([tried[float(v)] for v in values])
    rise = misfit - misfit.min()
    best = int(rise.argmin())
    high = _crossing(values[best:], rise[best:], allowed)
    low = _crossing(values[best::-1], rise[best::-1], allowed)
    known = low is not None and high is not None and high / low < 2
    shown = np.minimum(rise, 1e3)
    return Profile(
        name, unit, tuple(values.tolist()), tuple(shown.tolist()), low, high, known, "" if known else _pins(fit)
    )


def _worse(fit: Fit, points: Points, name: str, value: float, start: Array) -> tuple[float, Array]:
    """The squared misfit with ``name`` held at ``value``, and the other parameters (d,) that give it."""
    from scipy.linalg import block_diag

    model = fit.curve_model
    load, throughput, response = points.load, points.throughput_per_s, points.response_time_s
    free = [replace(p, prior_median=None, prior_log_sd=None) for p in model.parameters(load, throughput, response)]
    observed = model.observables(throughput, response)
    noise = points.noise(len(observed) // len(load))
    error = replace(fit.curve_model.error_prior, median=float(np.median(fit.error_draws)))

    together = correlation_of(model, load)

    def predicted(values: Array) -> Array:
        pinned = PINNED * np.log(model.report(values)[name][1])
        return np.column_stack([model.observables(*model.curve(values, load)), pinned])

    found = most_probable(
        free, start, predicted, np.append(observed, PINNED * np.log(value)), np.append(noise, 0.0), error,
        None if together is None else block_diag(together, np.eye(1)),
    )  # fmt: skip
    missed = predicted(found[None, :])[0] - np.append(observed, PINNED * np.log(value))
    if abs(missed[-1]) > 0.05 * PINNED:
        return np.inf, start  # its bounds do not let it be there
    white = Whitening.of(noise, together)
    return float(((white.basis @ missed[:-1]) ** 2 / (error.median**2 + white.extra)).sum()), found


def _crossing(values: Array, rise: Array, allowed: float) -> float | None:
    """Where the rise passes ``allowed``, going outwards; None where it never does."""
    beyond = np.flatnonzero(rise > allowed)
    if not len(beyond):
        return None
    i = int(beyond[0])
    steep = min(float(rise[i]), 1e6)
    part = (allowed - rise[i - 1]) / (steep - rise[i - 1])
    return float(values[i - 1] * (values[i] / values[i - 1]) ** part)


def _pins(fit: Fit) -> str:
    wanted = next_depth(fit) if fit.load_kind == "queue_depth" else None
    return "measure more loads" if wanted is None else f"measure depth {wanted.load:g}"
