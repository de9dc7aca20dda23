"""Observed times: counts in bins, from any source.

A histogram holds only counts of requests between two edges; the likelihood of a law is that of the counts, the
product of (F(upper) - F(lower))^count, with F its distribution function. Samples are counted in fio's bins first, and
published percentiles are bins as well: half of the requests lie below the median.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from calibrate.inference.parameters import Array
from measure.errors import DataError
from measure.formats.fio.latency_bins import Histogram, bin_edges, bin_of
from measure.units import format_duration

Kind = Literal["histogram", "samples", "percentiles"]
NS_PER_S = 1e9


@dataclass(frozen=True)
class Times:
    """Times counted in bins: arrays (m,) of lower and upper edges in seconds (the last may be infinite) and counts.

    Bins are ascending and do not overlap; neighbours need not touch. ``source`` names the origin, for messages;
    ``requests_known`` is False where the number of requests is assumed. Raises DataError where fewer than two bins
    are not empty, since one bin has no shape.

    >>> from calibrate import of_samples
    >>> import numpy as np
    >>> times = of_samples(np.random.default_rng(1).gamma(4, 20e-6, size=200))
    >>> round(times.counts.sum())
    200
    """

    lower_s: Array
    upper_s: Array
    counts: Array
    kind: Kind = "histogram"
    source: str = ""
    requests_known: bool = True

    def __post_init__(self) -> None:
        where = f"{self.source}: " if self.source else ""
        held = np.asarray(self.counts) > 0
        for name in ("lower_s", "upper_s", "counts"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float)[held])
        if len(self.counts) < 2:
            what = f"one bin ({format_duration(self.middle_s[0])})" if len(self.counts) else "no bin"
            raise DataError(
                f"{where}all requests lie in {what}, so that nothing can be said of the shape of their times; measure "
                "with finer bins (fio --output-format=json+)"
            )
        edges_rise = np.all(self.lower_s < self.upper_s) and np.all(self.upper_s[:-1] <= self.lower_s[1:] * (1 + 1e-12))
        if not edges_rise or self.lower_s[0] < 0:
            raise DataError(f"{where}the bins overlap or are not in order; give ascending bins of times above zero")

    @property
    def total(self) -> float:
        """The number of requests counted."""
        return float(self.counts.sum())

    @property
    def middle_s(self) -> Array:
        """A time inside each bin: its middle, and half as much again as its edge where it has no end."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(self.upper_s), (self.lower_s + self.upper_s) / 2, 1.5 * self.lower_s)

    @property
    def mean_s(self) -> float:
        """The mean from the bins, seconds."""
        return float(self.counts @ self.middle_s / self.total)

    def quantile(self, q: float) -> float:
        """The time below which a share ``q`` of the requests lies, seconds: even inside a bin, its edge if open."""
        before = np.concatenate(([0.0], np.cumsum(self.counts) / self.total))
        i = min(int(np.searchsorted(before[1:], q)), len(self.counts) - 1)
        if not math.isfinite(self.upper_s[i]):
            return float(self.lower_s[i])
        inside = (q - before[i]) / (before[i + 1] - before[i])
        return float(self.lower_s[i] + inside * (self.upper_s[i] - self.lower_s[i]))

    @cached_property
    def edges_s(self) -> Array:
        """Every edge once, ascending, from 0 to infinity (e,): the cells between them are all that a time can be in."""
        return np.unique(np.concatenate(([0.0, np.inf], self.lower_s, self.upper_s)))

    @cached_property
    def cells(self) -> npt.NDArray[np.int64]:
        """Which edge each bin begins at (m,). A bin is one cell, as no edge lies inside another bin."""
        return np.searchsorted(self.edges_s, self.lower_s).astype(np.int64)

    @cached_property
    def shares_below(self) -> Array:
        """The share of requests below each edge (e,)."""
        in_cells = np.zeros(len(self.edges_s) - 1)
        in_cells[self.cells] = self.counts
        return np.concatenate(([0.0], np.cumsum(in_cells) / self.total))


def of_histogram(bins: Histogram | Sequence[Histogram], source: str = "") -> Times:
    """The times of one latency histogram, or of several (repeats) together.

    >>> import numpy as np
    >>> from measure.formats.fio.latency_bins import Histogram
    >>> bins = Histogram(np.array([60e-6, 80e-6]), np.array([80e-6, 120e-6]), np.array([10, 30]), "lat")
    >>> round(of_histogram(bins).counts.sum())
    40
    """
    several = [bins] if isinstance(bins, Histogram) else list(bins)
    lower = np.concatenate([h.lower_s for h in several])
    upper = np.concatenate([h.upper_s for h in several])
    together, where = np.unique(np.column_stack([lower, upper]), axis=0, return_inverse=True)
    counts: Array = np.zeros(len(together))
    np.add.at(counts, np.ravel(where), np.concatenate([h.counts for h in several]))
    return Times(together[:, 0], together[:, 1], counts, "histogram", source)


def of_samples(times_s: npt.ArrayLike, source: str = "") -> Times:
    """The times of single requests (n,), seconds, counted in fio's bins, which are at most 1/64 of a time wide.

    Raises DataError for an invalid time.

    >>> times = of_samples([80e-6, 90e-6, 120e-6])
    >>> round(times.counts.sum())
    3
    """
    given = np.asarray(times_s, dtype=float)
    if given.ndim != 1 or not given.size or not np.all(np.isfinite(given) & (given >= 0)):
        raise DataError(f"{source or 'the samples'}: give one or more times in seconds, zero or above and finite")
    numbers, found = np.unique(bin_of(np.floor(given * (NS_PER_S * (1 + 1e-12)) + 1e-6)), return_counts=True)
    counts: Array = np.asarray(found, dtype=np.float64)
    lower, upper = bin_edges(numbers)
    return Times(lower / NS_PER_S, upper / NS_PER_S, counts, "samples", source)


def of_percentiles(at: Mapping[float, float], requests: float | None = None, source: str = "") -> Times:
    """The times by published percentiles, {share below: time in seconds}, as {0.5: 80e-6, 0.99: 200e-6}.

    ``requests`` is their number. Without it the least number with one request beyond the highest percentile is assumed,
    so that the ranking is cautious. Raises DataError where percentiles are
    out of order, or fewer than two.

    >>> times = of_percentiles({0.5: 80e-6, 0.99: 200e-6})
    >>> times.upper_s.tolist()[:1]
    [8e-05]
    """
    where = f"{source}: " if source else ""
    shares = sorted(at)
    if len(shares) < 2:
        raise DataError(f"{where}too few percentiles ({len(shares)}): expected two or more, e.g. p50, p95, p99")
    for share in shares:
        if not 0 < share < 1 or not math.isfinite(at[share]) or at[share] <= 0:
            raise DataError(f"{where}invalid percentile p{100 * share:g} = {at[share]:g} s: expected a time above zero")
    for low, high in pairwise(shares):
        if at[high] <= at[low]:
            raise DataError(
                f"{where}percentiles out of order: p{100 * high:g} = {format_duration(at[high])} is not above "
                f"p{100 * low:g} = {format_duration(at[low])}; look for swapped columns or mixed units, or fit the "
                "histogram itself (qsim measure fio keeps it)"
            )
    total = requests if requests is not None else math.ceil(1 / (1 - shares[-1]) - 1e-6)
    if not total >= 1:
        raise DataError(f"{where}the percentiles were taken from {total:g} requests; give how many there were")
    edges = np.array([0.0, *(at[s] for s in shares), np.inf])
    counts = total * np.diff([0.0, *shares, 1.0])
    return Times(edges[:-1], edges[1:], counts, "percentiles", source, requests is not None)
