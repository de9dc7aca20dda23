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
    result = _metrics(whole, plan.servers, "", customers, facts, losses=plan.has_losses)
    classes = tuple(
        _part(recorder, plan.servers, plan.classes[kind], share, facts)
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


def _metrics(
    estimate: RunEstimate, servers: float, name: str, customers: int, facts: Mapping[str, Any], *, losses: bool = False
) -> Metrics:
    """Without ``losses`` it is certain that nobody is lost."""
    values = estimate.values
    certain = () if losses else ("p_block",)
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


def _part(recorder: Recorder, servers: float, name: str, share: float, facts: Mapping[str, Any]) -> Metrics:
    """A class or station; of too few customers the values are unknown, and a warning says so."""
    try:
        estimate = analyse(recorder, servers, facts["confidence"], share=share)
    except InvalidParameterError:
        seen = recorder.customers
        unknown: dict[str, Any] = dict.fromkeys(SYMBOLS, math.nan)
        few = f"{name}: {seen} seen, too few for an estimate: give more customers"
        return Metrics(**unknown, kind="simulated", name=name, customers=seen, warnings=(few,), **facts)
    return _metrics(estimate, servers, name, recorder.customers, facts)


def _station(plan: Plan, totals: Totals, place: int, share: float, facts: Mapping[str, Any]) -> Metrics:
    """A station with the classes that come there; where one comes alone, its values are the station's."""
    planned, names = plan.places[place], plan.classes
    station = _part(totals.stations[place], planned.all_servers, planned.name, share, facts)
    classes = tuple(
        _part(recorder, planned.all_servers, names[kind], share, facts)
        for kind, recorder in totals.classes_at[place].recorders.items()
    )
    if len(names) > 1 and not classes:
        classes = tuple(replace(station, name=names[kind]) for kind in planned.kinds)
    return _of_speeds(replace(station, classes=classes), planned, names)


def _of_speeds(station: Metrics, planned: PlannedStation, names: tuple[str, ...]) -> Metrics:
    """The utilization of a station with speeds: the work that it does, as a share of its highest speed."""
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
