"""The load: what a sweep varies. Each kind is a type, with its words, its limits and its law.

>>> Depth().law, Clients(think=1.0).law, ArrivalRate().text(63900.7)
('N = X R', 'N = X (R + Z)', '63.9 k/s')
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from measure.loads.arrival_rate import ArrivalRate, Gaps, PeakShare
from measure.loads.base import (
    Clients,
    ClosedLoad,
    CountedLoad,
    Depth,
    Load,
    LoadKind,
    Outstanding,
    ThroughputLoad,
    counted_in,
)
from measure.loads.memory_loads import Bandwidth, BufferSize, InjectedDelay, MemoryLoad
from qsim.errors import InvalidParameterError

__all__ = [
    "LOADS",
    "ArrivalRate",
    "Bandwidth",
    "BufferSize",
    "Clients",
    "ClosedLoad",
    "CountedLoad",
    "Depth",
    "Gaps",
    "InjectedDelay",
    "Load",
    "LoadKind",
    "MemoryLoad",
    "Outstanding",
    "PeakShare",
    "ThroughputLoad",
    "counted_in",
    "load_from_dict",
]

LOADS: Mapping[str, Load] = {
    load.kind: load for load in (Depth(), InjectedDelay(), ArrivalRate(), Bandwidth(), BufferSize())
}
"""The usual load of each name in files and in JSON."""


def load_from_dict(values: Mapping[str, Any]) -> Load:
    """The inverse of :meth:`Load.to_dict`. ValueError for an unknown kind or an impossible fact.

    >>> load_from_dict(Clients(think=1.0, noun="users").to_dict())
    Clients(think=1.0, noun='users')
    """
    kind = values["load_kind"]
    if kind not in LOADS:
        raise InvalidParameterError("load_kind", f"must be one of {', '.join(LOADS)}, not {kind!r}", value=kind)
    load, unit = LOADS[kind], values.get("load_unit") or LOADS[kind].unit
    if isinstance(load, InjectedDelay):
        return InjectedDelay(unit=unit)
    if isinstance(load, ArrivalRate):
        return ArrivalRate(gaps=values.get("load_gaps", load.gaps))
    if not isinstance(load, ClosedLoad):
        return load
    closed = counted_in(unit)
    if isinstance(closed, Outstanding):
        return Outstanding(arrivals=bool(values.get("load_arrivals", False)))
    if isinstance(closed, Clients):
        return Clients(think=values.get("load_think_s", closed.think), noun=unit)
    return Depth(jobs=values.get("load_jobs", 1)) if isinstance(closed, Depth) else closed
