"""Profile likelihoods: how much worse the points are explained when one parameter is held at another value.

For each value of a parameter all the others are fitted anew, without priors, and the rise of -2 ln L over the best is
the profile. Values with a rise below the chi-squared quantile of one degree of freedom are its interval (Raue and
others, Bioinformatics 2009): where the profile stays flat on a side, the points do not bound it there, however sure the
priors are. What would bound it is then a measurement, which is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibrate.discrepancy import Whitening
from calibrate.fitting import Fit, correlation_of
from calibrate.further_loads import pinning
from calibrate.many_fits import Numbers, descend
from calibrate.points import Points
from calibrate.posterior import Array
from calibrate.probe_depths import next_depth
from measure.errors import DataError

REACH = 8.0
"""Values from the likeliest over this to the likeliest times this are tried."""

STEPS = 8
"""Values on each side of the estimate."""

FINER = 2
"""How often the ends of an interval are sought among finer values."""

PINNED = 30.0
"""How heavily a parameter is held at its value, beside a point at its own."""

DRAWN, BESIDE = 4, 12
"""Each value is begun with the mode and with so many draws, one in so many of those with about that value."""


@dataclass(frozen=True)
class Profile:
    """The ``rise`` (k,) of -2 ln L at ``values`` (k,) of one parameter, and its interval; None: open on that side.

    The values are around the ``likeliest``, as far as the model allows them; where it ends, the interval is open too.
    ``level`` is the interval's. ``identified`` where both ends are there and less than a factor of two apart; else
    ``pins`` names the measurement that would help.
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


def profile_parameters(fit: Fit, points: Points) -> tuple[Profile, ...]:
    """The profile of each parameter of ``fit``; ``points`` are those of its sweep, and it takes what it was fitted to.

    Raises DataError where ``points`` lack what it was fitted to.
    """
    used = points.at(fit.was_used(points))
    if not fit.used or len(used) < len(fit.used):
        raise DataError(f"{fit.series or 'the fit'} was not calibrated on these points, so they have no profile")
    held, pins = _Held(fit, used), _pins(fit)
    return tuple(_profile(held, name, unit, fit.level, pins[name]) for name, unit in _named(fit).items())


def _named(fit: Fit) -> Mapping[str, str]:
    return {name: unit for name, (unit, _) in fit.curve_model.report(fit.mode[None, :]).items()}


def _profile(held: _Held, name: str, unit: str, level: float, pins: str) -> Profile:
    from scipy.special import chdtri

    allowed = float(chdtri(1, 1 - level))
    likeliest = held.likeliest(name)
    values = likeliest * np.geomspace(1 / REACH, REACH, 2 * STEPS + 1)
    misfit = held.misfit(name, values)
    values, misfit = values[np.isfinite(misfit)], misfit[np.isfinite(misfit)]
    best, least = int(misfit.argmin()), float(misfit.min())
    low, high = (_end(held, name, values[best::way], misfit[best::way] - least, least, allowed) for way in (-1, 1))
    known = low is not None and high is not None and high / low < 2
    shown = np.minimum(misfit - least, 1e3)
    return Profile(
        name, unit, likeliest, tuple(values.tolist()), tuple(shown.tolist()), low, high, known, level,
        "" if known else pins,
    )  # fmt: skip


def _end(held: _Held, name: str, values: Array, rise: Array, least: float, allowed: float) -> float | None:
    """Where the rise, going outwards along ``values`` (k,), passes ``allowed``; None where it never does."""
    for finer in range(FINER + 1):
        beyond = np.flatnonzero(rise > allowed)
        if not len(beyond):
            return None if finer == 0 else float(values[-1])
        i = int(beyond[0])
        if finer < FINER:
            values = np.geomspace(values[i - 1], values[i], STEPS)
            rise = held.misfit(name, values) - least
            rise[0] = min(rise[0], allowed)
    # near its least a misfit is a parabola, of which the root is straight
    inner, outer = (np.sqrt(np.clip(r, 0.0, 1e6)) for r in rise[i - 1 : i + 1])
    part = (np.sqrt(allowed) - inner) / (outer - inner)
    return float(values[i - 1] * (values[i] / values[i - 1]) ** part)


class _Held:
    """The squared misfit of the points with one parameter held, all its values at once."""

    def __init__(self, fit: Fit, points: Points) -> None:
        self.model, self.load = fit.curve_model, points.load
        throughput, response = points.throughput_per_s, points.response_time_s
        parameters = self.model.parameters(self.load, throughput, response)
        self.low, self.high = (np.log([getattr(p, end) for p in parameters]) for end in ("low", "high"))
        self.observed = self.model.observables(throughput, response)
        white = Whitening.of(points.noise(len(self.observed) // len(self.load)), correlation_of(self.model, self.load))
        spread = np.sqrt(float(np.median(fit.error_draws)) ** 2 + white.extra)
        self.whiten, self.pinned = white.basis / spread[:, None], PINNED / float(spread.min())
        self.mode, self.draws = np.log(fit.mode), np.log(fit.draws)

    def likeliest(self, name: str) -> float:
        """The value of ``name`` without any prior, begun at the most probable one with them."""
        free, _ = descend(lambda theta, _: self._missed(np.exp(theta)), self.mode[None, :], self.low, self.high)
        return float(self.model.report(np.exp(free))[name][1][0])

    def misfit(self, name: str, held: Array) -> Array:
        """(k,) with ``name`` held at each value (k,): infinite where the model does not let it be there."""
        drawn = np.log(self.model.report(np.exp(self.draws))[name][1])
        nearest = np.argsort(np.abs(drawn[None, :] - np.log(held)[:, None]), axis=1)[:, ::BESIDE][:, :DRAWN]
        starts = np.concatenate([self.mode[None, None, :].repeat(len(held), axis=0), self.draws[nearest]], axis=1)
        found, misfit = self._best(name, held, starts)
        beside = np.stack([found, np.roll(found, 1, axis=0), np.roll(found, -1, axis=0)], axis=1)
        again, lower = self._best(name, held, beside)
        found = np.where((lower < misfit)[:, None], again, found)
        off = np.abs(np.log(self.model.report(np.exp(found))[name][1] / held))
        return np.where(off > 0.05, np.inf, np.minimum(lower, misfit))

    def _best(self, name: str, held: Array, starts: Array) -> tuple[Array, Array]:
        """The best parameters (k, d) from ``starts`` (k, s, d), and the misfit there (k,)."""
        k, s, d = starts.shape
        log_held = np.repeat(np.log(held), s)

        def residuals(theta: Array, which: Numbers) -> Array:
            values = np.exp(theta)
            apart = self.pinned * (np.log(self.model.report(values)[name][1]) - log_held[which])
            return np.column_stack([self._missed(values), apart])

        theta, squares = descend(residuals, starts.reshape(k * s, d), self.low, self.high)
        best = squares.reshape(k, s).argmin(axis=1)
        chosen = np.arange(k) * s + best
        pinned = residuals(theta[chosen], chosen)[:, -1]
        return theta[chosen], squares[chosen] - pinned**2

    def _missed(self, values: Array) -> Array:
        """What the curves of ``values`` (n, d) miss, in standard deviations, (n, m)."""
        return np.asarray((self.model.predicted(values, self.load) - self.observed) @ self.whiten.T)


def _pins(fit: Fit) -> Mapping[str, str]:
    """The measurement that would pin each parameter."""
    if fit.load_kind == "queue_depth":
        wanted = next_depth(fit)
        return dict.fromkeys(_named(fit), "repeat the points" if wanted is None else f"measure depth {wanted.load:g}")
    loads = pinning(fit, _named(fit))
    return {
        name: f"measure {loads[name].where}" if name in loads else "no further load tells it from the others"
        for name in _named(fit)
    }
