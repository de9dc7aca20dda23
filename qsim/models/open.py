"""Queues fed from outside, which does not care how full they are.

Kendall's notation A/S/c/K reads: times between arrivals, service times, servers, places (the servers included).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

from qsim import _check
from qsim.distributions import Distribution, Exponential
from qsim.distributions.base import require

Discipline: TypeAlias = Literal["FCFS"]


@dataclass(frozen=True)
class Open:
    """Customers come from outside, wait in order of arrival, are served once and leave.

    Parameters: ``arrivals``, the distribution of times between arrivals; ``service``, that of service times;
    ``servers``, identical and sharing one queue; ``capacity``, the places including the servers (None: no
    limit; a customer who finds them all taken is lost); ``discipline``, the order of service.

    Raises ValueError naming the parameter for anything that describes no queue.
    """

    arrivals: Distribution
    service: Distribution
    servers: int = 1
    capacity: int | None = None
    discipline: Discipline = "FCFS"

    def __post_init__(self) -> None:
        if not (isinstance(self.arrivals, Exponential) and math.isinf(self.arrivals.mean)):
            require("arrivals", self.arrivals)
        require("service", self.service)
        object.__setattr__(self, "servers", _check.count("servers", self.servers))
        if self.capacity is not None:
            remedy = f"it counts the places at the {self.servers} server(s) too; None means no limit"
            object.__setattr__(self, "capacity", _check.count("capacity", self.capacity, self.servers, remedy))
        if self.discipline != "FCFS":
            raise ValueError(f"discipline must be 'FCFS', not {self.discipline!r}: others are not modelled yet")

    @property
    def arrival_rate(self) -> float:
        """Arrivals per time unit."""
        return 1 / self.arrivals.mean

    @property
    def service_rate(self) -> float:
        """Customers one busy server finishes per time unit."""
        return 1 / self.service.mean

    @property
    def offered_load(self) -> float:
        """Arriving work per time unit, in erlangs: the servers it would keep busy if there were enough."""
        return self.service.mean / self.arrivals.mean

    @property
    def rho(self) -> float:
        """Offered load per server."""
        return self.offered_load / self.servers

    @property
    def kendall(self) -> str:
        """Kendall's name, such as M/M/3 or M/M/3/10."""
        places = "" if self.capacity is None else f"/{self.capacity}"
        return f"{self.arrivals.letter}/{self.service.letter}/{self.servers}{places}"
