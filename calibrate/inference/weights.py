"""A posterior as a table of weights: each row is a possible device with its probability.

Parameters that enter linearly are integrated out: around its ``values`` a row is a normal distribution in the
logarithms, along its ``directions``. A positive quantity is log-normal in each row, with a slope measured one standard
deviation to either side, and a mixture of log-normals over the rows.

>>> table = Weights(np.array([[1.0], [4.0]]), np.zeros(2), np.array([0.5, 0.5]), np.zeros((2, 1, 0)))
>>> table.quantiles(lambda values: values[:, 0], (0.1, 0.9)).round(2).tolist()
[1.0, 4.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist

import numpy as np

from calibrate.inference.parameters import Array, IntArray, Mask, MisfitProcess, carried

Quantity = Callable[[Array], Array]
"""Maps parameters (n, d) in natural units to a positive quantity of each row, (n,) or (n, m)."""

NEGLIGIBLE = 1e-3
"""The lightest rows with together at most this share of the weight are dropped."""

ROWS = 2500
"""Larger tables are thinned to this many rows: band ends move by 0.5 % of the band, and results are faster."""

LEAST = 1e-300

DIGITS = 9
"""Decimals of the log scale that are used to sort rows."""

LOG_DIGITS = 12
"""Decimals of logarithms of weights that count: rows that are equally probable but for rounding are so exactly."""

TIE = 1e-9
"""Cumulative weights that differ by less are the same, so that no last bit decides which of equal rows is taken."""

GAP = 1e-7
"""Half the width of the shares whose quantiles are averaged: where no weight lies between two parts, their middle."""

SPREAD = 400
"""Number of equally weighted rows that represent a table where whole curves are computed."""


@dataclass(frozen=True)
class Weights:
    """n rows: ``values`` (n, d) in natural units, ``misfit`` sizes (n,), ``weight`` (n,), ``directions`` (n, d, r).

    A row's parameters are values * exp(directions z) with z (r,) standard normal. ``log_evidence`` is the logarithm of
    the evidence, up to a constant common to all models of the same points. ``scale`` is the column of the parameter
    that multiplies every measurement, where there is one: any quantity is proportional to a power of it, and the only
    direction is along it.
    """

    values: Array
    misfit: Array
    weight: Array
    directions: Array
    log_evidence: float = 0.0
    scale: int | None = None

    @classmethod
    def of(
        cls, values: Array, misfit: Array, log_weight: Array, directions: Array, scale: int | None = None
    ) -> Weights:
        """A table from logarithms of weights (n,) up to a constant, of the rows that ``rows_kept`` keeps."""
        rows, weight, evidence = rows_kept(log_weight, (values[:, 0], misfit))
        return cls(values[rows], misfit[rows], weight, directions[rows], evidence, scale)

    def __len__(self) -> int:
        return len(self.weight)

    def at(self, rows: Mask) -> Weights:
        """The rows of a mask (n,), their weights normalised to 1."""
        weight = self.weight[rows] / self.weight[rows].sum()
        values, misfit, directions = self.values[rows], self.misfit[rows], self.directions[rows]
        return replace(self, values=values, misfit=misfit, weight=weight, directions=directions)

    @property
    def most_probable(self) -> Array:
        """The parameters (d,) of the heaviest row."""
        return np.asarray(self.values[int(self.weight.argmax())])

    def rows(self, count: int) -> IntArray:
        """Indices of rows (count,) at even steps of the cumulative weight: representative devices."""
        return reaching_rows(self.weight, np.arange(count) / count + 0.5 / count)

    def spread(self, count: int = SPREAD) -> tuple[Array, Array]:
        """Equally weighted parameters (count, d) that represent the table, and their misfit sizes (count,).

        They lie at even steps of the cumulative weight, at even normal deviates along the directions.
        """
        keys = self.values.copy()
        if self.scale is not None:
            keys[:, self.scale] = np.log(keys[:, self.scale]).round(DIGITS)
        order = np.lexsort((self.misfit, *keys.T[::-1]))
        places = np.sort(even(count, 1)[:, 0])
        rows = order[reaching_rows(self.weight[order], places)]
        z = normal_nodes(count, self.directions.shape[2])
        return self.values[rows] * np.exp(np.einsum("ndr,nr->nd", self.directions[rows], z)), self.misfit[rows]

    def logs(self, quantity: Quantity) -> tuple[Array, Array]:
        """The logarithm (n, m) of ``quantity`` in each row, and its slopes (n, m, r) along the row's directions."""
        if self.scale is not None:
            return self._scaled(quantity, self.scale)
        middle = _log(quantity(self.values))
        slopes = np.empty((*middle.shape, self.directions.shape[2]))
        for axis in range(slopes.shape[2]):
            step = np.exp(self.directions[:, :, axis])
            slopes[:, :, axis] = 0.5 * (_log(quantity(self.values * step)) - _log(quantity(self.values / step)))
        return middle, slopes

    def _scaled(self, quantity: Quantity, scale: int) -> tuple[Array, Array]:
        """As ``logs``, with one evaluation for neighbouring rows that differ only in their scale."""
        unit = self.values.copy()
        unit[:, scale] = 1.0
        first = np.append(True, (unit[1:] != unit[:-1]).any(axis=1))
        more = unit[:1] * np.where(np.arange(unit.shape[1]) == scale, np.e, 1.0)
        logs = _log(quantity(np.vstack([unit[first], more])))
        power = logs[-1] - logs[0]
        middle = logs[np.cumsum(first) - 1] + power * np.log(self.values[:, scale, None])
        return middle, (power * self.directions[:, scale])[:, :, None]

    def moments(self, quantity: Quantity) -> tuple[Array, Array]:
        """Mean and standard deviation (n, m) of the logarithm of ``quantity`` in each row."""
        middle, slopes = self.logs(quantity)
        return middle, np.sqrt((slopes**2).sum(axis=2))

    def quantiles(self, quantity: Quantity, shares: Sequence[float]) -> Array:
        """Quantiles (k,) of a quantity that is one number per row."""
        mean, deviation = self.moments(quantity)
        return _exp(quantiles(mean, deviation, self.weight, shares)[:, 0])

    def typical_misfit(self) -> float:
        """The median misfit size."""
        order = np.argsort(self.misfit, kind="stable")
        return float(self.misfit[order][reaching_rows(self.weight[order], np.array(0.5))])


@dataclass(frozen=True)
class Predictive:
    """The distribution of new log measurements at m loads: mean and standard deviation (n, m) of each row.

    ``slopes`` (n, m, r) are those of the means along the rows' directions, ``unexplained`` (m, m) the mean covariance
    of the misfit. ``noise`` is the relative standard error of a new point, part of ``deviation`` alone.
    """

    mean: Array
    deviation: Array
    weight: Array
    slopes: Array
    unexplained: Array
    noise: float = 0.0

    def shared_with(self, others: Array, share: float) -> Predictive:
        """Mixed with means that are higher by ``others`` (m,), which have this share of the weight."""
        between = np.sqrt(share * (1 - share)) * others
        slopes = np.concatenate([self.slopes, np.broadcast_to(between[:, None], (*self.mean.shape, 1))], axis=2)
        deviation = np.sqrt(self.deviation**2 + between**2)
        return replace(self, mean=self.mean + share * others, deviation=deviation, slopes=slopes)

    @property
    def covariance(self) -> Array:
        """The covariance (m, m) of different new measurements, over all rows."""
        apart = self.mean - self.weight @ self.mean
        among = (self.weight[:, None] * apart).T @ apart
        return np.asarray(among + np.einsum("n,nir,njr->ij", self.weight, self.slopes, self.slopes) + self.unexplained)

    def quantiles(self, shares: Sequence[float]) -> Array:
        """Quantiles (k, m) of the measurements themselves."""
        return _exp(quantiles(self.mean, self.deviation, self.weight, shares))


@dataclass(frozen=True)
class Known:
    """A table of weights with the measurements ``observed`` (k,) at the loads ``used`` (k,) that it follows from.

    ``curve(values (n, d), loads)`` gives the model's measurements (n, m), ``process`` how it misses them; ``noise``
    (k,) are their relative standard errors.
    """

    table: Weights
    curve: Callable[[Array, Array], Array]
    process: MisfitProcess
    used: Array
    noise: Array
    observed: Array

    def logs(self, loads: Array) -> tuple[Array, Array, Array]:
        """By the model alone: means (n, m), slopes (n, k + m, r), and what is missed (n, k) at ``used``."""
        everywhere, k = np.concatenate([self.used, loads]), len(self.used)
        mean, slopes = self.table.logs(lambda values: self.curve(values, everywhere))
        return mean[:, k:], slopes, np.log(self.observed) - mean[:, :k]

    @property
    def noise_again(self) -> float:
        """The relative standard error of another point that is measured as often as the known ones; 0 where unknown."""
        known = self.noise[self.noise > 0]
        return float(np.median(known)) if len(known) else 0.0

    def carried(self, sizes: Array, loads: Array) -> tuple[Array, Array]:
        """What the misfit at ``used`` says of that at ``loads``, for each of ``sizes``: gains and covariances."""
        return carried(self.process, self.used, self.noise, sizes, loads)


def predictive(known: Known, loads: Array) -> Predictive:
    """The distribution of new measurements at ``loads`` (m,), each repeated as often as the known ones."""
    table, k, noise = known.table, len(known.used), known.noise_again
    mean, slopes, missed = known.logs(loads)
    expected, variance = mean.copy(), np.empty((len(table), len(loads)))
    left = np.zeros((len(loads), len(loads)))
    directions = np.zeros((len(table), len(loads), slopes.shape[2]))
    sizes = np.unique(table.misfit)
    for size, gain, covariance in zip(sizes, *known.carried(sizes, loads), strict=True):
        rows = np.flatnonzero(table.misfit == size)
        expected[rows] += missed[rows] @ gain.T
        along = slopes[rows, k:] - np.tensordot(slopes[rows, :k], gain, (1, 1)).swapaxes(1, 2)
        directions[rows] = along
        variance[rows] = np.maximum(covariance.diagonal(), 0.0) + (along**2).sum(axis=2) + noise**2
        left += table.weight[rows].sum() * covariance
    return Predictive(expected, np.sqrt(variance), table.weight, directions, left, noise)


def expected(known: Known, loads: Array) -> Array:
    """The mean (m,) of the logarithms of the measurements that ``predictive`` distributes, at less cost."""
    table, (mean, _, missed) = known.table, known.logs(loads)
    found, sizes = table.weight @ mean, np.unique(table.misfit)
    for size, gain in zip(sizes, known.carried(sizes, loads)[0], strict=True):
        rows = table.misfit == size
        found += gain @ (table.weight[rows] @ missed[rows])
    return np.asarray(found)


def _log(values: Array) -> Array:
    """Logarithms (n, m), of one column where ``values`` are (n,)."""
    return np.log(np.maximum(values.reshape(len(values), -1), LEAST))


def _exp(logs: Array) -> Array:
    """The exponential; infinite where a float cannot hold it."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(logs))


def reaching_rows(weight: Array, places: Array) -> IntArray:
    """The first rows, of weights that sum to 1, whose cumulative weight reaches ``places``."""
    return np.minimum(np.searchsorted(np.cumsum(weight), places - TIE), len(weight) - 1)


def rows_kept(log_weight: Array, keys: Sequence[Array], most: int = ROWS) -> tuple[IntArray, Array, float]:
    """Which rows of a table are kept, their weights, and the logarithm of the evidence of all rows.

    ``log_weight`` (n,) is known up to a constant. Negligible rows are dropped; where more than ``most`` are left, they
    are thinned, in the order of ``keys`` (the last one first).
    """
    weight = np.exp((log_weight - log_weight.max()).round(LOG_DIGITS))
    evidence = float(log_weight.max() + np.log(weight.sum()))
    ascending = np.sort(weight)
    dropped = int(np.searchsorted(np.cumsum(ascending), (NEGLIGIBLE + TIE) * weight.sum(), side="right"))
    least = ascending[dropped]  # of those that stay
    counts, alike = weight >= least, np.flatnonzero(weight == least)
    counts[alike[: dropped - np.count_nonzero(weight < least)]] = False
    rows = np.flatnonzero(counts)
    share = thinned(weight[rows], [key[rows] for key in keys], most)
    rows, share = rows[share > 0], share[share > 0]
    return rows, share / share.sum(), evidence


def thinned(weight: Array, keys: Sequence[Array], rows: int = ROWS) -> Array:
    """Weights (n,) of which about ``rows`` are not zero: heavy ones unchanged, light ones all equal.

    Light rows are chosen at even steps of their cumulative weight in the order of ``keys``, each (n,), the last one
    first, so that each represents its neighbours and sums over rows hardly change (Fearnhead and Clifford, JRSS B
    2003, without the random numbers).

    >>> thinned(np.array([0.5, 0.15, 0.15, 0.1, 0.1]), [np.arange(5)], 3).round(2).tolist()
    [0.5, 0.25, 0.0, 0.25, 0.0]
    """
    if len(weight) <= rows:
        return weight
    ascending = np.sort(weight)
    left = rows - np.arange(len(weight))[::-1]  # places for the lightest 1, 2, ... when all heavier ones stay
    common = np.cumsum(ascending) / np.maximum(left, 1)
    heaviest = np.flatnonzero((left > 0) & (np.append(ascending[1:], np.inf) >= common))[0]
    light = np.flatnonzero(weight <= ascending[heaviest])
    light = light[np.lexsort([key[light] for key in keys])]
    steps = (np.arange(left[heaviest]) + 0.5) / left[heaviest]
    kept = np.where(weight > ascending[heaviest], weight, 0.0)
    kept[light[reaching_rows(weight[light] / weight[light].sum(), steps)]] = common[heaviest]
    return np.asarray(kept)


ROOT_STEPS = 60
"""Fixed-point iterations to the root whose powers are the irrational steps: more change no digit."""


def even(count: int, dimensions: int, after: int = 0) -> Array:
    """Points (count, dimensions) that fill the unit cube evenly: those after the first ``after`` of the sequence.

    An additive recurrence of irrational steps (Roberts 2018, the generalised golden ratio).

    >>> even(4, 1).round(3).tolist()
    [[0.118], [0.736], [0.354], [0.972]]
    """
    root = float(dimensions)
    for _ in range(ROOT_STEPS):
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    return np.asarray((0.5 + np.arange(after + 1, after + count + 1)[:, None] * steps) % 1)


@lru_cache(maxsize=256)
def normal_nodes(count: int, dimensions: int, after: int = 0) -> Array:
    """Standard normal deviates (count, dimensions), evenly spread, after the first ``after`` of the sequence."""
    normal = NormalDist()  # scipy.special takes a quarter of a second to import
    places = even(count, dimensions, after)
    nodes = np.array([normal.inv_cdf(p) for p in places.ravel().tolist()]).reshape(places.shape)
    nodes.setflags(write=False)
    return nodes


STEPS = 1024
"""Steps of the grid."""

WIDTHS = 8
"""Number of classes of standard deviations; components are split between two classes to keep their variance."""

NARROW = 0.01
"""The least standard deviation of a component, as a share of the widest one's."""

REACH = 6.5
"""The grid ends this number of standard deviations beyond the outermost component that counts."""

COUNTS = 1e-5
"""Components below this share of the heaviest one's weight do not extend the grid."""


TOGETHER = 4
"""Number of mixtures computed at a time: more would not stay in the processor's cache."""

DAMPING = -0.5 * (2 * np.pi * np.fft.rfftfreq(2 * STEPS)) ** 2
"""Change of the log spectrum at each frequency by a variance of one squared step."""

FEW = 4
"""Up to this number of components (memories) the distribution function is solved, which is faster than the grid."""

POINT = 1e-6
"""Width of a component without width, as a share of the distance between the outermost ones."""

MOST_STEPS, CLOSE = 80, 1e-9
"""The most steps to a quantile, and the length of the last, in standard deviations of the widest component."""

ERF = np.frompyfunc(math.erf, 1, 1)

EMPTY = 1e-14
"""A class with less than this share of the weight is left out."""


def quantiles(mean: Array, deviation: Array, weight: Array, shares: Sequence[float]) -> Array:
    """Quantiles (k, m) at ``shares`` (k,) of mixtures of normals: ``mean``, ``deviation`` (n, m), ``weight`` (n,).

    Each is the mean of those at the share less and more ``GAP``: the middle of the gap where there is one.
    """
    around = np.add.outer((-GAP, GAP), shares)
    mean, deviation, weight = mean.T.copy(), np.maximum(deviation, 0.0).T.copy(), weight / weight.sum()
    low, high = _ends(mean - REACH * deviation, mean + REACH * deviation, weight)
    found = np.repeat(low[None, :], len(shares), axis=0)
    spread = np.flatnonzero(high > low)
    if len(weight) <= FEW:
        ends = _solved(mean[spread], deviation[spread], weight, around.ravel(), low[spread], high[spread])
        found[:, spread] = ends.reshape(2, len(shares), -1).mean(axis=0)
        return found
    for start in range(0, len(spread), TOGETHER):
        some = spread[start : start + TOGETHER]
        step = (high[some] - low[some]) / (STEPS - 1)
        place = np.clip((mean[some] - low[some, None]) / step[:, None], 0, STEPS - 1.000001)
        density = _smoothed(place, deviation[some] / step[:, None], weight)
        cumulative = np.concatenate([np.zeros((len(some), 1)), np.cumsum(density, axis=1)], axis=1)
        at = [np.interp(around * sums[-1], sums, np.arange(STEPS + 1) - 0.5).mean(axis=0) for sums in cumulative]
        found[:, some] = low[some] + np.transpose(at) * step
    return found


def _solved(mean: Array, deviation: Array, weight: Array, shares: Array, low: Array, high: Array) -> Array:
    """Quantiles (k, m) of components (m, n): Newton's steps, bisection where these leave the interval or oscillate."""
    widest = np.maximum(deviation.max(axis=1), POINT * (high - low))[:, None]
    deviation = np.maximum(deviation, NARROW * widest)
    low, high = (np.broadcast_to(end, (len(shares), len(end))) for end in (low, high))
    at, moved = low + (high - low) * shares[:, None], high - low
    for _ in range(MOST_STEPS):
        z = (at[:, :, None] - mean) / deviation
        below = 0.5 * (1 + np.asarray(ERF(z / math.sqrt(2)), dtype=float))
        excess = below @ weight - shares[:, None]
        density = (np.exp(-0.5 * z**2) / (math.sqrt(2 * math.pi) * deviation)) @ weight
        low, high = np.where(excess > 0, low, at), np.where(excess > 0, at, high)
        step = at - excess / np.maximum(density, LEAST)
        newton = (low <= step) & (step <= high) & (np.abs(step - at) <= 0.5 * moved)
        before, at = at, np.where(newton, step, 0.5 * (low + high))
        moved = np.abs(at - before)
        if (moved <= CLOSE * widest[:, 0]).all():
            break
    return at


def _ends(lowest: Array, highest: Array, weight: Array) -> tuple[Array, Array]:
    """The ends of the grid of each mixture, (m,) each."""
    counts = weight > COUNTS * weight.max()
    return np.where(counts, lowest, np.inf).min(axis=1), np.where(counts, highest, -np.inf).max(axis=1)


def _smoothed(place: Array, deviation: Array, weight: Array) -> Array:
    """The mass (m, STEPS) of each mixture on its grid: components (m, n) at ``place``, of ``deviation``, in steps."""
    variance = deviation**2
    widest = np.maximum(deviation.max(axis=1), 1e-12)
    narrowest = np.maximum(deviation.min(axis=1), np.maximum(NARROW * widest, 1e-12))
    ratio = np.linspace(0.0, 1.0, WIDTHS)
    classes = (narrowest[:, None] * (widest / narrowest)[:, None] ** ratio) ** 2
    above = np.clip([np.searchsorted(c, v) for c, v in zip(classes, variance, strict=True)], 1, WIDTHS - 1)
    above += np.arange(0, classes.size, WIDTHS)[:, None]
    lower, width = classes.ravel()[above - 1], np.maximum(np.diff(classes.ravel(), prepend=0.0), LEAST)[above]
    upper = ((variance - lower) / width).clip(0.0, 1.0)
    left = place.astype(int)
    right = place - left
    cell = above * STEPS + left
    mass = np.zeros(classes.size * STEPS)
    for row, part in ((-STEPS, 1 - upper), (0, upper)):
        for step, share in ((0, 1 - right), (1, right)):
            mass += np.bincount((cell + (row + step)).ravel(), (weight * part * share).ravel(), len(mass))
    rows = mass.reshape(-1, STEPS)
    held = np.flatnonzero(rows.sum(axis=1) > EMPTY)
    spectrum = np.fft.rfft(rows[held], 2 * STEPS, axis=1)  # twice the steps, so that no mass wraps around
    spectrum *= np.exp(classes.ravel()[held, None] * DAMPING)
    first = np.searchsorted(held, np.arange(len(place) + 1) * WIDTHS)
    blurred = np.array([spectrum[a:b].sum(axis=0) for a, b in pairwise(first)])
    return np.maximum(np.fft.irfft(blurred, 2 * STEPS, axis=1)[:, :STEPS], 0.0)


def middle(table: Weights, quantity_of: Quantity, level: float) -> tuple[float, float, float]:
    """The median of a positive quantity and the ends of its interval at ``level``: estimate, low, high."""
    estimate, low, high = table.quantiles(quantity_of, (0.5, 0.5 * (1 - level), 0.5 * (1 + level)))
    return float(estimate), float(low), float(high)


def reaching(low: float, high: float, least: float, level: float) -> float:
    """The lower end of an interval, or ``least`` where the distribution piles up at that bound, as N* = 1 of a server.

    It does where the lower quantile is no further from the bound than that of a uniform density would be.
    """
    tail = (1 - level) / 2
    return least if low - least <= tail / (1 - tail) * (high - least) else low


def widened(low: float, estimate: float, high: float, share: float, level: float) -> tuple[float, float]:
    """The ends of an interval at ``level``, widened by a further relative standard deviation ``share``.

    >>> [round(end, 3) for end in widened(0.5, 1.0, 4.0, 0.1, 0.9)]
    [0.49, 4.039]
    """
    if not share or not 0 < low <= estimate <= high < np.inf:
        return low, high
    more = share * NormalDist().inv_cdf(0.5 * (1 + level))
    below, above = (np.hypot(np.log(ratio), more) for ratio in (estimate / low, high / estimate))
    return float(estimate * np.exp(-below)), float(estimate * np.exp(above))
