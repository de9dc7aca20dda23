"""A queue customer by customer: start, finish and server of each, from given arrival and service times.

As the variates are inputs, engines can be checked against a trace, and a student can follow a queue by hand. The
averages of a table come from it alone, L from the events and W from the customers, so that Little's law L = X·W can be
checked on it: counted from the empty system at time zero until the last customer has left, it is exact.

Source: Stidham (1974), "A last word on L = λW", Oper. Res. 22, for the law on a finite interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapreplace
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from qsim import _check
from qsim._types import FloatArray, IntArray
from qsim.analytic.views import OpenQueue, open_queue
from qsim.engines.numbered import plan
from qsim.errors import InvalidParameterError, NoEngineError
from qsim.models import Network

if TYPE_CHECKING:
    import pandas as pd

_OLD_FINISH, _OLD_START, _NEW = range(3)  # the order of what happens at one instant


class FreeTimes:
    """The times at which servers become free: the FCFS recursion, one customer at a time.

    Source: Lindley (1952) for one server; Kiefer and Wolfowitz (1955) for several.

    >>> two = FreeTimes(2)
    >>> [two.admit(arrival, service=3.0) for arrival in (0.0, 1.0, 2.0)]
    [(0.0, 0), (1.0, 1), (3.0, 0)]
    """

    def __init__(self, servers: int) -> None:
        self._free = [(0.0, server) for server in range(servers)]  # a heap

    def admit(self, arrival: float, service: float) -> tuple[float, int]:
        """Start and server of a customer that arrives after all others: the server free longest takes it."""
        since, server = self._free[0]
        start = arrival if arrival > since else since
        heapreplace(self._free, (start + service, server))
        return start, server


@dataclass(frozen=True)
class SamplePath:
    """The result of :func:`trace`: an entry per customer in order of arrival; times in the model's unit.

    >>> from qsim import MM1, trace
    >>> path = trace(MM1(1, 1), interarrivals=[0, 1, 1], services=[2, 1, 1])
    >>> path.finish.tolist()
    [2.0, 3.0, 4.0]
    >>> path.to_frame().shape
    (3, 7)
    """

    arrival: FloatArray
    start: FloatArray
    finish: FloatArray
    server: IntArray

    @property
    def wait(self) -> FloatArray:
        """Time from arrival to start of service."""
        return self.start - self.arrival

    @property
    def response(self) -> FloatArray:
        """Time from arrival to finish."""
        return self.finish - self.arrival

    @property
    def present(self) -> IntArray:
        """Number of customers that each arrival finds in the system, without one that leaves at the same instant."""
        return np.array([np.count_nonzero(self.finish[:i] > came) for i, came in enumerate(self.arrival)])

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame, one row per customer: arrival, start, finish, server, wait, response, present."""
        import pandas as pd

        columns = ("arrival", "start", "finish", "server", "wait", "response", "present")
        return pd.DataFrame({name: getattr(self, name) for name in columns}).rename_axis("customer")


@dataclass(frozen=True)
class Event:
    """An event at ``time`` of ``customer`` (from 0), and the number present and waiting right after it."""

    time: float
    what: Literal["arrival", "start", "finish"]
    customer: int
    present: int
    waiting: int


@dataclass(frozen=True)
class PathAverages:
    """The averages of a table, by the symbols of :class:`qsim.Metrics`, over ``span``, from zero to the last finish.

    ``L`` and ``Lq`` are areas below the numbers present and waiting over the span; ``W`` and ``Wq`` means over the
    customers; ``p_wait`` the share of customers that waited.
    """

    customers: int
    span: float
    throughput: float
    utilization: float
    L: float
    Lq: float
    W: float
    Wq: float
    p_wait: float


def trace(model: Network, interarrivals: npt.ArrayLike, services: npt.ArrayLike) -> SamplePath:
    """Run the given customers through the model's servers, first come, first served.

    ``interarrivals[i]`` is the time between customers i - 1 and i (the first counts from time zero) and
    ``services[i]`` the service time of customer i; the model supplies the number of servers. Of servers that became
    free at one instant the first takes the customer. Raises ValueError for arrays that are empty, of unequal length,
    negative or not finite, and NoEngineError for a model with limited places, or any other order or choice of queue.

    >>> from qsim import MM1
    >>> trace(MM1(1, 1), interarrivals=[0, 1, 1], services=[2, 1, 1]).start.tolist()
    [0.0, 2.0, 3.0]
    """
    gaps, times = _times("interarrivals", interarrivals), _times("services", services)
    if gaps.size != times.size:
        raise InvalidParameterError(
            "services", f"must be as many as interarrivals ({gaps.size}), not {times.size}", value=times.size
        )
    arrivals, servers = np.cumsum(gaps), FreeTimes(followed_queue(model).servers)
    admitted = map(servers.admit, arrivals.tolist(), times.tolist())
    path = np.fromiter(admitted, [("start", float), ("server", int)], len(times))
    return SamplePath(arrivals, path["start"], path["start"] + times, path["server"])


def followed_queue(model: Network) -> OpenQueue:
    """The queue that :func:`trace` follows; NoEngineError for another network."""
    if not isinstance(model, Network):
        raise InvalidParameterError("model", f"must be such as MM1(...) or GGc(...), not {model!r}", value=model)
    queue = open_queue(model)
    if queue is None or not plan(model).first_come:
        raise NoEngineError(
            f"trace follows open first-come-first-served queues without a limit on places, not {model.kendall}; "
            "use simulate"
        )
    return queue


def _times(name: str, values: npt.ArrayLike) -> FloatArray:
    numbers = isinstance(values, np.ndarray) and values.dtype == float and values.ndim == 1
    times = np.array(values if numbers else _check.non_negatives(name, values))
    if not ((times >= 0) & (times < np.inf)).all():
        _check.non_negatives(name, values)
    if times.size == 0:
        raise InvalidParameterError(name, "must be a list of at least one time, not an empty one")
    return times


def draw(model: Network, customers: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """The first interarrival and service times that :func:`qsim.simulate` draws with this seed.

    Raises what :func:`qsim.trace` raises for a model that it does not follow.
    """
    from qsim.engines.variates import ARRIVALS, BLOCK, SERVICE, Role, streams_of

    followed_queue(model)
    customers = _check.count("customers", customers)
    streams, _ = streams_of(plan(model), _check.count("seed", seed, minimum=0))
    blocks = range(0, customers, BLOCK)
    gaps, services = (
        np.concatenate([streams[Role(purpose)].block().copy() for _ in blocks])[:customers]
        for purpose in (ARRIVALS, SERVICE)
    )
    return gaps, services


def events(path: SamplePath) -> tuple[Event, ...]:
    """All events in order of time.

    At one instant finished customers leave first, then waiting ones start, then new ones arrive.
    """
    listed: list[tuple[tuple[float, int, int, int], Literal["arrival", "start", "finish"]]] = []
    for i, (came, began, left) in enumerate(zip(path.arrival, path.start, path.finish, strict=True)):
        starting = _OLD_START if began > came else _NEW
        leaving = _OLD_FINISH if left > began else starting
        listed += [
            ((float(came), _NEW, i, 0), "arrival"),
            ((float(began), starting, i, 1), "start"),
            ((float(left), leaving, i, 2), "finish"),
        ]
    found, present, waiting = [], 0, 0
    for (time, _, customer, _), what in sorted(listed):
        present += {"arrival": 1, "start": 0, "finish": -1}[what]
        waiting += {"arrival": 1, "start": -1, "finish": 0}[what]
        found.append(Event(time, what, customer, present, waiting))
    return tuple(found)


def averages(path: SamplePath, servers: int) -> PathAverages:
    """The averages of the table; ``servers``: their number."""
    happened = events(path)
    span = happened[-1].time
    if span == 0:
        raise ValueError("interarrivals and services must not all be zero: no time passes, so there is no average")
    length = np.diff([e.time for e in happened])
    return PathAverages(
        customers=path.arrival.size,
        span=span,
        throughput=path.arrival.size / span,
        utilization=float((path.finish - path.start).sum()) / (servers * span),
        L=float(length @ np.array([e.present for e in happened[:-1]])) / span,
        Lq=float(length @ np.array([e.waiting for e in happened[:-1]])) / span,
        W=float(path.response.mean()),
        Wq=float(path.wait.mean()),
        p_wait=float((path.wait > 0).mean()),
    )
