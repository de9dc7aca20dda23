"""Every random choice of a run by its name; each comes from a stream of its own."""

from __future__ import annotations

import math

from qsim.engines.network_plan import NetworkPlan
from qsim.engines.plan import Plan
from qsim.engines.variates.variate_streams import (
    ARRIVALS,
    BALK,
    NEXT,
    ORDER,
    PATIENCE,
    REPAIR,
    ROUTE,
    SERVICE,
    SETUP,
    THINK,
    TURNAROUND,
    UPTIME,
    VACATION,
    VISITS,
    Role,
    streams_of,
)


class Draws:
    """The next variate of each role.  The compiled engine draws the same ones in the same order."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self._plan = plan
        self._streams, _ = streams_of(plan, seed)

    def time_between_arrivals(self, kind: int) -> float:
        """The time from one arrival from outside to the next."""
        return self._streams[Role(ARRIVALS, kind=kind)].next()

    def service_time(self, station: int, kind: int) -> float:
        """The service time a customer brings to a station."""
        return self._streams[Role(SERVICE, station, kind)].next()

    def setup(self, station: int, kind: int) -> float:
        """The time to wake a server."""
        return self._streams[Role(SETUP, station, kind)].next()

    def turnaround(self, station: int, kind: int) -> float:
        """The time to turn a server to this class."""
        return self._streams[Role(TURNAROUND, station, kind)].next()

    def vacation(self, station: int) -> float:
        """How long a server goes away."""
        return self._streams[Role(VACATION, station)].next()

    def uptime(self, station: int) -> float:
        """How long a server works until it breaks down."""
        return self._streams[Role(UPTIME, station)].next()

    def repair(self, station: int) -> float:
        """How long a server is down."""
        return self._streams[Role(REPAIR, station)].next()

    def patience(self, station: int) -> float:
        """How long a customer waits before it gives up."""
        return self._streams[Role(PATIENCE, station)].next()

    def balks(self, station: int, present: int) -> bool:
        """Whether an arrival that finds so many does not join."""
        balking = self._plan.places[station].balking
        return bool(balking) and self._streams[Role(BALK, station)].next() < balking[min(present, len(balking) - 1)]

    def think_time(self, station: int, kind: int) -> float:
        """The delay between a station and the next."""
        stream = self._streams.get(Role(THINK, station, kind))
        return stream.next() if stream is not None else 0.0

    def visits(self, station: int, kind: int) -> int:
        """The number of visits to a station in one cycle: the mean if it is whole, else one of its neighbours."""
        mean = self._plan.places[station].visits[kind]
        whole = math.floor(mean)
        if mean > whole and self._streams[Role(VISITS, station)].next() < mean - whole:
            whole += 1
        return whole

    def queue(self, station: int, number: int) -> int:
        """One of a station's queues, all equally likely."""
        return _one_of(number, self._streams[Role(ROUTE, station)].next())

    def way(self, station: int, kind: int) -> tuple[int, int]:
        """Where a customer goes next, and in which class."""
        assert isinstance(self._plan, NetworkPlan)  # noqa: S101
        ways = self._plan.ways[station][kind]
        uniform = self._streams[Role(NEXT, station, kind)].next() if len(ways) > 1 else 0.0
        return next((to, becoming) for upto, to, becoming in ways if uniform < upto)

    def waiting_customer(self, station: int, number: int) -> int:
        """One of the customers that wait, all equally likely."""
        return _one_of(number, self._streams[Role(ORDER, station)].next())


def _one_of(number: int, uniform: float) -> int:
    return min(int(uniform * number), number - 1)
