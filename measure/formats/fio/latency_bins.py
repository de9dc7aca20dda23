"""fio's latency histogram: the bin of a latency, the edges of bins, and the bins of a point as arrays.

Bins are 1 unit wide up to 128 units and then 64 to an octave (fio's stat.c, ``plat_val_to_idx``). The unit is 1 ns from
version 3 on and 1 us before. json+ names each bin by its midpoint (by its index in version 2), histogram logs list the
counts of all bins, or of 2^c neighbours together with ``log_hist_coarseness=c``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from measure.errors import DataError
from qsim.errors import InvalidParameterError

BITS = 6
PER_OCTAVE = 2**BITS
#: Bins of fio 2 (19 octaves, counted in us) and of fio 3 (29 octaves, counted in ns).
BINS_FIO_2, BINS_FIO_3 = 19 * PER_OCTAVE, 29 * PER_OCTAVE

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Histogram:
    """Latencies counted in bins: arrays (m,) of the bins' lower and upper edges in seconds and of the counts.

    Only bins that are not empty, in ascending order; neighbours need not touch. ``kind`` is "lat" (total) or "clat".
    """

    lower_s: Floats
    upper_s: Floats
    counts: Counts
    kind: str = ""

    @property
    def middle_s(self) -> Floats:
        """The midpoints of the bins, seconds."""
        return (self.lower_s + self.upper_s) / 2

    @property
    def total(self) -> int:
        """The number of latencies counted."""
        return int(self.counts.sum())

    @property
    def mean_s(self) -> float:
        """The mean latency from the midpoints, seconds; within 0.8 % of the true mean."""
        return float(self.counts @ self.middle_s / self.counts.sum())

    @property
    def sd_s(self) -> float:
        """The standard deviation from the midpoints, seconds."""
        return float(np.sqrt(self.counts @ (self.middle_s - self.mean_s) ** 2 / self.counts.sum()))

    def quantile(self, fraction: float) -> float:
        """The latency below which ``fraction`` of the requests lie, seconds: the midpoint of the bin that holds it.

        Raises ValueError where ``fraction`` is not between 0 and 1.
        """
        if not 0 <= fraction <= 1:
            raise InvalidParameterError("fraction", f"{fraction:g} must lie between 0 and 1, like 0.99", value=fraction)
        seen = np.cumsum(self.counts)
        return float(self.middle_s[int(np.searchsorted(seen, fraction * seen[-1]))])


def bin_of(value: ArrayLike) -> NDArray[np.int64]:
    """The index of the bin that counts ``value`` (whole units of fio, zero or more).

    >>> bin_of([0, 127, 128, 130, 255, 256]).tolist()
    [0, 127, 128, 129, 191, 192]
    """
    values = np.asarray(value, dtype=np.int64)
    _, exponent = np.frexp(values.astype(float))  # exact below 2^53, which no latency reaches
    error_bits = np.maximum(exponent - 1 - BITS, 0)
    return np.asarray(error_bits * PER_OCTAVE + (values >> error_bits), dtype=np.int64)


def bin_edges(index: ArrayLike) -> tuple[Floats, Floats]:
    """The lower and upper edges, in fio's units, of the bins with these indices.

    >>> [edge.tolist() for edge in bin_edges([5, 128, 192])]
    [[5.0, 128.0, 256.0], [6.0, 130.0, 260.0]]
    """
    numbers = np.asarray(index, dtype=np.int64)
    error_bits = np.maximum((numbers >> BITS) - 1, 0)
    within = numbers - error_bits * PER_OCTAVE
    width = np.exp2(error_bits)
    return within * width, (within + 1) * width


def coarse_edges(bins: int) -> tuple[Floats, Floats, float]:
    """Edges (in fio's units) of the ``bins`` bins of a histogram log, and the unit in seconds.

    Their number determines fio's version and the coarseness. DataError where no version of fio writes as many.
    """
    for coarseness in range(BITS + 1):
        fine = bins << coarseness
        if fine in (BINS_FIO_2, BINS_FIO_3):
            lower, upper = bin_edges(np.arange(fine))
            unit_s = 1e-6 if fine == BINS_FIO_2 else 1e-9
            return lower[:: 1 << coarseness], upper[(1 << coarseness) - 1 :: 1 << coarseness], unit_s
    raise DataError(
        f"invalid histogram log with {bins} bins: expected {BINS_FIO_2} (fio 2) or {BINS_FIO_3} (fio 3), or these "
        "halved up to six times; give the log as fio wrote it"
    )


def counted(middles: Mapping[float, int], unit_s: float, kind: str = "") -> Histogram:
    """A Histogram from {midpoint of a bin in units of ``unit_s``: count}.

    >>> found = counted({129: 3, 5: 1}, 1e-9)
    >>> found.lower_s.tolist(), found.counts.tolist()
    ([5e-09, 1.28e-07], [1, 3])
    """
    ordered = sorted(middles)
    lower, upper = bin_edges(bin_of(np.rint(ordered)))
    scale = round(1 / unit_s)
    return Histogram(lower / scale, upper / scale, np.array([middles[m] for m in ordered], dtype=np.int64), kind)


def summed(parts: Sequence[Histogram]) -> Histogram:
    """The sum of several histograms over one grid of bins."""
    lower, first, where = np.unique(np.concatenate([h.lower_s for h in parts]), return_index=True, return_inverse=True)
    counts = np.zeros(len(lower), dtype=np.int64)
    np.add.at(counts, where, np.concatenate([h.counts for h in parts]))
    kinds = {h.kind for h in parts}
    upper = np.concatenate([h.upper_s for h in parts])[first]
    return Histogram(lower, upper, counts, kinds.pop() if len(kinds) == 1 else "")
