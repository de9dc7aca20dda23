"""The curves of a model, solved and simulated: L, Lq, W, X over utilization (open) or requests in flight (closed)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from calibrate.lab.explore.settings import Settings
from qsim import Metrics, UnstableQueueError, asymptotic_bounds, simulate, solve
from qsim._types import FloatArray
from qsim.analytic import any_load
from qsim.analytic.any_load import nodes

QUANTITIES: Mapping[str, str] = {
    "L": "number present L",
    "Lq": "number waiting Lq",
    "W": "response time W",
    "throughput": "throughput X",
}
CUSTOMERS = 60_000
FAR = 512  # how far a closed model's axis reaches where its knee lies beyond
_RHOS = np.concatenate([np.linspace(0.01, 0.9, 50), 1 - np.geomspace(0.09, 0.02, 12)])
_SIMULATED_RHOS = (0.3, 0.6, 0.85)
_SIMULATED_SHARES = (0.1, 0.35, 0.8)
"""Places to simulate near the operating point: utilizations, and shares of the population's axis."""


@dataclass(frozen=True)
class Mark:
    """One value of each quantity at ``x``, with its interval (both ends equal where it is exact)."""

    x: float
    values: Mapping[str, tuple[float, float, float]]


@dataclass(frozen=True)
class TheoryCurves:
    """``lines`` maps each quantity to its values at ``x``; ``bounds`` to lines that it cannot cross.

    ``here`` is where the student is, None where the queue is unstable; ``simulated`` are runs of the engine.
    """

    x: Sequence[float]
    x_title: str
    lines: Mapping[str, Sequence[float]]
    bounds: Mapping[str, Sequence[Sequence[float]]]
    knee: float | None
    here: Mark | None
    metrics: Metrics | None
    simulated: tuple[Mark, ...] = field(default=())


def curves_of(settings: Settings) -> TheoryCurves:
    """The theory's curves around the settings."""
    return _over_utilization(settings) if settings.is_open else _over_population(settings)


def with_simulation(settings: Settings, curves: TheoryCurves, seed: int, customers: int = CUSTOMERS) -> TheoryCurves:
    """The same with simulated values at the operating point and at a few places near it, the same for a seed."""
    if settings.is_open:
        places = [
            (rho, replace(settings, arrival_rate=rho * settings.servers / settings.service_time))
            for rho in _SIMULATED_RHOS
        ]
    else:
        counts = sorted({max(1, round(curves.x[-1] * share)) for share in _SIMULATED_SHARES})
        places = [(float(n), replace(settings, population=n)) for n in counts]
    if curves.here is not None:
        places.append((curves.here.x, settings))
    return replace(curves, simulated=tuple(Mark(x, _run(there, customers, seed)) for x, there in places))


@lru_cache(maxsize=1024)  # the places near the operating point stay where they are while it moves
def _run(settings: Settings, customers: int, seed: int) -> Mapping[str, tuple[float, float, float]]:
    run = simulate(settings.model(), customers=customers, seed=seed, allow_short=True)
    return {name: (getattr(run, name), *run.interval(name)) for name in QUANTITIES}


def _over_utilization(settings: Settings) -> TheoryCurves:
    rates = _RHOS * settings.servers / settings.service_time
    solved = [solve(settings.at_rate(float(rate))) for rate in rates]
    try:
        metrics = solve(settings.model())
    except UnstableQueueError:
        metrics = None
    return TheoryCurves(
        x=_RHOS.tolist(),
        x_title="utilization ρ = λS/c",
        lines={name: [getattr(m, name) for m in solved] for name in QUANTITIES},
        bounds={},
        knee=None,
        metrics=metrics,
        here=None if metrics is None else _mark(settings.utilization, metrics),
    )


def _over_population(settings: Settings) -> TheoryCurves:
    cycle = settings.think_time + settings.service_time
    knee = cycle * settings.servers / settings.service_time
    most = min(max(FAR, 2 * settings.population), max(2 * settings.population, math.ceil(2 * knee), 8))
    populations = np.unique(np.linspace(1, most, 60).round().astype(int))
    solved = [solve(settings.at_population(n)) for n in populations.tolist()]
    limits = asymptotic_bounds(populations, settings.think_time, [settings.service_time], servers=[settings.servers])
    metrics = solve(settings.model())
    return TheoryCurves(
        x=populations.tolist(),
        x_title="requests in flight N",
        lines={name: [getattr(at, name) for at in solved] for name in QUANTITIES},
        bounds={
            "throughput": [limits.throughput_high.tolist(), limits.throughput_low.tolist()],
            "W": [limits.response_time_low.tolist(), limits.response_time_high.tolist()],
        },
        knee=limits.knee,
        metrics=metrics,
        here=_mark(settings.population, metrics),
    )


def _mark(x: float, metrics: Metrics) -> Mark:
    return Mark(x, {name: (getattr(metrics, name),) * 3 for name in QUANTITIES})


@dataclass(frozen=True)
class LoadCurve:
    """A device under one kind of load: its throughputs and its mean responses, and ``here`` at the throughput now."""

    name: str
    throughput: FloatArray
    response: FloatArray
    here: float | None

    def response_at(self, throughput: float) -> float | None:
        """The mean response at a throughput; None where the load cannot have it."""
        if not self.throughput[0] <= throughput <= self.throughput[-1]:
            return None
        return float(np.interp(throughput, self.throughput, self.response))


MOST_USERS = 20_000
THINKS = 10.0  # think time in service times where the model has none


def under_three_loads(settings: Settings, now: float | None) -> dict[str, LoadCurve]:
    """The device of the settings under strangers (Poisson), thinking users and a fixed number in flight.

    All three from one curve X(n) = min(n, c) / S. ``now`` is the throughput at which they are compared, None where
    there is none.
    """
    servers, service = settings.servers, settings.service_time
    n = nodes(FAR + 8 * servers)
    device = any_load.Curves(n, np.log(np.minimum(n, servers) / service)[None])
    variability = (1 + settings.law().scv) / 2
    think = thinking_time(settings)
    last = min(max(3 * (think + service) * servers / service, 8), MOST_USERS)
    users = np.unique(np.round(np.geomspace(1, last, 60)))
    at = [device.under_thinking(float(count), think, variability) for count in users]
    thinking = np.array([(float(p.throughput[0]), float(p.response[0])) for p in at]).T
    rates = _RHOS * servers / service
    opened = np.array([float(device.under_arrivals(rate, variability).response[0]) for rate in rates])
    counts = np.arange(1, 4 * servers + 5)
    closed = np.minimum(counts, servers) / service
    found = (
        LoadCurve("open: strangers come at a rate", rates, opened, None),
        LoadCurve(f"thinking: users who think for {think:.3g}", thinking[0], thinking[1], None),
        LoadCurve("closed: N in flight, as fio and wrk", closed, counts / closed, None),
    )
    loads = dict(zip(("open", "thinking", "closed"), found, strict=True))
    if now is None:
        return loads
    loads = {kind: replace(load, here=load.response_at(now)) for kind, load in loads.items()}
    strangers = float(device.under_arrivals(now, variability).response[0])
    return {**loads, "open": replace(loads["open"], here=strangers if math.isfinite(strangers) else None)}


def thinking_time(settings: Settings) -> float:
    """The think time of the users that are compared with other loads."""
    circles = not settings.is_open and settings.think_time > 0
    return settings.think_time if circles else THINKS * settings.service_time
