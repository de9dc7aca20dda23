"""Every random choice of a run by its name; each comes from a stream of its own."""

from __future__ import annotations

from qsim.engines.plan import Plan
from qsim.engines.variates.variate_streams import ARRIVALS, NEXT, ORDER, ROUTE, SERVICE, Role, streams_of


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

    def queue(self, station: int, number: int) -> int:
        """One of a station's queues, all equally likely."""
        return _one_of(number, self._streams[Role(ROUTE, station)].next())

    def way(self, station: int, kind: int) -> tuple[int, int]:
        """Where a customer goes next, and in which class."""
        ways = self._plan.ways[station][kind]
        uniform = self._streams[Role(NEXT, station, kind)].next() if len(ways) > 1 else 0.0
        return next((to, becoming) for upto, to, becoming in ways if uniform < upto)

    def waiting_customer(self, station: int, number: int) -> int:
        """One of the customers that wait, all equally likely."""
        return _one_of(number, self._streams[Role(ORDER, station)].next())


def _one_of(number: int, uniform: float) -> int:
    return min(int(uniform * number), number - 1)
