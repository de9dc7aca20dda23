"""A queue followed by hand: customers that are drawn, the list of events, and the averages of the table.

The averages are taken from the table alone, L from the events and W from the customers, so that Little's law
L = X·W can be checked on it: counted from the empty system at zero until the last one has left, it is exact.

Source: Stidham (1974), "A last word on L = λW", Oper. Res. 22, for the law on a finite interval.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from qsim import _check
from qsim._types import FloatArray
from qsim.engines.plan import plan
from qsim.engines.trace import SamplePath, require_followed
from qsim.engines.variates.variate_streams import ARRIVALS, SERVICE, Role, streams_of
from qsim.models import Network

What: TypeAlias = Literal["arrival", "start", "finish"]

_OLD_FINISH, _OLD_START, _NEW = range(3)  # the order of what happens at one instant


@dataclass(frozen=True)
class Event:
    """What happens at ``time`` to ``customer`` (from 0) and how many are present and waiting right after it."""

    time: float
    what: What
    customer: int
    present: int
    waiting: int


@dataclass(frozen=True)
class Totals:
    """The averages of a table, by the symbols of :class:`qsim.Metrics`, over ``span``, from zero to the last finish.

    ``L`` and ``Lq`` are areas below the numbers present and waiting over the span; ``W`` and ``Wq`` means over the
    customers; ``p_wait`` the share of those who waited.
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


def draw(model: Network, customers: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """The first times between arrivals and of service that :func:`qsim.simulate` meets with this seed.

    Raises what :func:`qsim.trace` raises for a model that it does not follow.
    """
    require_followed(model)
    customers = _check.count("customers", customers)
    streams, _ = streams_of(plan(model), _check.count("seed", seed, minimum=0))
    gaps, services = np.empty(customers), np.empty(customers)
    streams[Role(ARRIVALS)].take(gaps)
    streams[Role(SERVICE)].take(services)
    return gaps, services


def events(trace: SamplePath) -> tuple[Event, ...]:
    """Everything that happens, in order.

    At one instant those who finish leave first, then those start who waited, then the next ones come.
    """
    listed: list[tuple[tuple[float, int, int, int], What]] = []
    for i, (came, began, left) in enumerate(zip(trace.arrival, trace.start, trace.finish, strict=True)):
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


def totals(trace: SamplePath, servers: int, happened: Sequence[Event] = ()) -> Totals:
    """The averages of the table; ``servers`` is how many there are, ``happened`` its :func:`events` where at hand."""
    happened = happened or events(trace)
    span = happened[-1].time
    if span == 0:
        raise ValueError("interarrivals and services must not all be zero: no time passes, so there is no average")
    length = np.diff([e.time for e in happened])
    return Totals(
        customers=trace.arrival.size,
        span=span,
        throughput=trace.arrival.size / span,
        utilization=float((trace.finish - trace.start).sum()) / (servers * span),
        L=float(length @ np.array([e.present for e in happened[:-1]])) / span,
        Lq=float(length @ np.array([e.waiting for e in happened[:-1]])) / span,
        W=float(trace.response.mean()),
        Wq=float(trace.wait.mean()),
        p_wait=float((trace.wait > 0).mean()),
    )
