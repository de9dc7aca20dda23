"""Customer by customer: given when customers come and how long their services take, who waits and where.

With the variates as inputs an engine has no freedom left, so two engines can be compared exactly, and a student
can follow a queue by hand.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from qsim._types import FloatArray, IntArray
from qsim.analytic.views import OpenQueue, open_queue
from qsim.engines.plan import plan
from qsim.errors import InvalidParameterError, NoEngineError
from qsim.models import Network

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class SamplePath:
    """What :func:`trace` gives: one entry per customer, in order of arrival; times in the model's unit, servers from 0.

    Arrivals that were recorded, to be played back by a simulation, are :class:`qsim.Trace`.

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
        """How many customers each one finds in the system; who leaves at that very instant is gone."""
        behind = np.arange(self.arrival.size)
        gone = np.searchsorted(np.sort(self.finish), self.arrival, side="right")
        # A customer behind that comes at the same instant and takes no time has not been seen: do not count it as gone.
        no_time = np.concatenate(([0], np.cumsum(self.finish == self.arrival)))
        unseen = no_time[np.searchsorted(self.arrival, self.arrival, side="right")] - no_time[behind]
        present: IntArray = behind - (gone - unseen)
        return present

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame, one row per customer: arrival, start, finish, server, wait, response, present."""
        import pandas as pd

        columns = ("arrival", "start", "finish", "server", "wait", "response", "present")
        return pd.DataFrame({name: getattr(self, name) for name in columns}).rename_axis("customer")


def trace(
    model: Network,
    interarrivals: npt.ArrayLike,
    services: npt.ArrayLike,
    engine: Literal["compiled", "reference"] = "compiled",
) -> SamplePath:
    """Run the given customers through the model's servers, first come, first served.

    ``interarrivals[i]`` is the time between customers i - 1 and i (the first counts from time zero) and
    ``services[i]`` the service time of customer i; the model supplies the number of servers.  A customer takes
    the server that has been free longest.  Raises ValueError for arrays that are empty, of unequal length,
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
    servers = require_followed(model).servers
    arrivals = np.cumsum(gaps)
    if engine == "compiled":
        return _compiled(arrivals, times, servers)
    if engine == "reference":
        return _reference(gaps, times, servers)
    raise InvalidParameterError("engine", f"must be 'compiled' or 'reference', not {engine!r}", value=engine)


def require_followed(model: Network) -> OpenQueue:
    """The queue that :func:`trace` follows; NoEngineError for another network."""
    if not isinstance(model, Network):
        raise InvalidParameterError("model", f"must be such as MM1(...) or GGc(...), not {model!r}", value=model)
    queue = open_queue(model)
    if queue is None or queue.own_queues or queue.servers == math.inf or not plan(model).first_come:
        raise NoEngineError(
            f"trace follows open first-come-first-served queues without a limit on places, not {model.kendall}; "
            "use simulate"
        )
    return queue


def _times(name: str, values: npt.ArrayLike) -> FloatArray:
    try:
        array = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameterError(name, f"must be a list of numbers, not {values!r}", value=values) from None
    if array.ndim != 1 or array.size == 0:
        raise InvalidParameterError(name, f"must be a list of at least one time, not an array of shape {array.shape}")
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        raise InvalidParameterError(
            f"{name}[{bad[0]}]",
            f"must be zero or positive, and finite, not {float(array[bad[0]])!r}",
            value=float(array[bad[0]]),
        )
    return array


def _compiled(arrivals: FloatArray, services: FloatArray, servers: int) -> SamplePath:
    from qsim.engines.compiled.first_come import trace_fcfs

    starts, chosen = np.empty(arrivals.size), np.empty(arrivals.size, dtype=np.int64)
    trace_fcfs(arrivals, services, servers, starts, chosen)
    return SamplePath(arrivals, starts, starts + services, chosen)


def _reference(gaps: FloatArray, services: FloatArray, servers: int) -> SamplePath:
    from collections import deque

    import simpy

    env = simpy.Environment()
    resource = simpy.Resource(env, capacity=servers)
    free = deque(range(servers))  # longest free first
    arrival, start, finish = (np.empty(gaps.size) for _ in range(3))
    chosen = np.empty(gaps.size, dtype=np.int64)

    def customer(i: int) -> Generator[simpy.Event, Any, None]:
        arrival[i] = env.now
        with resource.request() as turn:
            yield turn
            chosen[i] = free.popleft()
            start[i] = env.now
            yield env.timeout(float(services[i]))
            finish[i] = env.now
            free.append(int(chosen[i]))

    def source() -> Generator[simpy.Event, Any, None]:
        for i, gap in enumerate(gaps.tolist()):
            yield env.timeout(gap)
            env.process(customer(i))

    env.process(source())
    env.run()
    return SamplePath(arrival, start, finish, chosen)
