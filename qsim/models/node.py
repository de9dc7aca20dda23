"""A station of a network: its servers, the order in which they take customers, and what each class needs there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from qsim import _check
from qsim.distributions import Deterministic, Distribution
from qsim.distributions.base import require
from qsim.errors import InvalidParameterError
from qsim.models.open import OpenDiscipline, Routing

NodeDiscipline: TypeAlias = Literal[OpenDiscipline, "priority", "preemptive priority"]
ClassName: TypeAlias = str
Law: TypeAlias = Distribution | Mapping[ClassName, Distribution]

NODE_DISCIPLINES = (*get_args(OpenDiscipline), "priority", "preemptive priority")
NO_TIME = Deterministic(0.0)


@dataclass(frozen=True)
class Node:
    """A station of a :class:`Network`.

    - ``service``: the law of service times, or one for each class by its name;
    - ``servers``: how many; math.inf where nobody waits;
    - ``discipline``: the order of service; "priority" and "preemptive priority" follow ``priority``, a number for each
      class, 0 before 1 before 2;
    - ``queues`` and ``speeds``: as for :class:`~qsim.models.open.Open`.

    >>> from qsim import Exponential
    >>> die = Node({"read": Exponential(60e-6), "write": Exponential(600e-6)}, discipline="priority",
    ...            priority={"read": 0, "write": 1})
    >>> die.servers
    1
    """

    service: Law
    servers: float = 1
    discipline: NodeDiscipline = "FCFS"
    queues: Routing = "shared"
    speeds: Sequence[float] | None = None
    priority: Mapping[ClassName, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        laws = self.service.items() if isinstance(self.service, Mapping) else [("", self.service)]
        for name, law in laws:
            if law is not NO_TIME:
                require(f"service of {name}" if name else "service", law)
        _check.one_of("discipline", self.discipline, NODE_DISCIPLINES)
        _check.one_of("queues", self.queues, get_args(Routing))
        if self.servers != math.inf:
            object.__setattr__(self, "servers", _check.count("servers", self.servers))
        elif self.queues != "shared" or self.speeds is not None:
            raise InvalidParameterError(
                "servers", "must be finite, not inf, where queues or speeds is given", "nobody waits"
            )
        if self.speeds is not None:
            object.__setattr__(self, "speeds", _check.speeds(self.speeds))
            if self.queues != "shared" and self.servers > 1:
                raise InvalidParameterError(
                    "speeds", f"must be None where each server has its own queue, not {self.speeds!r}"
                )
        if not isinstance(self.priority, Mapping):
            raise InvalidParameterError("priority", f"must be a mapping, not {self.priority!r}", "give {class: number}")
        urgencies = {name: _check.count(f"priority of {name}", n, 0) for name, n in self.priority.items()}
        object.__setattr__(self, "priority", urgencies)

    @property
    def most_work(self) -> float:
        """The work done per time unit when very many are present."""
        return self.speeds[-1] if self.speeds else self.servers

    def service_of(self, name: ClassName) -> Distribution | None:
        """The law of a class; None for one that is not served here."""
        return self.service.get(name) if isinstance(self.service, Mapping) else self.service
