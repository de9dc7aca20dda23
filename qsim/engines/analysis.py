"""Estimates and intervals from a run: warm-up, batch means, quantiles, and whether the run was long enough.

Warm-up. MSER drops the first d batches such that the rest gives the mean with the least estimated standard error, min
over d of s²(d)/(n - d); a minimum in the second half means that the run never settled. It is used only where the
beginning stands out from the rest (see find_warmup); a few relaxation times are always dropped.
Source: White (1997), Simulation 69(6); White, Cobb & Spratt (2000), WSC (MSER-5: batches of five customers, here longer
ones in longer runs).

Intervals. What is left is cut into at most 20 batches. Each value is a ratio of totals, such as waiting time per
customer; the batches' deviations from it give its variance and Student's t its interval. Where neighbouring batches
are correlated (lag-1 correlation φ > 0) the variance is raised by (1 + φ)/(1 - φ), and where they are skewed, as
long excursions of a queue make them, the interval is longer on the side of the tail.
Source: Law & Carson (1979), Oper. Res. 27; Law (2015), Simulation Modeling and Analysis, section 9.5.3; both
corrections: Tafazzoli, Wilson, Lada & Steiger (2011), "Performance of Skart", INFORMS J. Comput. 23; the second:
Willink (2005), Comm. Statist. Theory Methods 34, "A confidence interval and test for the mean of an asymmetric
distribution".

Shares. Where fewer than ten customers were lost or had to wait, or all but fewer than ten, the interval is at least
that of as many independent customers (Clopper & Pearson 1934): what was not seen is not impossible.

Quantiles. The quantile of all batches; its interval from those of single batches, and at least the bin it lies in.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from qsim._types import FloatArray, IntArray
from qsim.engines.numbered import Plan, PlannedStation
from qsim.engines.recorder import COLUMNS, ROWS_PER_GROUP, SERVICE, WAIT, Recorder, Totals
from qsim.errors import InvalidParameterError
from qsim.metrics import SHARES, SYMBOLS, Interval, Metrics

MOST_BATCHES = 20
FEWEST_BATCHES = 8
STANDS_OUT = 3.0  # standard errors by which the beginning must differ from the rest to be called a warm-up
STRONGEST_CORRELATION = 0.75  # lag-1 correlation of batch means above which the run is too short
FEW_SEEN = 10  # customers that were lost, or that waited, below which batches do not tell how often that happens
BEYOND_QUANTILE = 10  # customers each batch should have beyond a quantile
WAITS = ("L", "Lq", "W", "Wq")  # values that rare long services raise


@dataclass(frozen=True)
class RunEstimate:
    """Values by the names of Metrics, and the mean ``service``, with intervals, and why the run may be too short."""

    values: Mapping[str, float]
    intervals: Mapping[str, Interval]
    warmup: int
    times: SampledTimes
    complaints: tuple[str, ...]


def mser(means: FloatArray) -> tuple[int, bool]:
    """Number of leading batches to drop, and whether the run settled; see the module's docstring."""
    n = means.size
    centred = means - means.mean()
    left = np.arange(n, 0, -1)
    total = np.cumsum(centred[::-1])[::-1]
    squares = np.cumsum(centred[::-1] ** 2)[::-1]
    considered = max(1, n - FEWEST_BATCHES)
    statistic = ((squares - total**2 / left) / left**2)[:considered]
    # The earliest minimum within rounding: a run of constant times must not be cut at its rounding noise.
    noise = (1e-9 * float(np.abs(means).max())) ** 2 / n
    best = int(np.flatnonzero(statistic <= statistic.min() + noise)[0])
    return min(best, n // 2), best <= n // 2


def find_warmup(means: FloatArray) -> tuple[int, bool]:
    """As :func:`mser`, but only where the beginning stands out from the rest.

    Queues have long excursions, which MSER alone often drops: for M/M/1 at rho = 0.95 and 200,000 customers,
    95 % intervals then covered W in 86 % of 300 runs, and in 91 % with this rule.
    """
    dropped, settled = mser(means)
    kept = means[dropped:]
    # The spread of the whole run, beginning included: without it an excursion would seem to stand out.
    per_batch = max(1, means.size // MOST_BATCHES)
    batches = means[means.size % per_batch :].reshape(-1, per_batch).mean(axis=1)
    if dropped == 0 or batches.size < 2:
        return dropped, settled
    variance_of_one = float(batches.var(ddof=1)) * per_batch
    error = math.sqrt(variance_of_one * (1 / dropped + 1 / kept.size))
    if abs(float(means[:dropped].mean() - kept.mean())) <= STANDS_OUT * error:
        return 0, True
    return dropped, settled


def student_t(confidence: float, degrees: int) -> float:
    """The two-sided quantile of Student's t with these degrees of freedom."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + confidence) / 2))


def batch_error(deviations: FloatArray) -> tuple[float, float]:
    """Standard error of a mean from its batches' deviations, and their lag-1 correlation φ."""
    b = deviations.size
    centred = deviations - deviations.mean()
    square = float(centred @ centred)
    if square == 0:
        return 0.0, 0.0
    correlation = float(centred[1:] @ centred[:-1]) / square
    raised = min(max(correlation, 0.0), 0.95)
    variance = square / (b - 1) / b
    return math.sqrt(variance * (1 + raised) / (1 - raised)), correlation


def reaches(deviations: FloatArray, confidence: float) -> tuple[float, float]:
    """How far a confidence interval reaches below and above a mean, from the deviations of its batches.

    Willink's t for skewed batches: with β = skewness / (6 √b), t becomes G(t) below and -G(-t) above, where
    G(t) = ((1 + 6β(t - β))^(1/3) - 1) / (2β), which is t itself where β is zero.
    """
    b = deviations.size
    t = student_t(confidence, max(1, b - 1))
    centred = deviations - deviations.mean()
    variance = float(centred @ centred) / max(1, b - 1)
    error = batch_error(deviations)[0]
    if b < 3 or variance == 0:
        return t * error, t * error
    scaled = centred / math.sqrt(variance)
    beta = float((scaled**3).sum()) * b / ((b - 1) * (b - 2)) / (6 * math.sqrt(b))
    if abs(beta) < 1e-4:  # where the formula is 0/0
        return t * error, t * error
    below, above = (abs(math.cbrt(1 + 6 * beta * (z - beta)) - 1) / (2 * abs(beta)) for z in (t, -t))
    return below * error, above * error


def with_unseen(ends: Interval, seen: float, number: float, confidence: float) -> Interval:
    """The interval of the share ``seen`` of ``number`` customers, at least that of as many independent ones.

    Where few or all but a few are seen, batches tell nothing: a loss that never came may come once in ``number``
    (Clopper and Pearson 1934).
    """
    from scipy.special import betaincinv

    rest = (1 - confidence) / 2
    fewest = 0.0 if seen == 0 else float(betaincinv(seen, number - seen + 1, rest))
    most = 1.0 if seen == number else float(betaincinv(seen + 1, number - seen, 1 - rest))
    return min(ends[0], fewest), max(ends[1], most)


def analyse(
    recorder: Recorder, servers: float, confidence: float, *, memory: int = 0, share: float | None = None
) -> RunEstimate:
    """The estimate from the recorded customers; its complaints say why the run may be too short.

    The warm-up left out is ``share`` of the run, or else what MSER finds, and at least ``memory`` customers: those
    that a queue of this kind takes to forget its start.
    """
    rows, size = recorder.rows, recorder.batch_size
    if rows.shape[0] < 2:
        raise InvalidParameterError(
            "customers",
            f"must be at least {2 * size} for any estimate, not {recorder.customers}",
            "give more customers",
            recorder.customers,
        )
    complaints = []
    if share is None:
        dropped, settled = find_warmup((rows[:, WAIT] + rows[:, SERVICE]) / size)
        dropped = max(dropped, min(math.ceil(memory / size), rows.shape[0] // 2))
        if not settled:
            complaints.append("the response time was still drifting in the second half of the run (MSER-5)")
    else:
        dropped = min(math.ceil(share * recorder.customers / size), rows.shape[0] - 2)
    kept = rows[dropped:]
    per_batch, rest = divmod(kept.shape[0], min(kept.shape[0], MOST_BATCHES))
    dropped += rest
    batches = kept[rest:].reshape(-1, per_batch, COLUMNS).sum(axis=1)
    if batches.shape[0] < FEWEST_BATCHES:
        complaints.append(f"fewer than {FEWEST_BATCHES} batches of {size} customers are left after the warm-up")
    values: dict[str, float] = {}
    intervals: dict[str, Interval] = {}
    for name, (above, below) in _ratios(batches, float(per_batch * size), servers).items():
        value = values[name] = float(above.sum() / below.sum())
        deviations = (above - value * below) / below.mean()
        down, up = reaches(deviations, confidence)
        low, high = max(0.0, value - down), value + up
        ends = (low, min(1.0, high) if name in SHARES else high)
        seen, number = float(above.sum()), float(below.sum())
        rare = name in ("p_wait", "p_block") and min(seen, number - seen) < FEW_SEEN
        intervals[name] = with_unseen(ends, seen, number, confidence) if rare else ends
        correlation = batch_error(deviations)[1]
        if name == "W" and correlation > STRONGEST_CORRELATION:
            complaints.append(f"neighbouring batch means still move together (correlation {correlation:.2f})")
    groups = recorder.histograms[:, math.ceil(dropped / ROWS_PER_GROUP) :]
    times = SampledTimes(recorder.bin_edges(), groups, size * ROWS_PER_GROUP, confidence)
    return RunEstimate(values, intervals, dropped * size, times, tuple(complaints))


def _ratios(batches: FloatArray, customers: float, servers: float) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Each value as a ratio of batch totals: name -> (numerators, denominators); a batch has ``customers``."""
    time, wait, service, waited, lost = batches.T
    number = np.full(time.size, customers)
    return {
        "throughput": (number, time),
        "utilization": (service / servers, time),
        "L": (wait + service, time),
        "Lq": (wait, time),
        "W": (wait + service, number),
        "Wq": (wait, number),
        "p_wait": (waited, number),
        "p_block": (lost, number + lost),
        "service": (service, number),
    }


class SampledTimes:
    """Quantiles of W and Wq from histograms; ``counts`` has shape (2, groups, bins)."""

    def __init__(self, edges: FloatArray, counts: IntArray, customers_per_group: int, confidence: float) -> None:
        groups = counts.shape[1]
        per_batch = max(1, groups // MOST_BATCHES)
        usable = groups - groups % per_batch
        joined = counts[:, groups - usable :].reshape(2, -1, per_batch, counts.shape[2]).sum(axis=2)
        seen = np.flatnonzero(joined.any(axis=(0, 1)))  # keep only the bins that hold anything
        first, last = (int(seen[0]), int(seen[-1]) + 1) if seen.size else (0, 1)
        self._edges = edges[first : last + 1].copy()
        self._counts = joined[:, :, first:last].copy()
        self._customers_per_batch = customers_per_group * per_batch
        self._confidence = confidence

    def quantile(self, q: float, of: str) -> float:
        """The q-quantile over all batches."""
        counts = self._of(of)
        return self._at(q, counts.sum(axis=0), self._customers_per_batch * counts.shape[0])

    def quantile_interval(self, q: float, of: str) -> Interval:
        """The confidence interval of the q-quantile, from single batches; never narrower than the bin it lies in."""
        counts = self._of(of)
        # A batch must hold enough customers on both sides of the quantile.
        join = math.ceil(BEYOND_QUANTILE / min(q, 1 - q) / self._customers_per_batch)
        batches = counts.shape[0] // join
        if batches < FEWEST_BATCHES // 2:
            raise ValueError(f"q = {q} is too far out for an interval from this run: give more customers")
        joined = counts[counts.shape[0] - batches * join :].reshape(batches, join, -1).sum(axis=1)
        single = np.array([self._at(q, batch, self._customers_per_batch * join) for batch in joined])
        value = self.quantile(q, of)
        # Spread about the quantile of all, so that the bias of short batches widens the interval.
        below, above = reaches(single - value, self._confidence)
        bias = student_t(self._confidence, batches - 1) * (float(single.mean()) - value)
        low, high = max(0.0, value - math.hypot(below, bias)), value + math.hypot(above, bias)
        if value == 0:
            return (low, high)
        # The position of times within a bin is unknown: all may be equal, as constant times are.
        here = min(int(np.searchsorted(self._edges, value, side="right")), self._edges.size - 1)
        return (min(low, float(self._edges[here - 1])), max(high, float(self._edges[here])))

    def survival(self, t: float, of: str) -> float:
        """The share of all batches' times beyond t, interpolated linearly within a bin."""
        counts = self._of(of)
        customers = self._customers_per_batch * counts.shape[0]
        beyond = np.append(np.cumsum(counts.sum(axis=0)[::-1])[::-1], 0) / customers
        return float(np.interp(t, self._edges, beyond, right=0.0))

    def survival_interval(self, t: float, of: str) -> Interval:
        """The interval of that share, from single batches, and at least that of as many independent customers."""
        counts = self._of(of)
        beyond = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1] / self._customers_per_batch
        shares = np.array([np.interp(t, self._edges, np.append(batch, 0.0), right=0.0) for batch in beyond])
        value = float(shares.mean())
        number = self._customers_per_batch * counts.shape[0]
        below, above = reaches(shares - value, self._confidence)
        ends = (max(0.0, value - below), min(1.0, value + above))
        return with_unseen(ends, value * number, number, self._confidence)

    def variance(self, of: str) -> float:
        """Variance of the binned times, each at the middle of its bin; a bin is at most 1.6 % wide."""
        counts = self._of(of)
        share = counts.sum(axis=0) / (self._customers_per_batch * counts.shape[0])
        middle = (self._edges[1:] + self._edges[:-1]) / 2
        return float(share @ middle**2 - (share @ middle) ** 2)

    def _of(self, of: str) -> IntArray:
        counts: IntArray = self._counts[0 if of == "W" else 1]
        if counts.shape[0] == 0:
            raise ValueError("quantiles need more customers than this run has after its warm-up: give more customers")
        return counts

    def _at(self, q: float, counts: IntArray, customers: int) -> float:
        """Inverse of the distribution function, interpolated linearly within a bin; times of zero come first."""
        below = np.cumsum(counts) + (customers - int(counts.sum()))
        rank = q * customers
        index = int(np.searchsorted(below, rank))
        if index == 0 and rank <= customers - int(counts.sum()):
            return 0.0
        index = min(index, counts.size - 1)
        inside = (rank - (below[index] - counts[index])) / max(1, int(counts[index]))
        low, high = float(self._edges[index]), float(self._edges[index + 1])
        return low + (high - low) * float(min(max(inside, 0.0), 1.0))


def metrics_of(whole: RunEstimate, plan: Plan, totals: Totals, facts: Mapping[str, Any]) -> Metrics:
    """The Metrics of the ``whole`` run, with those of classes and stations as parts.

    ``facts`` are fields that all parts share: model, method, confidence, seed.
    """
    customers = totals.whole.customers
    share = min(0.9, whole.warmup / customers)  # the warm-up that the parts also leave out
    certain = _certain(plan, plan.listed)
    result = _metrics(_within_population(whole, plan), plan.servers, "", customers, facts, certain)
    of_parts = tuple({*certain, "p_block"})  # losses are those of the whole
    classes = tuple(
        _part(recorder, plan.servers, plan.classes[kind], share, facts, of_parts)
        for kind, recorder in totals.classes.recorders.items()
    )
    if not plan.parts:
        result = replace(result, classes=classes)
        return _of_speeds(result, plan.listed[0], plan.classes) if len(plan.listed) == 1 else result
    # Servers all over the network have no common share: the whole has that of the busiest station.
    classes = tuple(_with_utilization(part, math.nan) for part in classes)
    stations = tuple(_station(plan, totals, place, share, facts) for place in plan.parts)
    busiest = max(stations, key=lambda station: station.utilization if station.intervals else -1.0)
    result = _with_utilization(result, busiest.utilization, busiest.interval("utilization"))
    return replace(result, classes=classes, stations=stations)


def _within_population(whole: RunEstimate, plan: Plan) -> RunEstimate:
    """The estimate where no more are present than circulate: customers counted at the ends of a run may say so."""
    if plan.sources or plan.has_losses:
        return whole
    most, (low, high) = float(plan.population), whole.intervals["L"]
    throughput = min(whole.values["throughput"], most / whole.values["W"])
    intervals = {**whole.intervals, "L": (min(low, most), min(high, most))}
    return replace(whole, values={**whole.values, "throughput": throughput}, intervals=intervals)


def with_longer_tails(metrics: Metrics, factor: float) -> Metrics:
    """The same where the intervals of waits, of the parts too, reach so much further above the estimate."""
    intervals = {
        name: (low, (value := getattr(metrics, name)) + factor * (high - value)) if name in WAITS else (low, high)
        for name, (low, high) in metrics.intervals.items()
    }
    stations, classes = (
        tuple(with_longer_tails(part, factor) for part in parts) for parts in (metrics.stations, metrics.classes)
    )
    return replace(metrics, intervals=intervals, stations=stations, classes=classes)


def _certain(plan: Plan, places: Sequence[PlannedStation]) -> tuple[str, ...]:
    """What is 0 for certain: P(block) without limited places, P(wait) where there is a server for everybody."""
    most = math.inf if plan.sources else plan.population
    nobody_waits = all(place.servers >= most for place in places)
    return ("p_block",) * (not plan.has_losses) + ("p_wait",) * nobody_waits


def _metrics(
    estimate: RunEstimate, servers: float, name: str, customers: int, facts: Mapping[str, Any], certain: tuple[str, ...]
) -> Metrics:
    """The Metrics of an estimate; ``certain`` names the values that are 0 exactly."""
    values = estimate.values
    return Metrics.from_times(
        throughput=values["throughput"],
        service=values["service"],
        servers=servers,
        Wq=values["Wq"],
        p_wait=values["p_wait"],
        p_block=values["p_block"],
        kind="simulated",
        kinds=dict.fromkeys(certain, "exact"),
        intervals={n: ends for n, ends in estimate.intervals.items() if n in SYMBOLS and n not in certain},
        customers=customers,
        warmup=estimate.warmup,
        warnings=tuple(f"{name}: {complaint}" if name else complaint for complaint in estimate.complaints),
        name=name,
        times=estimate.times,
        **facts,
    )


def _part(
    recorder: Recorder, servers: float, name: str, share: float, facts: Mapping[str, Any], certain: tuple[str, ...]
) -> Metrics:
    """Metrics of a class or station; with too few customers the values are NaN, and a warning says so."""
    try:
        estimate = analyse(recorder, servers, facts["confidence"], share=share)
    except InvalidParameterError:
        seen = recorder.customers
        unknown: dict[str, Any] = dict.fromkeys(SYMBOLS, math.nan)
        few = f"{name}: {seen} seen, too few for an estimate: give more customers"
        return Metrics(**unknown, kind="simulated", name=name, customers=seen, warnings=(few,), **facts)
    return _metrics(estimate, servers, name, recorder.customers, facts, certain)


def _station(plan: Plan, totals: Totals, place: int, share: float, facts: Mapping[str, Any]) -> Metrics:
    """Metrics of a station and its classes; where only one class comes, its values are the station's."""
    planned, names = plan.places[place], plan.classes
    certain = tuple({*_certain(plan, [planned]), "p_block"})
    station = _part(totals.stations[place], planned.all_servers, planned.name, share, facts, certain)
    classes = tuple(
        _part(recorder, planned.all_servers, names[kind], share, facts, certain)
        for kind, recorder in totals.classes_at[place].recorders.items()
    )
    if len(names) > 1 and not classes:
        classes = tuple(replace(station, name=names[kind]) for kind in planned.kinds)
    return _of_speeds(replace(station, classes=classes), planned, names)


def _of_speeds(station: Metrics, planned: PlannedStation, names: tuple[str, ...]) -> Metrics:
    """A station with speeds: its utilization is the work done per time unit, as a share of its highest speed."""
    if not planned.speeds or not station.intervals:
        return station
    means = dict(zip(names, (law.mean for law in planned.service), strict=True))
    mean = max(means.values())
    if known := [c for c in station.classes if c.throughput > 0]:
        mean = math.fsum(c.throughput * means[c.name] for c in known) / math.fsum(c.throughput for c in known)
    rates = (station.throughput, *station.interval("throughput"))
    value, low, high = (min(rate * mean / max(planned.speeds), 1.0) for rate in rates)
    return _with_utilization(station, value, (low, high))


def _with_utilization(part: Metrics, value: float, ends: tuple[float, float] | None = None) -> Metrics:
    intervals = {name: known for name, known in part.intervals.items() if name != "utilization"}
    return replace(part, utilization=value, intervals={**intervals, **({"utilization": ends} if ends else {})})
