"""What a queue is, before anyone computes with it.

There is one description, :class:`Network`: stations by name, the customers that arrive or circulate, and who goes
where.  The textbook names are short ways to write one.  All are frozen values: ``solve`` and ``simulate`` only read
them.

>>> MMc(arrival_rate=2.7, service_rate=1.0, servers=3).kendall
'M/M/3'
>>> MMcN(64, 1e-6, 80e-6, 32) == Network({"delay": Delay(1e-6), "station": Station(Exponential(80e-6), 32)}, 64)
True
"""

from __future__ import annotations

from qsim.distributions import Exponential
from qsim.models.customers import Arrivals, Population
from qsim.models.network import Network
from qsim.models.short import (
    GG1,
    MD1,
    MG1,
    MG1PS,
    MM1,
    MM1K,
    Closed,
    GGc,
    MDc,
    MGc,
    MMc,
    MMcc,
    MMcK,
    MMcKN,
    MMcN,
    MMInf,
    Open,
    Tandem,
)
from qsim.models.station import Delay, Station

__all__ = [
    "GG1",
    "MD1",
    "MG1",
    "MG1PS",
    "MM1",
    "MM1K",
    "Arrivals",
    "Closed",
    "Delay",
    "Exponential",
    "GGc",
    "MDc",
    "MGc",
    "MMInf",
    "MMc",
    "MMcK",
    "MMcKN",
    "MMcN",
    "MMcc",
    "Network",
    "Open",
    "Population",
    "Station",
    "Tandem",
]
