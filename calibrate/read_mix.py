"""Memory curves between measured mixes: latency over bandwidth at a share of reads that was not measured.

A byte read takes 1 / B_r of a second at the peak and a byte written 1 / B_w, so 1 / B is a straight line in the share
of reads m between two measured mixes. At the same share x / B of the peak two neighbouring mixes have nearly the same
shape of latency, and its logarithm is taken in proportion between them. Mixes further apart, or whose stores are of
another kind (non-temporal ones bypass the caches), are no neighbours in this sense, and are missed accordingly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrate.posterior import Array
from measure.dataset import CACHE_LINE_BYTES, Sweep
from measure.errors import DataError


@dataclass(frozen=True)
class MixFamily:
    """The measured mixes, ascending in the share of reads; of each bandwidths in bytes a second and latencies (m,)."""

    read_fraction: tuple[float, ...]
    bandwidth_bytes_per_s: tuple[Array, ...]
    latency_s: tuple[Array, ...]

    def without(self, which: int) -> MixFamily:
        """The family without one of its mixes."""
        kept = [i for i in range(len(self.read_fraction)) if i != which]
        return MixFamily(
            tuple(self.read_fraction[i] for i in kept),
            tuple(self.bandwidth_bytes_per_s[i] for i in kept),
            tuple(self.latency_s[i] for i in kept),
        )

    def peak(self, read_fraction: float) -> float:
        """The peak bandwidth of a mix. Raises DataError outside the measured mixes."""
        below, share = self._between(read_fraction)
        low, high = (float(self.bandwidth_bytes_per_s[i].max()) for i in (below, below + 1))
        return 1 / ((1 - share) / low + share / high)

    def latency(self, read_fraction: float, bandwidth_bytes_per_s: Array) -> Array:
        """Latency (k,) of a mix at bandwidths (k,); beyond the mix's peak that at the peak. Raises as ``peak`` does."""
        below, share = self._between(read_fraction)
        of_peak = np.minimum(bandwidth_bytes_per_s / self.peak(read_fraction), 1.0)
        low, high = (self._log_latency(i, of_peak) for i in (below, below + 1))
        return np.asarray(np.exp((1 - share) * low + share * high))

    def _between(self, read_fraction: float) -> tuple[int, float]:
        """The mix below, and how far from it towards the next, from 0 to 1."""
        mixes = np.array(self.read_fraction)
        if not mixes[0] <= read_fraction <= mixes[-1]:
            raise DataError(
                f"{100 * read_fraction:g} % reads lie outside the measured mixes, {100 * mixes[0]:g} to "
                f"{100 * mixes[-1]:g} %; measure one beyond it"
            )
        below = min(int(np.searchsorted(mixes, read_fraction, side="right")) - 1, len(mixes) - 2)
        return below, float((read_fraction - mixes[below]) / (mixes[below + 1] - mixes[below]))

    def _log_latency(self, which: int, of_peak: Array) -> Array:
        bandwidth = self.bandwidth_bytes_per_s[which]
        order = np.argsort(bandwidth, kind="stable")
        return np.interp(of_peak, bandwidth[order] / bandwidth.max(), np.log(self.latency_s[which][order]))


def mix_family(sweep: Sweep) -> MixFamily:
    """The family of a memory sweep with one curve for each of two or more mixes. DataError where it is none."""
    points = sweep.points[sweep.points["read_fraction"].notna()]
    if sweep.load_kind not in ("injected_delay", "bandwidth") or points["read_fraction"].nunique() < 2:
        raise DataError(f"{sweep.name or 'the sweep'} is no memory measured at two or more mixes of reads and writes")
    if points["series"].nunique() > points["read_fraction"].nunique():
        raise DataError(
            f"{sweep.name or 'the sweep'} has several curves of one mix (by stride, buffer or stores); select one"
        )
    groups = [(float(g["read_fraction"].iloc[0]), g) for _, g in points.groupby("read_fraction", sort=True)]
    return MixFamily(
        tuple(mix for mix, _ in groups),
        tuple(g["throughput_per_s"].to_numpy(float) * CACHE_LINE_BYTES for _, g in groups),
        tuple(g["latency_s"].to_numpy(float) for _, g in groups),
    )


def unseen_mix_errors(family: MixFamily) -> Array:
    """100 (predicted / measured - 1) at every point of each inner mix, predicted from the other mixes alone."""
    errors = [np.array([])]
    for i in range(1, len(family.read_fraction) - 1):
        predicted = family.without(i).latency(family.read_fraction[i], family.bandwidth_bytes_per_s[i])
        errors.append(100 * (predicted / family.latency_s[i] - 1))
    return np.concatenate(errors)
