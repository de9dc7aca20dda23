"""From the totals of a run to Metrics: the whole, each class of customers, each station and the classes there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from qsim.engines.analysis import RunEstimate, analyse
from qsim.engines.plan import Plan, PlannedStation
from qsim.engines.recorder import Recorder
from qsim.engines.totals import Totals
from qsim.errors import InvalidParameterError
from qsim.metrics import SYMBOLS, Metrics


def metrics_of(whole: RunEstimate, plan: Plan, totals: Totals, facts: Mapping[str, Any]) -> Metrics:
    """The Metrics of a run: those of the ``whole``, with those of classes and stations as parts.

    ``facts`` are fields that all parts share: model, method, confidence, seed.
    """
    customers = totals.whole.customers
    share = min(0.9, whole.warmup / customers)  # that the parts leave out, too
    losses = plan.has_losses
    intervals = {name: ends for name, ends in _intervals(whole).items() if losses or name != "p_block"}
    result = replace(
        _metrics(whole, plan.servers, "", customers, facts),
        p_block=whole.values["p_block"],
        kinds={} if losses else {"p_block": "exact"},
        intervals=intervals,
    )
    classes = tuple(
        _part(recorder, plan.servers, plan.classes[kind], share, facts)
        for kind, recorder in totals.classes.recorders.items()
        if recorder.customers
    )
    if not plan.parts:
        result = replace(result, classes=classes)
        return _of_speeds(result, plan.listed[0], plan.classes) if len(plan.listed) == 1 else result
    # Servers all over the network have no common share: the whole has that of the busiest station.
    classes = tuple(_with_utilization(part, math.nan) for part in classes)
    stations = tuple(_station(plan, totals, place, share, facts) for place in plan.parts)
    busiest = max(stations, key=lambda station: station.utilization)
    result = _with_utilization(result, busiest.utilization, busiest.interval("utilization"))
    return replace(result, classes=classes, stations=stations)


def _metrics(estimate: RunEstimate, servers: float, name: str, customers: int, facts: Mapping[str, Any]) -> Metrics:
    values = estimate.values
    return Metrics.from_times(
        throughput=values["throughput"],
        service=values["service"],
        servers=servers,
        Wq=values["Wq"],
        p_wait=values["p_wait"],
        kind="simulated",
        kinds={"p_block": "exact"},
        intervals={name: ends for name, ends in _intervals(estimate).items() if name != "p_block"},
        customers=customers,
        warmup=estimate.warmup,
        warnings=tuple(f"{name}: {complaint}" if name else complaint for complaint in estimate.complaints),
        name=name,
        times=estimate.times,
        **facts,
    )


def _intervals(estimate: RunEstimate) -> dict[str, tuple[float, float]]:
    return {name: ends for name, ends in estimate.intervals.items() if name in SYMBOLS}


def _part(
    recorder: Recorder, servers: float, name: str, share: float, facts: Mapping[str, Any], *, needed: bool = True
) -> Metrics:
    """A class or station; of too few customers the values are unknown, an error where they are ``needed``."""
    try:
        estimate = analyse(recorder, servers, facts["confidence"], share=share)
    except InvalidParameterError:
        seen = recorder.customers
        if needed:
            problem = f"must be more for an estimate of {name} of {facts['model'].kendall}, which saw only {seen}"
            raise InvalidParameterError("customers", problem) from None
        unknown: dict[str, Any] = dict.fromkeys(SYMBOLS, math.nan)
        few = f"{name}: {seen} seen, too few for an estimate: give more customers"
        return Metrics(**unknown, kind="simulated", name=name, customers=seen, warnings=(few,), **facts)
    return _metrics(estimate, servers, name, recorder.customers, facts)


def _station(plan: Plan, totals: Totals, place: int, share: float, facts: Mapping[str, Any]) -> Metrics:
    """A station with the classes that come there; where one comes alone, its values are the station's."""
    planned, names = plan.places[place], plan.classes
    station = _part(totals.stations[place], planned.all_servers, planned.name, share, facts)
    classes = tuple(
        _part(recorder, planned.all_servers, names[kind], share, facts, needed=False)
        for kind, recorder in totals.classes_at[place].recorders.items()
    )
    if len(names) > 1 and not classes:
        classes = tuple(replace(station, name=names[kind]) for kind in planned.kinds)
    return _of_speeds(replace(station, classes=classes), planned, names)


def _of_speeds(station: Metrics, planned: PlannedStation, names: tuple[str, ...]) -> Metrics:
    """The utilization of a station with speeds: the work that it does, as a share of its highest speed."""
    if not planned.speeds:
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
