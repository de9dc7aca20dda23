"""The same queues in other simulators, to compare speed with: bare SimPy, and Ciw where it is installed.

Bare SimPy is what a user would write in twenty lines: one process per customer, random numbers of Python's own
``random``, and a running sum for statistics.
"""

from __future__ import annotations

import random
from bisect import bisect
from collections.abc import Callable, Generator
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from typing import Any

from qsim.analytic.shape import markovian
from qsim.distributions import Exponential
from qsim.models import Closed, Model, Network, Open
from qsim.models.routed import ONLY_CLASS

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
    if isinstance(model, Network) and _is_plain(model):
        return {"simpy": _simpy_network}
    return {}


def _is_plain(model: Network) -> bool:
    """Exponential times and first come first served, one class from outside, places without limit."""
    return (
        not model.can_lose()
        and all(node.plain for node in model.nodes.values())
        and model.classes == (ONLY_CLASS,)
        and all(isinstance(law, Exponential) for places in model.arrivals.values() for law in places.values())
        and all(isinstance(n.service, Exponential) and n.discipline == "FCFS" for n in model.nodes.values())
    )


def _simpy_network(model: Any, customers: int, seed: int) -> float:
    """Mean time in an open network by bare SimPy."""
    import simpy

    generator = random.Random(seed)
    draw = generator.expovariate
    env = simpy.Environment()
    servers = {name: simpy.Resource(env, capacity=int(node.servers)) for name, node in model.nodes.items()}
    rates = {name: 1 / node.service.mean for name, node in model.nodes.items()}
    onwards = {
        name: ([to for to, _, _ in ways], list(accumulate(p for _, _, p in ways)))
        for name in model.nodes
        for ways in [list(model.ways(name, ONLY_CLASS))]
    }
    spent, left = 0.0, 0
    complete = env.event()

    def customer(name: str) -> Generator[simpy.Event, Any, None]:
        nonlocal spent, left
        arrived = env.now
        while name:
            with servers[name].request() as turn:
                yield turn
                yield env.timeout(draw(rates[name]))
            following, upto = onwards[name]
            chosen = bisect(upto, generator.random())
            name = following[chosen] if chosen < len(following) else ""
        spent += env.now - arrived
        left += 1
        if left == customers:
            complete.succeed()

    def source(name: str, rate: float) -> Generator[simpy.Event, Any, None]:
        while True:
            yield env.timeout(draw(rate))
            env.process(customer(name))

    for name, law in model.arrivals[ONLY_CLASS].items():
        env.process(source(name, 1 / law.mean))
    env.run(until=complete)
    return spent / customers


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
