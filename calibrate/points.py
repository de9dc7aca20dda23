"""The points of one curve as arrays, and the choice of those to calibrate on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibrate.posterior import Array, Mask
from measure.dataset import LoadKind, Sweep
from measure.errors import DataError
from measure.run_checks import recorded_caches
from measure.units import format_bytes


@dataclass(frozen=True)
class Points:
    """One series, averaged over repeats, ascending in load: arrays (m,) in SI units.

    ``repeats`` (m,) and the relative standard deviations of one repeat (NaN where there was none).
    """

    series: str
    load_kind: LoadKind
    load_unit: str
    load: Array
    throughput_per_s: Array
    response_time_s: Array
    repeats: Array
    throughput_spread: Array
    response_spread: Array
    suggested: tuple[float, ...] = ()
    source: str = ""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.load)

    def loads_text(self) -> str:
        """The loads, for messages."""
        return ", ".join(f"{n:g}" for n in self.load)

    def at(self, mask: Mask) -> Points:
        """The points where the boolean ``mask`` (m,) holds."""
        names = ("load", "throughput_per_s", "response_time_s", "repeats", "throughput_spread", "response_spread")
        return replace(self, **{n: getattr(self, n)[mask] for n in names})

    def mask(self, use: Sequence[float] | None) -> Mask:
        """True (m,) where a point is one to calibrate on. DataError where a load was not measured."""
        wanted = self.default_use() if use is None else list(use)
        missing = [n for n in wanted if not np.any(np.isclose(self.load, n))]
        if missing:
            raise DataError(
                f"{self.series or 'this sweep'} has no point at load {', '.join(f'{n:g}' for n in missing)}; "
                f"it has: {self.loads_text()}"
            )
        if len(set(wanted)) < len(wanted):
            raise DataError(f"a load is named twice among {', '.join(f'{n:g}' for n in wanted)}; name each once")
        return np.array([bool(np.any(np.isclose(n, wanted))) for n in self.load])

    def choose(self, use: Sequence[float] | None) -> Points:
        """The points to calibrate on; None takes ``default_use``."""
        return self.at(self.mask(use))

    def default_use(self) -> list[float]:
        """What the source suggests; else the first depth and the first of at least 32 (or the last).

        For delays the ends and the middle, which is the one whose throughput is nearest the geometric mean of theirs.
        """
        if self.suggested and all(np.any(np.isclose(self.load, n)) for n in self.suggested):
            return list(self.suggested)
        if self.load_kind != "injected_delay":
            deep = self.load[self.load >= 32]
            return sorted({float(self.load[0]), float(deep[0] if len(deep) else self.load[-1])})
        target = np.log(self.throughput_per_s[[0, -1]]).mean()
        inner = np.abs(np.log(self.throughput_per_s[1:-1]) - target)
        middle = [float(self.load[1 + int(np.argmin(inner))])] if len(inner) else []
        return sorted({float(self.load[0]), *middle, float(self.load[-1])})

    def noise(self, blocks: int) -> Array:
        """Relative standard error of each mean, throughput then (with 2 ``blocks``) response; 0 where unknown."""
        root = np.sqrt(np.maximum(self.repeats, 1))
        throughput = np.nan_to_num(self.throughput_spread, nan=0.0) / root
        response = np.nan_to_num(self.response_spread, nan=0.0) / root
        return throughput if blocks == 1 else np.concatenate([throughput, response])

    def repeat_noise_pct(self) -> float | None:
        """Median over the points of the relative standard deviation of one repeat of throughput, in percent."""
        known = self.throughput_spread[np.isfinite(self.throughput_spread)]
        return float(100 * np.median(known)) if len(known) else None


def points_of(sweep: Sweep, series: str | None = None) -> Points:
    """The points of one series. DataError where several are there and none is named, or where no load was varied."""
    if sweep.load_kind == "bandwidth":
        raise DataError(
            f"{sweep.name or 'the sweep'} holds bandwidth and latency only, and no load (delay, pause or depth) that a "
            "model could be fitted to; qsim audit can check it, and a table with the pause or the delay can be fitted"
        )
    if sweep.load_kind == "buffer_size":
        raise DataError(_of_buffer_sizes(sweep))
    if series is None and len(sweep.series) > 1:
        raise DataError(
            f"{sweep.name or 'the sweep'} holds {len(sweep.series)} series; name one of: {', '.join(sweep.series)}"
        )
    one = sweep.select(series) if series is not None else sweep
    table = one.mean_points()
    column = {c: table[c].to_numpy(float) for c in table.columns if c in _COLUMNS}
    return Points(
        series=one.series[0], load_kind=sweep.load_kind, load_unit=sweep.load_unit,
        load=column["load"], throughput_per_s=column["throughput_per_s"], response_time_s=column["latency_s"],
        repeats=column["repeats"], throughput_spread=column["throughput_spread"],
        response_spread=column["latency_spread"],
        suggested=tuple(float(n) for n in sweep.provenance.details.get("use", ())),
        source=sweep.name or sweep.provenance.source,
    )  # fmt: skip


def _of_buffer_sizes(sweep: Sweep) -> str:
    """Why no model fits a sweep over buffer sizes, and which caches answered it."""
    sizes = sweep.points["load"]
    caches = recorded_caches(sweep.provenance.details)
    ends = [(name, size) for name, size in caches.items() if sizes.min() <= size]
    fit = " and ".join(f"the {name} cache of {format_bytes(size)}" for name, size in ends) or "a cache"
    return (
        f"{sweep.name or 'the sweep'} varies the buffer size, from {format_bytes(sizes.min())} to "
        f"{format_bytes(sizes.max())}, and injects no load; a buffer that fits a cache is not a memory curve (some fit "
        f"{fit}). Measure under load instead: qsim measure memory --delays 0,100,500,20000 --out DIR"
    )


_COLUMNS = frozenset({"load", "throughput_per_s", "latency_s", "repeats", "throughput_spread", "latency_spread"})
