"""Throughput over the block size: S(b) = alpha + beta b, from two sizes.

At a given number N of outstanding requests a request of b bytes takes the device N / X(b) of its time, which is a part
alpha that every request costs and a part beta b that every byte costs. So N / X is a straight line in b: 1 / beta times
N is the bandwidth that large blocks approach, N / alpha the request rate of small ones, and the two cross at
b* = alpha / beta. The line is exact for one server. Where large blocks are spread over several channels, or something
else binds in between than at the ends, it misses there, by a Gaussian process in ln b that all but vanishes at the
smallest and the largest size calibrated on: the line's two parameters take up what these two tell. Where a size was
measured several times, the standard error of its mean is the noise beside the misses. Estimates and predictions are
medians of the posterior, and lie in their own intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from calibrate.discrepancy import Whitening
from calibrate.mixtures import quantiles
from calibrate.posterior import Array, ErrorPrior, Mask, Parameter, posterior
from measure.dataset import Sweep
from measure.errors import DataError
from measure.units import format_bandwidth, format_bytes, format_duration, format_percent, format_rate

LEVEL = 0.9
ERROR = ErrorPrior(median=0.13, log_sd=0.8)
LENGTH, OWN = 1.0, 0.03
"""Halfway in ln b drives miss the line by 13 % (one standard deviation), one in six by more than twice that, at sizes
within a factor of three alike; ``OWN`` is the share of the variance that belongs to one size alone. All four were
fitted to 82 sweeps of 28 devices."""


@dataclass(frozen=True)
class BlockLine:
    """One line: the sizes ``block_bytes`` (m,), which of them it was calibrated on, and X observed and predicted.

    ``repeats_differ_by`` (m,) is the relative standard deviation of one repeat, NaN where there was none.
    """

    series: str
    outstanding: float
    block_bytes: Array
    calibrated: Mask
    observed_per_s: Array
    predicted_per_s: Array
    low_per_s: Array
    high_per_s: Array
    per_request_s: tuple[float, float, float]
    per_byte_s: tuple[float, float, float]
    repeats_differ_by: Array
    level: float = LEVEL

    @property
    def crossing_bytes(self) -> float:
        """b* = alpha / beta, where a block's transfer takes as long as the rest of the request."""
        return self.per_request_s[0] / self.per_byte_s[0]

    @property
    def bandwidth_limit_bytes_per_s(self) -> float:
        """What ever larger blocks approach."""
        return self.outstanding / self.per_byte_s[0]

    @property
    def error_pct(self) -> Array:
        """100 (predicted / observed - 1), (m,)."""
        return np.asarray(100 * (self.predicted_per_s / self.observed_per_s - 1))

    @property
    def extrapolated(self) -> Mask:
        """True (m,) for sizes beyond those calibrated on."""
        ends = self.block_bytes[self.calibrated]
        return np.asarray((self.block_bytes < ends.min()) | (self.block_bytes > ends.max()))

    @property
    def held_out_mdape_pct(self) -> float | None:
        """The median of |error| over the sizes that were not calibrated on; None where there is none."""
        held = np.abs(self.error_pct[~self.calibrated])
        return float(np.median(held)) if len(held) else None

    @property
    def repeat_noise_pct(self) -> float | None:
        """The median over the sizes of how much repeats differ, in percent; None where nothing was repeated."""
        known = self.repeats_differ_by[np.isfinite(self.repeats_differ_by)]
        return float(100 * np.median(known)) if len(known) else None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, SI units."""
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in asdict(self).items()}
        plain["repeats_differ_by"] = [None if np.isnan(v) else float(v) for v in self.repeats_differ_by]
        return {
            **plain, "error_pct": self.error_pct.tolist(), "extrapolated": self.extrapolated.tolist(),
            "crossing_bytes": self.crossing_bytes, "bandwidth_limit_bytes_per_s": self.bandwidth_limit_bytes_per_s,
            "held_out_mdape_pct": self.held_out_mdape_pct, "repeat_noise_pct": self.repeat_noise_pct,
        }  # fmt: skip

    def __str__(self) -> str:
        alpha, beta = self.per_request_s, self.per_byte_s
        lines = [
            f"{self.series}: N / X = alpha + beta b at {self.outstanding:g} outstanding",
            f"  alpha  {format_duration(alpha[0])}  [{format_duration(alpha[1])}, {format_duration(alpha[2])}]",
            f"  N/beta {format_bandwidth(self.bandwidth_limit_bytes_per_s)}  "
            f"[{format_bandwidth(self.outstanding / beta[2])}, {format_bandwidth(self.outstanding / beta[1])}]",
            f"  b*     {format_bytes(round(self.crossing_bytes))}: below, requests bind; above, bytes",
            f"{'block':>10}  {'observed':>10} {'predicted':>10}  {f'[{100 * self.level:g} % band]':>22} {'error':>8}",
        ]
        for i, size in enumerate(self.block_bytes):
            band = f"[{format_rate(self.low_per_s[i])}, {format_rate(self.high_per_s[i])}]"
            how = "calibrated on" if self.calibrated[i] else "extrapolated" if self.extrapolated[i] else ""
            lines.append(
                f"{format_bytes(size):>10}  {format_rate(self.observed_per_s[i]):>10} "
                f"{format_rate(self.predicted_per_s[i]):>10}  {band:>22} {self.error_pct[i]:>+7.1f}%  {how}".rstrip()
            )
        if (missed := self.held_out_mdape_pct) is not None:
            noise = self.repeat_noise_pct
            beside = "" if noise is None else f", where repeats of one size differ by {format_percent(noise)}"
            lines.append(f"  sizes not calibrated on are missed by {format_percent(missed)} at the median{beside}")
        return "\n".join(lines)


def block_lines(
    sweep: Sweep, use: Sequence[float] | None = None, *, level: float = LEVEL, seed: int = 0
) -> list[BlockLine]:
    """A line for each depth, mix and pattern of ``sweep`` at which two or more block sizes were measured.

    ``use``: the block sizes in bytes to calibrate on; None the smallest and the largest. Raises DataError where the
    sweep is not one over depths, no such group has two sizes, or none has the sizes named.
    """
    if sweep.load_kind != "queue_depth" or not sweep.points["block_bytes"].gt(0).any():
        raise DataError(
            f"{sweep.name or 'the sweep'} tells no block sizes of requests; measure with --block 4KiB,64KiB"
        )
    if use is not None and len(set(use)) < 2:
        raise DataError("a line over the block size needs two sizes to calibrate on; name two")
    found = [line for group in _groups(sweep) if (line := _line(group, use, level, seed)) is not None]
    if not found:
        wanted = "two block sizes" if use is None else " and ".join(format_bytes(b) for b in use)
        raise DataError(
            f"{sweep.name or 'the sweep'} has {wanted} at no depth; measure more sizes: qsim measure fio TARGET "
            "--block 4KiB,16KiB,64KiB,256KiB --out DIR"
        )
    return found


@dataclass(frozen=True)
class _Group:
    """What was measured at one depth, mix and pattern: sizes (m,) ascending, mean X, the repeats of each and their sd.

    ``spread`` is relative to the mean, NaN where there was one repeat.
    """

    name: str
    outstanding: float
    sizes: Array
    throughput: Array
    repeats: Array
    spread: Array


def _groups(sweep: Sweep) -> list[_Group]:
    table = sweep.points.assign(read_fraction=sweep.points["read_fraction"].fillna(-1.0))
    table["pattern"] = table["pattern"].fillna("") if "pattern" in table else ""
    groups = []
    for _, group in table.groupby(["read_fraction", "pattern", "load"], sort=True):
        mix, pattern, load = (group[column].iloc[0] for column in ("read_fraction", "pattern", "load"))
        told = group.groupby("block_bytes")["throughput_per_s"].agg(["mean", "std", "size"])
        if len(told) < 2:
            continue
        mean, spread, repeats = (told[column].to_numpy(float) for column in ("mean", "std", "size"))
        reads = "" if mix < 0 else f"{100 * mix:g} % read"
        name = " ".join(part for part in (pattern, reads) if part) or "all points"
        groups.append(_Group(name, float(load), told.index.to_numpy(float), mean, repeats, spread / mean))
    return groups


@dataclass(frozen=True)
class _Misses:
    """The misses d of a line, in units of their standard deviation s: nearly none at ``ends``, most halfway in ln b.

    The variance is 4 |u (1 - u)| where u is 0 at one end and 1 at the other, so it grows beyond them.
    """

    ends: tuple[float, float]

    def between(self, some: Array, others: Array) -> Array:
        """The covariance (m, k) of d at ``some`` sizes (m,) and at ``others`` (k,): different measurements."""
        apart = np.log(some[:, None] / others[None, :])
        outer = self._size(some)[:, None] * self._size(others)[None, :]
        return np.asarray((1 - OWN) * outer * np.exp(-0.5 * (apart / LENGTH) ** 2))

    def among(self, sizes: Array) -> Array:
        """The covariance (m, m) of d among measurements at ``sizes`` (m,)."""
        return self.between(sizes, sizes) + OWN * np.eye(len(sizes))

    def given(self, used: Array, noise: Array, misses: Array, error: Array, sizes: Array) -> tuple[Array, Array]:
        """Mean and standard deviation (w, m) of new misses at ``sizes`` (m,), given ``misses`` (w, k) at ``used`` (k,).

        ``noise`` (k,): relative standard errors of what was measured there; ``error`` (w,): s of each draw.
        """
        white = Whitening.of(noise, self.among(used))
        square = error[:, None] ** 2
        share = square / white.variance(error)
        to_new = self.between(sizes, used) @ white.basis.T
        mean = (misses @ white.basis.T * share) @ to_new.T
        variance = square * (self.among(sizes).diagonal() - share @ (to_new**2).T)
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def _size(self, sizes: Array) -> Array:
        """The standard deviation (m,) at ``sizes``."""
        low, high = np.log(self.ends)
        u = (np.log(sizes) - low) / (high - low)
        return np.asarray(np.sqrt(np.abs(4 * u * (1 - u))))


def _line(group: _Group, use: Sequence[float] | None, level: float, seed: int) -> BlockLine | None:
    """The line through the sizes ``use``; None where one of them was not measured."""
    sizes, throughput, outstanding = group.sizes, group.throughput, group.outstanding
    wanted = np.array([sizes[0], sizes[-1]] if use is None else list(use))
    if not np.isclose(wanted[:, None], sizes[None, :]).any(axis=1).all():
        return None
    calibrated = np.isclose(sizes[:, None], wanted[None, :]).any(axis=1)
    used, log_x = sizes[calibrated], np.log(throughput[calibrated])
    times = outstanding / throughput[calibrated]
    slope = max((times[-1] - times[0]) / (used[-1] - used[0]), times[-1] / used[-1] / 100)
    start = np.array([max(times[0] - slope * used[0], times[0] / 100), slope])
    parameters = (
        Parameter("alpha", "s", start[0] / 1e3, float(times.max()) * 2),
        Parameter("beta", "s per B", start[1] / 1e3, float((times / used).max()) * 2),
    )

    def log_throughput(values: Array, at: Array) -> Array:
        return np.asarray(np.log(outstanding) - np.log(values[:, 0, None] + values[:, 1, None] * at[None, :]))

    misses = _Misses((float(used[0]), float(used[-1])))
    noise = (np.nan_to_num(group.spread) / np.sqrt(group.repeats))[calibrated]
    found = posterior(
        parameters, start, lambda v: log_throughput(v, used), log_x, noise, ERROR, misses.among(used), seed=seed
    )
    drift, spread = misses.given(used, noise, log_x - log_throughput(found.draws, used), found.error, sizes)
    shares = (0.5, 0.5 * (1 - level), 0.5 * (1 + level))
    middle, low, high = np.exp(quantiles(log_throughput(found.draws, sizes) + drift, spread, shares))
    # alpha and beta are what is approached far beyond the sizes, where the line misses by s
    far = np.broadcast_to(found.error[:, None], found.draws.shape)
    alpha, beta = np.exp(quantiles(np.log(found.draws), far, shares)).T
    return BlockLine(
        group.name, outstanding, sizes, calibrated, throughput, middle, low, high,
        (float(alpha[0]), float(alpha[1]), float(alpha[2])), (float(beta[0]), float(beta[1]), float(beta[2])),
        group.spread, level,
    )  # fmt: skip
