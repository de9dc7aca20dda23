"""From what was gathered to Metrics: the whole, each kind of customer, each station and the classes there."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from qsim._types import FloatArray
from qsim.engines.output.analysis import MOST_BATCHES, analyse, reaches
from qsim.engines.output.recorder import Recorder
from qsim.engines.output.run_totals import RunTotals
from qsim.engines.plan import Plan, PlannedStation, servers_of
from qsim.errors import InvalidParameterError
from qsim.metrics import SYMBOLS, Interval, Metrics


@dataclass(frozen=True)
class ObservedStates:
    """Shares of time with n = 0, 1, 2, ... present."""

    shares: FloatArray

    def p(self, n: int) -> float:
        return float(self.shares[n]) if n < self.shares.size - 1 else 0.0


def observed_states(totals: RunTotals) -> ObservedStates | None:
    """How many were present, for which share of time; None where the engine did not watch."""
    total = totals.presence.sum()
    return ObservedStates(totals.presence / total) if total > 0 else None


def blocking(plan: Plan, totals: RunTotals, warmup: int, confidence: float) -> tuple[float, Interval | None]:
    """The share of arrivals that found no place, with its interval; 0 exactly where places are not limited."""
    if all(place.capacity is None for place in plan.places):
        return 0.0, None
    lost = totals.losses.per_customer(warmup, MOST_BATCHES)
    mean = float(lost.mean())
    below, above = reaches(lost - mean, confidence)

    def share(per_customer: float) -> float:
        return per_customer / (1 + per_customer)

    return share(mean), (share(max(0.0, mean - below)), min(1.0, share(mean + above)))


def with_parts(metrics: Metrics, plan: Plan, totals: RunTotals) -> Metrics:
    """The Metrics of the whole, given those of kinds of customers and of stations."""
    if len(plan.places) == 1 and plan.places[0].servers == math.inf:
        endless = {name: ends for name, ends in metrics.intervals.items() if name != "utilization"}
        metrics = replace(metrics, utilization=0.0, intervals=endless, kinds={**metrics.kinds, "utilization": "exact"})
    servers = servers_of(plan)
    classes = tuple(
        _part(metrics, recorder, servers, plan.streams[kind])
        for kind, recorder in totals.of_kind.recorders.items()
        if recorder.customers
    )
    if plan.parts:  # servers all over the network have no common share
        classes = tuple(_without_utilization(part) for part in classes)
    stations = tuple(_station(metrics, plan, totals, part) for part in range(len(totals.of_part)))
    if stations:
        busiest = max(stations, key=lambda station: station.utilization)
        intervals = {**metrics.intervals, "utilization": busiest.interval("utilization")}
        metrics = replace(metrics, utilization=busiest.utilization, intervals=intervals)
    elif len(listed := [place for place in plan.places if place.listed]) == 1:
        metrics = _of_speeds(replace(metrics, classes=classes), listed[0], plan.classes)
    return replace(metrics, classes=classes, stations=stations) if classes or stations else metrics


def _of_speeds(station: Metrics, place: PlannedStation, names: tuple[str, ...]) -> Metrics:
    """The utilization of a station with speeds: the work that it does, as a share of its highest speed."""
    if not place.speeds:
        return station
    means = dict(zip(names, (law.mean for law in place.service), strict=True))
    mean = max(means.values())
    if known := [c for c in station.classes if c.throughput > 0]:
        total = math.fsum(c.throughput for c in known)
        mean = math.fsum(c.throughput * means[c.name] for c in known) / total
    share = mean / max(place.speeds)
    low, high = station.intervals["throughput"]
    ends = (min(low * share, 1.0), min(high * share, 1.0))
    utilization = min(station.throughput * share, 1.0)
    return replace(station, utilization=utilization, intervals={**station.intervals, "utilization": ends})


def _station(whole: Metrics, plan: Plan, totals: RunTotals, part: int) -> Metrics:
    """A station, with the classes that come there; where one comes alone, its values are the station's."""
    index = plan.parts[part]
    place = plan.places[index]
    servers, name = place.all_servers, place.name
    station = _part(whole, totals.of_part[part], servers, name)
    names = plan.classes
    if len(names) == 1:
        return _of_speeds(station, place, names)
    if part not in totals.of_class_at:
        classes = tuple(replace(station, name=names[kind]) for kind in plan.kinds_at[index])
    else:
        classes = tuple(
            _known_part(whole, recorder, servers, names[kind])
            for kind, recorder in totals.of_class_at[part].recorders.items()
        )
    return _of_speeds(replace(station, classes=classes), place, names)


def _known_part(whole: Metrics, recorder: Recorder, servers: float, name: str) -> Metrics:
    """As :func:`_part`, but without values where too few came for an estimate."""
    try:
        return _part(whole, recorder, servers, name)
    except InvalidParameterError:
        unknown: dict[str, Any] = dict.fromkeys(SYMBOLS, math.nan)
        few = replace(whole, **unknown, kinds={}, intervals={}, states=None, times=None)
        warning = f"{name}: {recorder.customers} seen, too few for an estimate: give more customers"
        return replace(few, name=name, customers=recorder.customers, warmup=None, warnings=(warning,))


def _without_utilization(part: Metrics) -> Metrics:
    known = {name: ends for name, ends in part.intervals.items() if name != "utilization"}
    return replace(part, utilization=math.nan, intervals=known)


def _part(whole: Metrics, recorder: Recorder, servers: float, name: str) -> Metrics:
    """The Metrics of one class or station; its share of the warm-up is that of the whole."""
    assert whole.confidence is not None and whole.customers and whole.warmup is not None  # noqa: S101, PT018
    try:
        estimate = analyse(recorder, servers, min(0.9, whole.warmup / whole.customers), whole.confidence)
    except ValueError:
        raise InvalidParameterError(
            "customers",
            (
                f"must be more than {whole.customers} for an estimate of {name} of {whole.model.kendall}, of "
                f"which only {recorder.customers} were seen"
            ),
            "give more customers",
        ) from None
    values = estimate.values
    return Metrics(
        model=whole.model,
        throughput=values["throughput"],
        utilization=min(values["utilization"], 1.0),  # those at the ends of the run are counted as a whole
        L=values["L"],
        Lq=values["Lq"],
        W=values["W"],
        Wq=values["Wq"],
        p_wait=values["p_wait"],
        p_block=0.0,
        kind="simulated",
        method=whole.method,
        kinds={"p_block": "exact"},
        intervals=estimate.intervals,
        confidence=whole.confidence,
        customers=recorder.customers,
        warmup=estimate.warmup,
        seed=whole.seed,
        warnings=tuple(f"{name}: {complaint}" for complaint in estimate.complaints),
        name=name,
        times=estimate.times,
    )
