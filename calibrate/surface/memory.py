"""A memory's places: latency over bandwidth at shares of reads that were not measured.

    R(m, x) = L0 exp(b rho) / (1 - rho^4)^w,    rho = x / (h B(m))

A steady climb (b) and a wall (w) just above the peak B of a mix. A byte read takes 1 / B_r of a second at the peak and
a byte written 1 / B_w, so 1 / B is a straight line in the share of reads m between two measured mixes. At the same rho
neighbouring mixes have nearly the same latency; what the curve misses there goes together. Stores of another kind
(non-temporal ones bypass the caches) are no neighbours in this sense, and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from calibrate.inference.linearised import ObservedLogs, linearised
from calibrate.inference.parameters import LEVEL, Array, MisfitPrior, MisfitProcess, Parameter
from calibrate.inference.weights import predictive
from calibrate.models.memory_curve import NEVER_BEYOND, AlongBandwidth, MemoryCurve
from calibrate.points import refuse_caches
from calibrate.surface.model import parameter
from calibrate.surface.results import Compared, Row, percent_off, table_of
from measure.errors import DataError
from measure.sweep import Sweep
from measure.units import CACHE_LINE_BYTES, format_percent

MISFIT = MisfitPrior(0.15, 0.7)
PRIORS = {"L0": ("s", 1.0, 0.5), "b": ("", 0.4, 0.7), "w": ("", 0.04, 1.0), "h": ("", 1.01, 0.003)}
"""Unit, median and standard deviation of the logarithm; L0 in units of the lowest latency."""

LEAST_HEADROOM = 1.002
"""The wall stands at least so far above the peak."""

NEIGHBOURS = 6
"""A mix is predicted from at most this many of the nearest ones."""

SAME_MIX = 0.006
ALARMING = 0.03
"""Idle latencies of different mixes, which no mix can change, differ by so much where runs differ as a whole."""

STEPS = 13

_NON_TEMPORAL = re.compile(r"\bnon-temporal\b|\bnt\b|\bnt-")


@dataclass(frozen=True)
class NearMix(MisfitProcess):
    """Nearness of rows (m, 2): share of reads, and share of the peak, stretched towards the wall."""

    length: float = 0.3
    own: float = 0.1

    def place(self, loads: Array) -> Array:
        return np.column_stack([loads[:, 0], AlongBandwidth(self.length, self.own).place(loads[:, 1])])


@dataclass(frozen=True)
class MixCurve:
    """The latency of one mix at bandwidths (k,), with the band of a single new measurement, and the peak."""

    read_fraction: float
    peak_bytes_per_s: float
    bandwidth_bytes_per_s: Array
    latency_s: Array
    latency_low_s: Array
    latency_high_s: Array
    level: float = LEVEL

    def rows(self) -> list[Row]:
        """One row per bandwidth, SI units."""
        columns = {
            "bandwidth_bytes_per_s": self.bandwidth_bytes_per_s,
            "predicted_latency_s": self.latency_s,
            "predicted_latency_low_s": self.latency_low_s,
            "predicted_latency_high_s": self.latency_high_s,
        }
        table = zip(*(v.tolist() for v in columns.values()), strict=True)
        return [{"read_fraction": self.read_fraction, **dict(zip(columns, row, strict=True))} for row in table]


@dataclass(frozen=True)
class MixFamily:
    """The measured mixes, ascending in the share of reads; of each bandwidths in bytes a second and latencies (m,).

    ``left_out`` names the curves of another kind of stores.
    """

    read_fraction: tuple[float, ...]
    bandwidth_bytes_per_s: tuple[Array, ...]
    latency_s: tuple[Array, ...]
    left_out: tuple[str, ...] = ()
    source: str = ""

    def only(self, chosen: Sequence[int]) -> MixFamily:
        """The family of some of its mixes."""
        order = sorted(chosen)
        return MixFamily(
            tuple(self.read_fraction[i] for i in order),
            tuple(self.bandwidth_bytes_per_s[i] for i in order),
            tuple(self.latency_s[i] for i in order),
            self.left_out,
            self.source,
        )

    def index(self, read_fraction: float) -> int:
        """Which mix is meant. DataError where none of it was measured."""
        apart = np.abs(np.array(self.read_fraction) - read_fraction)
        if apart.min() >= SAME_MIX:
            there = ", ".join(f"{100 * m:.3g}" for m in self.read_fraction)
            raise DataError(f"no mix of {100 * read_fraction:g} % reads was measured; there are {there}")
        return int(apart.argmin())

    def peak(self, read_fraction: float) -> float:
        """The peak bandwidth of a mix. DataError outside the measured mixes."""
        mixes = np.array(self.read_fraction)
        if not mixes[0] - SAME_MIX <= read_fraction <= mixes[-1] + SAME_MIX:
            raise DataError(
                f"{100 * read_fraction:g} % reads lie outside the measured mixes, {100 * mixes[0]:g} to "
                f"{100 * mixes[-1]:g} %; measure one beyond it"
            )
        return float(1 / np.interp(read_fraction, mixes, [1 / x.max() for x in self.bandwidth_bytes_per_s]))

    def predict(
        self, read_fraction: float, bandwidth_bytes_per_s: Array | None = None, *, level: float = LEVEL
    ) -> MixCurve:
        """The curve of a mix, with bands; beyond the mix's peak, the latency at the peak. Raises as ``peak`` does.

        Without bandwidths it takes 13 from a twentieth of the peak to all of it.
        """
        peak = self.peak(read_fraction)
        at = peak * np.linspace(0.05, 1, STEPS) if bandwidth_bytes_per_s is None else np.asarray(bandwidth_bytes_per_s)
        loads = np.column_stack([np.full(len(at), read_fraction), np.minimum(at / peak, 1.0)])
        known, latency = self._nearest(read_fraction)
        observed = ObservedLogs(np.log(latency), np.zeros(len(known)), known)
        parameters = _parameters(float(latency.min()))
        table = linearised(parameters, lambda values: np.log(_latency(values, known)), observed, NearMix(), MISFIT)
        expected = predictive(table, _latency, NearMix(), known, observed.noise, latency, loads)
        low, middle, high = expected.quantiles((0.5 - level / 2, 0.5, 0.5 + level / 2))
        return MixCurve(read_fraction, peak, at, middle, low, high, level)

    @cached_property
    def idle_spread(self) -> float:
        """The relative sd over the mixes of the least loaded latency, which no mix can change: noise between runs."""
        idle = [np.log(r[np.argmin(x)]) for x, r in zip(self.bandwidth_bytes_per_s, self.latency_s, strict=True)]
        return float(np.std(idle, ddof=1))

    def _nearest(self, read_fraction: float) -> tuple[Array, Array]:
        """Rows (n, 2) and latencies (n,) of the nearest mixes, as many of them below as above where there are."""
        mixes = np.array(self.read_fraction)
        order = np.argsort(np.abs(mixes - read_fraction), kind="stable")
        half = NEIGHBOURS // 2
        sides = (order[mixes[order] <= read_fraction][:half], order[mixes[order] > read_fraction][:half])
        rows, latencies = [], []
        for i in np.concatenate(sides):
            x = self.bandwidth_bytes_per_s[i]
            rows.append(np.column_stack([np.full(len(x), mixes[i]), x / x.max()]))
            latencies.append(self.latency_s[i])
        return np.concatenate(rows), np.concatenate(latencies)


def between_mixes(family: MixFamily, read_fraction: float, bandwidth_bytes_per_s: Array) -> Array:
    """The baseline: ln latency (k,) at the same share of the peak, linear between the two neighbouring mixes.

    Raises as ``MixFamily.peak`` does.
    """
    shares = np.minimum(bandwidth_bytes_per_s / family.peak(read_fraction), 1.0)
    curves = []
    for known, latency in zip(family.bandwidth_bytes_per_s, family.latency_s, strict=True):
        order = np.argsort(known)
        curves.append(np.interp(shares, known[order] / known.max(), np.log(latency[order])))
    return np.exp([np.interp(read_fraction, family.read_fraction, column) for column in np.transpose(curves)])


@dataclass(frozen=True, repr=False)
class MixComparison(Compared):
    """A memory calibrated on the mixes ``used``, held against all others between them."""

    family: MixFamily
    used: MixFamily
    asked: tuple[float, ...]
    curves: tuple[MixCurve, ...]
    quantity: ClassVar[str] = "latency_s"

    def rows(self) -> list[Row]:
        """One row per point, SI units."""
        found = []
        for curve in self.curves:
            use = "asked for" if curve.read_fraction in self.asked else "calibrated on"
            use = use if curve.read_fraction in self.used.read_fraction else "held out"
            measured = self.family.latency_s[self.family.index(curve.read_fraction)]
            error = percent_off(curve.latency_s, measured)
            inside = (curve.latency_low_s <= measured) & (measured <= curve.latency_high_s)
            columns = {"latency_s": measured, "error_pct": error, "response_error_pct": error, "inside_band": inside}
            found += [
                row | {name: values[i].item() for name, values in columns.items()} | {"use": use}
                for i, row in enumerate(curve.rows())
            ]
        return sorted(found, key=lambda row: (row["read_fraction"], row["bandwidth_bytes_per_s"]))

    def baselines(self) -> dict[str, float]:
        errors = []
        for mix in {row["read_fraction"] for row in self.held_out}:
            i = self.family.index(mix)
            between = between_mixes(self.used, mix, self.family.bandwidth_bytes_per_s[i])
            errors += np.abs(percent_off(between, self.family.latency_s[i])).tolist()
        return {"interpolation between mixes": float(np.median(errors))} if errors else {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What to mind."""
        spread, left_out = self.family.idle_spread, ", ".join(self.family.left_out)
        kinds = f"left out, non-temporal stores are another kind of traffic: {left_out}"
        noise = (
            f"the idle latencies of these mixes, which no mix can change, differ by {format_percent(100 * spread)} "
            "(standard deviation): noise between runs, which no prediction undercuts; repeat the measurement"
        )
        return (*([kinds] if left_out else []), *([noise] if spread > ALARMING else []))

    def to_dict(self) -> Row:
        """JSON-ready, SI units."""
        return {
            "source": self.family.source,
            "level": self.level,
            "used": list(self.used.read_fraction),
            "points": self.rows(),
            "summary": asdict(self.summary()),
            "baselines": self.baselines(),
            "peaks": {f"{100 * c.read_fraction:.3g}": c.peak_bytes_per_s for c in self.curves},
            "next": self.next(),
            "left_out": list(self.family.left_out),
            "notes": list(self.notes),
        }

    def next(self) -> float | None:
        """The share of reads to measure next: the middle of the widest gap; None where no gap is wider than 10 %."""
        shares = np.array(self.family.read_fraction)
        gaps = np.diff(shares)
        widest = int(gaps.argmax())
        return float(shares[widest : widest + 2].mean()) if gaps[widest] > 0.1 else None

    def next_text(self) -> str | None:
        gap = self.next()
        return None if gap is None else f"Measure {100 * gap:.3g} % reads, in the middle of the widest gap"

    def details(self) -> list[tuple[str, str]]:
        """The peak of every mix, as a heading and a table."""
        rows = [{"read_fraction": c.read_fraction, "peak_bytes_per_s": c.peak_bytes_per_s} for c in self.curves]
        return [("Peaks", table_of(rows))]


def compare_mixes(
    family: MixFamily, use: Sequence[float] | None = None, *, ask: int = 0, level: float = LEVEL
) -> MixComparison:
    """Calibrate on the shares of reads ``use`` (None: the two ends), and ``ask`` more in the middle of widest gaps.

    Raises DataError where a share was not measured or fewer than two are used.
    """
    last = len(family.read_fraction) - 1
    chosen = {0, last} if use is None else {family.index(m) for m in use}
    if len(chosen) < 2:
        raise DataError("a mix between others needs two of them at least; name two shares of reads")
    asked: list[int] = []
    shares = np.array(family.read_fraction)
    for _ in range(ask):
        apart = np.abs(shares[:, None] - shares[sorted(chosen)][None, :]).min(axis=1)
        if apart.max() == 0:
            break
        asked.append(int(apart.argmax()))
        chosen.add(asked[-1])
    used = family.only(sorted(chosen))
    between = range(min(chosen), max(chosen) + 1)
    curves = [used.predict(family.read_fraction[i], family.bandwidth_bytes_per_s[i], level=level) for i in between]
    mixes = ", ".join(f"{100 * m:.3g}" for m in used.read_fraction)
    text = f"{family.source or 'The memory'}: {len(chosen)} of {last + 1} mixes used ({mixes} % reads)"
    also = tuple(family.read_fraction[i] for i in asked)
    return MixComparison(level, text, 100 * family.idle_spread, family, used, also, tuple(curves))


def mix_family(sweep: Sweep, series: str | None = None) -> MixFamily:
    """The family of a memory sweep with one curve for each of two or more mixes.

    ``series`` takes only the curves whose name holds this text, as "64 B" where several strides were measured. Raises
    DataError where it is another kind of sweep, or one of a cache.
    """
    name = sweep.name or "the sweep"
    points = sweep.points[sweep.points["read_fraction"].notna()]
    if series is not None:
        points = points[points["series"].str.contains(series, regex=False)]
        if points.empty:
            raise DataError(f"{name} has no curve with {series!r} in its name; it has: {', '.join(sweep.series)}")
    if not sweep.load_type.is_memory or points["read_fraction"].nunique() < 2:
        raise DataError(f"{name} is not a memory measured at two or more mixes of reads and writes")
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
        tuple(g["latency_s"].to_numpy(float) for _, g in groups),
        left_out,
        sweep.name or "",
    )


def _parameters(lowest_s: float) -> list[Parameter]:
    units = {"L0": lowest_s}
    found = [parameter(n, unit, median * units.get(n, 1.0), sd, 1.0) for n, (unit, median, sd) in PRIORS.items()]
    return [replace(p, low=LEAST_HEADROOM) if p.name == "h" else p for p in found]


def _latency(values: Array, loads: Array) -> Array:
    """R (n, k) of parameters (n, 4) at rows (k, 2) of share of reads and share of the peak."""
    return MemoryCurve().latency(values, np.minimum(loads[:, 1] / values[:, 3, None], NEVER_BEYOND))
