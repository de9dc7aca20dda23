"""Observed times: counts in bins, from any source.

A histogram holds only counts of requests between two edges; the likelihood of a law is that of the counts, the
product of (F(upper) - F(lower))^count, with F its distribution function. Samples are counted in fio's bins first, and
published percentiles are bins as well: half of the requests lie below the median.

They come from a list of latencies, a histogram of the kernel, or a sweep: its histograms, else percentiles.
"""

from __future__ import annotations

import io
import math
import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from calibrate.inference.parameters import Array
from measure.datasets import about, dataset_latencies
from measure.errors import DataError
from measure.formats.by_format import InputFile, sniff, sweep_of
from measure.formats.fio.latency_bins import Histogram, bin_edges, bin_of
from measure.formats.law_file import kernel_histogram, looks_like_kernel_histogram
from measure.loading import load
from measure.sweep import Sweep, histograms
from measure.text_files import STDIN, read_head, read_text
from measure.units import format_duration, parse_duration

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


# --- from tables, sweeps and files ------------------------------------------------------------------------------------

COLUMNS: Mapping[str, float] = {
    "latency_p50_s": 0.5,
    "latency_p95_s": 0.95,
    "latency_p99_s": 0.99,
    "latency_p999_s": 0.999,
}
PER_SECOND: Mapping[str, float] = {"ns": 1e9, "us": 1e6, "µs": 1e6, "ms": 1e3, "s": 1.0}
"""Units of a list of latencies, each by its number in a second."""
_LATENCY = re.compile(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)\s*(ns|us|µs|ms|s)?")
_ONE_COLUMN = re.compile(r"[^\n,;\t{}\[<|]+\n\s*\d[^\n,;\t ]*\s*\n")
"""Matches the first lines of a file with one value a line."""
_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)\s*=\s*(\S+)")


def service_times(sweep: Sweep, series: str, requests: float | None = None) -> Times:
    """The times at the smallest load, all repeats together.

    ``requests`` is needed only where the sweep has only percentiles. Raises DataError where the distribution of
    latencies is unknown.

    >>> import pandas as pd
    >>> from measure import Sweep
    >>> row = {"series": "4 KiB read", "load": 1, "throughput_per_s": 12e3, "latency_s": 83e-6}
    >>> percentiles = {"latency_p50_s": 80e-6, "latency_p95_s": 110e-6, "latency_p99_s": 150e-6}
    >>> times = service_times(Sweep(pd.DataFrame([row | percentiles])), "4 KiB read")
    >>> times.kind
    'percentiles'
    """
    rows = sweep.select(series).points
    load = rows["load"].min()
    if bins := [h for key, h in histograms(sweep).items() if key[:2] == (series, load)]:
        return of_histogram(bins, f"{series} at load {load:g}")
    return table_times(rows, series, requests)


def table_times(rows: pd.DataFrame, series: str, requests: float | None = None) -> Times:
    """The times by a table's percentile columns at the smallest load (means over repeats).

    DataError where it has fewer than two.
    """
    rows = rows[rows["series"] == series]
    load = rows["load"].min()
    chosen, where = rows[rows["load"] == load], f"{series} at load {load:g}"
    seen = {share: chosen[column].dropna() for column, share in COLUMNS.items() if column in chosen}
    known = {share: float(times.mean()) for share, times in seen.items() if len(times)}
    if len(known) < 2:
        raise DataError(
            f"{where}: neither a histogram nor percentiles are there; measure again with "
            "--output-format=json+ (qsim measure fio does)"
        )
    return of_percentiles(known, requests, where)


def published_percentiles(name: str) -> pd.DataFrame:
    """The percentiles over depth of a published table without throughputs. DataError where it has none."""
    points = dataset_latencies(name).points
    if points["load"].isna().any():
        info = about(name)
        raise DataError(f"{name} is no table of percentiles over depth: {info.why_no_curve}; run: {info.instead}")
    return points


def times_or_sweep(path: Path) -> Times | Sweep:
    """The times in a file or the standard input, one a line or counted by the kernel, else the sweep that it holds."""
    if path.is_dir():
        return load(path)
    name = "stdin" if path == STDIN else path.name
    head = "" if path == STDIN else read_head(path)
    if head and not _ONE_COLUMN.match(head) and not looks_like_kernel_histogram(head):
        return load(path)
    text = read_text(path)
    if looks_like_kernel_histogram(text):
        return of_histogram([kernel_histogram(text, name)], name)
    if (times := parse_latencies(text, name)) is not None:
        return times
    return sweep_of(sniff(text, name), [InputFile(name, path, text)])


def parse_latencies(text: str, source: str) -> Times | None:
    """The times in a text with one latency a line; None for other text.

    A first line may name the column. The unit is that of each value (``80us``), else that at the end of the name
    (``latency_us``). Raises DataError where both lack it.

    >>> parse_latencies("latency_us\\n80\\n95\\n120", "requests.txt").total
    3.0
    """
    lines = (line for row in io.StringIO(text) if (line := row.strip()))
    first = next(lines, "")
    header = [] if first[:1].isdigit() else re.split(r"[^a-zµ]+", first.lower())
    named = next((word for word in reversed(header) if word in PER_SECOND), "")
    found, unknown = array("d"), False
    for line in lines if header else chain([first], lines):  # one at a time: there may be millions
        if (value := _LATENCY.fullmatch(line)) is None:
            return None
        number, unit = value.groups()
        unknown = unknown or not (unit or named)
        found.append(float(number) / PER_SECOND[unit or named or "s"])
    if len(found) < 2:
        return None
    if unknown:
        what = f"{source}: its {len(found)} latencies have no unit"
        raise DataError(f"{what}; name the column latency_us, or write 80us in each line")
    return of_samples(np.frombuffer(found), source)


def parse_percentiles(text: str) -> dict[float, float]:
    """``p50=80us,p99=300us`` as {0.5: 80e-6, 0.99: 300e-6}. Raises ValueError naming an invalid part."""
    found: dict[float, float] = {}
    for part in (p.strip() for p in text.split(",") if p.strip()):
        match = _PERCENTILE.fullmatch(part)
        if match is None or not 0 < float(match[1]) < 100:
            raise ValueError(f"invalid percentile {part!r}: expected e.g. p50=80us,p95=120us,p99.9=1.2ms")
        share = round(float(match[1]) / 100, 12)
        if share in found:
            raise ValueError(f"p{float(match[1]):g} is given twice")
        found[share] = parse_duration(match[2], part)
    return found
