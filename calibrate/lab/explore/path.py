"""Sample paths: one short stretch of a queue's life, and of another system on the same random numbers."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrate.lab.explore.settings import Settings
from qsim import MD1, MMc, UnstableQueueError, solve
from qsim._types import FloatArray
from qsim.engines.trace import FreeTimes, SamplePath

REQUESTS = 80
ROUNDS = 4
RUNS, MANY_REQUESTS, MANY_TIMES = 20, 400, 100


@dataclass(frozen=True)
class SampleStretch(SamplePath):
    """A path with its number of servers, and of requests that circle (None where they come from outside)."""

    servers: int
    population: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, for the page's animation."""
        times = {name: getattr(self, name).tolist() for name in ("arrival", "start", "finish", "server")}
        return {**times, "servers": self.servers, "population": self.population}

    @property
    def end(self) -> float:
        """When the picture ends: at the last arrival, after which the queue only empties."""
        return float(self.arrival[-1])

    def steps(self) -> tuple[list[float], list[int]]:
        """N(t) as steps: the times at which it changes, and the number present from then on."""
        left = self.finish[self.finish <= self.end]
        times = np.append(left, self.arrival)
        steps = np.append(np.full(len(left), -1), np.ones(len(self.arrival), int))
        order = np.argsort(times, kind="stable")
        return [0.0, *times[order].tolist()], [0, *steps[order].cumsum().tolist()]

    def averages(self, times: FloatArray) -> FloatArray:
        """The average of N(t) from the start to each of ``times``, none of them after the end."""
        changes, counts = (np.array(values, dtype=float) for values in self.steps())
        areas = np.concatenate([[0.0], np.cumsum(np.diff(changes) * counts[:-1])])
        at = np.searchsorted(changes, times, side="right") - 1
        return np.asarray((areas[at] + (times - changes[at]) * counts[at]) / times)

    def mean_present(self) -> float:
        """The time average of N(t) over the picture."""
        times, counts = self.steps()
        return float(np.dot(np.diff([*times, self.end]), counts) / self.end) if self.end > 0 else 0.0


def path_of(settings: Settings, seed: int, requests: int = REQUESTS) -> SampleStretch:
    """A path of the model, the same for a seed; an overloaded queue has one too.

    First come first served, in plain Python: the page shows it before any engine is loaded.
    """
    rng = np.random.default_rng(seed)
    if not settings.is_open:
        return _circling(settings, rng, requests)
    arrivals = np.cumsum(rng.exponential(1 / settings.arrival_rate, requests))
    return served(arrivals, settings.law().sample(rng, requests), settings.servers)


@dataclass(frozen=True)
class ManyRuns:
    """Independent runs, each of which starts empty: at ``times`` (k,) the averages of N(t) until then, (runs, k)."""

    times: FloatArray
    averages: FloatArray
    requests: int

    def in_words(self, mean: float | None) -> str:
        """Between what the averages lie at last."""
        low, high = float(self.averages[:, -1].min()), float(self.averages[:, -1].max())
        theory = "the queue has no mean" if mean is None else f"theory says {mean:.3g}"
        found = f"the averages of {RUNS} runs lie between {low:.3g} and {high:.3g}"
        return f"After {self.requests} requests {found}; {theory}. Each run starts empty."


def many_runs(settings: Settings, seed: int) -> ManyRuns:
    """The averages of ``RUNS`` runs of the model, the same for a seed."""
    paths = [path_of(settings, RUNS * seed + run, MANY_REQUESTS) for run in range(RUNS)]
    end = min(path.end for path in paths)
    times = end * np.linspace(1 / MANY_TIMES, 1, MANY_TIMES)
    return ManyRuns(times, np.array([path.averages(times) for path in paths]), MANY_REQUESTS)


def served(arrivals: np.ndarray[Any, Any], services: np.ndarray[Any, Any], servers: int) -> SampleStretch:
    """The path of given arrivals and service times."""
    line = FreeTimes(servers)
    steps = [line.admit(arrival, service) for arrival, service in zip(arrivals, services, strict=True)]
    starts = np.array([start for start, _ in steps])
    return SampleStretch(arrivals, starts, starts + services, np.array([server for _, server in steps]), servers)


def _circling(settings: Settings, rng: np.random.Generator, requests: int) -> SampleStretch:
    """N requests circle: each thinks, queues for the first free server, is served, and thinks again, several times."""
    thinking = rng.exponential(settings.think_time, settings.population).tolist()
    heapq.heapify(thinking)
    line, rows = FreeTimes(settings.servers), list[tuple[float, float, float, int]]()
    while len(rows) < max(requests, ROUNDS * settings.population):
        arrival, service = thinking[0], float(rng.exponential(settings.service_time))
        start, server = line.admit(arrival, service)
        rows.append((arrival, start, start + service, server))
        heapq.heapreplace(thinking, start + service + float(rng.exponential(settings.think_time)))
    arrivals, starts, finishes, servers = map(np.array, zip(*rows, strict=True))
    return SampleStretch(arrivals, starts, finishes, servers, settings.servers, settings.population)


@dataclass(frozen=True)
class Rival:
    """The other system: its name, its path, and its mean W (None where unknown)."""

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
        name, services = f"one server, {count} times as fast", (path.finish - path.start) / count
        model = MMc(rate, count / settings.service_time, 1)
    else:
        name, services = "M/D/1, constant service times", np.full(len(path.arrival), settings.service_time)
        model = MD1(rate, settings.service_time)
    try:
        mean = float(solve(model).W)
    except UnstableQueueError:
        mean = None
    return Rival(name, served(path.arrival, services, 1), mean)


def comparison(settings: Settings, path: SampleStretch, rival: Rival, own_mean: float | None) -> str:
    """Both mean response times, of these requests and in the long run."""
    name = {"mm1": "M/M/1", "mmc": f"{settings.servers} servers", "mg1": "M/G/1"}[settings.kind]
    own, other = path.response.mean(), rival.path.response.mean()
    text = f"The same arrivals: W of these {len(path.arrival)} requests is {own:.3g} with {name} and "
    text += f"{other:.3g} with {rival.name}"
    if own_mean is None or rival.mean_response is None:
        return f"{text}."
    return f"{text}; in the long run {own_mean:.3g} and {rival.mean_response:.3g}."
