"""A surface fitted to a few points, and what it says of every other place.

What the structure of :mod:`calibrate.surface.model` misses goes together at near places: a Gaussian process over ln b,
the share of reads and ln N (:mod:`calibrate.discrepancy`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrate.discrepancy import beyond_the_points, together
from calibrate.posterior import Array, Mask, posterior
from calibrate.surface.model import ERROR, MISSES, SurfaceModel, as_loads
from calibrate.surface.places import MEASURE, WORDS, Places, SurfacePoints, value_text
from measure.errors import DataError

LEVEL = 0.9
FEWEST = 3
KEPT_DRAWS = 1000
PINNED = 0.6
"""A parameter whose posterior is wider than this share of its prior's width is mostly its prior."""


@dataclass(frozen=True)
class SurfaceEstimate:
    """A parameter [low estimate high] and its unit; ``identified`` is False where the points cannot pin it."""

    estimate: float
    low: float
    high: float
    unit: str
    identified: bool


@dataclass(frozen=True)
class SurfacePrediction:
    """Throughput and response time with bands for a single new measurement at ``places`` (m,)."""

    places: Places
    throughput_per_s: Array
    throughput_low_per_s: Array
    throughput_high_per_s: Array
    extrapolated: Mask
    level: float

    @property
    def response_time_s(self) -> Array:
        """N / X, by Little's law."""
        return np.asarray(self.places.outstanding / self.throughput_per_s)

    @property
    def response_time_low_s(self) -> Array:
        """The lower end of the band."""
        return np.asarray(self.places.outstanding / self.throughput_high_per_s)

    @property
    def response_time_high_s(self) -> Array:
        """The upper end of the band."""
        return np.asarray(self.places.outstanding / self.throughput_low_per_s)


@dataclass(frozen=True)
class Surface:
    """A calibrated surface: the ``used`` points, draws (n, d) of the parameters, and the most probable ones (d,).

    Parameters and knees are medians of the draws, so that none leaves its interval; predicted is the most likely.
    """

    model: SurfaceModel
    used: SurfacePoints
    mode: Array
    draws: Array
    error_draws: Array
    settled: bool
    level: float = LEVEL

    def predict(self, places: Places) -> SurfacePrediction:
        """What is expected at ``places``. DataError where a place differs in what was the same at all points used."""
        self.check(places)
        typical = np.array([min(ERROR.median, float(np.median(self.error_draws)))])
        likely, _ = self._expected(self.mode[None, :], typical, places)
        drawn, spread = self._expected(self.draws, self.error_draws, places)
        scatter = np.random.default_rng(0).standard_normal((len(drawn), 1))  # the same at all places: smooth bands
        scattered = drawn + scatter * spread
        low, high = np.exp(np.percentile(scattered, self._ends, axis=0))
        estimate = np.clip(np.exp(likely[0]), low, high)  # it misses less than the median, and leaves no band
        return SurfacePrediction(places, estimate, low, high, self._extrapolated(places), self.level)

    def covariance(self, places: Places) -> Array:
        """The covariance (m, m) of log throughputs that are yet to be measured at ``places``."""
        drawn, _ = self._expected(self.draws, self.error_draws, places)
        used, to = as_loads(self.used.places), as_loads(places)
        return np.atleast_2d(np.cov(drawn.T)) + together(MISSES, used, self.used.noise(), self.error_draws, to)

    def knee(self, places: Places) -> tuple[Array, Array, Array] | None:
        """The depth N* at which the asymptotes cross at ``places`` (m,), and its interval; None without two depths."""
        if "outstanding" not in self.model.varying:
            return None
        drawn = self._crossing(self.draws, places)
        low, high = np.percentile(drawn, self._ends, axis=0)
        return np.median(drawn, axis=0), low, high

    def parameters(self) -> dict[str, SurfaceEstimate]:
        """The parameters as people name them."""
        widths = {p.name: p.prior_log_sd for p in self.model.parameters(self.used.places, self.used.throughput_per_s)}
        found = {}
        for name, (unit, values) in self.model.report(self.draws).items():
            low, high = (float(v) for v in np.percentile(values, self._ends))
            width = widths.get(name)
            pinned = high / low < 2 and (width is None or float(np.log(values).std()) < PINNED * width)
            found[name] = SurfaceEstimate(float(np.median(values)), low, high, unit, pinned)
        return found

    @property
    def _ends(self) -> list[float]:
        """The two percentiles between which the share ``level`` lies."""
        return [50 * (1 - self.level), 50 * (1 + self.level)]

    def _expected(self, values: Array, error: Array, places: Places) -> tuple[Array, Array]:
        """Mean and deviation (w, m) of log throughputs, for parameters (w, d) and errors (w,)."""
        misses = np.log(self.used.throughput_per_s) - self.model.log_throughput(values, self.used.places)
        used, to = as_loads(self.used.places), as_loads(places)
        drift, spread = beyond_the_points(MISSES, used, self.used.noise(), misses, error, to)
        return self.model.log_throughput(values, places) + drift, spread

    def _crossing(self, values: Array, places: Places) -> Array:
        peak = self.model.peak_s(values, places)
        assert peak is not None  # noqa: S101  (there are two depths; this tells the type checker)
        return np.maximum(self.model.busy_s(values, places) / peak, 1.0)

    def _extrapolated(self, places: Places) -> Mask:
        """True (m,) outside the box of the points used."""
        outside = np.zeros(len(places), dtype=bool)
        for name in WORDS:
            values, known = getattr(places, name), self.used.places.values(name)
            outside |= (values < known[0] * 0.999) | (values > known[-1] * 1.001)
        return outside

    def check(self, places: Places) -> None:
        """DataError where one of ``places`` differs in what was the same at all points used."""
        for name in (n for n in ("block_bytes", "read_fraction", "outstanding") if n not in self.model.varying):
            known, asked = self.used.places.values(name)[0], places.values(name)
            if not np.isclose(asked, known, rtol=1e-3).all():
                other = float(asked[~np.isclose(asked, known, rtol=1e-3)][0])
                raise DataError(
                    f"all points used have the {WORDS[name]} {value_text(name, known)}, so nothing is known of "
                    f"{value_text(name, other)}; calibrate on two, or measure them: {MEASURE}"
                )


def fit_surface(points: SurfacePoints, used: Mask, *, level: float = LEVEL, seed: int = 0) -> Surface:
    """Calibrate on the points of the mask ``used`` (m,). DataError where they are fewer than three."""
    if int(used.sum()) < FEWEST:
        raise DataError(
            f"{points.source or 'the surface'}: {int(used.sum())} point(s) cannot calibrate a surface, which needs "
            f"{FEWEST} at least; use more of the {len(points)} there are, or measure more: {MEASURE}"
        )
    chosen = points.at(used)
    places, throughput = chosen.places, chosen.throughput_per_s
    model = SurfaceModel.of(places, throughput, points.places)
    found = posterior(
        model.parameters(places, throughput), model.start(places, throughput),
        lambda values: model.log_throughput(values, places), np.log(throughput), chosen.noise(), ERROR,
        MISSES.among(as_loads(places)), seed=seed,
    )  # fmt: skip
    keep = np.linspace(0, len(found.draws) - 1, KEPT_DRAWS).astype(int)
    return Surface(model, chosen, found.mode, found.draws[keep], found.error[keep], found.settled, level)
