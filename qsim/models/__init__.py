"""What a queue is, before anyone computes with it.

Two kinds.  An :class:`Open` queue is fed from outside and does not care how full it is (:class:`OpenClasses` with
kinds of customers, :class:`Tandem` with several stations); a :class:`Closed` one has a fixed population that
circles between thinking and being served, as N outstanding requests circle between a host and a device.  All are
frozen values: ``solve`` and ``simulate`` only read them.

Kendall's notation A/S/c/K//N reads: times between arrivals, service times, servers, places (the servers
included), population.  The constructor functions below carry those names and return the same two kinds.

>>> MMc(arrival_rate=2.7, service_rate=1.0, servers=3).kendall
'M/M/3'
>>> MMcN(population=64, think_time=1e-6, service_time=80e-6, servers=32).kendall
'M/M/32//64'
"""

from __future__ import annotations

from typing import TypeAlias

from qsim.models.closed import Closed
from qsim.models.constructors import GG1, MD1, MG1, MG1PS, MM1, MM1K, GGc, MDc, MGc, MMc, MMcc, MMcK, MMcKN, MMcN, MMInf
from qsim.models.customers import Arrivals, Population
from qsim.models.network import Network
from qsim.models.open import CustomerClass, Open, OpenClasses, Tandem
from qsim.models.station import Delay, Queues, Station
from qsim.models.visited import ClassStation, ClosedClasses, MixedNetwork, OpenNetwork, OpenNetworkClasses, traffic

Model: TypeAlias = (
    Open | OpenClasses | Tandem | Closed | ClosedClasses | OpenNetwork | OpenNetworkClasses | MixedNetwork | Network
)

__all__ = [
    "GG1",
    "MD1",
    "MG1",
    "MG1PS",
    "MM1",
    "MM1K",
    "Arrivals",
    "ClassStation",
    "Closed",
    "ClosedClasses",
    "CustomerClass",
    "Delay",
    "GGc",
    "MDc",
    "MGc",
    "MMInf",
    "MMc",
    "MMcK",
    "MMcKN",
    "MMcN",
    "MMcc",
    "MixedNetwork",
    "Model",
    "Network",
    "Open",
    "OpenClasses",
    "OpenNetwork",
    "OpenNetworkClasses",
    "Population",
    "Queues",
    "Station",
    "Tandem",
    "traffic",
]
