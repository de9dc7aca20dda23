"""A surface calibrated on a few of the measured points, compared with all the others and with two baselines.

A chosen point that lies outside its previous band is a surprise: a real effect, or a disturbed run. A finished table
has no second measurement of it, so its nearest neighbour is chosen next. Until then the point counts, since most
surprises are real; where the others including that neighbour contradict it, its error is set to its residual.

The baselines are a bilinear fit in logarithms, and a Gaussian process without queueing theory. Both take the same
arguments and return throughputs a second, positive and finite, (m,)::

    baseline(places, throughput_per_s, at) -> throughput_per_s

``places`` are k :class:`calibrate.surface.Places` with ``throughput_per_s`` (k,), positive and finite, and ``at`` are m
others. One place is enough, repeats are allowed, the order does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from calibrate.fitting.readings import ninety_among
from calibrate.inference.parameters import LEVEL, Array, Mask, quantity
from calibrate.models.curves import DECLINE_FROM
from calibrate.points import residuals_pct
from calibrate.prediction.comparison_answer import mean_text
from calibrate.surface.design import NextPlace, asked, contradicted, corners, neighbour, next_place
from calibrate.surface.model import NEAR
from calibrate.surface.places import Places, SurfacePoints
from calibrate.surface.surface_fit import Row, Surface, SurfacePrediction, Tabled, fit_surface, table_of
from measure.errors import DataError
from measure.units import counted, format_percent, format_rate, measured_and_predicted
from qsim.errors import InvalidParameterError

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

STRETCHES, DEVIATIONS, NOISES = (0.5, 1.0, 2.0), (0.1, 0.2, 0.4, 0.8, 1.6), (0.001, 0.02, 0.1)
"""The grid of the likelihood: factors of the lengths, standard deviations of ln X around the plane, and its noise."""

FAR_BEYOND, CURVE_LOADS = 1e4, 120
"""The peak is the highest predicted throughput at so many loads up to this multiple of the deepest."""

LARGEST = 600.0  # the largest |ln X| around the points' mean, to avoid overflow

SurfaceBaseline = Callable[[Places, ArrayLike, Places], Array]


def bilinear(places: Places, throughput: ArrayLike, at: Places) -> Array:
    """ln X is linear in ln block, share of reads, ln outstanding and ln jobs, and in the product of any two.

    Least squares. Products are left out where there are too few different places for them; where there are too few for
    the plain terms too, the value of the nearest place is used (in the units of ``NEAR``).
    """
    known, log_x, wanted = _coordinates(places, throughput, at)
    different = len(np.unique(known, axis=0))
    varying = np.flatnonzero(np.ptp(known, axis=0) > 0)
    for degree in (2, 1):
        rows, asked = (_terms(u[:, varying], degree) for u in (known, wanted))
        if rows.shape[1] <= different:
            return _positive(asked @ np.linalg.lstsq(rows, log_x - log_x.mean(), rcond=None)[0], log_x.mean())
    nearest = np.argmin(((wanted[:, None, :] - known[None, :, :]) ** 2).sum(axis=2), axis=1)
    return np.asarray(np.exp(log_x[nearest]))


def plain_gaussian_process(places: Places, throughput: ArrayLike, at: Places) -> Array:
    """ln X is a plane (least squares) plus a Gaussian process of mean zero and kernel exp(-d² / 2).

    d is the distance of ``NEAR``; the process's size, noise and stretch of the lengths are the most likely of a small
    grid. Source: Rasmussen and Williams 2006, "Gaussian Processes for Machine Learning", equations 2.23 and 2.30.
    """
    known, log_x, wanted = _coordinates(places, throughput, at)
    rows, asked = _terms(known, 1), _terms(wanted, 1)
    plane = np.linalg.lstsq(rows, log_x - log_x.mean(), rcond=None)[0]
    rest = log_x - log_x.mean() - rows @ plane
    size, noise = (g.ravel()[:, None] for g in np.meshgrid(np.square(DEVIATIONS), np.square(NOISES)))
    best, weights, length = -np.inf, np.zeros_like(rest), 1.0
    for stretch in STRETCHES:
        values, vectors = np.linalg.eigh(_kernel(known, known, stretch))
        variance, rotated = size * np.maximum(values, 0) + noise, vectors.T @ rest  # of each node of the grid, (g, k)
        likelihood = -0.5 * (np.log(variance) + rotated**2 / variance).sum(axis=1)
        if likelihood.max() > best:
            node = int(np.argmax(likelihood))
            best, length = likelihood[node], stretch
            weights = size[node] * (vectors @ (rotated / variance[node]))
    return _positive(asked @ plane + _kernel(wanted, known, length) @ weights, log_x.mean())


SURFACE_BASELINES: Mapping[str, SurfaceBaseline] = {
    "bilinear in logarithms": bilinear,
    "plain Gaussian process": plain_gaussian_process,
}
"""{name: function}."""


def _coordinates(places: Places, throughput: ArrayLike, at: Places) -> tuple[Array, Array, Array]:
    """Places around the middle of the known ones, in the units of ``NEAR``, and ln X; the known ones in one order."""
    tables, x = (places.as_rows(), at.as_rows()), np.atleast_1d(np.asarray(throughput, dtype=float))
    known, wanted = (NEAR.place(t) for t in tables)
    order = np.lexsort(np.column_stack([x, known]).T)
    middle = known[order].mean(axis=0)
    return known[order] - middle, np.log(x[order]), wanted - middle


def _terms(coordinates: Array, degree: int) -> Array:
    """1, every coordinate, and with a ``degree`` of 2 the product of any two, (m, c)."""
    products = [a * b for a, b in combinations(coordinates.T, 2)] if degree == 2 else []
    return np.column_stack([np.ones(len(coordinates)), coordinates, *products])


def _kernel(left: Array, right: Array, stretch: float) -> Array:
    return np.asarray(np.exp(-0.5 * ((left[:, None, :] - right[None, :, :]) ** 2).sum(axis=2) / stretch**2))


def _positive(log_x: Array, mean: float) -> Array:
    """The exponential, limited to the range of floats."""
    return np.exp(np.clip(mean + np.clip(log_x, -LARGEST, LARGEST), -LARGEST, LARGEST))


DEFAULT_ASKED = 2
BAND = (0.05, 0.95)
CONTRADICTED = 0.023
"""A surprise is contradicted where at most this share of the others' predictive distribution lies beyond it."""

ENOUGH = 400  # from this number of points on no further one is chosen

UNCONFIRMED = "nothing near it was measured since: measure it again"
VERDICTS = {True: "its neighbours speak against it, and it counts little", False: "its neighbours confirm it"}


@dataclass(frozen=True)
class SurfaceSummary:
    """Errors at the held-out points: median and 90th percentile of |predicted / measured - 1|, share inside the bands.

    In percent, with the relative standard deviation of one repeat; None where unknown.
    """

    held_out_points: int
    held_out_mdape_throughput_pct: float | None = None
    held_out_p90_throughput_pct: float | None = None
    held_out_mdape_response_pct: float | None = None
    inside_band_pct: float | None = None
    repeat_noise_pct: float | None = None


@dataclass(frozen=True, repr=False)
class SurfaceComparison(Tabled):
    """``surface`` and its predictions at all ``points`` (m,), of which ``used`` (m,) calibrate it, some ``asked`` for.

    ``surprises`` are sentences on points that lay outside their bands.
    """

    points: SurfacePoints
    surface: Surface
    predicted: SurfacePrediction
    used: Mask
    asked: tuple[int, ...]
    surprises: tuple[str, ...] = ()
    drifting: bool = False

    @property
    def error_pct(self) -> Array:
        """Residuals of the throughput, 100 (predicted / measured - 1), (m,)."""
        return residuals_pct(self.predicted.throughput_per_s, self.points.throughput_per_s)

    @property
    def inside(self) -> Mask:
        """Whether the measured throughput lies inside the band, (m,)."""
        x = self.points.throughput_per_s
        return np.asarray((self.predicted.throughput_low_per_s <= x) & (x <= self.predicted.throughput_high_per_s))

    @property
    def response_error_pct(self) -> Array:
        """Predicted over measured response time minus one in percent, (m,); NaN where it was computed."""
        error = residuals_pct(self.predicted.response_time_s, self.points.response_time_s)
        return error if self.points.computed is None else np.where(self.points.computed, np.nan, error)

    @property
    def judged(self) -> Mask:
        """The held-out points that the summary counts."""
        return np.asarray(~self.used & (self.points.places.outstanding < DECLINE_FROM))

    def summary(self) -> SurfaceSummary:
        """The figures."""
        judged, noise = self.judged, self.points.repeat_noise_pct()
        if not judged.any():
            return SurfaceSummary(0, repeat_noise_pct=noise)
        response = self.response_error_pct[judged]
        known = response[np.isfinite(response)]
        median, ninth = np.percentile(np.abs(self.error_pct[judged]), (50, 90)).tolist()
        of_response = float(np.median(np.abs(known))) if len(known) else None
        inside = float(100 * self.inside[judged].mean())
        return SurfaceSummary(int(judged.sum()), median, ninth, of_response, inside, noise)

    def baselines(self) -> dict[str, float]:
        """{name: median error in percent} of baselines, from the points used at those judged."""
        known, unseen = self.points.at(self.used), self.points.at(self.judged)
        missed = {
            name: residuals_pct(f(known.places, known.throughput_per_s, unseen.places), unseen.throughput_per_s)
            for name, f in SURFACE_BASELINES.items()
        }
        return {name: float(np.median(np.abs(errors))) for name, errors in missed.items() if len(errors)}

    def next(self) -> NextPlace | None:
        """The place to measure after all of the points; None where no place would help, or there are hundreds."""
        if len(self.points) > ENOUGH:
            return None
        everything = fit_surface(self.points, np.ones(len(self.points), dtype=bool))
        return next_place(everything, self.points, drifting=self.drifting)

    def plot(self) -> Figure | None:
        """The measured points and the predicted curves."""
        from calibrate.report.plots import surface_figure

        return surface_figure(self)

    def answer(self) -> list[str]:
        """Three lines: the calibration points, the errors, and the width of the bands."""
        points, s = self.points, self.summary()
        added = f", {len(self.asked)} of them asked for" if self.asked else ""
        source = points.source or "The surface"
        used = f"{source}: {int(self.used.sum())} of {len(points)} points used{added}"
        median, ninth = s.held_out_mdape_throughput_pct, s.held_out_p90_throughput_pct
        if median is None or ninth is None:
            return [f"{used}; nothing is left to compare with"]
        missed = mean_text(median)
        missed += f" at the median, {mean_text(ninth)} at p90" if s.held_out_points > 1 else ""
        rivals = ", ".join(f"{name} {mean_text(error)}" for name, error in self.baselines().items())
        noise = s.repeat_noise_pct
        repeated = "" if noise is None else f"; repeats have a standard deviation of {format_percent(noise)}"
        inside, level = int(self.inside[self.judged].sum()), f"{100 * LEVEL:g} %"
        where = f"is inside its {level} band" if inside == 1 else f"are inside their {level} bands"
        return [
            f"{used}, {counted(s.held_out_points, 'point')} held out",
            f"MISSED  {missed}{repeated} (from the same points: {rivals})",
            f"SURE?   {inside} of {counted(s.held_out_points, 'held-out point')} {where}",
        ]

    def last_lines(self) -> list[str]:
        """The held-out point with the largest error, and what to measure next."""
        lines, following = [], self.next()
        if self.judged.any():
            i = int(np.argmax(np.where(self.judged, np.abs(np.log1p(self.error_pct / 100)), -np.inf)))
            p, seen = self.predicted, self.points.throughput_per_s[i]
            ends = (seen, p.throughput_per_s[i], p.throughput_low_per_s[i], p.throughput_high_per_s[i])
            lines.append(
                f"WORST   {self.points.places.text(i)}: {measured_and_predicted(format_rate, *map(float, ends))}"
            )
        return lines if following is None else [*lines, f"NEXT    {following}"]

    def __repr__(self) -> str:
        return "\n".join([*self.answer(), *self.last_lines()])

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the comparison."""
        notes = [*self.points.notes, *self.surface.guesses(self.points.places), *self.surprises]
        if (self.points.places.outstanding >= DECLINE_FROM).any():
            notes.append(f"depths of {DECLINE_FROM} and more are predicted without a decline, and not judged")
        return tuple(notes)

    def rows(self) -> list[Row]:
        """One row per point, SI units, ready for a table."""
        how = np.where(self.used, "calibrated on", np.where(self.judged, "held out", "not judged"))
        how[list(self.asked)] = "asked for"
        measured = {
            "use": how,
            "throughput_per_s": self.points.throughput_per_s,
            "response_time_s": self.points.response_time_s,
            "error_pct": self.error_pct,
            "response_error_pct": self.response_error_pct,
            "inside_band": self.inside,
        }
        return [row | {k: v[i].item() for k, v in measured.items()} for i, row in enumerate(self.predicted.rows())]

    def to_dict(self) -> Row:
        """JSON-ready, SI units."""
        following = self.next()
        return {
            "source": self.points.source,
            "pattern": self.points.pattern,
            "level": LEVEL,
            "parameters": {name: asdict(e) for name, e in self.surface.parameters().items()},
            "knees": knees(self.surface, self.points.places),
            "points": self.rows(),
            "summary": asdict(self.summary()),
            "baselines": self.baselines(),
            "next": None if following is None else asdict(following),
            "notes": list(self.notes),
        }

    def details(self) -> list[tuple[str, str]]:
        """Headings and tables of the parameters and the knees."""
        found = [("Parameters", parameter_rows(self.surface)), ("Knees", knees(self.surface, self.points.places))]
        return [(heading, table_of(rows)) for heading, rows in found if rows]


def parameter_rows(surface: Surface) -> list[Row]:
    """The parameters with their units, to read."""
    return [
        {
            "parameter": name,
            "estimate": quantity(e.estimate, e.unit),
            "interval": f"{quantity(e.low, e.unit)} to {quantity(e.high, e.unit)}",
            "sure": "" if e.identified else "rough",
        }
        for name, e in surface.parameters().items()
    ]


def knees(surface: Surface, places: Places) -> list[Row]:
    """N* and N90 of every block size and share of reads among ``places``, with intervals; none without two depths.

    Both are read off the predicted curve: N* is its idle latency times its peak, which stand beside it. The intervals
    are those of possible devices, and hold the estimate.
    """
    jobs = float(places.jobs.max())
    pairs = np.unique(np.column_stack([places.block_bytes, places.read_fraction]), axis=0)
    found: list[Row] = []
    for block, share in pairs.tolist():
        loads = np.unique([*places.outstanding, *np.geomspace(1.0, FAR_BEYOND * places.outstanding.max(), CURVE_LOADS)])
        at = Places(*np.broadcast_arrays(block, share, loads, jobs))
        crossing, ninety = (limits(at.at(np.array([0]))) for limits in (surface.knee, surface.ninety))
        if crossing is None or ninety is None:
            return []
        throughput = surface.predict(at).throughput_per_s
        peak, idle = float(throughput.max()), 1.0 / float(throughput[0])
        row: Row = {"block_bytes": block, "read_fraction": share, "peak_per_s": peak, "idle_latency_s": idle}
        of_curve = (max(idle * peak, 1.0), ninety_among(loads, throughput))
        for end, value, known in zip(("", "90"), of_curve, (crossing, ninety), strict=True):
            low, high = float(known[1][0]), float(known[2][0])
            row |= {f"knee{end}": value, f"low{end}": min(low, value), f"high{end}": max(high, value)}
        found.append(row)
    return found


def compare_surface(
    points: SurfacePoints,
    use: Mapping[str, Sequence[float]] | None = None,
    *,
    ask: int = DEFAULT_ASKED,
    drifting: bool = False,
) -> SurfaceComparison:
    """Calibrate on the points that match ``use`` (None: the corners) and ``ask`` more that the fit chooses.

    ``use`` maps columns of :class:`Places` to the values to calibrate on; ``drifting`` says that runs were not steady.
    Raises DataError where no point matches, and ValueError where ``ask`` is below zero.
    """
    if ask < 0:
        raise InvalidParameterError("ask", f"is {ask}", "it must be zero or more", value=ask)
    used = corners(points.places) if use is None else points.places.matching(use)
    if not used.any():
        raise DataError(
            f"{points.source or 'the surface'} has no point at the places named; it has: {points.places.ranges()}"
        )
    found: dict[int, str] = {}
    chosen: list[int] = []
    waiting: int | None = None
    surface = fit_surface(points, used)
    for _ in range(ask):
        near = None if waiting is None else neighbour(points.places, waiting, used)
        one = near if near is not None else asked(surface, points.places, used, drifting=drifting)
        if one is None:
            break
        low, high = surface.predictive(points.places.at(np.array([one]))).quantiles(BAND)[:, 0]
        chosen.append(one)
        used = used | (np.arange(len(points)) == one)
        waiting = None
        if points.repeats[one] == 1 and not low <= points.throughput_per_s[one] <= high:
            name, end = ("lower", low) if points.throughput_per_s[one] < low else ("upper", high)
            found[one] = f"{100 * points.throughput_per_s[one] / end:.3g} % of the {name} end"
            waiting = one
        surface, doubted = _fit_doubting(points, used, [i for i in found if i != waiting])
    lines = [
        f"{points.places.text(i)} surprised, at {how} of its band: "
        f"{UNCONFIRMED if i == waiting else VERDICTS[i in doubted]}"
        for i, how in found.items()
    ]
    predicted = surface.predict(points.places)
    return SurfaceComparison(points, surface, predicted, used, tuple(chosen), tuple(lines), drifting)


def _fit_doubting(points: SurfacePoints, used: Mask, surprising: list[int]) -> tuple[Surface, set[int]]:
    """A fit that down-weights ``surprising`` points contradicted by the others, and the indices of these."""
    doubt = np.zeros(len(points))
    for i in surprising:
        doubt[i] = contradicted(points, i, used, CONTRADICTED)
    return fit_surface(points, used, doubt=doubt), set(np.flatnonzero(doubt).tolist())
