"""A write cache as a fluid: it fills at the difference of two rates, and is then as slow as what it drains into.

Writes are answered at the rate X of the host and the cache alone, as if the disk were not there; the disk takes μ.
While X > μ the B places fill at X - μ, so that they are full after

    t = B / (X - μ)

and the writes after that go at the disk's rate μ.  Below μ nothing fills.  This is the limit of many small writes
(functional law of large numbers: Chen & Yao 2001, Fundamentals of Queueing Networks, chapter 5); chance moves t by
about the square root of B writes' worth of time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from qsim._types import FloatArray
from qsim.errors import InvalidParameterError, NoFormulaError
from qsim.models import Network, Node


@dataclass(frozen=True)
class FluidCache:
    """Writes per time unit ``before`` the cache is full and ``after``; ``full_at`` is inf where it never is.

    >>> FluidCache.of_rates(offered=50e3, drained=10e3, places=40e3).full_at
    1.0
    """

    before: float
    after: float
    full_at: float

    def completed(self, times: FloatArray) -> FloatArray:
        """Writes answered up to each of ``times``."""
        early = np.minimum(times, self.full_at)
        return np.asarray(self.before * early + self.after * (times - early))

    @classmethod
    def of_rates(cls, offered: float, drained: float, places: float) -> FluidCache:
        """A cache of so many places that is written to at one rate and drained at another."""
        if offered <= drained:
            return cls(offered, offered, math.inf)
        return cls(offered, drained, places / (offered - drained))


def fluid_cache(model: Network) -> FluidCache:
    """What becomes of a cache that starts empty; the rate before by :func:`qsim.solve`, as if the disk were not there.

    Raises NoFormulaError where no station, or more than one, copies to one with limited places.

    >>> from qsim import Exponential, WriteCache
    >>> drive = WriteCache(8, 0.0, cache=Exponential(20e-6), disk=Exponential(100e-6), places=40_000)
    >>> round(fluid_cache(drive).full_at, 6)
    1.0
    """
    from qsim.analytic import solve

    if not isinstance(model, Network):
        raise InvalidParameterError("model", f"must be a Network, not {model!r}", value=model)
    copying = [(name, copy) for name in model.stations if (copy := model.copies(name, model.classes[0]))]
    if len(copying) != 1 or model.nodes[copying[0][1][0]].capacity is None:
        raise NoFormulaError(model.kendall, "no single cache that copies to a disk with limited places")
    ((cache, (disk, kind)),) = copying
    node = model.nodes[cache]
    alone = {name: model.nodes[name] for name in model.stations if name != disk}
    alone[cache] = Node(node.service, node.servers, discipline=node.discipline, queues=node.queues)
    routing = {c: {s: row for s, row in rows.items() if s != disk} for c, rows in (model.routing or {}).items()}
    offered = solve(Network(alone, model.arrivals, model.populations, routing)).throughput
    law, places = model.nodes[disk].service_of(kind), model.nodes[disk].capacity
    assert law is not None  # noqa: S101  (the Network has looked)
    assert places is not None  # noqa: S101
    return FluidCache.of_rates(offered, model.nodes[disk].most_work / law.mean, places)
