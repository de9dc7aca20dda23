"""Servers that are not all alike and always ready: which one takes a customer, and what it does before."""

from __future__ import annotations

import math
from dataclasses import dataclass

from qsim.engines.network_plan import Equipment
from qsim.engines.reference.customer import Customer
from qsim.engines.reference.draws import Draws


@dataclass
class MindfulServer:
    """What it works on, what it served last, since when it is idle, and its pace."""

    pace: float
    customer: Customer | None = None
    kind: int | None = None
    since: float = -math.inf


class ServerMemory:
    """The servers of one queue."""

    def __init__(self, station: int, paces: tuple[float, ...], own: Equipment, draws: Draws) -> None:
        self._station, self._own, self._draws = station, own, draws
        self._servers = [MindfulServer(pace) for pace in paces]

    def begin(self, customer: Customer, now: float) -> None:
        """Of the idle servers the fastest, and of those the last that fell idle; it wakes up, and turns to the class.

        All of that counts as waiting.
        """
        idle = [server for server in self._servers if server.customer is None]
        server = max(idle, key=lambda server: (server.pace, server.since))
        before = 0.0
        if self._own.setup[customer.kind] is not None and now - server.since > self._own.off_after:
            before += self._draws.setup(self._station, customer.kind)
        if self._own.turnaround[customer.kind] is not None and server.kind not in (None, customer.kind):
            before += self._draws.turnaround(self._station, customer.kind)
        customer.service_time /= server.pace
        customer.work = before + customer.service_time
        customer.wait += before
        server.customer, server.kind = customer, customer.kind

    def pace_of(self, customer: Customer) -> float:
        """The pace of the server that has it."""
        return next(server.pace for server in self._servers if server.customer is customer)

    def end(self, customer: Customer, now: float) -> None:
        """The server is idle from now on, if only for an instant."""
        server = next(server for server in self._servers if server.customer is customer)
        server.customer, server.since = None, now
