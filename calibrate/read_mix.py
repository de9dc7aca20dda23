"""Memory curves between measured mixes: latency over bandwidth at a share of reads that was not measured.

A byte read takes 1 / B_r of a second at the peak and a byte written 1 / B_w, so 1 / B is a straight line in the share
of reads m between two measured mixes. At the same share x / B of the peak two neighbouring mixes have nearly the same
shape of latency, and its logarithm is taken in proportion between them. Mixes further apart, or whose stores are of
another kind (non-temporal ones bypass the caches), are no neighbours in this sense: the latter are left out.

The band comes from the data themselves: each inner mix is predicted from the others, and the error that a share
``level`` of its points at similar shares of the peak does not exceed is the band's half width (conformal prediction;
Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005). The mixes left out lie twice as far from
their neighbours as the one predicted, so that the band is wide rather than narrow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calibrate.inference.parameters import Array
from calibrate.memory_curve import AlongBandwidth
from calibrate.points import refuse_caches
from measure.dataset import CACHE_LINE_BYTES, Sweep
from measure.errors import DataError

LEVEL = 0.9
NEARBY = 0.1
"""Errors are alike within about this distance in x / B - 0.1 ln(1 - x / B), which is stretched towards the wall."""

FEWEST_ERRORS = 10
UNTOLD_BELOW, UNTOLD_AT_THE_WALL = 0.08, 0.25
"""Half widths where no inner mix tells how far one is missed: below eight tenths of the peak, and at it. Of Mess's
curves, predicted from the two mixes at their ends alone, 90 % lie within."""

_NON_TEMPORAL = re.compile(r"\bnon-temporal\b|\bnt\b|\bnt-")


@dataclass(frozen=True)
class MixCurve:
    """The latency of one mix at bandwidths (k,), with its band and the peak."""

    read_fraction: float
    peak_bytes_per_s: float
    bandwidth_bytes_per_s: Array
    latency_s: Array
    latency_low_s: Array
    latency_high_s: Array
    level: float


@dataclass(frozen=True)
class MixFamily:
    """The measured mixes, ascending in the share of reads; of each bandwidths in bytes a second and latencies (m,).

    ``left_out`` names the curves of another kind of stores.
    """

    read_fraction: tuple[float, ...]
    bandwidth_bytes_per_s: tuple[Array, ...]
    latency_s: tuple[Array, ...]
    left_out: tuple[str, ...] = ()

    def only(self, kept: Sequence[int]) -> MixFamily:
        """The family of some of its mixes."""
        return MixFamily(
            tuple(self.read_fraction[i] for i in kept), tuple(self.bandwidth_bytes_per_s[i] for i in kept),
            tuple(self.latency_s[i] for i in kept), self.left_out,
        )  # fmt: skip

    def without(self, which: int) -> MixFamily:
        """The family without one of its mixes."""
        return self.only([i for i in range(len(self.read_fraction)) if i != which])

    def peak(self, read_fraction: float) -> float:
        """The peak bandwidth of a mix. Raises DataError outside the measured mixes."""
        below, share = self._between(read_fraction)
        low, high = (float(self.bandwidth_bytes_per_s[i].max()) for i in (below, below + 1))
        return 1 / ((1 - share) / low + share / high)

    def latency(self, read_fraction: float, bandwidth_bytes_per_s: Array) -> Array:
        """Latency (k,) of a mix at bandwidths (k,); beyond the mix's peak that at the peak. Raises as ``peak`` does."""
        return self.predict(read_fraction, bandwidth_bytes_per_s).latency_s

    def predict(
        self, read_fraction: float, bandwidth_bytes_per_s: Array | None = None, *, level: float = LEVEL
    ) -> MixCurve:
        """The curve of a mix with the band of a single new measurement; raises as ``peak`` does.

        Without bandwidths it takes 13 from a twentieth of the peak to all of it.
        """
        peak = self.peak(read_fraction)
        at = peak * np.linspace(0.05, 1, 13) if bandwidth_bytes_per_s is None else np.asarray(bandwidth_bytes_per_s)
        of_peak = np.minimum(at / peak, 1.0)
        mean, half = self._log_between(read_fraction, of_peak), self._half_width(of_peak, level)
        return MixCurve(
            read_fraction, peak, at, np.exp(mean), np.exp(mean - half), np.exp(mean + half), level
        )  # fmt: skip

    @cached_property
    def idle_spread(self) -> float:
        """The relative sd over the mixes of the least loaded latency, which no mix can change: noise between runs."""
        idle = [np.log(r[np.argmin(x)]) for x, r in zip(self.bandwidth_bytes_per_s, self.latency_s, strict=True)]
        return float(np.std(idle, ddof=1))

    def _half_width(self, of_peak: Array, level: float) -> Array:
        """The error in ln R (k,) that a share ``level`` of new points at these shares of the peak do not exceed."""
        known_at, errors = self._errors
        if len(errors) < FEWEST_ERRORS:
            return np.interp(of_peak, [0.8, 1.0], [UNTOLD_BELOW, UNTOLD_AT_THE_WALL])
        place = AlongBandwidth(length=1.0, own=0.0).place
        near = np.exp(-0.5 * ((place(of_peak)[:, None] - place(known_at)[None, :]) / NEARBY) ** 2)
        order = np.argsort(errors)
        share = np.cumsum(near[:, order], axis=1) / (near.sum(axis=1, keepdims=True) + 1)  # + 1: the new point itself
        first = np.minimum((share < level).sum(axis=1), len(errors) - 1)
        return np.asarray(errors[order][first])

    @cached_property
    def _errors(self) -> tuple[Array, Array]:
        """Each inner mix from the others: shares of its peak, and |predicted - measured| in ln R."""
        shares, errors = [np.array([])], [np.array([])]
        for i in range(1, len(self.read_fraction) - 1):
            mix, x = self.read_fraction[i], self.bandwidth_bytes_per_s[i]
            others = self.without(i)
            of_peak = np.minimum(x / others.peak(mix), 1.0)
            shares.append(of_peak)
            errors.append(np.abs(others._log_between(mix, of_peak) - np.log(self.latency_s[i])))
        return np.concatenate(shares), np.concatenate(errors)

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

    def _log_between(self, read_fraction: float, of_peak: Array) -> Array:
        """ln R (k,) of a mix at shares (k,) of its peak."""
        below, between = self._between(read_fraction)
        low, high = (self._log_latency(i, of_peak) for i in (below, below + 1))
        return np.asarray((1 - between) * low + between * high)

    def _log_latency(self, which: int, of_peak: Array) -> Array:
        bandwidth = self.bandwidth_bytes_per_s[which]
        order = np.argsort(bandwidth, kind="stable")
        return np.interp(of_peak, bandwidth[order] / bandwidth.max(), np.log(self.latency_s[which][order]))


def mix_family(sweep: Sweep, series: str | None = None) -> MixFamily:
    """The family of a memory sweep with one curve for each of two or more mixes.

    ``series`` takes only the curves whose name holds this text, as "64 B" where several strides were measured. Raises
    DataError where it is no such sweep, or one of a cache.
    """
    name = sweep.name or "the sweep"
    points = sweep.points[sweep.points["read_fraction"].notna()]
    if series is not None:
        points = points[points["series"].str.contains(series, regex=False)]
        if points.empty:
            raise DataError(f"{name} has no curve with {series!r} in its name; it has: {', '.join(sweep.series)}")
    if sweep.load_kind not in ("injected_delay", "bandwidth") or points["read_fraction"].nunique() < 2:
        raise DataError(f"{name} is no memory measured at two or more mixes of reads and writes")
    refuse_caches(replace(sweep, points=points))
    bypassing = points["series"].str.contains(_NON_TEMPORAL)
    left_out = tuple(dict.fromkeys(points["series"][bypassing])) if not bypassing.all() else ()
    points = points[~bypassing] if left_out else points
    if points["series"].nunique() > points["read_fraction"].nunique():
        raise DataError(
            f"{name} has several curves of one mix (by stride, buffer or stores); select one by --series TEXT"
        )
    groups = [(float(g["read_fraction"].iloc[0]), g) for _, g in points.groupby("read_fraction", sort=True)]
    if len(groups) < 2:
        raise DataError(
            f"{name} has one mix with ordinary stores only ({', '.join(left_out)} left out); measure another"
        )
    return MixFamily(
        tuple(mix for mix, _ in groups),
        tuple(g["throughput_per_s"].to_numpy(float) * CACHE_LINE_BYTES for _, g in groups),
        tuple(g["latency_s"].to_numpy(float) for _, g in groups), left_out,
    )  # fmt: skip


def unseen_mixes(family: MixFamily, *, level: float = LEVEL) -> list[tuple[int, MixCurve]]:
    """Each inner mix, by its index, predicted from the other mixes alone at its own bandwidths."""
    return [
        (i, family.without(i).predict(m, family.bandwidth_bytes_per_s[i], level=level))
        for i, m in enumerate(family.read_fraction) if 0 < i < len(family.read_fraction) - 1
    ]  # fmt: skip


def unseen_mix_errors(family: MixFamily) -> Array:
    """100 (predicted / measured - 1) at every point of each inner mix, predicted from the other mixes alone."""
    errors = [100 * (curve.latency_s / family.latency_s[i] - 1) for i, curve in unseen_mixes(family)]
    return np.concatenate([np.array([]), *errors])
