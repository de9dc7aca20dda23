"""Sample paths: one short stretch of a queue's life, and of another system on the same random numbers."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from calibrate.lab.explore.settings import Settings
from qsim import MD1, MMc, UnstableQueueError, solve
from qsim.engines.trace import Servers

REQUESTS = 80
ROUNDS = 4


@dataclass(frozen=True)
class SampleStretch:
    """One entry per request in order of arrival, in the model's time unit; servers are counted from 0.

    ``population`` is how many requests circle; None where they come from outside.
    """

    arrival: list[float]
    start: list[float]
    finish: list[float]
    server: list[int]
    servers: int
    population: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, for the page's animation."""
        return {
            "arrival": self.arrival,
            "start": self.start,
            "finish": self.finish,
            "server": self.server,
            "servers": self.servers,
            "population": self.population,
        }

    @property
    def end(self) -> float:
        """When the picture ends: at the last arrival, after which the queue only empties."""
        return self.arrival[-1]

    def present(self) -> tuple[list[float], list[int]]:
        """N(t) as steps: the times at which it changes, and the number present from then on."""
        changes = sorted([(t, 1) for t in self.arrival] + [(t, -1) for t in self.finish if t <= self.end])
        times, counts, here = [0.0], [0], 0
        for time, step in changes:
            here += step
            times.append(time)
            counts.append(here)
        return times, counts

    def mean_response(self) -> float:
        """The mean time from arrival to finish."""
        return float(np.mean(np.subtract(self.finish, self.arrival)))

    def mean_present(self) -> float:
        """The time average of N(t) over the picture."""
        times, counts = self.present()
        spans = np.diff([*times, self.end])
        return float(np.dot(spans, counts) / self.end) if self.end > 0 else 0.0


def path_of(settings: Settings, seed: int) -> SampleStretch:
    """A path of the model, the same for a seed; an overloaded queue has one too.

    First come first served by the server that has been free the longest, in plain Python: the page shows it before any
    engine is loaded.
    """
    return _open(settings, seed) if settings.is_open else _closed(settings, seed)


def _open(settings: Settings, seed: int) -> SampleStretch:
    rng = np.random.default_rng(seed)
    arrivals = np.cumsum(rng.exponential(1 / settings.arrival_rate, REQUESTS))
    return served(settings, arrivals.tolist(), settings.law().sample(rng, REQUESTS).tolist())


def served(settings: Settings, arrivals: Sequence[float], services: Sequence[float]) -> SampleStretch:
    """The path of given arrivals and service times, first come first served."""
    path, servers = _empty_path(settings), Servers(settings.servers)
    for arrival, service in zip(arrivals, services, strict=True):
        _serve(path, servers, arrival, service)
    return path


def _closed(settings: Settings, seed: int) -> SampleStretch:
    """N requests circle: each thinks, queues for the first free server, is served, and thinks again, several times."""
    requests = max(REQUESTS, ROUNDS * settings.population)
    rng = np.random.default_rng(seed)
    thinking = [float(t) for t in rng.exponential(settings.think_time, settings.population)]
    heapq.heapify(thinking)
    path, servers = _empty_path(settings), Servers(settings.servers)
    while len(path.arrival) < requests and thinking:
        finish = _serve(path, servers, heapq.heappop(thinking), float(rng.exponential(settings.service_time)))
        heapq.heappush(thinking, finish + float(rng.exponential(settings.think_time)))
    return path


def _empty_path(settings: Settings) -> SampleStretch:
    return SampleStretch([], [], [], [], settings.servers, None if settings.is_open else settings.population)


def _serve(path: SampleStretch, servers: Servers, arrival: float, service: float) -> float:
    """Add a request that arrives after all others to ``path``; when it is done."""
    start, server = servers.admit(arrival, service)
    path.arrival.append(arrival)
    path.start.append(start)
    path.finish.append(start + service)
    path.server.append(server)
    return start + service


@dataclass(frozen=True)
class Rival:
    """The other system: its name, its path, and its W in the long run (None where it has none)."""

    name: str
    path: SampleStretch
    mean_response: float | None


def rival_of(settings: Settings, path: SampleStretch) -> Rival | None:
    """Constant service for one server, and one fast server for several; None for a closed system.

    Arrivals are those of ``path``, and the fast server takes its service times divided by their number.
    """
    if not settings.is_open:
        return None
    rate, count = settings.arrival_rate, settings.servers
    if settings.kind == "mmc":
        name = f"one server, {count} times as fast"
        services = [(finish - start) / count for start, finish in zip(path.start, path.finish, strict=True)]
        model = MMc(rate, count / settings.service_time, 1)
    else:
        name = "M/D/1, constant service times"
        services = [settings.service_time] * len(path.arrival)
        model = MD1(rate, settings.service_time)
    try:
        mean = float(solve(model).W)
    except UnstableQueueError:
        mean = None
    return Rival(name, served(replace(settings, servers=1), path.arrival, services), mean)


def comparison(settings: Settings, path: SampleStretch, rival: Rival, own_mean: float | None) -> str:
    """Both mean response times, of these requests and in the long run."""
    name = {"mm1": "M/M/1", "mmc": f"{settings.servers} servers", "mg1": "M/G/1"}[settings.kind]
    text = f"The same arrivals: W of these {len(path.arrival)} requests is {path.mean_response():.3g} with {name} and "
    text += f"{rival.path.mean_response():.3g} with {rival.name}"
    if own_mean is None or rival.mean_response is None:
        return f"{text}."
    return f"{text}; in the long run {own_mean:.3g} and {rival.mean_response:.3g}."
