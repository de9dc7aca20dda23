"""The queue of the textbook: first come, first served, at constant speed.  It is SimPy's own Resource."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, Protocol, TypeAlias

import simpy

from qsim.engines.reference.customer import Customer

Process: TypeAlias = Generator[simpy.Event, Any, None]


class LimitedPlaces(Protocol):
    """The station that follows, as far as a queue must know it."""

    limited: bool

    def reserve(self) -> simpy.Event:
        """Take a place, as soon as there is one."""
        ...


class Queue(Protocol):
    """A queue and its servers."""

    @property
    def present(self) -> int:
        """How many customers wait or are in service."""
        ...

    def serve(self, customer: Customer, following: LimitedPlaces | None) -> Process:
        """Wait and be served; keep the server until the following station has a place."""
        ...


class FirstComeQueue:
    """First come, first served."""

    def __init__(self, env: simpy.Environment, servers: float) -> None:
        self._env = env
        self._servers = simpy.Resource(env, capacity=math.inf if servers == math.inf else int(servers))  # type: ignore[arg-type]

    @property
    def present(self) -> int:
        return self._servers.count + len(self._servers.queue)

    def serve(self, customer: Customer, following: LimitedPlaces | None) -> Process:
        with self._servers.request() as turn:
            yield turn
            started = self._env.now
            customer.wait = started - customer.arrived
            customer.service = customer.service_time
            yield self._env.timeout(customer.service_time)
            if following is not None and following.limited:
                yield following.reserve()
                customer.service = self._env.now - started
