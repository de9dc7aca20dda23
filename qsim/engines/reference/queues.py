"""The queue of the textbook: first come, first served, at constant speed.  It is SimPy's own Resource."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeAlias

import simpy

from qsim.engines.reference.customer import Customer

Process: TypeAlias = Generator[simpy.Event, Any, None]
Finished: TypeAlias = Callable[[Customer], object]


class Queue(Protocol):
    """A queue and its servers; it calls back when a customer has been served and has given its server up."""

    @property
    def present(self) -> int:
        """How many customers wait or are in service."""
        ...

    def join(self, customer: Customer) -> None:
        """Wait, or be served at once."""
        ...


class FirstComeQueue:
    """First come, first served."""

    def __init__(self, env: simpy.Environment, servers: float, finished: Finished) -> None:
        self._env = env
        self._finished = finished
        self._servers = simpy.Resource(env, capacity=math.inf if servers == math.inf else int(servers))  # type: ignore[arg-type]

    @property
    def present(self) -> int:
        return self._servers.count + len(self._servers.queue)

    def join(self, customer: Customer) -> None:
        self._env.process(self._serve(customer))

    def _serve(self, customer: Customer) -> Process:
        with self._servers.request() as turn:
            yield turn
            customer.wait = self._env.now - customer.arrived
            yield self._env.timeout(customer.service_time)
        customer.service = customer.service_time
        self._finished(customer)
