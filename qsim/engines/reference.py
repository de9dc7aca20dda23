"""The reference engine: SimPy processes, one per customer, in the order of the textbook.

This is the simulation to read.  The compiled engine does the same with the same random numbers and must come to
the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeAlias

import numpy as np
import simpy

from qsim.distributions import Deterministic
from qsim.engines.recorder import Recorder
from qsim.engines.streams import Uniform, VariateStream, spawn
from qsim.models import Closed, Model, Open

Progress = Callable[[float], object]
Process: TypeAlias = Generator[simpy.Event, Any, None]

CHUNK = 1000
"""Customers handed to the recorder at once."""


class Log:
    """Collects (gap, wait, service) of customers and ends the run after the last one."""

    def __init__(self, env: simpy.Environment, customers: int, recorder: Recorder, progress: Progress | None) -> None:
        self.complete = env.event()
        self._left = self._customers = customers
        self._recorder = recorder
        self._progress = progress
        self._rows: list[tuple[float, float, float]] = []

    def record(self, gap: float, wait: float, service: float) -> None:
        """One more customer."""
        if self._left == 0:
            return
        self._rows.append((gap, wait, service))
        self._left -= 1
        if len(self._rows) == CHUNK or self._left == 0:
            gaps, waits, services = np.array(self._rows).T.copy()
            self._recorder.add(gaps, waits, services)
            self._rows.clear()
            if self._progress is not None:
                self._progress(1 - self._left / self._customers)
        if self._left == 0:
            self.complete.succeed()


def run(model: Model, customers: int, seed: int, recorder: Recorder, progress: Progress | None) -> None:
    """Simulate until ``customers`` are recorded."""
    env = simpy.Environment()
    log = Log(env, customers, recorder, progress)
    if isinstance(model, Open):
        env.process(_source(env, model, seed, log))
    else:
        _start_population(env, model, seed, log)
    env.run(until=log.complete)


def _source(env: simpy.Environment, model: Open, seed: int, log: Log) -> Process:
    """Customers arrive, one after another, for ever."""
    arrivals, services = (
        VariateStream(distribution, s)
        for distribution, s in zip((model.arrivals, model.service), spawn(seed, 2), strict=True)
    )
    servers = simpy.Resource(env, capacity=model.servers)
    while True:
        gap = arrivals.next()
        yield env.timeout(gap)
        env.process(_customer(env, servers, services, gap, log))


def _customer(
    env: simpy.Environment, servers: simpy.Resource, services: VariateStream, gap: float, log: Log
) -> Process:
    """Queue for a server, be served, leave."""
    arrived = env.now
    with servers.request() as turn:
        yield turn
        service = services.next()
        log.record(gap, env.now - arrived, service)
        yield env.timeout(service)


def _start_population(env: simpy.Environment, model: Closed, seed: int, log: Log) -> None:
    """Everyone starts by thinking."""
    (station,) = model.queueing
    think = model.delays[0].distribution if model.delays else Deterministic(0.0)
    thinking, services, routes = (
        VariateStream(distribution, s)
        for distribution, s in zip((think, station.service, Uniform()), spawn(seed, 3), strict=True)
    )
    if station.queues == "random":
        queues = [simpy.Resource(env, capacity=1) for _ in range(station.servers)]
    else:
        queues = [simpy.Resource(env, capacity=station.servers)]
    last_finish = 0.0

    def finished(wait: float, service: float) -> None:
        nonlocal last_finish
        log.record(env.now - last_finish, wait, service)
        last_finish = env.now

    def customer(think_time: float) -> Process:
        yield env.timeout(think_time)
        while True:
            arrived = env.now
            queue = queues[0]
            if len(queues) > 1:
                queue = queues[int(routes.next() * len(queues))]
            with queue.request() as turn:
                yield turn
                wait = env.now - arrived
                service = services.next()
                yield env.timeout(service)
                finished(wait, service)
            think_time = thinking.next()
            if think_time > 0:
                yield env.timeout(think_time)

    for _ in range(model.population):
        env.process(customer(thinking.next()))
