"""Stations of a network as devices are built: servers, their order, their places, and what they need to be ready.

A :class:`Node` has any order of service that a single station has, and may have limited places; ``when_full`` says what
happens to a customer that finds them taken.  A :class:`Gather` lets customers go together.  A :class:`Region` lets a
number of customers inside and keeps the others at its gate, as a host's queue depth or a controller's tags do.

Source of the three kinds of blocking: Onvural (1990), ACM Computing Surveys 22, "Survey of closed queueing networks
with blocking"; of finite regions: Sauer (1981), IBM J. Research and Development 25.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal, TypeAlias, get_args

from qsim import _check
from qsim.distributions import Deterministic, Distribution
from qsim.distributions.base import require
from qsim.errors import InvalidParameterError
from qsim.models.open import Discipline, OpenDiscipline, Routing

NodeDiscipline: TypeAlias = Literal[OpenDiscipline, "priority", "preemptive priority", "polling"]
Visits: TypeAlias = Literal["exhaustive", "gated", "limited"]
NodeRouting: TypeAlias = Literal[Routing, "split"]
Vacations: TypeAlias = Literal["multiple", "single"]
WhenNodeFull: TypeAlias = Literal["lost", "after service", "before service", "repetitive"]
ClassName: TypeAlias = str
Law: TypeAlias = Distribution | Mapping[ClassName, Distribution]

NODE_DISCIPLINES = (*get_args(Discipline), "SRPT", "FB", "priority", "preemptive priority", "polling")
UNINTERRUPTED = ("FCFS", "LCFS", "SJF", "SIRO", "priority", "polling")
MOST_TOGETHER = 128
REMEMBERED = ("setup", "turnaround", "paces", "vacation", "uptime")
NO_TIME = Deterministic(0.0)


def law_for(given: Law | None, name: ClassName) -> Distribution | None:
    """The law of a class, where there may be one for each."""
    return given.get(name) if isinstance(given, Mapping) else given


@dataclass(frozen=True)
class Node:
    """A station of a :class:`Network`.

    - ``service``: the law of service times, or one for each class by its name;
    - ``servers``: how many; math.inf where nobody waits;
    - ``capacity``: the places, those at the servers included; None for no limit;
    - ``when_full``: a customer that finds every place taken is "lost", or stays on the server just used until a
      place is free ("after service"), or begins no service there before a place here is reserved ("before service"),
      or is served there once more and tries again ("repetitive").  An arrival from outside is always lost;
    - ``overflow_to``: the station to which those go who find every place taken, instead of being lost.  One of
      infinitely many servers that leads back here is an orbit: they try again, and their time in it is waiting;
    - ``discipline``: the order of service; "priority" and "preemptive priority" follow ``priority``, a number for each
      class, 0 before 1 before 2.  With "polling" the server goes round the classes without end, ``turnaround`` from
      one to the next, and serves all it finds and all who come meanwhile (``visits``: "exhaustive"), those it finds
      ("gated"), or one ("limited");
    - ``queues`` and ``speeds``: as for :class:`~qsim.models.open.Open`; or "split": everyone brings a part of its own
      service time to each server, and leaves when the last part is done (fork and join: a stripe over disks).

    Devices are seldom ready at once.  What precedes a service counts as waiting:

    - ``setup``: the time to wake a server that has been idle for longer than ``off_after``;
    - ``vacation``: the time for which a server goes away when it falls idle, again and again until somebody waits, or
      once where ``vacations`` is "single"; for FCFS, at one server or a queue for each;
    - ``turnaround``: the time to turn a server to another class than it served last; a law, or one for each class
      that it turns to;
    - ``batch``: how many a server takes at once, as long as one service; it begins with at least ``batch_least``
      (a lift that fills up; a :class:`Gather` does it after the service, by a clock, too);
    - ``paces``: the work that each server does per time unit, where they are unequal; an arrival takes the fastest
      that is idle, then the one that fell idle last;
    - ``uptime`` and ``repair``: how long a server works until it breaks down, and how long it is down then; the service
      goes on where it was interrupted, and the repair counts as waiting.  Idle servers do not break;
    - ``copies_to``: the station (with ``as`` a class) to which everyone sends a copy on leaving, as a write cache
      answers and writes to the disk later.  A copy that finds no place there holds its sender up as ``when_full`` of
      that station says; nobody waits for it afterwards.

    >>> from qsim import Exponential
    >>> die = Node({"read": Exponential(60e-6), "write": Exponential(600e-6)}, discipline="priority",
    ...            priority={"read": 0, "write": 1})
    >>> die.servers
    1
    """

    service: Law
    servers: float = 1
    capacity: int | None = None
    when_full: WhenNodeFull = "lost"
    discipline: NodeDiscipline = "FCFS"
    queues: NodeRouting = "shared"
    speeds: Sequence[float] | None = None
    priority: Mapping[ClassName, int] = field(default_factory=dict)
    setup: Law | None = None
    off_after: float = 0.0
    turnaround: Law | None = None
    paces: Sequence[float] | None = None
    copies_to: str = ""
    overflow_to: str = ""
    vacation: Distribution | None = None
    vacations: Vacations = "multiple"
    uptime: Distribution | None = None
    repair: Distribution | None = None
    batch: int = 1
    batch_least: int = 1
    visits: Visits = "exhaustive"

    def __post_init__(self) -> None:
        for parameter in ("service", "setup", "turnaround", "vacation", "uptime", "repair"):
            given = getattr(self, parameter)
            for name, law in given.items() if isinstance(given, Mapping) else [("", given)]:
                if given is not None and law is not NO_TIME:
                    require(f"{parameter} of {name}" if name else parameter, law)
        _check.one_of("discipline", self.discipline, NODE_DISCIPLINES)
        if self.discipline == "FB" and (self.servers != 1 or self.speeds is not None):
            raise InvalidParameterError("discipline", "must not be 'FB' on several servers or with speeds", "use PS")
        _check.one_of("queues", self.queues, get_args(NodeRouting))
        _check.one_of("when_full", self.when_full, get_args(WhenNodeFull))
        _check.one_of("visits", self.visits, get_args(Visits))
        _check.one_of("vacations", self.vacations, get_args(Vacations))
        if self.servers != math.inf:
            object.__setattr__(self, "servers", _check.count("servers", self.servers))
        elif self.queues != "shared" or self.speeds is not None:
            raise InvalidParameterError(
                "servers", "must be finite, not inf, where queues or speeds is given", "nobody waits"
            )
        if self.capacity is not None:
            object.__setattr__(self, "capacity", _check.capacity(self.capacity, self.servers))
        if not isinstance(self.overflow_to, str):
            raise InvalidParameterError("overflow_to", f"must be the name of a station, not {self.overflow_to!r}")
        if self.overflow_to and (self.capacity is None or self.when_full != "lost"):
            raise InvalidParameterError(
                "overflow_to", "needs a capacity, and when_full='lost'", "who waits for a place does not go elsewhere"
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
        object.__setattr__(self, "off_after", _check.non_negative("off_after", self.off_after))
        self._check_servers()

    def _check_servers(self) -> None:
        """What servers do before a service, or to the parts of one, is known where nobody is interrupted."""
        object.__setattr__(self, "batch", _check.count("batch", self.batch))
        object.__setattr__(self, "batch_least", _check.count("batch_least", self.batch_least))
        given = [
            name for name in ("setup", "turnaround", "paces", "copies_to", "vacation", "uptime") if getattr(self, name)
        ]
        given += ["batch"] if self.in_batches else []
        if given and self.servers == math.inf:
            raise InvalidParameterError("servers", f"must be finite, not inf, where {given[0]} is given")
        if self.paces is not None:
            paces = tuple(_check.positive("paces", pace) for pace in _check.sequence("paces", self.paces))
            if len(paces) != self.servers:
                raise InvalidParameterError(
                    "paces", f"must hold one number for each server, {self.servers} in all, not {len(paces)}"
                )
            object.__setattr__(self, "paces", paces)
        if self.off_after and self.setup is None:
            raise InvalidParameterError("off_after", "must be 0 without setup", "give the law of the time to wake")
        if not isinstance(self.copies_to, str):
            raise InvalidParameterError("copies_to", f"must be the name of a station, not {self.copies_to!r}")
        special = next((n for n in REMEMBERED if getattr(self, n) is not None), None)
        if self.queues == "split" and self.servers == 1:
            object.__setattr__(self, "queues", "shared")
        special = "queues='split'" if self.queues == "split" else special
        if special and (self.discipline not in UNINTERRUPTED or self.speeds is not None):
            raise InvalidParameterError(
                "discipline" if self.speeds is None else "speeds",
                f"must be one of {', '.join(UNINTERRUPTED)}" if self.speeds is None else "must be None",
                f"{special} needs servers that finish what they begin at a pace of their own",
            )
        self._check_absence()
        self._check_batch()
        if self.discipline == "polling":
            if self.servers != 1:
                raise InvalidParameterError("servers", f"must be 1 with polling, not {self.servers}")
            if self.setup is not None:
                raise InvalidParameterError("setup", "must be None with polling", "turnaround is the way to a class")
        elif self.visits != "exhaustive":
            raise InvalidParameterError("visits", "must not be given", "it says how discipline='polling' serves")
        if self.queues == "split" and self.copies_to:
            raise InvalidParameterError("copies_to", "must be empty at a station that splits its customers")

    def _check_absence(self) -> None:
        """A server that is away, or down."""
        for name in ("vacation", "uptime", "repair"):
            if isinstance(getattr(self, name), Mapping):
                raise InvalidParameterError(name, "must be one law, not one for each class")
        if self.vacation is not None:
            if self.discipline != "FCFS":
                raise InvalidParameterError("discipline", "must be FCFS where servers go on vacation")
            if self.setup is not None:
                raise InvalidParameterError("setup", "must be None where servers go on vacation")
            if self.servers > 1 and self.queues in ("shared", "split"):
                raise InvalidParameterError(
                    "queues", f"must be random, round-robin or shortest, not {self.queues!r}", "servers go on vacation"
                )
            _check.positive("the mean of vacation", self.vacation.mean)
        if (self.uptime is None) != (self.repair is None):
            given, missing = ("uptime", "repair") if self.repair is None else ("repair", "uptime")
            raise InvalidParameterError(missing, f"must be given with {given}", "servers break down, and are repaired")
        if self.uptime is not None:
            _check.positive("the mean of uptime", self.uptime.mean)

    def _check_batch(self) -> None:
        """Several that are served at once."""
        if self.batch_least > self.batch:
            raise InvalidParameterError(
                "batch_least", f"must be at most batch, {self.batch}, not {self.batch_least}", "nobody would be served"
            )
        if self.batch > MOST_TOGETHER:
            raise InvalidParameterError("batch", f"must be at most {MOST_TOGETHER}, not {self.batch}")
        if self.capacity is not None and self.capacity < self.batch_least:
            raise InvalidParameterError(
                "capacity",
                f"must be at least batch_least, {self.batch_least}, not {self.capacity}",
                "nobody would be served",
            )
        if self.in_batches and (self.discipline != "FCFS" or self.speeds is not None or self.queues == "split"):
            raise InvalidParameterError(
                "batch", "must be 1 unless servers are FCFS, of one speed, and serve customers whole"
            )

    @property
    def in_batches(self) -> bool:
        """Whether a server takes several at once."""
        return self.batch > 1

    @property
    def remembers(self) -> bool:
        """Whether it matters which server takes a customer, or what it did before."""
        return any(getattr(self, name) is not None for name in REMEMBERED)

    @property
    def plain(self) -> bool:
        """Whether its servers are all alike and always ready, and everyone is served whole and leaves alone."""
        moves = self.copies_to or self.queues == "split" or self.in_batches or isinstance(self, Gather)
        return not (self.remembers or moves or self.discipline == "polling")

    @property
    def most_work(self) -> float:
        """The work done per time unit when very many are present."""
        if self.speeds:
            return self.speeds[-1]
        up = self.uptime.mean / (self.uptime.mean + self.repair.mean) if self.uptime and self.repair else 1.0
        if self.paces:
            slowest = self.queues in ("random", "round-robin")
            return up * (min(self.paces) * self.servers if slowest else sum(self.paces))
        return up if self.queues == "split" else up * self.servers * self.batch

    def service_of(self, name: ClassName) -> Distribution | None:
        """The law of a class; None for one that is not served here."""
        return law_for(self.service, name)


@dataclass(frozen=True, kw_only=True)
class Gather(Node):
    """A place where customers wait until ``count`` are together, or ``after`` has passed since the first came.

    They leave together: a controller that interrupts its host once for several completions, a lift, a packet.

    >>> Gather(count=8, after=100e-6).count
    8
    """

    service: Law = NO_TIME
    servers: float = math.inf
    count: int = 1
    after: float = 0.0

    def __post_init__(self) -> None:
        plain = Node(NO_TIME, math.inf, self.capacity, self.when_full)
        for name in (one.name for one in fields(Node)):
            if getattr(self, name) != getattr(plain, name):
                raise InvalidParameterError(
                    name, "must not be given to a Gather", "it takes count, after, capacity and when_full"
                )
        super().__post_init__()
        most = f"at most {MOST_TOGETHER}"
        object.__setattr__(self, "count", _check.count("count", self.count))
        if self.count > MOST_TOGETHER:
            raise InvalidParameterError("count", f"must be {most}, not {self.count}", value=self.count)
        object.__setattr__(self, "after", _check.positive("after", self.after, "the longest wait of the first to come"))


@dataclass(frozen=True)
class Region:
    """At most ``capacity`` customers at these ``stations`` together; the others wait at the gate, in order.

    >>> Region(["bus", "die"], capacity=32, name="queue depth").capacity
    32
    """

    stations: Sequence[str]
    capacity: int
    name: str = ""

    def __post_init__(self) -> None:
        stations = _check.sequence("stations", self.stations)
        if not stations:
            raise InvalidParameterError("stations", "must not be empty", "name the stations inside the region")
        object.__setattr__(self, "stations", tuple(str(s) for s in stations))
        object.__setattr__(self, "capacity", _check.count("capacity", self.capacity))

    @property
    def gate(self) -> str:
        """The name of its gate, where those outside wait."""
        return f"gate of {self.name}" if self.name else f"gate of {self.stations[0]}"
