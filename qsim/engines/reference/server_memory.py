"""Servers that are not all alike and always ready: which one takes a customer, and what it does before."""

from __future__ import annotations

import math
from dataclasses import dataclass

from qsim.engines.network_plan import LONG_AGO, Equipment
from qsim.engines.reference.customer import Customer
from qsim.engines.reference.draws import Draws


@dataclass
class MindfulServer:
    """What it works on, what it served last, since when it is idle, its pace, and the work until it breaks down."""

    pace: float
    customer: Customer | None = None
    kind: int | None = None
    since: float = -math.inf
    left: float | None = None


class ServerMemory:
    """The servers of one queue."""

    def __init__(self, station: int, paces: tuple[float, ...], own: Equipment, draws: Draws) -> None:
        self._station, self._own, self._draws = station, own, draws
        self._servers = [MindfulServer(pace) for pace in paces]

    def begin(self, customer: Customer, now: float) -> None:
        """Of the idle servers the fastest, and of those the last that fell idle; it comes back, wakes up, and turns.

        All of that counts as waiting, and repairs do.
        """
        idle = [server for server in self._servers if server.customer is None]
        server = max(idle, key=lambda server: (server.pace, server.since))
        before = 0.0
        if self._own.setup[customer.kind] is not None and now - server.since > self._own.off_after:
            before += self._draws.setup(self._station, customer.kind)
        turns = not self._own.polling and self._own.turnaround[customer.kind] is not None
        if turns and server.kind not in (None, customer.kind):
            before += self._draws.turnaround(self._station, customer.kind)
        if self._own.vacation is not None and now > server.since > -math.inf:
            before += self._away(server, self._own.vacation.mean, now)
        customer.service_time /= server.pace
        before += self.repairs(server, customer.service_time)
        customer.work = before + customer.service_time
        customer.wait += before
        server.customer, server.kind = customer, customer.kind

    def again(self, customer: Customer, work: float) -> None:
        """Its server does this work, too, for one that has to stay."""
        server = self._server_of(customer)
        work /= server.pace
        repairs = self.repairs(server, work)
        customer.work = work + repairs
        customer.service_time += work
        customer.wait += repairs

    def _away(self, server: MindfulServer, mean: float, now: float) -> float:
        """The rest of the vacation that a server is on; whole means of a long idle time are left out."""
        idle = now - server.since
        back = -idle + max(0, math.floor(idle / mean) - LONG_AGO) * mean + self._draws.vacation(self._station)
        while back < 0 and not self._own.single:
            back += self._draws.vacation(self._station)
        return max(back, 0.0)

    def repairs(self, server: MindfulServer, work: float) -> float:
        """How long a server is down while it does this work."""
        down = 0.0
        if self._own.uptime is not None:
            if server.left is None:
                server.left = self._draws.uptime(self._station)
            while work > server.left:
                work -= server.left
                down += self._draws.repair(self._station)
                server.left = self._draws.uptime(self._station)
            server.left -= work
        return down

    def _server_of(self, customer: Customer) -> MindfulServer:
        return next(server for server in self._servers if server.customer is customer)

    def end(self, customer: Customer, now: float) -> None:
        """The server is idle from now on, if only for an instant."""
        server = self._server_of(customer)
        server.customer, server.since = None, now
