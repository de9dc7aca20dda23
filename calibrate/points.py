"""The points of one curve as arrays, and the choice of those to calibrate on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrate.arrival_noise import error_of_mean
from calibrate.between_runs import Runs, between_runs
from calibrate.depth_one import LoneRequests, lone_requests
from calibrate.inference.parameters import Array, Mask
from calibrate.load_text import loads_text
from measure.auditing.memory import cache_sized, known_peak
from measure.auditing.runs import not_poisson
from measure.errors import DataError
from measure.formats.fio.record import HOST_TIME
from measure.loads import Load, LoadKind, load_of
from measure.machine.scheduling_delay import COLUMN
from measure.sweep import Sweep, recorded_caches
from measure.units import CACHE_LINE_BYTES, format_bytes, format_duration, format_rate

if TYPE_CHECKING:
    import pandas as pd

Z90 = 1.645
"""Half the width of a 90 % interval in standard errors."""

BROKEN, HOLDS = float(np.log(1.25)), float(np.log(1.1))
"""A latency further (in logarithms) than the first from N / X is wrong if half of its curve is within the second."""


@dataclass(frozen=True)
class Points:
    """One series, averaged over repeats, ascending in load: arrays (m,) in SI units.

    ``repeats`` (m,) and the relative standard deviations of one repeat (NaN where there was none). Of open sweeps
    ``asked`` (m,) are the rates asked for, by which a point may be named too. A device that keeps a log tells more:
    ``served_response_s`` (m,), the response time by that log, and ``variability``, the squared coefficients of
    variation of the times between arrivals and of service. ``response_error`` (m,) is the relative standard error of
    the mean response time by that log. ``requests`` (m,) is how many completed at each load (NaN where unknown),
    ``woken_late_s`` (m,) how late the machine woke a sleeping program meanwhile (``measure.machine.scheduling_delay``),
    ``unsteady`` (m,) by what share the throughput changed during runs that were not steady (0: steady),
    ``alone`` what is known of the requests at depth 1, and ``delay`` the mean and the standard error of the part of a
    latency that keeps no server busy, in seconds, where it was measured by itself. ``not_poisson`` (m,) is True where
    an open sweep's requests are known to have arrived otherwise than asked for. ``host_cpu_s`` (m,) is the host's
    processor time for a request and ``jobs`` (m,) how many jobs of fio sent them; ``latency_cv`` and ``latency_p99``
    (m,) are the standard deviation and the p99 of the latency over its mean (NaN where unknown); ``block_bytes`` is the
    size of a block, and ``link_bytes_per_s`` the bandwidth that two block sizes of the sweep both reach;
    ``known_peak_per_s`` is the peak that the tool listed for a memory, in cache lines a second.

    >>> from calibrate import points_of
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> points = points_of(sweep)
    >>> points.load.tolist()
    [4.0, 8.0, 32.0, 256.0, 1024.0]
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
    source: str = ""
    notes: tuple[str, ...] = ()
    asked: Array | None = None
    response_error: Array | None = None
    served_response_s: Array | None = None
    variability: tuple[float, float] | None = None
    requests: Array | None = None
    woken_late_s: Array | None = None
    unsteady: Array | None = None
    alone: LoneRequests | None = None
    delay: tuple[float, float] | None = None
    not_poisson: Mask | None = None
    host_cpu_s: Array | None = None
    jobs: Array | None = None
    latency_cv: Array | None = None
    latency_p99: Array | None = None
    block_bytes: float | None = None
    link_bytes_per_s: float | None = None
    known_peak_per_s: float | None = None
    between_runs: float = 0.0

    def __len__(self) -> int:
        return len(self.load)

    @property
    def load_type(self) -> Load:
        """What varies."""
        return load_of(self.load_kind, self.load_unit)

    @property
    def throughput_is_given(self) -> bool:
        """Whether the load is the throughput itself, so that the response time alone is predicted."""
        return self.load_type.is_throughput

    def loads_text(self) -> str:
        """The loads, for messages."""
        return loads_text(self.load_kind, self.load)

    def at(self, mask: Mask) -> Points:
        """The points where the boolean ``mask`` (m,) holds."""
        names = ("load", "throughput_per_s", "response_time_s", "repeats", "throughput_spread", "response_spread")
        more = (
            "asked",
            "response_error",
            "served_response_s",
            "requests",
            "woken_late_s",
            "unsteady",
            "not_poisson",
            "host_cpu_s",
            "jobs",
            "latency_cv",
            "latency_p99",
        )
        told = {n: v[mask] for n in more if (v := getattr(self, n)) is not None}
        alone = self.alone if (self.load[mask] == 1).any() else None
        return replace(self, **{n: getattr(self, n)[mask] for n in names}, **told, alone=alone)

    def mask(self, use: Sequence[float]) -> Mask:
        """True (m,) for the points at the loads ``use``. DataError where one was not measured."""
        wanted = list(use)
        missing = [n for n in wanted if not self._is_at(n).any()]
        if missing:
            raise DataError(
                f"{self.series or 'this sweep'} has no point at load {', '.join(f'{n:g}' for n in missing)}; "
                f"it has: {self.loads_text()}"
            )
        if len(set(wanted)) < len(wanted):
            raise DataError(f"a load is named twice among {', '.join(f'{n:g}' for n in wanted)}; name each once")
        return np.asarray(np.any([self._is_at(n) for n in wanted], axis=0))

    def _is_at(self, load: float) -> Mask:
        """True (m,) for the point at this load, or that was asked for at it."""
        at = np.isclose(self.load, load)
        return at if self.asked is None else at | np.isclose(self.asked, load)

    def choose(self, use: Sequence[float] | None) -> Points:
        """The points to calibrate on; None takes all but those whose arrivals were not Poisson. Notes say which."""
        mask = self._all_usable() if use is None else self.mask(use)
        chosen = replace(self.at(mask), notes=(*self.notes, *self._disturbed(mask)))
        return chosen._by_littles_law(self)

    def _by_littles_law(self, curve: Points) -> Points:
        """Points of a closed ``curve`` that alone break N = X R badly have N / X for their latency, and a note.

        Where half of the curve breaks the law, its loads or units are wrong, and the latencies stay.
        """
        if not self.load_type.is_closed:
            return self
        off = np.abs(np.log(curve.throughput_per_s * curve.response_time_s / curve.load))
        if np.median(off) > HOLDS:
            return self
        by_law = self.load / self.throughput_per_s
        broken = np.abs(np.log(self.response_time_s / by_law)) > BROKEN
        notes = [
            f"{self.load_type.at(n)}: the latency of {format_duration(r)} breaks Little's law; calibrated on N / X = "
            f"{format_duration(law)}"
            for n, r, law in zip(self.load[broken], self.response_time_s[broken], by_law[broken], strict=True)
        ]
        return replace(
            self, response_time_s=np.where(broken, by_law, self.response_time_s), notes=(*self.notes, *notes)
        )

    def _disturbed(self, chosen: Mask) -> Iterator[str]:
        """What is said of the points whose arrivals were not Poisson, if such are there."""
        if self.not_poisson is None:
            return
        for which, what in (
            (self.not_poisson & chosen, "calibrated on although its requests did not arrive as a Poisson process"),
            (self.not_poisson & ~chosen, "not calibrated on: its requests did not arrive as a Poisson process"),
        ):
            if which.any():
                rates = ", ".join(format_rate(x) for x in self.load[which])
                yield f"{rates}: {what} (qsim audit tells by how much); measure again when the machine is idle"

    def _all_usable(self) -> Mask:
        """True (m,) for every point but those of an open sweep whose requests did not arrive as a Poisson process."""
        if self.not_poisson is None or len(self) < 2:
            return np.ones(len(self), dtype=bool)
        if int((~self.not_poisson).sum()) < 2:
            use = ",".join(f"{n:g}" for n in self.load)
            raise DataError(
                f"{self.series}: at {int(self.not_poisson.sum())} of {len(self)} rates the requests did not arrive as "
                "a Poisson process (other work kept fio from the CPUs), which leaves too few to calibrate on; measure "
                f"again when the machine is idle, or take them as they are: --use {use}"
            )
        return ~self.not_poisson

    def noise(self) -> tuple[Array, Array]:
        """Relative standard errors (m,) of the mean throughputs and of the mean response times; 0 where unknown.

        Of open sweeps also by ``open_noise``, which needs the least response time: that of these points, so choose
        those to calibrate on first.
        """
        root = np.sqrt(np.maximum(self.repeats, 1))
        throughput = np.nan_to_num(self.throughput_spread, nan=0.0) / root
        response = np.nan_to_num(self.response_spread, nan=0.0) / root
        if self.throughput_is_given:
            if self.response_error is not None:
                response = np.fmax(response, self.response_error)
            if self.requests is not None:
                response = np.fmax(response, error_of_mean(self.response_time_s, self.requests))
        return throughput, response

    def served(self, i: int) -> float | None:
        """The response time at point ``i`` by the log of a known device; None where there is none."""
        served = self.served_response_s
        return None if served is None or not np.isfinite(served[i]) else float(served[i])

    def repeat_noise_pct(self) -> float | None:
        """Median over the points of the relative standard deviation of one repeat, in percent.

        Of the throughput, and of the response time in open sweeps, whose throughput is what was asked for.
        """
        spread = self.response_spread if self.throughput_is_given else self.throughput_spread
        known = spread[np.isfinite(spread)]
        return float(100 * np.median(known)) if len(known) else None


@lru_cache(maxsize=64)
def points_of(sweep: Sweep, series: str | None = None) -> Points:
    """The points of one series.

    DataError where several are there and none is named, where no load was varied, where a load is beyond any device's,
    or where a memory is a cache's.

    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> [round(x / 1000) for x in points_of(sweep).throughput_per_s]
    [56, 106, 245, 235, 282]
    """
    if sweep.load_type.is_size:
        raise DataError(_of_buffer_sizes(sweep))
    if series is None and len(sweep.series) > 1:
        raise DataError(
            f"{sweep.name or 'the sweep'} holds {len(sweep.series)} series; name one of: {', '.join(sweep.series)}"
        )
    one = sweep.select(series) if series is not None else sweep
    told = _of_memory(one)
    table = one.mean_points()
    if (highest := float(table["load"].max())) > sweep.load_type.most:
        raise DataError(
            f"{sweep.name or one.series[0]}: {sweep.load_type.name} = {highest:g} (series {one.series[0]!r}) is "
            "more than any device was given; say which column is the load (--columns load=COLUMN), or remove the point"
        )
    column = {c: table[c].to_numpy(float) for c in table.columns if c in _COLUMNS}
    told |= _of_closed(one) | _of_host(one, sweep) | _of_log(one, table) | _of_open(one, table)
    spread = column["latency_spread" if sweep.load_type.is_throughput else "throughput_spread"]
    runs = Runs(column["latency_s"], spread, column["repeats"], told.get("woken_late_s"))
    return Points(
        series=one.series[0],
        load_kind=sweep.load_kind,
        load_unit=sweep.load_unit,
        load=column["load"],
        throughput_per_s=column["throughput_per_s"],
        response_time_s=column["latency_s"],
        repeats=column["repeats"],
        throughput_spread=column["throughput_spread"],
        response_spread=column["latency_spread"],
        source=sweep.name or sweep.provenance.source,
        between_runs=between_runs(sweep.provenance.details, sweep.load_type, runs),
        **told,
    )


def _of_memory(sweep: Sweep) -> dict[str, Any]:
    """The peak that is listed of a memory. DataError where a cache was measured in its place."""
    if not sweep.load_type.is_memory:
        return {}
    refuse_caches(sweep)
    peak = known_peak(sweep)
    return {} if peak is None else {"known_peak_per_s": peak / CACHE_LINE_BYTES}


def _of_open(sweep: Sweep, table: pd.DataFrame) -> dict[str, Any]:
    """Of the mean points of an open sweep: the rates that were asked for, how many requests completed, and where they
    came otherwise than asked."""
    if not sweep.load_type.is_open:
        return {}
    told: dict[str, Any] = {}
    if "requests" in sweep.points:
        told["requests"] = sweep.points.groupby("load", sort=True)["requests"].sum(min_count=1).to_numpy(float)
    if "asked_rate_per_s" in table:
        told["asked"] = table["asked_rate_per_s"].to_numpy(float)
    if (disturbed := not_poisson(sweep)).any():
        told["not_poisson"] = np.isin(table["load"].to_numpy(float), sweep.points["load"][disturbed].to_numpy(float))
    return told


def _of_closed(sweep: Sweep) -> dict[str, Any]:
    """What more than means was kept of a sweep over depths."""
    if not sweep.load_type.is_closed:
        return {}
    told: dict[str, Any] = {"alone": lone_requests(sweep)}
    rows = sweep.points
    for name, column in (("latency_cv", "latency_sd_s"), ("latency_p99", "latency_p99_s")):
        if rows[column].notna().any():
            ratio = rows[column] / rows["latency_s"]
            told[name] = ratio.groupby(rows["load"], sort=True).mean().to_numpy(float)
    if "requests" in sweep.points and sweep.points["requests"].notna().all():
        told["requests"] = sweep.points.groupby("load", sort=True)["requests"].sum().to_numpy(float)
    if COLUMN in sweep.points and sweep.points[COLUMN].notna().all():
        told["woken_late_s"] = sweep.points.groupby("load", sort=True)[COLUMN].mean().to_numpy(float)
    if {"steady", "throughput_change"} <= set(sweep.points):
        moved = sweep.points["throughput_change"].abs().where(sweep.points["steady"] == 0, 0.0)
        told["unsteady"] = moved.groupby(sweep.points["load"], sort=True).mean().to_numpy(float)
    return told


def _of_host(one: Sweep, sweep: Sweep) -> dict[str, Any]:
    """What the host and the link had to do for the curve ``one`` of ``sweep``, over depths."""
    if not sweep.load_type.is_closed:
        return {}
    told: dict[str, Any] = {}
    rows = one.points
    if HOST_TIME in rows and rows[[HOST_TIME, "jobs"]].notna().all(axis=None):
        means = rows.groupby("load", sort=True)[[HOST_TIME, "jobs"]].mean()
        told = {"host_cpu_s": means[HOST_TIME].to_numpy(float), "jobs": means["jobs"].to_numpy(float)}
    if rows["block_bytes"].nunique() == 1 and rows["block_bytes"].notna().all():
        told["block_bytes"] = float(rows["block_bytes"].iloc[0])
        told["link_bytes_per_s"] = _link(sweep.points[sweep.points["read_fraction"].isin(rows["read_fraction"])])
    return told


def _link(rows: pd.DataFrame) -> float | None:
    """The bandwidth that the two block sizes which move most have in common; None where they differ, or are one."""
    most = (rows["throughput_per_s"] * rows["block_bytes"]).groupby(rows["block_bytes"]).max().nlargest(2)
    return float(most.max()) if len(most) > 1 and most.max() <= ONE_LINK * most.min() else None


def _of_log(sweep: Sweep, table: pd.DataFrame) -> dict[str, Any]:
    """What the log of a known device tells. ``table`` holds the mean points.

    The error of a mean of r repeats is that of one over the root of r.
    """
    if "served_response_s" not in sweep.points:
        return {}
    runs = sweep.points.assign(error=sweep.points["served_response_error_s"] / sweep.points["served_response_s"])
    means = runs.groupby("load", sort=True)[["error", "served_response_s"]].mean()
    gaps, services = (float(runs[c].median()) for c in ("served_gap_scv", "served_service_scv"))
    return {
        "response_error": np.nan_to_num(means["error"].to_numpy(float)) / np.sqrt(table["repeats"].to_numpy(float)),
        "served_response_s": means["served_response_s"].to_numpy(float),
        "variability": (gaps, services) if np.isfinite([gaps, services]).all() else None,
    }


def with_delay(points: Points, delay_s: tuple[float, float] | None) -> Points:
    """The points, with a delay known to lie between two values at 90 %. ValueError where it cannot be."""
    if delay_s is None:
        return points
    low, high = delay_s
    if not points.load_type.is_closed:
        raise ValueError(f"a known delay needs a sweep over depths; {points.series} is over another load")
    if not 0 <= low < high:
        raise ValueError(f"the delay lies from {low:g} to {high:g} s; give the least and the most, as 80us,120us")
    shortest = float(points.response_time_s.min())
    if low >= shortest:
        raise DataError(
            f"{points.series}: a delay of {format_duration(low)} and more cannot be part of latencies from "
            f"{format_duration(shortest)} on; check its unit (--delay)"
        )
    return replace(points, delay=((low + high) / 2, (high - low) / 2 / Z90))


def refuse_caches(sweep: Sweep) -> None:
    """DataError where a curve of ``sweep`` was measured in a buffer that fits a cache: it is none of a memory."""
    found = cache_sized(sweep)
    if found is not None:
        raise DataError(
            f"{found.series}: {found.hypothesis.rstrip('.')} ({found.message.rstrip('.')}); {found.remedy.rstrip('.')}"
        )


def _of_buffer_sizes(sweep: Sweep) -> str:
    """Why no model fits a sweep over buffer sizes, and which caches answered it."""
    sizes = sweep.points["load"]
    caches = recorded_caches(sweep.provenance.details)
    ends = [(name, size) for name, size in caches.items() if sizes.min() <= size]
    fit = " and ".join(f"the {name} cache of {format_bytes(size)}" for name, size in ends) or "a cache"
    return (
        f"{sweep.name or 'the sweep'} varies the buffer size, from {format_bytes(sizes.min())} to "
        f"{format_bytes(sizes.max())}, and injects no load; a buffer that fits a cache is not a memory curve (some fit "
        f"{fit}). Measure under load instead: qsim measure memory --delays 0,100,500,2500 --out DIR"
    )


ONE_LINK = 1.1
"""Two block sizes whose bandwidths differ by no more than this factor are limited by the same link."""
_COLUMNS = frozenset({"load", "throughput_per_s", "latency_s", "repeats", "throughput_spread", "latency_spread"})
