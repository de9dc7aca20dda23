"""The points of one curve as arrays, with their noise, and the choice of those to calibrate on.

Noise is of three kinds. Repeats of a point within a run differ, at least by sampling: the mean of n requests whose lone
latencies have the coefficient of variation v has the relative error v / sqrt(n) at a closed point. In an open queue
successive response times are correlated: for M/M/1 the mean of n has, for large n, the relative
standard error (1 + rho) / (1 - rho) / sqrt(n) (from Daley, Advances in Applied Probability 1968, with the services and
their covariance with later waits), at rho = 0.95 and 10,000 requests 39 %.

And a device varies between runs: in public repeats (``examples/accuracy/between_runs.py`` computes it) by 2.4 % for a
local drive, 20 % for drives of virtual machines, 6.7 % for a service, and more with longer wakeup delays. The bands of
a prediction are those of one run; the intervals of parameters and knees include the variation between runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from calibrate.inference.parameters import Array, Mask
from measure.auditing.memory_curves import listed_peak
from measure.errors import DataError
from measure.findings import unanswered
from measure.formats.which_kind import ORIGIN_OF_KIND
from measure.loads import ArrivalRate, BufferSize, ClosedLoad, CountedLoad, Load, MemoryLoad, ThroughputLoad
from measure.origin import MEASURED, ORIGIN, PUBLISHED, can_judge, computed, word_of
from measure.sweep import IN_BURSTS, WOKEN_LATE, Sweep, histograms
from measure.units import format_duration, format_rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from measure.formats.fio.latency_bins import Histogram

Z90 = 1.645
"""Half width of a 90 % interval, in standard errors."""

BROKEN, HOLDS = float(np.log(1.25)), float(np.log(1.1))
"""A latency whose log distance from N / X exceeds the first is wrong if half of its curve is within the second."""

LOCAL, VIRTUAL, SERVICE = 0.03, 0.2, 0.07
"""Relative standard deviations of a figure between runs; the first rounded up, as it rests on three runs."""

LATE = 0.13
"""The variation between runs is this times the square root of the wakeup delay over the shortest latency.

Ten runs of a virtual disk at rest (0.5 latencies late) moved by 9.6 %; a machine that was 3.5 late by 20 %."""

MOST = 0.5
"""The largest variation between runs, for any wakeup delay."""

COUNTS_AS = 4.0
"""The weight of the expected variation between runs, in repeats."""

SHORTEST = 0.01
"""The quantile that is taken as the shortest latency, to ignore a few outliers."""

LAW_BINS = 64
"""The number of bins of the law of latencies at depth 1, spaced evenly in their logarithms."""

UNSERVED = 0.02
"""A rate of which a larger share did not come, beyond the error of counting, is no load: what came is the capacity."""

ONE_LINK = 1.1
"""Two block sizes whose bandwidths differ by at most this factor are limited by the same link."""

HOST_TIME = "host_cpu_s"
"""The column of fio's processor time per request, seconds."""


@dataclass(frozen=True)
class LoneRequests:
    """The latencies at depth 1: their squared coefficient of variation, and the shortest, in seconds."""

    scv: float
    shortest_s: float


@dataclass(frozen=True, eq=False)
class Facts:
    """What only the points of one kind of load have; arrays (m,) are by point.

    ``latency_p99`` (m,), which some of every kind have, is the p99 of the latency over its mean.
    """

    latency_p99: Array | None = field(default=None, kw_only=True)

    def at(self, mask: Mask) -> Self:
        """The facts where the boolean ``mask`` (m,) holds."""
        chosen: Any = {name: fact[mask] for name, fact in vars(self).items() if isinstance(fact, np.ndarray)}
        return replace(self, **chosen)


@dataclass(frozen=True, eq=False)
class ClosedFacts(Facts):
    """Facts of a closed load; None where unknown.

    ``alone`` are the latencies at depth 1 and ``law`` is their distribution as plain data, where histograms are known.
    ``woken_late_s`` (m,) are the machine's mean wakeup delays, ``unsteady`` (m,) the relative changes of throughput
    during runs that were not steady, ``latency_cv`` (m,) the standard deviation of the latency over its mean.
    ``host_cpu_s`` (m,) is the host's processor time per request, ``jobs`` (m,) the number of fio's jobs,
    ``link_bytes_per_s`` the bandwidth that two block sizes both reach. ``kind_is_known``: the kind of load was told, or
    found.
    """

    alone: LoneRequests | None = None
    law: Mapping[str, Any] | None = None
    woken_late_s: Array | None = None
    unsteady: Array | None = None
    host_cpu_s: Array | None = None
    jobs: Array | None = None
    block_bytes: float | None = None
    link_bytes_per_s: float | None = None
    latency_cv: Array | None = None
    kind_is_known: bool = False


@dataclass(frozen=True, eq=False)
class OpenFacts(Facts):
    """Facts of an open load: the requested rates (m,), 1/s, by which a point may be selected too.

    ``of_service``: whether a load generator of services sent them, so that the device is nothing that sleeps.
    ``capacity_per_s`` is the throughput where more was asked for than came; None where all came.
    """

    asked: Array | None = None
    of_service: bool = False
    capacity_per_s: float | None = None


@dataclass(frozen=True, eq=False)
class MemoryFacts(Facts):
    """Facts of a memory: the peak that the tool listed, in cache lines a second."""

    known_peak_per_s: float | None = None


@dataclass(frozen=True, eq=False)
class Points:
    """One series, averaged over repeats, ascending in load: arrays (m,) in SI units.

    ``repeats`` (m,) and the relative standard deviations of one repeat (NaN without repeats); ``requests`` (m,): number
    completed at each load; ``between_runs``: the relative standard deviation of a figure between runs. ``facts`` are
    those of the kind of load; ``origin`` (m, 3) and ``published`` (m, 3) those of load, throughput and response time
    (:mod:`measure.origin`), None where all of them were measured. ``also`` are points of the same device under other
    kinds of load.

    >>> from calibrate import points_of
    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> points_of(sweep).load.tolist()
    [4.0, 8.0, 32.0, 256.0, 1024.0]
    """

    series: str
    load_type: Load
    load: Array
    throughput_per_s: Array
    response_time_s: Array
    repeats: Array
    throughput_spread: Array
    response_spread: Array
    source: str = ""
    notes: tuple[str, ...] = ()
    requests: Array | None = None
    between_runs: float = 0.0
    facts: Facts = field(default_factory=Facts)
    origin: NDArray[np.object_] | None = None
    published: Array | None = None
    also: tuple[Points, ...] = ()

    @property
    def closed(self) -> ClosedFacts:
        """The facts of a closed load; for another, that nothing is known."""
        return self.facts if isinstance(self.facts, ClosedFacts) else ClosedFacts()

    @property
    def asked(self) -> Array | None:
        """The requested rates (m,) of an open load, 1/s; None where unknown."""
        return self.facts.asked if isinstance(self.facts, OpenFacts) else None

    @property
    def capacity_per_s(self) -> float | None:
        """The highest throughput that came where more was asked for, of every kind of load; None where all came."""
        known = [p.facts.capacity_per_s for p in (self, *self.also) if isinstance(p.facts, OpenFacts)]
        return max((each for each in known if each is not None), default=None)

    @property
    def known_peak_per_s(self) -> float | None:
        """The peak that the tool listed for a memory, in cache lines a second."""
        return self.facts.known_peak_per_s if isinstance(self.facts, MemoryFacts) else None

    def __len__(self) -> int:
        return len(self.load)

    def measured(self, figure: str) -> Mask:
        """True (m,) where this column of the sweep (``latency_s``) was measured, so that an error may rest on it."""
        if self.origin is None:
            return np.ones(len(self), dtype=bool)
        return np.array([can_judge(origin) for origin in self.origin[:, list(ORIGIN).index(figure)]], dtype=bool)

    def at(self, mask: Mask) -> Points:
        """The points where the boolean ``mask`` (m,) holds."""
        chosen: Any = {name: column[mask] for name, column in vars(self).items() if isinstance(column, np.ndarray)}
        facts = self.facts.at(mask)
        if isinstance(facts, ClosedFacts) and not (self.load[mask] == 1).any():
            facts = replace(facts, alone=None, law=None)
        return replace(self, **chosen, facts=facts)

    def mask(self, use: Sequence[float]) -> Mask:
        """True (m,) for the points at the loads ``use``. DataError where one was not measured."""
        wanted = list(use)
        if missing := [n for n in wanted if not self._is_at(n).any()]:
            raise DataError(
                f"{self.series or 'this sweep'} has no point at load {', '.join(f'{n:g}' for n in missing)}; "
                f"it has: {self.load_type.texts(self.load)}"
            )
        if len(set(wanted)) < len(wanted):
            raise DataError(f"a load is named twice among {', '.join(f'{n:g}' for n in wanted)}; name each once")
        return np.asarray(np.any([self._is_at(n) for n in wanted], axis=0))

    def _is_at(self, load: float) -> Mask:
        """True (m,) for the point at this load, or at this requested rate."""
        at = np.isclose(self.load, load)
        return at if self.asked is None else at | np.isclose(self.asked, load)

    def choose(self, use: Sequence[float] | None) -> Points:
        """The points at the loads ``use``, of whatever kind, to calibrate on; all for None."""
        if self.also:
            return self._choose_of_each(use)
        chosen = self if use is None else self.at(self.mask(use))
        return chosen._by_littles_law(self, self.load_type) if isinstance(self.load_type, ClosedLoad) else chosen

    def _choose_of_each(self, use: Sequence[float] | None) -> Points:
        """``choose`` among the points of every kind of load."""
        parts = [replace(self, also=()), *self.also]
        if use is None:
            first, *others = (part.choose(None) for part in parts)
            return replace(first, also=tuple(others))
        here = [[n for n in use if part._is_at(n).any()] for part in parts]
        if missing := [n for n in use if not any(n in known for known in here)]:
            parts[0].mask(missing)  # which raises
        first, *others = (part.choose(known) for part, known in zip(parts, here, strict=True) if known)
        return replace(first, also=tuple(others))

    def _by_littles_law(self, curve: Points, load: ClosedLoad) -> Points:
        """The points with N / X where a latency breaks N = X R on a closed ``curve`` that else holds it, and notes."""
        known = np.all([curve.measured(figure) for figure in ORIGIN], axis=0)
        lacking = ~self.measured("latency_s")
        chosen = self
        if lacking.any():
            at = self.load_type.at(*self.load[lacking].tolist())
            note = f"{at}: calibrated on N / X, as the latency was computed by it"
            chosen = replace(self, notes=(*self.notes, note))
        seen = load.by_law(curve.throughput_per_s[known], curve.response_time_s[known])
        by_law = load.response_by_law(self.load, self.throughput_per_s)
        if seen is None or by_law is None or not known.any() or load.thinking_s:  # few wait of many who think
            return chosen
        off = np.log(seen / curve.load[known])
        thousands = round(float(np.median(off)) / np.log(1000))
        if thousands and (np.abs(off - thousands * np.log(1000)) < BROKEN).all():
            times = f"{1000 ** abs(thousands):g} times too {'long' if thousands > 0 else 'short'}"
            note = f"the latencies are {times} for {load.law}, as in another unit; calibrated on N / X"
            return chosen._with_law(~lacking, by_law, note)
        if np.median(np.abs(off)) > HOLDS:
            return chosen
        broken = np.abs(np.log(self.response_time_s / by_law)) > BROKEN
        notes = [
            f"{self.load_type.at(n)}: the latency of {format_duration(r)} breaks Little's law; calibrated on N / X = "
            f"{format_duration(law)}"
            for n, r, law in zip(self.load[broken], self.response_time_s[broken], by_law[broken], strict=True)
        ]
        return chosen._with_law(broken, by_law, *notes)

    def _with_law(self, broken: Mask, by_law: Array, *notes: str) -> Points:
        """The points with ``by_law`` (m,), N / X, where the latency is ``broken`` (m,), and notes that say so."""
        if not broken.any():
            return self
        origin = np.full((len(self), len(ORIGIN)), MEASURED, object) if self.origin is None else self.origin.copy()
        published = np.full(origin.shape, np.nan) if self.published is None else self.published.copy()
        origin[broken, -1], published[broken, -1] = computed("N / X"), self.response_time_s[broken]
        response = np.where(broken, by_law, self.response_time_s)
        return replace(self, response_time_s=response, origin=origin, published=published, notes=(*self.notes, *notes))

    def noise(self) -> tuple[Array, Array]:
        """Relative standard errors (m,) of the mean throughputs and of the mean response times; 0 where unknown.

        At least the error of sampling, of open sweeps by the least response of these points: choose them first.
        """
        root = np.sqrt(np.maximum(self.repeats, 1))
        throughput = np.nan_to_num(self.throughput_spread, nan=0.0) / root
        response = np.nan_to_num(self.response_spread, nan=0.0) / root
        alone = self.closed.alone
        if alone is not None and self.requests is not None:
            sampled = np.sqrt(alone.scv / np.maximum(self.requests, 1.0))
            throughput, response = np.fmax(throughput, sampled), np.fmax(response, sampled)
        if isinstance(self.load_type, ThroughputLoad) and self.requests is not None:
            response = np.fmax(response, error_of_mean(self.response_time_s, self.requests))
        return throughput, response

    @property
    def spread(self) -> Array:
        """The relative standard deviation (m,) of one repeat of the predicted quantity."""
        return self.response_spread if isinstance(self.load_type, ThroughputLoad) else self.throughput_spread

    def repeat_noise_pct(self) -> float | None:
        """The median over the points of ``spread``, in percent."""
        known = self.spread[np.isfinite(self.spread)]
        return float(100 * np.median(known)) if len(known) else None


def points_of(sweep: Sweep, series: str | None = None) -> Points:
    """The points of one series.

    DataError where there are several and none is named, where no load was varied, where a load is impossible or its
    kind unknown, or where a memory curve shows a cache; TypeError for anything but a Sweep.

    >>> from measure import load_dataset
    >>> sweep = load_dataset("003-ssd-read").select("4 KiB read")
    >>> [round(x / 1000) for x in points_of(sweep).throughput_per_s]
    [56, 106, 245, 235, 282]
    """
    if not isinstance(sweep, Sweep):
        raise TypeError(f"expected a Sweep, as measure.load(path) gives, not {type(sweep).__name__}")
    return _points_of(sweep, series)


@lru_cache(maxsize=64)
def _points_of(sweep: Sweep, series: str | None) -> Points:
    load = sweep.load_type
    if series is None and len(sweep.series) > 1 and not isinstance(load, BufferSize):
        raise DataError(
            f"{sweep.name or 'the sweep'} holds {len(sweep.series)} series; name one of: {', '.join(sweep.series)}"
        )
    one = sweep.select(series) if series is not None else sweep
    if question := unanswered(one.findings, one.series[0]):
        raise DataError(f"{sweep.name or one.series[0]}: {question}")
    if isinstance(load, MemoryLoad | BufferSize):
        facts: Facts = MemoryFacts(listed_peak(one))
    else:
        facts = _closed_facts(one, sweep) if isinstance(load, ClosedLoad) else _open_facts(one)
    means = one.means
    if (highest := float(means["load"].max())) > load.most:
        raise DataError(
            f"{sweep.name or one.series[0]}: {load.name} = {highest:g} (series {one.series[0]!r}) is "
            "more than any device was given; say which column is the load (--columns load=COLUMN), or remove the point"
        )
    not_all_measured = set(ORIGIN.values()) <= means.keys()
    made = Points(
        one.series[0],
        one.load_type,
        load=means["load"],
        throughput_per_s=means["throughput_per_s"],
        response_time_s=means["latency_s"],
        repeats=means["repeats"],
        throughput_spread=means["throughput_spread"],
        response_spread=means["latency_spread"],
        source=sweep.name or sweep.provenance.source,
        requests=_requests(one),
        facts=facts,
        origin=np.column_stack([means[c] for c in ORIGIN.values()]) if not_all_measured else None,
        published=np.column_stack([means[c] for c in PUBLISHED.values()]) if not_all_measured else None,
    )
    made = _served(made) if isinstance(load, ArrivalRate) else made
    also = tuple(_points_of(other, one.series[0]) for other in one.also if one.series[0] in other.series)
    return replace(made, between_runs=between_runs(sweep.provenance.details, made), also=also)


def _served(points: Points) -> Points:
    """The points whose requests all came; of the others the throughput is the capacity, and no response is known."""
    asked = points.load if points.asked is None else points.asked
    requests = np.full(len(points), np.inf) if points.requests is None else np.nan_to_num(points.requests, nan=np.inf)
    least = 1 - np.fmax(UNSERVED, 3 / np.sqrt(requests))  # three standard errors of a Poisson count
    behind = points.throughput_per_s < least * asked
    if not behind.any():
        return points
    came, capacity = points.throughput_per_s[behind], float(points.throughput_per_s[behind].max())
    origins = np.full(len(points), MEASURED) if points.origin is None else points.origin[:, 0]
    about = ("about " if word_of(origin) == "computed" else "" for origin in origins[behind])
    wanted = (f"{word}{format_rate(rate)}" for word, rate in zip(about, asked[behind], strict=True))
    rates = f"of {', '.join(wanted)} asked for {', '.join(map(format_rate, came))} came"
    if behind.all():
        raise DataError(
            f"{points.series}: {rates}: the device was overloaded at every rate, and its responses last as long as the "
            f"runs; measure below {format_rate(capacity)}"
        )
    note = f"{rates}: the capacity, and no response"
    facts = replace(points.facts, capacity_per_s=capacity) if isinstance(points.facts, OpenFacts) else points.facts
    return replace(points, facts=facts, notes=(*points.notes, note)).at(~behind)


def _requests(one: Sweep) -> Array | None:
    """Completed requests at each load; of a closed load only where every row says it."""
    rows, load = one.points, one.load_type
    if "requests" not in rows or isinstance(load, MemoryLoad):
        return None
    lacking = isinstance(load, ClosedLoad) and rows["requests"].isna().any()
    return None if lacking else rows.groupby("load", sort=True)["requests"].sum(min_count=1).to_numpy(float)


def _open_facts(one: Sweep) -> OpenFacts:
    """The requested rates; a service's load is known by its kind."""
    p99, asked = _over_the_mean(one, "latency_p99_s"), None
    if "asked_rate_per_s" in one.points:
        asked = one.points.groupby("load", sort=True)["asked_rate_per_s"].first().to_numpy(float)
    return OpenFacts(asked, asked is None and ORIGIN_OF_KIND in one.provenance.details, latency_p99=p99)


def _over_the_mean(one: Sweep, column: str) -> Array | None:
    """A column of latencies over the mean latency (m,), by load; None where no row has it."""
    rows = one.points
    if rows[column].isna().all():
        return None
    return (rows[column] / rows["latency_s"]).groupby(rows["load"], sort=True).mean().to_numpy(float)


def _closed_facts(one: Sweep, sweep: Sweep) -> ClosedFacts:
    """What the rows say beyond means, with the link that all curves of ``sweep`` share."""
    rows = one.points
    by_load = rows.groupby("load", sort=True)
    found: dict[str, Any] = {"kind_is_known": ORIGIN_OF_KIND in one.provenance.details}
    if IN_BURSTS not in rows or not rows.loc[rows["load"] == 1, IN_BURSTS].eq(1).any():
        alone = [h for (_, n, _), h in histograms(one).items() if n == 1] if one.latencies else []
        found |= {"alone": _lone_requests(one, alone), "law": _law_of(alone)}
    found |= {"latency_cv": _over_the_mean(one, "latency_sd_s"), "latency_p99": _over_the_mean(one, "latency_p99_s")}
    if WOKEN_LATE in rows and rows[WOKEN_LATE].notna().all():
        found["woken_late_s"] = by_load[WOKEN_LATE].mean().to_numpy(float)
    if {"steady", "throughput_change"} <= set(rows):
        moved = rows["throughput_change"].abs().where(rows["steady"] == 0, 0.0)
        found["unsteady"] = moved.groupby(rows["load"], sort=True).mean().to_numpy(float)
    if HOST_TIME in rows and rows[[HOST_TIME, "jobs"]].notna().all(axis=None):
        found |= {name: by_load[name].mean().to_numpy(float) for name in (HOST_TIME, "jobs")}
    blocks = rows["block_bytes"].to_numpy(float)
    if (blocks == blocks[0]).all():
        found["block_bytes"] = float(blocks[0])
        if (sweep.points["block_bytes"] != blocks[0]).any():
            alike = sweep.points[sweep.points["read_fraction"].isin(rows["read_fraction"])]
            most = (alike["throughput_per_s"] * alike["block_bytes"]).groupby(alike["block_bytes"]).max().nlargest(2)
            if len(most) > 1 and most.max() <= ONE_LINK * most.min():
                found["link_bytes_per_s"] = float(most.max())
    return ClosedFacts(**found)


def _lone_requests(sweep: Sweep, found: Sequence[Histogram]) -> LoneRequests | None:
    """The latencies at depth 1 of one series, scvs averaged over repeats; None without depth 1 or their spread."""
    table = sweep.points
    known = (table["load"].to_numpy() == 1) & table["latency_sd_s"].notna().to_numpy()
    if not known.any():
        return None
    rows = table[known]
    shortest = [h.quantile(SHORTEST) for h in found] or rows["latency_s"].tolist()  # the mean of constant times
    return LoneRequests(float(((rows["latency_sd_s"] / rows["latency_s"]) ** 2).mean()), float(np.median(shortest)))


def _law_of(alone: Sequence[Histogram]) -> dict[str, Any] | None:
    """The distribution of latencies from their histograms, as plain data; None where none has two bins."""
    if not alone or all(len(h.counts) == 1 for h in alone):
        return None
    from qsim.distributions import Empirical, law_to_dict

    lower, upper = min(h.lower_s[0] for h in alone), max(h.upper_s[-1] for h in alone)
    edges = np.geomspace(max(lower, 1e-3 * upper), upper * (1 + 1e-9), LAW_BINS + 1)
    counts = np.zeros(LAW_BINS)
    for h in alone:
        counts += np.histogram(h.middle_s, edges, weights=h.counts)[0]
    return law_to_dict(Empirical.from_histogram(edges.tolist(), counts.tolist()))


def error_of_mean(response: Array, requests: Array) -> Array:
    """Relative standard errors (m,) of mean response times (m,), each over ``requests`` (m,), NaN where unknown.

    They are approximate: as in M/M/1, a response over the least is taken for 1 / (1 - rho).
    """
    idle = response.min() / response
    return np.asarray((2 - idle) / idle / np.sqrt(np.maximum(requests, 1.0)))


def between_runs(details: Mapping[str, Any], points: Points) -> float:
    """The relative standard deviation of a figure between runs; ``details`` are those of the sweep's provenance.

    It combines, in squares, that of the kind of device and that of the machine: from the wakeup delay where measured,
    else from whether it is virtual. Repeats correct the sum, which has the weight of four of them.
    """
    known = np.isfinite(points.spread)
    freedom = points.repeats[known] - 1
    squares = COUNTS_AS * expected_between_runs(details, points) ** 2 + float(freedom @ points.spread[known] ** 2)
    return float(np.sqrt(squares / (COUNTS_AS + freedom.sum())))


def expected_between_runs(details: Mapping[str, Any], points: Points) -> float:
    """The same for such a device on such a machine, whatever the repeats of one sweep say."""
    facts, woken_late_s = details.get("host_facts"), points.closed.woken_late_s
    expected = SERVICE if isinstance(points.load_type, CountedLoad) else LOCAL
    if woken_late_s is not None:
        late = float(np.median(woken_late_s) / points.response_time_s.min())
        return min(float(np.hypot(expected, LATE * np.sqrt(late))), MOST)
    closed_or_open = isinstance(points.load_type, ClosedLoad | ArrivalRate)
    return VIRTUAL if closed_or_open and isinstance(facts, Mapping) and facts.get("virtual") is True else expected


def residuals_pct(predicted: Array, observed: Array) -> Array:
    """100 (predicted / observed - 1), (m,)."""
    return np.asarray(100 * (predicted / observed - 1))
