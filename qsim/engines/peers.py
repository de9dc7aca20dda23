"""The same queues in other simulators, to compare speed with: bare SimPy, and Ciw where it is installed.

Bare SimPy is what a user would write in twenty lines: one process per customer, random numbers of Python's own
``random``, and a running sum for statistics.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from qsim.analytic.shape import markovian
from qsim.distributions import Exponential
from qsim.models import Closed, Model, Open

Run = Callable[[Model, int, int], object]


def peers_of(model: Model) -> dict[str, Run]:
    """The peers that can run this model, by name; each takes a model, customers and a seed."""
    if isinstance(model, Open):
        if not (model.plain and model.capacity is None and markovian(model)):
            return {}
        ciw: dict[str, Run] = {"ciw": _ciw} if find_spec("ciw") is not None else {}
        return {"simpy": _simpy_open, **ciw}
    if isinstance(model, Closed) and len(model.queueing) == 1 and isinstance(model.queueing[0].service, Exponential):
        return {"simpy": _simpy_closed}
    return {}


def _simpy_open(model: Any, customers: int, seed: int) -> float:
    """Mean waiting time of M/M/c by bare SimPy."""
    import simpy

    draw = random.Random(seed).expovariate
    env = simpy.Environment()
    servers = simpy.Resource(env, capacity=model.servers)
    waited = 0.0

    def customer() -> Generator[simpy.Event, Any, None]:
        nonlocal waited
        arrived = env.now
        with servers.request() as turn:
            yield turn
            waited += env.now - arrived
            yield env.timeout(draw(model.service_rate))

    def source() -> Generator[simpy.Event, Any, None]:
        for _ in range(customers):
            yield env.timeout(draw(model.arrival_rate))
            env.process(customer())

    env.process(source())
    env.run()
    return waited / customers


def _simpy_closed(model: Any, customers: int, seed: int) -> float:
    """Mean waiting time of M/M/c//N, one queue or one for each server, by bare SimPy."""
    import simpy

    rng = random.Random(seed)
    draw = rng.expovariate
    station = model.queueing[0]
    think, rate = model.think_time, 1 / station.service.mean
    env = simpy.Environment()
    own = station.queues == "random"
    queues = [simpy.Resource(env, 1 if own else station.servers) for _ in range(station.servers if own else 1)]
    waited, left = 0.0, customers
    complete = env.event()

    def customer() -> Generator[simpy.Event, Any, None]:
        nonlocal waited, left
        while left > 0:
            yield env.timeout(draw(1 / think) if think > 0 else 0.0)
            arrived = env.now
            with rng.choice(queues).request() as turn:
                yield turn
                waited += env.now - arrived
                yield env.timeout(draw(rate))
            left -= 1
        if not complete.triggered:
            complete.succeed()

    for _ in range(model.population):
        env.process(customer())
    env.run(until=complete)
    return waited / customers


def _ciw(model: Any, customers: int, seed: int) -> object:
    """M/M/c in Ciw."""
    ciw: Any = import_module("ciw")
    network = ciw.create_network(
        arrival_distributions=[ciw.dists.Exponential(model.arrival_rate)],
        service_distributions=[ciw.dists.Exponential(model.service_rate)],
        number_of_servers=[model.servers],
    )
    ciw.seed(seed)
    simulation = ciw.Simulation(network)
    simulation.simulate_until_max_customers(customers)
    return simulation
